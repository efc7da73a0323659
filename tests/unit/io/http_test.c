/* io/http: calls to a server of one answer on a loopback port. */
#include "io/http.h"

#include "http_server.h"

static struct http_call asked;

static int
teardown(void **state)
{
	http_call_release(&asked);
	asked = (struct http_call){0};
	return 0;
}

/* The same call as before, if any, to this server. */
static bool
ask(struct http *http, const struct server *server, const char *method,
    const char *body)
{
	http_call_reset(&asked);
	asked.request.method = method;
	asked.request.timeout_ms = 5000;
	buf_str(&asked.request.url, server->url);
	buf_str(&asked.request.body, body);
	return http_do(http, &asked);
}

static void
a_post_says_what_it_was_given(void **state)
{
	struct http *http = http_open("lastpair-test");
	struct server server;

	server_start(&server,
	    "HTTP/1.1 402 Payment Required\r\nreQUEST-id: \t req_9 \r\n"
	    "STRIPE-should-Retry: false\r\nRetry-after: 7\r\n"
	    "Content-Length: 5\r\n\r\nhello",
	    NULL);
	server_run(&server);
	http_header(&asked, "Authorization", str_of("Bearer x"));
	http_header(&asked, "Idempotency-Key", str_of("k"));
	asked.request.method = "POST";
	asked.request.timeout_ms = 5000;
	buf_str(&asked.request.url, server.url);
	buf_str(&asked.request.body, "a=1&b=2");
	assert_true(http_do(http, &asked));
	assert_null(asked.transfer);
	assert_int_equal(asked.answer.status, 402);
	assert_string_equal(asked.answer.body.data, "hello");
	assert_string_equal(asked.answer.request_id.data, "req_9");
	assert_string_equal(asked.answer.should_retry.data, "false");
	assert_string_equal(asked.answer.retry_after.data, "7");
	http_close(http);
	server_stop(&server);
	assert_memory_equal(server.asked[0], "POST /v1/x HTTP/1.1\r\n", 21);
	assert_non_null(
	    strstr(server.asked[0], "\r\nAuthorization: Bearer x\r\n"));
	assert_non_null(strstr(server.asked[0], "\r\nIdempotency-Key: k\r\n"));
	assert_non_null(
	    strstr(server.asked[0], "\r\nUser-Agent: lastpair-test\r\n"));
	assert_non_null(strstr(server.asked[0], "\r\nContent-Length: 7\r\n"));
	assert_null(strstr(server.asked[0], "Expect"));
	assert_non_null(strstr(server.asked[0], "\r\n\r\na=1&b=2"));
}

/* An empty body has a length too; a big one does not wait for a nod. */
static void
posts_of_any_size_go_out(void **state)
{
	static char big[4001];
	struct http *http = http_open("lastpair-test");
	struct server server;

	memset(big, 'y', sizeof(big) - 1);
	server_start(&server, OK_HEAD "Content-Length: 0\r\n\r\n",
	    OK_HEAD "Content-Length: 2\r\n\r\nok");
	server_run(&server);
	assert_true(ask(http, &server, "POST", ""));
	assert_int_equal(asked.answer.status, 200);
	assert_string_equal(buf_text(&asked.answer.body), "");
	assert_true(ask(http, &server, "POST", big));
	assert_string_equal(buf_text(&asked.answer.body), "ok");
	http_close(http);
	server_stop(&server);
	/* Both on one connection. */
	assert_int_equal(server.requests, 2);
	assert_non_null(strstr(server.asked[0], "\r\nContent-Length: 0\r\n"));
	assert_non_null(
	    strstr(server.asked[1], "\r\nContent-Length: 4000\r\n"));
	assert_null(strstr(server.asked[1], "Expect"));
}

static void
an_answer_leaves_nothing_to_the_next(void **state)
{
	struct http *http = http_open("lastpair-test");
	struct server server;

	server_start(&server,
	    OK_HEAD "Request-Id: req_1\r\nStripe-Should-Retry: true\r\n"
		    "Retry-After: 1\r\nContent-Length: 5\r\n\r\nfirst",
	    "HTTP/1.1 102 Processing\r\nRequest-Id: no\r\nRetry-After: 9\r\n"
	    "\r\nHTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n");
	server_run(&server);
	assert_true(ask(http, &server, "GET", ""));
	assert_string_equal(buf_text(&asked.answer.request_id), "req_1");
	/* Nor when the caller does not empty it. */
	assert_true(http_do(http, &asked));
	assert_int_equal(asked.answer.status, 503);
	assert_string_equal(buf_text(&asked.answer.body), "");
	assert_string_equal(buf_text(&asked.answer.request_id), "");
	assert_string_equal(buf_text(&asked.answer.should_retry), "");
	assert_string_equal(buf_text(&asked.answer.retry_after), "");
	http_close(http);
	server_stop(&server);
	assert_memory_equal(server.asked[0], "GET /v1/x HTTP/1.1\r\n", 20);
	assert_null(strstr(server.asked[0], "Content-Length"));
}

static void
a_request_leaves_nothing_to_the_next(void **state)
{
	struct http *http = http_open("lastpair-test");
	struct server server;

	server_start(&server, OK_HEAD "Content-Length: 0\r\n\r\n",
	    OK_HEAD "Content-Length: 0\r\n\r\n");
	server_run(&server);
	http_header(&asked, "Idempotency-Key", str_of("k"));
	asked.request.method = "POST";
	asked.request.timeout_ms = 5000;
	buf_str(&asked.request.url, server.url);
	buf_str(&asked.request.body, "a=1");
	assert_true(http_do(http, &asked));
	assert_true(ask(http, &server, "POST", ""));
	http_close(http);
	server_stop(&server);
	assert_non_null(strstr(server.asked[0], "Idempotency-Key"));
	assert_null(strstr(server.asked[1], "Idempotency-Key"));
	assert_null(strstr(server.asked[1], "a=1"));
}

static void
redirects_are_not_followed(void **state)
{
	struct http *http = http_open("lastpair-test");
	struct server server;

	server_start(&server,
	    "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\n"
	    "Content-Length: 0\r\n\r\n",
	    OK_HEAD "Content-Length: 0\r\n\r\n");
	server_run(&server);
	assert_true(ask(http, &server, "GET", ""));
	assert_int_equal(asked.answer.status, 302);
	http_close(http);
	server_stop(&server);
	assert_int_equal(server.requests, 1);
}

/* Expects no answer, and a word of why, without the address. */
static void
fails(const char *first, size_t filler, int timeout_ms, const char *why)
{
	struct http *http = http_open("lastpair-test");
	struct server server;

	server_start(&server, first, NULL);
	server.filler = filler;
	server_run(&server);
	http_call_reset(&asked);
	asked.request.method = "GET";
	asked.request.timeout_ms = timeout_ms;
	buf_str(&asked.request.url, server.url);
	assert_false(http_do(http, &asked));
	assert_int_equal(asked.answer.status, 0);
	assert_int_equal(asked.answer.body.len, 0);
	assert_true(strlen(asked.answer.error) > 0);
	if (!strstr(asked.answer.error, why))
		fail_msg("%s", asked.answer.error);
	assert_null(strstr(asked.answer.error, "/v1/x"));
	http_close(http);
	server_stop(&server);
}

static void
too_long_an_answer_is_none(void **state)
{
	fails(OK_HEAD "Content-Length: 1100000\r\n\r\n", 1100000, 5000,
	    "too long");
}

static void
a_cut_or_silent_answer_is_none(void **state)
{
	/* The server waits for us: half an answer, then nothing. */
	fails(OK_HEAD "Content-Length: 10\r\n\r\nhalf", 0, 200, "timed out");
	fails(NULL, 0, 200, "timed out");
	fails("not HTTP at all\r\n\r\n", 0, 2000, "HTTP/0.9");
}

static void
the_longest_answer_is_read_whole(void **state)
{
	struct http *http = http_open("lastpair-test");
	struct server server;

	server_start(&server, OK_HEAD "Content-Length: 1048000\r\n\r\n", NULL);
	server.filler = 1048000;
	server_run(&server);
	assert_true(ask(http, &server, "GET", ""));
	assert_int_equal(asked.answer.body.len, 1048000);
	http_close(http);
	server_stop(&server);
}

static void
who_is_not_there_or_not_http_gives_none(void **state)
{
	static const char *const urls[] = {"file:///etc/passwd", ""};
	struct http *http = http_open("lastpair-test");
	struct server server;

	server_start(&server, NULL, NULL);
	close(server.fd);
	/* Nor does a proxy in the environment stand in. */
	setenv("http_proxy", "http://127.0.0.1:1", 1);
	assert_false(ask(http, &server, "GET", ""));
	if (!strstr(asked.answer.error, "onnect"))
		fail_msg("%s", asked.answer.error);
	for (size_t i = 0; i < 2; i++) {
		http_call_reset(&asked);
		asked.request.method = "GET";
		buf_str(&asked.request.url, urls[i]);
		assert_false(http_do(http, &asked));
		assert_int_equal(asked.answer.body.len, 0);
	}
	unsetenv("http_proxy");
	http_close(http);
	http_close(NULL);
}

static void
a_proxy_of_the_environment_is_not_asked(void **state)
{
	struct http *http = http_open("lastpair-test");
	struct server server;

	setenv("http_proxy", "http://127.0.0.1:1", 1);
	server_start(&server, OK_HEAD "Content-Length: 0\r\n\r\n", NULL);
	server_run(&server);
	assert_true(ask(http, &server, "GET", ""));
	unsetenv("http_proxy");
	http_close(http);
	server_stop(&server);
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_post_says_what_it_was_given),
	    TEST(posts_of_any_size_go_out),
	    TEST(an_answer_leaves_nothing_to_the_next),
	    TEST(a_request_leaves_nothing_to_the_next),
	    TEST(redirects_are_not_followed),
	    TEST(too_long_an_answer_is_none),
	    TEST(a_cut_or_silent_answer_is_none),
	    TEST(the_longest_answer_is_read_whole),
	    TEST(who_is_not_there_or_not_http_gives_none),
	    TEST(a_proxy_of_the_environment_is_not_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
