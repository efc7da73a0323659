/*
 * A provider that answers by script: takes the requests of an adapter's steps
 * and keeps them, gives one answer after the other. What holds for every call
 * is asserted here.
 */
#ifndef UNIT_PAY_SCRIPT_H
#define UNIT_PAY_SCRIPT_H

#include "pay/fixture.h"
#include "pay/provider.h"

#define SCRIPT_MAX 24

struct script_answer {
	int status; /* 0: none comes */
	const char *body;
	const char *should_retry; /* or NULL */
};

struct script_request {
	char method[8];
	char url[512];
	char headers[1024]; /* a line each */
	char body[2048];
	int timeout_ms;
	enum endpoint endpoint;
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

static inline void
script_keep(const struct work *work)
{
	const struct http_request *request = &work->http.request;
	struct script_request *asked = &script_asked[script_next];

	assert_true(script_next < script_count);
	assert_true(request->url.len < sizeof(asked->url));
	assert_true(request->headers.len + 2 < sizeof(asked->headers));
	assert_true(request->body.len < sizeof(asked->body));
	snprintf(asked->method, sizeof(asked->method), "%s", request->method);
	snprintf(asked->url, sizeof(asked->url), "%s", buf_text(&request->url));
	snprintf(asked->headers, sizeof(asked->headers), "\n%s",
	    buf_text(&request->headers));
	snprintf(asked->body, sizeof(asked->body), "%s",
	    buf_text(&request->body));
	asked->timeout_ms = request->timeout_ms;
	asked->endpoint = work->endpoint;
	/* The answer before is not read a second time. */
	assert_int_equal(work->http.answer.status, 0);
	assert_int_equal(work->http.answer.body.len, 0);
}

static inline void
script_give(struct http_answer *answer)
{
	const struct script_answer *next = &script_answers[script_next++];

	answer->status = next->status;
	snprintf(answer->error, sizeof(answer->error), "%s",
	    next->status ? "" : "connection reset");
	if (next->status) {
		buf_str(&answer->body, next->body);
		buf_str(&answer->request_id, "req_1");
	}
	if (next->should_retry)
		buf_str(&answer->should_retry, next->should_retry);
}

/* An operator reads the error, in a log and in a mail. */
static inline void
script_check_error(const struct work *work)
{
	static const char *const secrets[] = {"sk_test", "whsec", "://",
	    "Bearer", "\n", "secret words"};
	const char *error = buf_text(&work->outcome.error);
	bool failed =
	    work->result == CALL_RETRY || work->result == CALL_REFUSED;

	assert_true(failed == (work->outcome.error.len > 0));
	assert_true(work->outcome.error.len < 500);
	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
		if (strstr(error, secrets[i]))
			fail_msg("%s is in: %s", secrets[i], error);
	}
}

/* Steps until the call is over. */
static inline enum call_result
script_run(struct work *work)
{
	while (work->provider->step(work)) {
		script_keep(work);
		script_give(&work->http.answer);
	}
	script_check_error(work);
	if (work->result != CALL_DONE && work->result != CALL_COMPLETE) {
		assert_int_equal(work->outcome.body.len, 0);
		assert_null(work->outcome.reader);
		assert_int_equal(work->outcome.url.len, 0);
	}
	return work->result;
}

#endif
