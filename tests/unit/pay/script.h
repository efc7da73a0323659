/*
 * A provider that answers by script: defines http.h's functions in place of
 * the real ones, and keeps what was asked.
 */
#ifndef UNIT_PAY_SCRIPT_H
#define UNIT_PAY_SCRIPT_H

#include "io/http.h"
#include "pay/fixture.h"

#define SCRIPT_MAX 24

struct script_answer {
	int status; /* 0: none comes */
	const char *body;
	const char *should_retry; /* or NULL */
};

struct script_request {
	char method[8];
	char url[256];
	char headers[1024]; /* a line each */
	char body[2048];
	int timeout_ms;
};

static struct script_answer script_answers[SCRIPT_MAX];
static struct script_request script_asked[SCRIPT_MAX];
static size_t script_count; /* of answers */
static size_t script_next; /* also how often it was asked */

static inline void
script_clear(void)
{
	memset(script_asked, 0, sizeof(script_asked));
	script_count = 0;
	script_next = 0;
}

static inline void
script_add(int status, const char *body, const char *should_retry)
{
	assert_true(script_count < SCRIPT_MAX);
	script_answers[script_count++] =
	    (struct script_answer){status, body, should_retry};
}

static inline bool
script_header_is(size_t request, const char *line)
{
	char wanted[256];

	snprintf(wanted, sizeof(wanted), "\n%s\n", line);
	return strstr(script_asked[request].headers, wanted) != NULL;
}

struct http *
http_open(const char *user_agent)
{
	static char token;

	return (struct http *)(void *)&token;
}

void
http_close(struct http *http)
{
}

void
http_answer_init(struct http_answer *answer)
{
	memset(answer, 0, sizeof(*answer));
}

void
http_answer_release(struct http_answer *answer)
{
	buf_release(&answer->body);
	buf_release(&answer->should_retry);
	buf_release(&answer->request_id);
}

bool
http_call(struct http *http, const struct http_call *call,
    struct http_answer *answer)
{
	struct script_answer *next = &script_answers[script_next];
	struct script_request *asked = &script_asked[script_next];
	size_t len = 1;

	assert_true(script_next < script_count);
	script_next++;
	snprintf(asked->method, sizeof(asked->method), "%s", call->method);
	snprintf(asked->url, sizeof(asked->url), "%s", call->url);
	snprintf(asked->headers, sizeof(asked->headers), "\n");
	for (const char *const *h = call->headers; *h; h++)
		len += (size_t)snprintf(asked->headers + len,
		    sizeof(asked->headers) - len, "%s\n", *h);
	snprintf(asked->body, sizeof(asked->body), "%.*s", (int)call->body.len,
	    call->body.len ? call->body.text : "");
	asked->timeout_ms = call->timeout_ms;
	buf_reset(&answer->body);
	buf_reset(&answer->should_retry);
	buf_reset(&answer->request_id);
	answer->status = next->status;
	snprintf(answer->error, sizeof(answer->error), "%s",
	    next->status ? "" : "connection reset");
	if (next->status) {
		buf_str(&answer->body, next->body);
		buf_str(&answer->request_id, "req_1");
	}
	if (next->should_retry)
		buf_str(&answer->should_retry, next->should_retry);
	return next->status != 0;
}

#endif
