/*
 * The connections of a FastCGI process, over epoll. Its events are only hints
 * that there is something to look at, told once (edge-triggered), so a request
 * costs no call to epoll but the wait that all share. Invariant: nothing is
 * read off a connection here but from one that was dropped. One thread.
 */
#include "io/fcgi_front.h"
#include "base/clock.h"
#include "base/log.h"
#include "io/fcgi.h"
#include "io/fcgi_accept.h"
#include "io/fcgi_conn.h"
#include "io/fcgi_guard.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum {
	EVENTS_MAX = 256,
	ACCEPT_MAX = 64, /* of one socket, before others have their turn */
	LINGER_READS = 16,
};

struct front {
	int epoll_fd;
	struct conns conns;
	struct fcgi_accept accept;
	struct fcgi_guard guard;
	bool woken;
	bool more; /* events are to be expected at once */
	int64_t now_ms;
};

/* Written to by front_stop; the process's, as its signals are. */
static int stop_fd = -1;
static volatile sig_atomic_t stopped;

struct front *
front_open(void)
{
	struct front *front = calloc(1, sizeof(*front));

	if (!front)
		log_bug("out of memory");
	front->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (stop_fd < 0)
		stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (front->epoll_fd < 0 || stop_fd < 0)
		log_bug("cannot prepare to serve: %s", strerror(errno));
	front->accept.epoll_fd = front->epoll_fd;
	conns_init(&front->conns);
	front_wake(front, stop_fd);
	return front;
}

void
front_listen(struct front *front, int fd)
{
	fcgi_accept_add(&front->accept, fd);
}

void
front_unlisten(struct front *front, int fd)
{
	fcgi_accept_remove(&front->accept, fd);
}

void
front_wake(struct front *front, int fd)
{
	if (!fcgi_watch(front->epoll_fd, fd, FCGI_WAKE, EPOLLIN | EPOLLET))
		log_bug("cannot watch a descriptor: %s", strerror(errno));
}

void
front_stop(void)
{
	const uint64_t one = 1;
	int saved = errno;

	stopped = 1;
	/* It can only fail when it has been written to all too often. */
	if (stop_fd >= 0 && write(stop_fd, &one, sizeof(one)) < 0)
		stopped = 1;
	errno = saved;
}

bool
front_stopped(void)
{
	return stopped;
}

/* Connections ----------------------------------------------------------- */

static void
front_remove(struct front *front, struct conn *conn)
{
	int fd = conn->fd;

	conn_free(&front->conns, conn);
	/* When another process has it, too, closing it does not do this. */
	fcgi_unwatch(front->epoll_fd, fd);
}

static void
front_end(struct front *front, struct conn *conn)
{
	int fd = conn->fd;

	front_remove(front, conn);
	(void)close(fd);
}

void
front_close(struct front *front)
{
	struct conn *conn;

	if (!front)
		return;
	for (int i = 0; i < CONN_PLACES; i++) {
		while ((conn = TAILQ_FIRST(&front->conns.places[i])))
			front_end(front, conn);
	}
	conns_release(&front->conns);
	fcgi_guard_release(&front->guard);
	(void)close(front->epoll_fd);
	free(front);
}

void
front_adopt(struct front *front, int fd)
{
	const struct timeval limit = {.tv_sec = FCGI_PEER_MS / 1000};
	struct conn *conn = conn_new(&front->conns, fd);

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	if (!fcgi_watch(front->epoll_fd, fd, FCGI_CONN,
		EPOLLIN | EPOLLRDHUP | EPOLLET)) {
		log_error("could not watch a connection: %s", strerror(errno));
		front_end(front, conn);
	}
}

/* The caller has it from front_wait, so there must be such a connection. */
static struct conn *
front_find(const struct front *front, int fd)
{
	struct conn *conn = conns_find(&front->conns, fd);

	if (!conn)
		log_bug("descriptor %d is no connection", fd);
	return conn;
}

/* When the next request came before this was called, that was noted. */
void
front_keep(struct front *front, int fd)
{
	conn_move(&front->conns, front_find(front, fd), CONN_IDLE, 0);
}

void
front_drop(struct front *front, int fd)
{
	struct conn *conn = front_find(front, fd);

	if (conn->place != CONN_LONG || shutdown(fd, SHUT_WR) < 0) {
		front_end(front, conn);
		return;
	}
	conn_move(&front->conns, conn, CONN_LINGER, clock_monotonic_ms());
	conn_note(&front->conns, conn);
}

void
front_release(struct front *front, int fd)
{
	front_remove(front, front_find(front, fd));
}

void
front_forget(struct front *front, int fd)
{
	conn_free(&front->conns, front_find(front, fd));
}

int
front_release_idle(struct front *front)
{
	struct conn *conn = TAILQ_FIRST(&front->conns.places[CONN_IDLE]);
	int fd;

	if (!conn)
		conn = TAILQ_FIRST(&front->conns.places[CONN_BEGUN]);
	if (!conn)
		return -1;
	fd = conn->fd;
	front_remove(front, conn);
	return fd;
}

size_t
front_count(const struct front *front)
{
	return front->conns.count;
}

/* Waiting ---------------------------------------------------------------- */

/* Reads what a peer still sends, or it would not read what we have sent. */
static void
front_linger(struct front *front, struct conn *conn)
{
	struct buf *seen = &front->guard.seen;
	ssize_t got = 1;

	for (int i = 0; i < LINGER_READS && got > 0; i++)
		got = recv(conn->fd, seen->data, seen->cap, MSG_DONTWAIT);
	if (got >= 0 || errno != EAGAIN)
		front_end(front, conn);
}

/* Whether a whole request waits on it: then it is handed out. */
static bool
front_look(struct front *front, struct conn *conn)
{
	enum fcgi_found found = fcgi_guard_look(&front->guard, conn->fd);

	if (found == FCGI_WHOLE || found == FCGI_LONG) {
		conn_move(&front->conns, conn,
		    found == FCGI_WHOLE ? CONN_OUT : CONN_LONG, front->now_ms);
		return true;
	}
	if (found == FCGI_BAD || conn->hung_up)
		front_end(front, conn);
	else if (found == FCGI_PART && conn->place == CONN_IDLE)
		conn_move(&front->conns, conn, CONN_BEGUN, front->now_ms);
	return false;
}

static size_t
front_hand_out(struct front *front, int *ready, size_t max)
{
	struct conn *conn;
	size_t n = 0;

	while (n < max && (conn = conns_next(&front->conns))) {
		if (conn->place == CONN_LINGER)
			front_linger(front, conn);
		else if (front_look(front, conn))
			ready[n++] = conn->fd;
	}
	return n;
}

/* Deals with those whose peer was too slow. */
static void
front_expire(struct front *front)
{
	struct conns *conns = &front->conns;
	int64_t now = front->now_ms;
	struct conn *conn;

	while ((conn = conns_late(conns, CONN_LINGER, now)))
		front_end(front, conn);
	while ((conn = conns_late(conns, CONN_BEGUN, now))) {
		/* Perhaps it has come, and only waits to be looked at. */
		if (conn->noted)
			conn_move(conns, conn, CONN_IDLE, now);
		else
			front_end(front, conn);
	}
	while ((conn = conns_late(conns, CONN_LONG, now))) {
		/* Whoever reads from it finds that the body is cut. */
		(void)shutdown(conn->fd, SHUT_RD);
		conn_move(conns, conn, CONN_OUT, now);
		conn_note(conns, conn);
	}
}

static void
front_accept(struct front *front, int listener)
{
	for (int i = 0; i < ACCEPT_MAX; i++) {
		int fd =
		    fcgi_accept_next(&front->accept, listener, front->now_ms);

		if (fd < 0)
			break;
		front_adopt(front, fd);
		front->more = true;
	}
}

static void
front_event(struct front *front, const struct epoll_event *event)
{
	int fd = (int)(uint32_t)event->data.u64;
	struct conn *conn;

	switch ((enum fcgi_kind)(event->data.u64 >> 32)) {
	case FCGI_WAKE:
		front->woken = true;
		break;
	case FCGI_LISTENER:
		front_accept(front, fd);
		break;
	case FCGI_CONN:
		conn = conns_find(&front->conns, fd);
		/* It may have been closed after this was reported. */
		if (!conn)
			break;
		if (event->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
			conn->hung_up = true;
		conn_note(&front->conns, conn);
	}
}

/* What epoll shall wait: until then, or until something expires. */
static int
front_timeout(const struct front *front, int64_t until)
{
	int64_t left;

	until = conns_until(&front->conns, until);
	if (front->accept.resume_ms && front->accept.resume_ms < until)
		until = front->accept.resume_ms;
	if (until == INT64_MAX)
		return -1;
	left = until - front->now_ms;
	if (left > INT_MAX)
		return INT_MAX;
	return left < 0 ? 0 : (int)left;
}

static void
front_gather(struct front *front, int timeout)
{
	struct epoll_event events[EVENTS_MAX];
	int n;

	fcgi_accept_resume(&front->accept, front->now_ms);
	n = epoll_wait(front->epoll_fd, events, EVENTS_MAX, timeout);
	if (n < 0 && errno != EINTR)
		log_bug("cannot wait for connections: %s", strerror(errno));
	if (n < 0)
		front->woken = true;
	front->more = n == EVENTS_MAX;
	front->now_ms = clock_monotonic_ms();
	for (int i = 0; i < n; i++)
		front_event(front, &events[i]);
}

size_t
front_wait(struct front *front, int *ready, size_t max, int ms)
{
	int64_t until = INT64_MAX;
	size_t n;

	front->woken = false;
	front->more = max && !TAILQ_EMPTY(&front->conns.queue);
	front->now_ms = clock_monotonic_ms();
	if (ms >= 0)
		until = front->now_ms + ms;
	do {
		front_gather(front,
		    front->more ? 0 : front_timeout(front, until));
		n = front_hand_out(front, ready, max);
		front_expire(front);
	} while (
	    n == 0 && !front->woken && (front->more || front->now_ms < until));
	return n;
}
