/*
 * Calls to other servers over HTTP. The only file that knows libcurl. One
 * client keeps its connections open; it belongs to one thread. Redirects are
 * not followed; only http and https are spoken; certificates are checked.
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

struct http_call {
	const char *method; /* "GET" or "POST" */
	const char *url;
	const char *const *headers; /* "Name: value", up to NULL; may be NULL */
	struct str body;
	int timeout_ms;
};

struct http_answer {
	int status; /* 0: none came; error says why */
	struct buf body;
	struct buf should_retry; /* Stripe-Should-Retry */
	struct buf request_id; /* Request-Id */
	char error[256];
};

struct http *
http_open(const char *user_agent);
void
http_close(struct http *http);
void
http_answer_init(struct http_answer *answer);
void
http_answer_release(struct http_answer *answer);
/* True when an answer came, whatever its status. */
bool
http_call(struct http *http, const struct http_call *call,
    struct http_answer *answer);

#endif
