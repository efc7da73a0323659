/*
 * Calls to other servers. One libcurl handle is reused, so that its
 * connections are; every option is set anew for each call.
 */
#include "io/http.h"
#include "base/log.h"

#include <curl/curl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CONNECT_MS 5000L
/* No header that we read is longer; a longer one is cut. */
#define HEADER_VALUE_MAX 128

struct http {
	CURL *easy;
	struct buf agent;
	char error[CURL_ERROR_SIZE];
};

struct http *
http_open(const char *user_agent)
{
	static bool started;
	struct http *http;

	if (!started && curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		log_bug("cannot start libcurl");
	started = true;
	http = calloc(1, sizeof(*http));
	if (!http)
		log_bug("out of memory");
	http->easy = curl_easy_init();
	if (!http->easy)
		log_bug("cannot make a libcurl handle");
	buf_str(&http->agent, user_agent);
	return http;
}

void
http_close(struct http *http)
{
	if (!http)
		return;
	curl_easy_cleanup(http->easy);
	buf_release(&http->agent);
	free(http);
}

void
http_answer_init(struct http_answer *answer)
{
	*answer = (struct http_answer){0};
}

void
http_answer_release(struct http_answer *answer)
{
	buf_release(&answer->body);
	buf_release(&answer->should_retry);
	buf_release(&answer->request_id);
}

static size_t
on_body(const char *bytes, size_t size, size_t count, void *context)
{
	struct http_answer *answer = context;
	size_t n = size * count;

	/* Less than n makes libcurl give up. */
	if (n > HTTP_ANSWER_MAX - answer->body.len)
		return 0;
	buf_add(&answer->body, bytes, n);
	return n;
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

static size_t
on_header(const char *bytes, size_t size, size_t count, void *context)
{
	struct http_answer *answer = context;
	struct str line = {bytes, size * count};

	/* A status line: what an interim answer (1xx) said is void. */
	if (line.len >= 5 && memcmp(line.text, "HTTP/", 5) == 0) {
		buf_reset(&answer->should_retry);
		buf_reset(&answer->request_id);
	}
	header_take(&answer->should_retry, line, "Stripe-Should-Retry");
	header_take(&answer->request_id, line, "Request-Id");
	return line.len;
}

static struct curl_slist *
headers_make(const char *const *headers)
{
	/* Without this, libcurl may wait for "100 Continue". */
	struct curl_slist *list = curl_slist_append(NULL, "Expect:");
	struct curl_slist *longer = list;

	for (; headers && *headers && longer; headers++)
		longer = curl_slist_append(list, *headers);
	if (!longer)
		log_bug("out of memory");
	return list;
}

#define SET(option, value) \
	(ok = ok && curl_easy_setopt(easy, option, value) == CURLE_OK)

static void
call_prepare(struct http *http, const struct http_call *call,
    struct curl_slist *headers, struct http_answer *answer)
{
	CURL *easy = http->easy;
	bool ok = true;

	curl_easy_reset(easy);
	http->error[0] = '\0';
	SET(CURLOPT_URL, call->url);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_SSL_VERIFYPEER, 1L);
	SET(CURLOPT_SSL_VERIFYHOST, 2L);
	/* No environment variable may put a stranger in between. */
	SET(CURLOPT_PROXY, "");
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	SET(CURLOPT_TIMEOUT_MS, (long)call->timeout_ms);
	SET(CURLOPT_USERAGENT, buf_text(&http->agent));
	SET(CURLOPT_ERRORBUFFER, http->error);
	SET(CURLOPT_HTTPHEADER, headers);
	SET(CURLOPT_HEADERFUNCTION, on_header);
	SET(CURLOPT_HEADERDATA, answer);
	SET(CURLOPT_WRITEFUNCTION, on_body);
	SET(CURLOPT_WRITEDATA, answer);
	if (strcmp(call->method, "POST") == 0) {
		SET(CURLOPT_POST, 1L);
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body.len);
		SET(CURLOPT_POSTFIELDS, call->body.len ? call->body.text : "");
	} else if (strcmp(call->method, "GET") == 0) {
		SET(CURLOPT_HTTPGET, 1L);
	} else {
		ok = false;
	}
	if (!ok)
		log_bug("cannot set up a %s call", call->method);
}

/* Why no answer came, in one line. */
static void
error_fill(struct http_answer *answer, const struct http *http, CURLcode code)
{
	const char *why = http->error;

	if (code == CURLE_WRITE_ERROR)
		why = "the answer is too long";
	else if (!*why)
		why = curl_easy_strerror(code);
	snprintf(answer->error, sizeof(answer->error), "%s", why);
	for (char *c = answer->error; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = ' ';
	}
}

bool
http_call(struct http *http, const struct http_call *call,
    struct http_answer *answer)
{
	struct curl_slist *headers = headers_make(call->headers);
	CURLcode code;
	long status = 0;

	answer->status = 0;
	answer->error[0] = '\0';
	buf_reset(&answer->body);
	buf_reset(&answer->should_retry);
	buf_reset(&answer->request_id);
	call_prepare(http, call, headers, answer);
	code = curl_easy_perform(http->easy);
	if (code == CURLE_OK)
		code = curl_easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE,
		    &status);
	curl_slist_free_all(headers);
	if (code == CURLE_OK && status > 0) {
		answer->status = (int)status;
		return true;
	}
	error_fill(answer, http, code);
	buf_reset(&answer->body);
	return false;
}
