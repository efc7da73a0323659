/* io/http: calls to a server of one answer on a loopback port. */
#include "io/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Accepts one connection and gives answers[i] to its i-th request. */
struct server {
	int fd;
	char url[64];
	pthread_t thread;
	const char *answers[4];
	size_t filler; /* bytes to send after the first answer */
	char asked[4][8192];
	size_t requests;
};

static size_t
content_length(const char *head)
{
	const char *at = strstr(head, "\r\nContent-Length:");

	return at ? strtoul(at + 17, NULL, 10) : 0;
}

/* Reads a request with its body; false at the end of the connection. */
static bool
request_read(int fd, char *out, size_t room)
{
	size_t len = 0;
	const char *end;

	for (;;) {
		ssize_t n = read(fd, out + len, room - 1 - len);

		if (n <= 0)
			return false;
		len += (size_t)n;
		out[len] = '\0';
		end = strstr(out, "\r\n\r\n");
		if (end && len >= (size_t)(end + 4 - out) + content_length(out))
			return true;
	}
}

static void *
server_main(void *context)
{
	struct server *server = context;
	int fd = accept(server->fd, NULL, NULL);
	size_t i = 0;

	while (i < 4 && server->answers[i] &&
	    request_read(fd, server->asked[i], sizeof(server->asked[i]))) {
		const char *answer = server->answers[i++];

		server->requests = i;
		if (send(fd, answer, strlen(answer), MSG_NOSIGNAL) < 0)
			break;
		for (size_t n = 0; i == 1 && n < server->filler; n += 1000) {
			char part[1000] = {'x'};

			if (send(fd, part, sizeof(part), MSG_NOSIGNAL) < 0)
				break;
		}
	}
	/* Stays silent until the other side goes. */
	while (i < 4 && !server->answers[i] &&
	    read(fd, server->asked[i], sizeof(server->asked[i])) > 0)
		continue;
	close(fd);
	return NULL;
}

static void
server_start(struct server *server, const char *first, const char *second)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t len = sizeof(address);

	memset(server, 0, sizeof(*server));
	server->answers[0] = first;
	server->answers[1] = second;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	server->fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_true(server->fd >= 0);
	assert_int_equal(bind(server->fd, (struct sockaddr *)(void *)&address,
			     sizeof(address)),
	    0);
	assert_int_equal(listen(server->fd, 4), 0);
	assert_int_equal(getsockname(server->fd,
			     (struct sockaddr *)(void *)&address, &len),
	    0);
	snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%d/v1/x",
	    ntohs(address.sin_port));
}

static void
server_run(struct server *server)
{
	assert_int_equal(pthread_create(&server->thread, NULL, server_main,
			     server),
	    0);
}

static void
server_stop(struct server *server)
{
	pthread_join(server->thread, NULL);
	close(server->fd);
}

static bool
call(struct http *http, const struct server *server, struct http_call *what,
    struct http_answer *answer)
{
	what->url = server->url;
	if (what->timeout_ms == 0)
		what->timeout_ms = 5000;
	return http_call(http, what, answer);
}

#define OK_HEAD "HTTP/1.1 200 OK\r\n"

static void
a_post_says_what_it_was_given(void **state)
{
	static const char *const headers[] = {"Authorization: Bearer x",
	    "Idempotency-Key: k", NULL};
	struct http_call what = {.method = "POST",
	    .headers = headers,
	    .body = str_of("a=1&b=2")};
	struct http *http = http_open("lastpair-test");
	struct http_answer answer;
	struct server server;

	server_start(&server,
	    "HTTP/1.1 402 Payment Required\r\nreQUEST-id: \t req_9 \r\n"
	    "STRIPE-should-Retry: false\r\nContent-Length: 5\r\n\r\nhello",
	    NULL);
	server_run(&server);
	http_answer_init(&answer);
	assert_true(call(http, &server, &what, &answer));
	assert_int_equal(answer.status, 402);
	assert_string_equal(answer.body.data, "hello");
	assert_string_equal(answer.request_id.data, "req_9");
	assert_string_equal(answer.should_retry.data, "false");
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
	http_answer_release(&answer);
}

/* An empty body has a length too; a big one does not wait for a nod. */
static void
posts_of_any_size_go_out(void **state)
{
	static char big[4000];
	struct http_call what = {.method = "POST"};
	struct http *http = http_open("lastpair-test");
	struct http_answer answer;
	struct server server;

	memset(big, 'y', sizeof(big));
	server_start(&server, OK_HEAD "Content-Length: 0\r\n\r\n",
	    OK_HEAD "Content-Length: 2\r\n\r\nok");
	server_run(&server);
	http_answer_init(&answer);
	assert_true(call(http, &server, &what, &answer));
	assert_int_equal(answer.status, 200);
	assert_string_equal(buf_text(&answer.body), "");
	what.body = (struct str){big, sizeof(big)};
	assert_true(call(http, &server, &what, &answer));
	assert_string_equal(buf_text(&answer.body), "ok");
	http_close(http);
	server_stop(&server);
	/* Both on one connection. */
	assert_int_equal(server.requests, 2);
	assert_non_null(strstr(server.asked[0], "\r\nContent-Length: 0\r\n"));
	assert_non_null(
	    strstr(server.asked[1], "\r\nContent-Length: 4000\r\n"));
	assert_null(strstr(server.asked[1], "Expect"));
	http_answer_release(&answer);
}

static void
an_answer_leaves_nothing_to_the_next(void **state)
{
	struct http_call what = {.method = "GET"};
	struct http *http = http_open("lastpair-test");
	struct http_answer answer;
	struct server server;

	server_start(&server,
	    OK_HEAD "Request-Id: req_1\r\nStripe-Should-Retry: true\r\n"
		    "Content-Length: 5\r\n\r\nfirst",
	    "HTTP/1.1 102 Processing\r\nRequest-Id: no\r\n\r\n"
	    "HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n");
	server_run(&server);
	http_answer_init(&answer);
	assert_true(call(http, &server, &what, &answer));
	assert_string_equal(buf_text(&answer.request_id), "req_1");
	assert_true(call(http, &server, &what, &answer));
	assert_int_equal(answer.status, 503);
	assert_string_equal(buf_text(&answer.body), "");
	assert_string_equal(buf_text(&answer.request_id), "");
	assert_string_equal(buf_text(&answer.should_retry), "");
	http_close(http);
	server_stop(&server);
	assert_memory_equal(server.asked[0], "GET /v1/x HTTP/1.1\r\n", 20);
	assert_null(strstr(server.asked[0], "Content-Length"));
	http_answer_release(&answer);
}

static void
redirects_are_not_followed(void **state)
{
	struct http_call what = {.method = "GET"};
	struct http *http = http_open("lastpair-test");
	struct http_answer answer;
	struct server server;

	server_start(&server,
	    "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\n"
	    "Content-Length: 0\r\n\r\n",
	    OK_HEAD "Content-Length: 0\r\n\r\n");
	server_run(&server);
	http_answer_init(&answer);
	assert_true(call(http, &server, &what, &answer));
	assert_int_equal(answer.status, 302);
	http_close(http);
	server_stop(&server);
	assert_int_equal(server.requests, 1);
	http_answer_release(&answer);
}

/* Expects no answer, and a word of why. */
static void
fails(const char *first, size_t filler, int timeout_ms, const char *why)
{
	struct http_call what = {.method = "GET", .timeout_ms = timeout_ms};
	struct http *http = http_open("lastpair-test");
	struct http_answer answer;
	struct server server;

	server_start(&server, first, NULL);
	server.filler = filler;
	server_run(&server);
	http_answer_init(&answer);
	assert_false(call(http, &server, &what, &answer));
	assert_int_equal(answer.status, 0);
	assert_int_equal(answer.body.len, 0);
	assert_true(strlen(answer.error) > 0);
	if (!strstr(answer.error, why))
		fail_msg("%s", answer.error);
	http_close(http);
	server_stop(&server);
	http_answer_release(&answer);
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
	struct http_call what = {.method = "GET"};
	struct http *http = http_open("lastpair-test");
	struct http_answer answer;
	struct server server;

	server_start(&server, OK_HEAD "Content-Length: 1048000\r\n\r\n", NULL);
	server.filler = 1048000;
	server_run(&server);
	http_answer_init(&answer);
	assert_true(call(http, &server, &what, &answer));
	assert_int_equal(answer.body.len, 1048000);
	http_close(http);
	server_stop(&server);
	http_answer_release(&answer);
}

static void
who_is_not_there_or_not_http_gives_none(void **state)
{
	struct http *http = http_open("lastpair-test");
	struct http_call what = {.method = "GET", .timeout_ms = 2000};
	struct http_answer answer;
	struct server server;

	http_answer_init(&answer);
	server_start(&server, NULL, NULL);
	close(server.fd);
	/* Nor does a proxy in the environment stand in. */
	setenv("http_proxy", "http://127.0.0.1:1", 1);
	assert_false(call(http, &server, &what, &answer));
	if (!strstr(answer.error, "onnect"))
		fail_msg("%s", answer.error);
	what.url = "file:///etc/passwd";
	assert_false(http_call(http, &what, &answer));
	assert_int_equal(answer.body.len, 0);
	what.url = "";
	assert_false(http_call(http, &what, &answer));
	unsetenv("http_proxy");
	http_close(http);
	http_close(NULL);
	http_answer_release(&answer);
}

static void
a_proxy_of_the_environment_is_not_asked(void **state)
{
	struct http_call what = {.method = "GET"};
	struct http *http = http_open("lastpair-test");
	struct http_answer answer;
	struct server server;

	setenv("http_proxy", "http://127.0.0.1:1", 1);
	server_start(&server, OK_HEAD "Content-Length: 0\r\n\r\n", NULL);
	server_run(&server);
	http_answer_init(&answer);
	assert_true(call(http, &server, &what, &answer));
	unsetenv("http_proxy");
	http_close(http);
	server_stop(&server);
	http_answer_release(&answer);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_post_says_what_it_was_given),
	    cmocka_unit_test(posts_of_any_size_go_out),
	    cmocka_unit_test(an_answer_leaves_nothing_to_the_next),
	    cmocka_unit_test(redirects_are_not_followed),
	    cmocka_unit_test(too_long_an_answer_is_none),
	    cmocka_unit_test(a_cut_or_silent_answer_is_none),
	    cmocka_unit_test(the_longest_answer_is_read_whole),
	    cmocka_unit_test(who_is_not_there_or_not_http_gives_none),
	    cmocka_unit_test(a_proxy_of_the_environment_is_not_asked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
