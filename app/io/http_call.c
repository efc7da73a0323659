/* A request and its answer before and after they are on their way. */
#include "io/http_call.h"
#include "base/log.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* No header that we read is longer; a longer one is cut. */
#define HEADER_VALUE_MAX 128

void
http_answer_reset(struct http_answer *answer)
{
	answer->status = 0;
	answer->error[0] = '\0';
	buf_reset(&answer->body);
	buf_reset(&answer->should_retry);
	buf_reset(&answer->request_id);
	buf_reset(&answer->retry_after);
}

void
http_call_reset(struct http_call *call)
{
	struct http_request *request = &call->request;

	if (call->transfer)
		log_bug("a call under way is not to be written anew");
	request->method = NULL;
	request->timeout_ms = 0;
	buf_reset(&request->url);
	buf_reset(&request->headers);
	buf_reset(&request->body);
	http_answer_reset(&call->answer);
}

void
http_call_release(struct http_call *call)
{
	if (call->transfer)
		log_bug("a call under way is not to be released");
	buf_release(&call->request.url);
	buf_release(&call->request.headers);
	buf_release(&call->request.body);
	buf_release(&call->answer.body);
	buf_release(&call->answer.should_retry);
	buf_release(&call->answer.request_id);
	buf_release(&call->answer.retry_after);
}

void
http_header(struct http_call *call, const char *name, struct str value)
{
	struct buf *headers = &call->request.headers;

	for (size_t i = 0; i < value.len; i++) {
		/* A NUL, too, would end it early. */
		if (strchr("\r\n", value.text[i]))
			log_bug("header %s has a line end", name);
	}
	buf_printf(headers, "%s: ", name);
	buf_add(headers, value.text, value.len);
	buf_char(headers, '\n');
}

/* Takes the value when line is that header; blanks around it go. */
static void
header_take(struct buf *out, struct str line, const char *name)
{
	size_t len = strlen(name);

	if (line.len <= len || line.text[len] != ':' ||
	    strncasecmp(line.text, name, len) != 0)
		return;
	line.text += len + 1;
	line.len -= len + 1;
	while (line.len && strchr(" \t", *line.text)) {
		line.text++;
		line.len--;
	}
	while (line.len && strchr(" \t\r\n", line.text[line.len - 1]))
		line.len--;
	if (line.len > HEADER_VALUE_MAX)
		line.len = HEADER_VALUE_MAX;
	buf_reset(out);
	buf_add(out, line.text, line.len);
}

void
http_answer_head(struct http_answer *answer, struct str line)
{
	/* A status line: what an interim answer (1xx) said is void. */
	if (line.len >= 5 && memcmp(line.text, "HTTP/", 5) == 0) {
		buf_reset(&answer->should_retry);
		buf_reset(&answer->request_id);
		buf_reset(&answer->retry_after);
	}
	header_take(&answer->should_retry, line, "Stripe-Should-Retry");
	header_take(&answer->request_id, line, "Request-Id");
	header_take(&answer->retry_after, line, "Retry-After");
}

void
http_answer_fail(struct http_answer *answer, const char *why)
{
	http_answer_reset(answer);
	snprintf(answer->error, sizeof(answer->error), "%s", why);
	for (char *c = answer->error; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = ' ';
	}
}
