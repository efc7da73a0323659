/*
 * The inside of the load engine, shared by client.c (the loop), conn.c
 * (connections and their calls) and pool.c.
 */
#ifndef BENCH_CONN_H
#define BENCH_CONN_H

#include "base/buf.h"
#include "client.h"

#include <netinet/in.h>
#include <sys/epoll.h>

/* Most answers are below 1 KiB; what is larger is gathered. */
#define SPACE ((size_t)64 * 1024)
#define EVENTS 256

struct client_conn {
	struct client *client;
	struct client_pool *pool; /* NULL: somebody's own */
	struct client_call *call; /* under way, or NULL */
	int fd; /* -1: not open */
	in_port_t port; /* in network order */
	unsigned events; /* what epoll waits for */
	bool connected;
	bool used; /* has answered since it was opened */
	bool resent;
	bool gone; /* freed; its memory waits for the end of the round */
	enum client_failure broken; /* to be told by the loop */
	size_t sent; /* bytes of the request */
	size_t need; /* bytes of the answer before it is worth to look */
	struct buf part; /* of an answer */
	int64_t begun_us;
	/* Those with a call under way, by begun_us. */
	struct client_conn *older;
	struct client_conn *newer;
	struct client_conn *next; /* among the broken, gone or idle ones */
};

struct client_pool {
	struct client *client;
	struct client_conn **conns;
	size_t n;
	struct client_conn *idle;
	struct client_call *first; /* that wait */
	struct client_call *last;
};

struct client {
	int epoll;
	struct sockaddr_in address;
	int64_t timeout_us;
	in_addr_t sources;
	uint64_t opened;
	uint64_t resent;
	bool stopped;
	struct alarms alarms;
	struct client_conn *oldest;
	struct client_conn *newest;
	struct client_conn *broken;
	struct client_conn *gone;
	struct epoll_event events[EVENTS];
	char space[SPACE];
};

/* Zeroed; out of memory is a bug. */
void *
client_memory(size_t n);
/* epoll has seen something. */
void
conn_ready(struct client_conn *conn, unsigned events);
/* Ends the call under way without an answer. */
void
conn_fail(struct client_conn *conn, enum client_failure failure);
/* Frees the memory of one that is gone. */
void
conn_reap(struct client_conn *conn);
/* A connection of a pool has nothing to do. */
void
client_idle(struct client_conn *conn);

#endif
