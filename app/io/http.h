/*
 * Calls to other servers over HTTP, many at once. The only file that knows
 * libcurl's HTTP. One client keeps its connections open; it belongs to one
 * thread. Redirects are not followed; only http and https are spoken;
 * certificates are checked.
 */
#ifndef IO_HTTP_H
#define IO_HTTP_H

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longer answers are cut off and count as none. */
#define HTTP_ANSWER_MAX ((size_t)1024 * 1024)

struct http;
struct http_transfer; /* what io/http.c keeps for a call under way */

struct http_request {
	const char *method; /* "GET" or "POST"; not owned */
	struct buf url;
	struct buf headers; /* "Name: value" lines, each ended by '\n' */
	struct buf body;
	int timeout_ms; /* of the whole call */
};

struct http_answer {
	int status; /* 0: none came; error says why */
	struct buf body;
	struct buf should_retry; /* Stripe-Should-Retry */
	struct buf request_id; /* Request-Id */
	struct buf retry_after; /* Retry-After, as sent */
	char error[256];
};

/* A request and its answer. Zeroed is empty; in place. */
struct http_call {
	struct http_request request;
	struct http_answer answer;
	size_t slot; /* the caller's, to know it by */
	struct http_transfer *transfer; /* NULL unless under way */
	struct http_call *next; /* the client's */
};

struct http *
http_open(const char *user_agent);
/* Calls under way are given up. */
void
http_close(struct http *http);

/* Empties both sides for another request; keeps the memory. */
void
http_call_reset(struct http_call *call);
void
http_call_release(struct http_call *call);
/* Adds "name: value"; a value with a line end is a bug. */
void
http_header(struct http_call *call, const char *name, struct str value);

/* Sends and waits for the end. True when an answer came, whatever it says. */
bool
http_do(struct http *http, struct http_call *call);
/* Sends; the call stays in place until http_next or http_cancel gives it. */
void
http_start(struct http *http, struct http_call *call);
/* One that has ended, with answer or without; NULL when none has. */
struct http_call *
http_next(struct http *http);
/* Gives a call up; its answer is void. One that is not under way is left. */
void
http_cancel(struct http *http, struct http_call *call);
/*
 * Moves the calls on; returns when one has ended, when fd (-1: none) can be
 * read, or after ms. A signal ends it early, too.
 */
void
http_wait(struct http *http, int fd, int ms);

#endif
