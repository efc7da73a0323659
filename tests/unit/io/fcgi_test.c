/*
 * fcgi.c against raw FastCGI bytes over a real unix socket. A child process
 * serves: it reads each body and answers with what it got. Its pid must stay
 * the same whatever is sent to it.
 */
#include "base/clock.h"
#include "io/fcgi.h"
#include "io/fcgi_peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define BODY_MAX_BYTES 200000

static char folder[64];
static char socket_path[96];
static int listener;
static pid_t server;

/* The serving child ---------------------------------------------------- */

static void
on_term(int signo)
{
	(void)signo;
	fcgi_stop();
}

static void
add_field(struct buf *b, const char *name, struct str value)
{
	if (!value.text)
		value = str_of("(none)");
	buf_printf(b, "%s=%.*s;", name, (int)value.len, value.text);
}

static void
serve_one(struct fcgi *fcgi, struct request *request, struct reply *reply)
{
	static const char *const names[] = {"ok", "too-long", "no-length",
	    "bad"};
	enum fcgi_body got = FCGI_BODY_OK;

	buf_reset(&reply->headers);
	buf_reset(&reply->body);
	reply->status = 200;
	buf_str(&reply->headers, "Content-Type: text/plain\r\n");
	if (str_is(request->method, "POST"))
		got = fcgi_read_body(fcgi, request, BODY_MAX_BYTES);
	if (str_is(request->path, "/echo")) {
		buf_add(&reply->body, request->body.text, request->body.len);
	} else if (str_is(request->path, "/large")) {
		for (int i = 0; i < 100000; i++)
			buf_str(&reply->body, "0123456789");
	} else {
		buf_printf(&reply->body, "%s %zu;", names[got],
		    request->body.len);
		add_field(&reply->body, "path", request->path);
		add_field(&reply->body, "query", request->query);
		add_field(&reply->body, "none", fcgi_param(fcgi, "HTTP_NONE"));
		add_field(&reply->body, "empty",
		    fcgi_param(fcgi, "HTTP_EMPTY"));
	}
	fcgi_reply(fcgi, reply);
}

_Noreturn static void
serve(void)
{
	struct sigaction term = {.sa_handler = on_term, .sa_flags = SA_RESTART};
	struct reply reply = {0};
	struct request request;
	struct fcgi *fcgi;

	(void)sigaction(SIGTERM, &term, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	fcgi = fcgi_open(listener);
	while (fcgi_accept(fcgi, &request))
		serve_one(fcgi, &request, &reply);
	fcgi_close(fcgi);
	buf_release(&reply.headers);
	buf_release(&reply.body);
	exit(7); /* the leak check, if any, changes that */
}

static int
setup(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/fcgi-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(socket_path, sizeof(socket_path), "%s/s", folder);
	listener = fcgi_listen(socket_path, 64);
	assert_true(listener >= 0);
	server = fork();
	assert_true(server >= 0);
	if (server == 0)
		serve();
	return 0;
}

static int
teardown(void **state)
{
	int status = 0;

	(void)state;
	assert_int_equal(kill(server, SIGTERM), 0);
	assert_int_equal(waitpid(server, &status, 0), server);
	/* Nothing has ended it before. */
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	(void)close(listener);
	(void)unlink(socket_path);
	(void)rmdir(folder);
	return 0;
}

/* The client ------------------------------------------------------------- */

/* The body of the answer in out; its length. */
static size_t
ask(const struct post *post, struct buf *out)
{
	struct buf request = {0};
	struct buf answer = {0};
	const char *body;
	int fd = dial(socket_path);

	add_request(&request, post);
	send_all(fd, &request);
	receive(fd, &answer);
	(void)close(fd);
	buf_reset(out);
	body = answer.len ? strstr(answer.data, "\r\n\r\n") : NULL;
	if (body)
		buf_add(out, body + 4,
		    answer.len - (size_t)(body + 4 - answer.data));
	buf_release(&request);
	buf_release(&answer);
	return out->len;
}

static void
expect_start(const struct post *post, const char *start)
{
	struct buf out = {0};

	(void)ask(post, &out);
	if (strncmp(buf_text(&out), start, strlen(start)) != 0)
		fail_msg("got %.80s, not %s", buf_text(&out), start);
	buf_release(&out);
}

static void
expect_alive(void)
{
	const struct post post = {"GET", "/a%20b?c=%20", NULL, {NULL, 0}, 0};

	expect_start(&post, "ok 0;path=/a b;query=c=%20;none=(none);empty=;");
	assert_int_equal(waitpid(server, NULL, WNOHANG), 0);
}

/* Tests ------------------------------------------------------------------- */

static void
answers_a_get(void **state)
{
	(void)state;
	expect_alive();
}

static void
reads_a_body_whatever_its_records(void **state)
{
	const size_t steps[] = {1, 8192, 65535, 7};
	struct buf body = {0};
	struct buf out = {0};
	char length[32];

	(void)state;
	/* Two bytes a letter: some records end inside one. */
	while (body.len < 100000)
		buf_str(&body, "\xc3\xa9");
	snprintf(length, sizeof(length), "%zu", body.len);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		const struct post post = {"POST", "/echo", length,
		    {body.data, body.len}, steps[i]};

		assert_int_equal(ask(&post, &out), body.len);
		assert_memory_equal(out.data, body.data, body.len);
	}
	buf_release(&body);
	buf_release(&out);
}

static void
refuses_a_length_that_is_not_so(void **state)
{
	static const struct {
		const char *length;
		const char *body;
		const char *start;
	} cases[] = {
	    {"5", "12345", "ok 5;"},
	    {"005", "12345", "ok 5;"},
	    {"0", "", "ok 0;"},
	    {"", "", "ok 0;"},
	    {NULL, "", "ok 0;"},
	    {NULL, "12345", "no-length 0;"},
	    {"", "12345", "no-length 0;"},
	    {"6", "12345", "bad 0;"},
	    {"4", "12345", "bad 0;"},
	    {"0", "12345", "bad 0;"},
	    {"abc", "12345", "bad 0;"},
	    {"-1", "12345", "bad 0;"},
	    {"+5", "12345", "bad 0;"},
	    {"5 ", "12345", "bad 0;"},
	    {"0x5", "12345", "bad 0;"},
	    {"999999999999", "12345", "too-long 0;"},
	    {"99999999999999999999999", "12345", "too-long 0;"},
	    {"200001", "12345", "too-long 0;"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct post post = {"POST", "/", cases[i].length,
		    str_of(cases[i].body), 0};

		expect_start(&post, cases[i].start);
	}
}

static void
takes_a_body_of_exactly_the_most(void **state)
{
	struct buf body = {0};
	struct post post = {"POST", "/", "200000", {NULL, 0}, 0};

	(void)state;
	while (body.len < BODY_MAX_BYTES)
		buf_str(&body, "0123456789");
	post.body = (struct str){body.data, body.len};
	expect_start(&post, "ok 200000;");
	/* One that is too long is not read, but the answer still arrives. */
	buf_char(&body, '.');
	post.body.len = body.len;
	post.length = "200001";
	expect_start(&post, "too-long 0;");
	buf_release(&body);
}

static void
sends_a_large_answer_and_none_to_head(void **state)
{
	struct post post = {"GET", "/large", NULL, {NULL, 0}, 0};
	struct buf out = {0};

	(void)state;
	assert_int_equal(ask(&post, &out), 1000000);
	post.method = "HEAD";
	assert_int_equal(ask(&post, &out), 0);
	buf_release(&out);
}

static void
takes_long_parameters(void **state)
{
	const size_t lengths[] = {8191, 8192, 20000};
	char path[20001] = "/";

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		const struct post post = {"GET", path, NULL, {NULL, 0}, 0};

		memset(path + 1, 'x', lengths[i] - 1);
		path[lengths[i]] = '\0';
		expect_start(&post, "ok 0;path=/xxx");
	}
}

/* Its connection is closed all the same: it would keep the process. */
static void
does_not_keep_connections(void **state)
{
	const struct post post = {"POST", "/echo", "3", {"abc", 3}, 0};
	struct buf request = {0};
	struct buf out = {0};
	int fd = dial(socket_path);

	(void)state;
	add_request(&request, &post);
	request.data[10] = 1;
	send_all(fd, &request);
	receive(fd, &out);
	assert_non_null(strstr(buf_text(&out), "abc"));
	(void)close(fd);
	buf_release(&request);
	buf_release(&out);
}

static void
takes_parameters_in_pieces(void **state)
{
	struct buf request = {0};
	struct buf params = {0};
	struct buf out = {0};
	int fd = dial(socket_path);

	(void)state;
	add_begin(&request);
	add_param(&params, "REQUEST_METHOD", "GET");
	add_param(&params, "DOCUMENT_URI", "/x");
	add_param(&params, "QUERY_STRING", "y");
	add_stream(&request, PARAMS, (struct str){params.data, params.len}, 1);
	add_stream(&request, STDIN, (struct str){NULL, 0}, 1);
	/* And in pieces that are cut elsewhere. */
	for (size_t i = 0; i < request.len; i += 5) {
		size_t left = request.len - i;
		struct buf part = {request.data + i, left < 5 ? left : 5, 0};

		send_all(fd, &part);
	}
	receive(fd, &out);
	assert_non_null(strstr(buf_text(&out), "path=/x;query=y;"));
	(void)close(fd);
	buf_release(&request);
	buf_release(&params);
	buf_release(&out);
}

/* What the guard is for; its own test has the many ways. */
static void
survives_crafted_parameters(void **state)
{
	struct buf request = {0};
	struct buf out = {0};
	int fd = dial(socket_path);

	(void)state;
	add_begin(&request);
	add_record(&request, PARAMS, "\xbf\xff\xff\xff\xbf\xff\xff\xff", 8);
	add_record(&request, PARAMS, NULL, 0);
	send_all(fd, &request);
	receive(fd, &out);
	assert_int_equal(out.len, 0);
	(void)close(fd);
	buf_release(&request);
	buf_release(&out);
	expect_alive();
}

static void
survives_junk_and_hang_ups(void **state)
{
	const struct post post = {"POST", "/large", "3", {"abc", 3}, 0};
	struct buf request = {0};

	(void)state;
	add_request(&request, &post);
	/* Cut at every byte; then the whole, without waiting for an answer. */
	for (size_t n = 1; n <= request.len; n++) {
		struct buf part = {request.data, n, n};
		int fd = dial(socket_path);

		send_all(fd, &part);
		(void)close(fd);
	}
	for (int i = 0; i < 200; i++) {
		struct buf junk = {0};
		int fd = dial(socket_path);

		for (int k = 0; k < 64; k++)
			buf_char(&junk, (char)(i * 31 + k * k));
		send_all(fd, &junk);
		(void)close(fd);
		buf_release(&junk);
	}
	buf_release(&request);
	expect_alive();
}

/* Runs last: what was accepted is answered, what waits stays in the queue. */
static void
finishes_the_request_at_hand(void **state)
{
	const struct post post = {"POST", "/echo", "6", {"abcdef", 6}, 0};
	struct buf request = {0};
	struct buf out = {0};
	struct buf part;
	int fd = dial(socket_path);
	int late;

	(void)state;
	add_request(&request, &post);
	part = (struct buf){request.data, 60, 60};
	send_all(fd, &part);
	clock_sleep_ms(100);
	assert_int_equal(kill(server, SIGTERM), 0);
	clock_sleep_ms(100);
	part = (struct buf){request.data + 60, request.len - 60, 0};
	send_all(fd, &part);
	receive(fd, &out);
	assert_non_null(strstr(buf_text(&out), "\r\n\r\nabcdef"));
	(void)close(fd);
	/* The socket lives on, and another server takes over the queue. */
	late = dial(socket_path);
	send_all(late, &request);
	assert_int_equal(waitpid(server, NULL, 0), server);
	server = fork();
	assert_true(server >= 0);
	if (server == 0) {
		(void)close(late);
		serve();
	}
	buf_reset(&out);
	receive(late, &out);
	assert_non_null(strstr(buf_text(&out), "\r\n\r\nabcdef"));
	(void)close(late);
	buf_release(&request);
	buf_release(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(answers_a_get),
	    cmocka_unit_test(reads_a_body_whatever_its_records),
	    cmocka_unit_test(refuses_a_length_that_is_not_so),
	    cmocka_unit_test(takes_a_body_of_exactly_the_most),
	    cmocka_unit_test(sends_a_large_answer_and_none_to_head),
	    cmocka_unit_test(takes_long_parameters),
	    cmocka_unit_test(survives_crafted_parameters),
	    cmocka_unit_test(does_not_keep_connections),
	    cmocka_unit_test(takes_parameters_in_pieces),
	    cmocka_unit_test(survives_junk_and_hang_ups),
	    cmocka_unit_test(finishes_the_request_at_hand),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
