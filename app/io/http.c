/*
 * Calls to other servers, with libcurl's multi interface. A transfer is one
 * libcurl handle; it is used again, and so are the connections, but every
 * option is set anew for each call. Invariant: a call with a transfer is in
 * exactly one of the client's two lists, under way or ended.
 */
#include "io/http.h"
#include "base/clock.h"
#include "base/log.h"
#include "io/http_call.h"

#include <curl/curl.h>

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CONNECT_MS 5000L
/* Of one wait, where nobody says how long. */
#define WAIT_MS 1000

struct http_transfer {
	CURL *easy;
	struct curl_slist *headers;
	struct http_call *call; /* NULL when idle */
	bool ended;
	char error[CURL_ERROR_SIZE];
	struct http_transfer *next; /* idle ones */
};

struct http {
	CURLM *multi;
	struct buf agent;
	struct http_call *under_way;
	struct http_call *ended; /* the first that did comes first */
	struct http_transfer *idle;
	long transfers; /* of all, idle or not */
};

static void
curl_begin(void)
{
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		log_bug("cannot start libcurl");
}

struct http *
http_open(const char *user_agent)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct http *http = calloc(1, sizeof(*http));

	(void)pthread_once(&once, curl_begin);
	if (!http)
		log_bug("out of memory");
	http->multi = curl_multi_init();
	if (!http->multi)
		log_bug("cannot make a libcurl handle");
	buf_str(&http->agent, user_agent);
	return http;
}

void
http_close(struct http *http)
{
	struct http_transfer *transfer;

	if (!http)
		return;
	while (http->under_way)
		http_cancel(http, http->under_way);
	while (http->ended)
		http_cancel(http, http->ended);
	while ((transfer = http->idle) != NULL) {
		http->idle = transfer->next;
		curl_easy_cleanup(transfer->easy);
		free(transfer);
	}
	(void)curl_multi_cleanup(http->multi);
	buf_release(&http->agent);
	free(http);
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

static size_t
on_header(const char *bytes, size_t size, size_t count, void *context)
{
	struct str line = {bytes, size * count};

	http_answer_head(context, line);
	return line.len;
}

static struct curl_slist *
headers_make(const struct buf *headers)
{
	/* Without this, libcurl may wait for "100 Continue". */
	struct curl_slist *list = curl_slist_append(NULL, "Expect:");
	struct curl_slist *longer = list;
	const char *text = buf_text(headers);
	struct buf line = {0};

	while (longer && *text) {
		size_t len = strcspn(text, "\n");

		buf_reset(&line);
		buf_add(&line, text, len);
		longer = curl_slist_append(list, buf_text(&line));
		text += len + (text[len] == '\n');
	}
	if (!longer)
		log_bug("out of memory");
	buf_release(&line);
	return list;
}

#define SET(option, value) \
	(ok = ok && curl_easy_setopt(easy, option, value) == CURLE_OK)

/* What every call has, and what keeps it safe. */
static bool
easy_guard(CURL *easy)
{
	bool ok = true;

	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_SSL_VERIFYPEER, 1L);
	SET(CURLOPT_SSL_VERIFYHOST, 2L);
	/* No environment variable may put a stranger in between. */
	SET(CURLOPT_PROXY, "");
	SET(CURLOPT_NOSIGNAL, 1L);
	/* A connection each: one that breaks takes no other call with it. */
	SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	SET(CURLOPT_HEADERFUNCTION, on_header);
	SET(CURLOPT_WRITEFUNCTION, on_body);
	return ok;
}

static void
transfer_prepare(struct http *http, struct http_transfer *transfer)
{
	struct http_call *call = transfer->call;
	const struct http_request *request = &call->request;
	CURL *easy = transfer->easy;
	bool ok;

	curl_easy_reset(easy);
	transfer->error[0] = '\0';
	ok = easy_guard(easy);
	SET(CURLOPT_PRIVATE, transfer);
	SET(CURLOPT_URL, buf_text(&request->url));
	SET(CURLOPT_TIMEOUT_MS, (long)request->timeout_ms);
	SET(CURLOPT_USERAGENT, buf_text(&http->agent));
	SET(CURLOPT_ERRORBUFFER, transfer->error);
	SET(CURLOPT_HTTPHEADER, transfer->headers);
	SET(CURLOPT_HEADERDATA, &call->answer);
	SET(CURLOPT_WRITEDATA, &call->answer);
	if (request->method && strcmp(request->method, "POST") == 0) {
		SET(CURLOPT_POST, 1L);
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.len);
		SET(CURLOPT_POSTFIELDS, buf_text(&request->body));
	} else if (request->method && strcmp(request->method, "GET") == 0) {
		SET(CURLOPT_HTTPGET, 1L);
	} else {
		ok = false;
	}
	if (!ok)
		log_bug("cannot set up a %s call",
		    request->method ? request->method : "nameless");
}

/* Connections are kept for as many calls as there have been at once. */
static struct http_transfer *
transfer_get(struct http *http)
{
	struct http_transfer *transfer = http->idle;

	if (transfer) {
		http->idle = transfer->next;
		return transfer;
	}
	transfer = calloc(1, sizeof(*transfer));
	if (!transfer)
		log_bug("out of memory");
	transfer->easy = curl_easy_init();
	http->transfers++;
	if (!transfer->easy ||
	    curl_multi_setopt(http->multi, CURLMOPT_MAXCONNECTS,
		http->transfers) != CURLM_OK)
		log_bug("cannot make a libcurl handle");
	return transfer;
}

static void
list_push(struct http_call **list, struct http_call *call)
{
	while (*list)
		list = &(*list)->next;
	call->next = NULL;
	*list = call;
}

static void
list_remove(struct http_call **list, const struct http_call *call)
{
	while (*list && *list != call)
		list = &(*list)->next;
	if (*list)
		*list = call->next;
}

/* Gives an ended call back to its caller. */
static void
call_give(struct http *http, struct http_call *call)
{
	struct http_transfer *transfer = call->transfer;

	list_remove(&http->ended, call);
	curl_slist_free_all(transfer->headers);
	transfer->headers = NULL;
	transfer->call = NULL;
	transfer->next = http->idle;
	http->idle = transfer;
	call->transfer = NULL;
	call->next = NULL;
}

static void
call_end(struct http *http, struct http_call *call)
{
	(void)curl_multi_remove_handle(http->multi, call->transfer->easy);
	call->transfer->ended = true;
	list_remove(&http->under_way, call);
	list_push(&http->ended, call);
}

/* Whether an answer came; if not, why. */
static void
call_judge(struct http_call *call, CURLcode code)
{
	struct http_transfer *transfer = call->transfer;
	const char *why = transfer->error;
	long status = 0;

	if (code == CURLE_OK)
		code = curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE,
		    &status);
	if (code == CURLE_OK && status > 0) {
		call->answer.status = (int)status;
		return;
	}
	if (code == CURLE_WRITE_ERROR)
		why = "the answer is too long";
	else if (!*why)
		why = curl_easy_strerror(code);
	http_answer_fail(&call->answer, why);
}

/* Moves all calls on without waiting, and notes those that have ended. */
static void
http_move(struct http *http)
{
	const CURLMsg *msg;
	int count;

	if (curl_multi_perform(http->multi, &count) != CURLM_OK)
		log_bug("cannot move the calls on");
	while ((msg = curl_multi_info_read(http->multi, &count)) != NULL) {
		char *private = NULL;
		struct http_transfer *transfer;

		if (msg->msg != CURLMSG_DONE)
			continue;
		(void)curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE,
		    &private);
		transfer = (struct http_transfer *)(void *)private;
		call_judge(transfer->call, msg->data.result);
		call_end(http, transfer->call);
	}
}

/* Waits for the calls, at most ms. False: for fd, or a signal, came. */
static bool
http_poll(struct http *http, int fd, int64_t ms)
{
	struct curl_waitfd extra = {.fd = fd, .events = CURL_WAIT_POLLIN};
	int64_t began = clock_monotonic_ms();
	long own = -1;
	int count = 0;

	(void)curl_multi_timeout(http->multi, &own);
	if (own >= 0 && own < ms)
		ms = own;
	if (ms > INT_MAX)
		ms = INT_MAX;
	if (curl_multi_poll(http->multi, &extra, fd >= 0, (int)ms, &count) !=
	    CURLM_OK)
		log_bug("cannot wait for the calls");
	if (extra.revents)
		return false;
	/* Nothing came, and yet the time is not over: a signal. */
	return count > 0 || clock_monotonic_ms() - began >= ms;
}

void
http_start(struct http *http, struct http_call *call)
{
	struct http_transfer *transfer = transfer_get(http);

	if (call->transfer)
		log_bug("the call is under way already");
	http_answer_reset(&call->answer);
	transfer->call = call;
	transfer->ended = false;
	transfer->headers = headers_make(&call->request.headers);
	transfer_prepare(http, transfer);
	call->transfer = transfer;
	list_push(&http->under_way, call);
	if (curl_multi_add_handle(http->multi, transfer->easy) != CURLM_OK)
		log_bug("cannot start a call");
}

struct http_call *
http_next(struct http *http)
{
	struct http_call *call = http->ended;

	if (call)
		call_give(http, call);
	return call;
}

void
http_cancel(struct http *http, struct http_call *call)
{
	if (!call->transfer)
		return;
	if (!call->transfer->ended)
		call_end(http, call);
	call_give(http, call);
	http_answer_reset(&call->answer);
}

void
http_wait(struct http *http, int fd, int ms)
{
	int64_t end = clock_monotonic_ms() + ms;
	int64_t left = ms;

	for (;;) {
		http_move(http);
		if (http->ended || left <= 0 || !http_poll(http, fd, left))
			return;
		left = end - clock_monotonic_ms();
	}
}

bool
http_do(struct http *http, struct http_call *call)
{
	http_start(http, call);
	http_move(http);
	while (!call->transfer->ended) {
		(void)http_poll(http, -1, WAIT_MS);
		http_move(http);
	}
	call_give(http, call);
	return call->answer.status != 0;
}
