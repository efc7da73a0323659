/*
 * Connections and their calls. A connection has one call at a time. An answer
 * that comes in one piece is read where the next one will be, too: nothing is
 * copied. What fails while it is begun is told from the loop, so that done
 * never runs inside client_send.
 */
#include "conn.h"
#include "base/log.h"
#include "reply.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* --- the order in which calls time out */

static void
busy_add(struct client_conn *conn)
{
	struct client *client = conn->client;

	conn->newer = NULL;
	conn->older = client->newest;
	if (client->newest)
		client->newest->newer = conn;
	else
		client->oldest = conn;
	client->newest = conn;
}

static void
busy_remove(struct client_conn *conn)
{
	struct client *client = conn->client;

	if (conn->older)
		conn->older->newer = conn->newer;
	else
		client->oldest = conn->newer;
	if (conn->newer)
		conn->newer->older = conn->older;
	else
		client->newest = conn->older;
	conn->older = NULL;
	conn->newer = NULL;
}

/* --- connections */

static void
conn_shut(struct client_conn *conn)
{
	if (conn->fd >= 0)
		(void)close(conn->fd);
	conn->fd = -1;
	conn->connected = false;
	conn->used = false;
	/* Its bytes stay where they are until done has seen them. */
	conn->part.len = 0;
}

void
conn_reap(struct client_conn *conn)
{
	buf_release(&conn->part);
	free(conn);
}

/* The call will be done from the loop, without an answer. */
static void
conn_break(struct client_conn *conn, enum client_failure failure)
{
	conn_shut(conn);
	if (!conn->broken) {
		conn->next = conn->client->broken;
		conn->client->broken = conn;
	}
	conn->broken = failure;
}

static void
conn_watch(struct client_conn *conn, unsigned events, int op)
{
	struct epoll_event event = {.events = events, .data.ptr = conn};

	if (op == EPOLL_CTL_MOD && conn->events == events)
		return;
	if (epoll_ctl(conn->client->epoll, op, conn->fd, &event) != 0)
		log_bug("cannot watch a connection: %s", strerror(errno));
	conn->events = events;
}

static bool
conn_bind(int fd, in_addr_t number)
{
	struct sockaddr_in own = {.sin_family = AF_INET};
	int on = 1;

	own.sin_addr.s_addr = htonl(INADDR_LOOPBACK + number);
	/* The port is chosen when the other end is known: more are free. */
	return setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on,
		   sizeof(on)) == 0 &&
	    bind(fd, (struct sockaddr *)&own, sizeof(own)) == 0;
}

static bool
conn_open(struct client_conn *conn)
{
	struct client *client = conn->client;
	in_addr_t number = (in_addr_t)(client->opened % client->sources);
	struct sockaddr_in address = client->address;
	int on = 1;

	address.sin_port = conn->port;
	conn->fd =
	    socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (conn->fd < 0)
		return false;
	if ((number && !conn_bind(conn->fd, number)) ||
	    (connect(conn->fd, (struct sockaddr *)&address, sizeof(address)) !=
		    0 &&
		errno != EINPROGRESS)) {
		conn_shut(conn);
		return false;
	}
	(void)setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	client->opened++;
	conn_watch(conn, EPOLLOUT, EPOLL_CTL_ADD);
	return true;
}

struct client_conn *
client_conn_new(struct client *client)
{
	struct client_conn *conn = client_memory(sizeof(*conn));

	conn->client = client;
	conn->fd = -1;
	conn->port = client->address.sin_port;
	return conn;
}

void
client_conn_port(struct client_conn *conn, int port)
{
	if (conn->call)
		log_bug("another port in the middle of a call");
	if (conn->port != htons((in_port_t)port))
		conn_shut(conn);
	conn->port = htons((in_port_t)port);
}

void
client_conn_free(struct client_conn *conn)
{
	if (!conn || conn->gone)
		return;
	if (conn->call)
		busy_remove(conn);
	conn->call = NULL;
	conn_shut(conn);
	conn->gone = true;
	/* The loop may still have an event of it, or it among the broken. */
	if (!conn->broken) {
		conn->next = conn->client->gone;
		conn->client->gone = conn;
	}
}

/* --- calls */

static void
call_done(struct client_conn *conn, enum client_failure failure)
{
	struct client_call *call = conn->call;

	call->failure = failure;
	call->latency_us = client_now_us() - call->intended_us;
	if (failure) {
		call->status = 0;
		call->head = (struct str){0};
		call->body = (struct str){0};
	}
	conn->call = NULL;
	busy_remove(conn);
	if (conn->pool)
		client_idle(conn);
	call->done(call);
}

void
conn_fail(struct client_conn *conn, enum client_failure failure)
{
	conn_shut(conn);
	call_done(conn, failure);
}

static void
call_write(struct client_conn *conn)
{
	struct str request = conn->call->request;
	ssize_t n = send(conn->fd, request.text + conn->sent,
	    request.len - conn->sent, MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN && errno != EINTR) {
		/* Only what comes to be read says what has happened. */
		conn->sent = request.len;
		n = 0;
	}
	if (n > 0)
		conn->sent += (size_t)n;
	conn_watch(conn,
	    conn->sent < request.len ? EPOLLIN | EPOLLOUT : EPOLLIN,
	    EPOLL_CTL_MOD);
}

/* Begins the call anew on a new connection, or at once on the kept one. */
static void
call_begin(struct client_conn *conn)
{
	conn->sent = 0;
	conn->need = 1;
	conn->part.len = 0;
	if (conn->fd < 0 && !conn_open(conn))
		conn_break(conn, CLIENT_REFUSED);
	else if (conn->connected)
		call_write(conn);
}

void
client_send(struct client_conn *conn, struct client_call *call)
{
	if (conn->call || conn->gone)
		log_bug("a call on a connection that is not free");
	conn->call = call;
	conn->resent = false;
	conn->begun_us = client_now_us();
	if (!call->intended_us)
		call->intended_us = conn->begun_us;
	busy_add(conn);
	call_begin(conn);
}

/* The connection has ended while a call was under way. */
static void
call_lost(struct client_conn *conn)
{
	bool again = conn->used && conn->part.len == 0 && !conn->resent &&
	    conn->call->resend;

	if (!again) {
		conn_fail(conn, CLIENT_CLOSED);
		return;
	}
	conn_shut(conn);
	conn->client->resent++;
	conn->resent = true;
	call_begin(conn);
}

/* Looks at what is there of the answer. */
static void
call_read(struct client_conn *conn, char *bytes, size_t len, bool ended)
{
	struct client_call *call = conn->call;
	struct reply reply;
	enum reply_progress progress;

	progress = reply_read(&reply, bytes, len, ended, &conn->need);
	if (progress == REPLY_MORE) {
		if (conn->part.len == 0)
			buf_add(&conn->part, bytes, len);
		return;
	}
	if (progress == REPLY_BAD || reply.size < len) {
		conn_fail(conn, ended ? CLIENT_CLOSED : CLIENT_GARBLED);
		return;
	}
	call->status = reply.status;
	call->head = reply.head;
	call->body = reply.body;
	conn->used = true;
	conn->part.len = 0;
	if (reply.closes || ended)
		conn_shut(conn);
	call_done(conn, CLIENT_OK);
}

static void
conn_read(struct client_conn *conn)
{
	struct client *client = conn->client;
	ssize_t n = recv(conn->fd, client->space, SPACE, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (!conn->call) {
		/* An idle one: closed, or bytes that nobody asked for. */
		conn_shut(conn);
		return;
	}
	if (n > 0 && conn->part.len == 0) {
		call_read(conn, client->space, (size_t)n, false);
		return;
	}
	if (n > 0) {
		buf_add(&conn->part, client->space, (size_t)n);
		if (conn->part.len >= conn->need)
			call_read(conn, conn->part.data, conn->part.len, false);
		return;
	}
	if (n == 0 && conn->part.len)
		call_read(conn, conn->part.data, conn->part.len, true);
	else
		call_lost(conn);
}

void
conn_ready(struct client_conn *conn, unsigned events)
{
	int error = 0;
	socklen_t n = sizeof(error);

	if (conn->gone || conn->fd < 0)
		return;
	if (!conn->connected) {
		(void)getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &n);
		if (error) {
			conn_fail(conn, CLIENT_REFUSED);
			return;
		}
		conn->connected = true;
		call_write(conn);
		return;
	}
	if (conn->call && (events & EPOLLOUT))
		call_write(conn);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		conn_read(conn);
}
