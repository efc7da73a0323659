/*
 * A load engine: HTTP/1.1 over many kept connections to one port of loopback,
 * by one thread with epoll. It costs one write and one read a call and no
 * memory that grows, because it shares its processors with what it measures.
 * Times are counted from the moment at which a call was meant to be made, not
 * from the one at which there was room to make it. One thread per client.
 */
#ifndef BENCH_CLIENT_H
#define BENCH_CLIENT_H

#include "alarm.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client;
struct client_conn;
struct client_pool;

struct client_options {
	int port; /* on 127.0.0.1 */
	int timeout_ms; /* of one call from its sending on; 0: 30 s */
	/*
	 * Own addresses to call from, 127.0.0.1 and on, in turn; 0: one. Each
	 * has some 28,000 ports.
	 */
	int sources;
};

/* Why there is no answer. */
enum client_failure {
	CLIENT_OK,
	CLIENT_REFUSED, /* no connection could be made */
	CLIENT_CLOSED, /* it ended before the answer did */
	CLIENT_TIMEOUT,
	CLIENT_GARBLED, /* what came is no HTTP */
};

/* One request and its answer; the caller's, untouched until done. */
struct client_call {
	/* Set by the caller. */
	struct str request; /* all its bytes: GET or POST; valid until done */
	int64_t intended_us; /* when it was meant to be made; 0: when sent */
	/*
	 * As browsers do: once more, on a new connection, when the server has
	 * closed a kept one before it saw the request.
	 */
	bool resend;
	/* Never called from within client_send; may send this or other calls. */
	void (*done)(struct client_call *call);
	void *owner; /* the caller's own */

	/* The answer. The texts are valid during done. */
	int status; /* 0: none, see failure */
	enum client_failure failure;
	struct str head;
	struct str body;
	int64_t latency_us; /* from intended_us to the last byte */

	struct client_call *next; /* the engine's */
};

/* Microseconds since some fixed moment; never goes back. */
int64_t
client_now_us(void);
/* In words, for a report. */
const char *
client_failure_text(enum client_failure failure);

/* Also raises the process's own limit of open files as far as it may. */
struct client *
client_open(const struct client_options *options);
/* All its connections and pools have been freed before. */
void
client_close(struct client *client);
/* Works until client_stop, or until no call is under way and no alarm set. */
void
client_run(struct client *client);
/* Calls under way stay so; client_run may be called again. */
void
client_stop(struct client *client);
/* Fires when alarm->due_us has come, at most about a millisecond later. */
void
client_at(struct client *client, struct alarm *alarm);
void
client_cancel(struct client *client, struct alarm *alarm);
/* Connections that have been opened so far; calls that were sent again. */
uint64_t
client_opened(const struct client *client);
uint64_t
client_resent(const struct client *client);

/* A connection of one's own, opened with its first call and whenever needed. */
struct client_conn *
client_conn_new(struct client *client);
/* Its next calls go to another port; between two calls. */
void
client_conn_port(struct client_conn *conn, int port);
/* Closes it; a call under way is forgotten, its done is not called. */
void
client_conn_free(struct client_conn *conn);
/* Only when the call before is done. */
void
client_send(struct client_conn *conn, struct client_call *call);

/* n connections that any call may take; calls wait in turn for one. */
struct client_pool *
client_pool_new(struct client *client, size_t n);
/* Calls that wait or are under way are forgotten. */
void
client_pool_free(struct client_pool *pool);
void
client_put(struct client_pool *pool, struct client_call *call);

/* See reply.h. */
struct str
client_header(const struct client_call *call, const char *name);
struct str
client_cookie(const struct client_call *call, const char *name);

#endif
