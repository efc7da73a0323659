/*
 * The listening sockets of a front. Invariant: epoll watches all of them, or,
 * in a pause, none.
 */
#define _GNU_SOURCE /* accept4 */
#include "io/fcgi_accept.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

bool
fcgi_watch(int epoll_fd, int fd, enum fcgi_kind kind, uint32_t events)
{
	struct epoll_event event = {
	    .events = events,
	    .data.u64 = (uint64_t)kind << 32 | (uint32_t)fd,
	};

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

void
fcgi_unwatch(int epoll_fd, int fd)
{
	(void)epoll_ctl(epoll_fd, EPOLL_CTL_DEL, fd, NULL);
}

static void
socket_watch(const struct fcgi_accept *from, int fd)
{
	if (!fcgi_watch(from->epoll_fd, fd, FCGI_LISTENER, EPOLLIN))
		log_bug("cannot watch a socket: %s", strerror(errno));
}

static size_t
socket_find(const struct fcgi_accept *from, int fd)
{
	size_t i = 0;

	while (i < from->count && from->fds[i] != fd)
		i++;
	return i;
}

void
fcgi_accept_add(struct fcgi_accept *from, int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (socket_find(from, fd) < from->count)
		return;
	if (from->count == FCGI_LISTENERS_MAX)
		log_bug("too many sockets to listen at");
	/* Of several processes that wait, one gets the connection. */
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		log_bug("cannot serve a socket: %s", strerror(errno));
	from->fds[from->count++] = fd;
	if (!from->resume_ms)
		socket_watch(from, fd);
}

void
fcgi_accept_remove(struct fcgi_accept *from, int fd)
{
	size_t i = socket_find(from, fd);

	if (i == from->count)
		return;
	from->fds[i] = from->fds[--from->count];
	if (!from->resume_ms)
		fcgi_unwatch(from->epoll_fd, fd);
}

/* There are no descriptors left, or no memory; some may come back. */
static void
accept_pause(struct fcgi_accept *from, int64_t now_ms)
{
	if (!from->crowded)
		log_error("could not accept a connection: %s", strerror(errno));
	from->crowded = true;
	for (size_t i = 0; i < from->count; i++)
		fcgi_unwatch(from->epoll_fd, from->fds[i]);
	from->resume_ms = now_ms + FCGI_ACCEPT_PAUSE_MS;
}

int
fcgi_accept_next(struct fcgi_accept *from, int fd, int64_t now_ms)
{
	while (!from->resume_ms) {
		int got = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

		if (got >= 0) {
			from->crowded = false;
			return got;
		}
		/* Another process was faster; or the peer went away. */
		if (errno == EAGAIN)
			break;
		if (errno != EINTR && errno != ECONNABORTED)
			accept_pause(from, now_ms);
	}
	return -1;
}

void
fcgi_accept_resume(struct fcgi_accept *from, int64_t now_ms)
{
	if (!from->resume_ms || now_ms < from->resume_ms)
		return;
	from->resume_ms = 0;
	for (size_t i = 0; i < from->count; i++)
		socket_watch(from, from->fds[i]);
}
