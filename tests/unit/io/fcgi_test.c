/*
 * fcgi.c against raw FastCGI bytes over a real unix socket. A child process
 * serves: it reads each body and answers with what it got. Its pid must stay
 * the same whatever is sent to it.
 */
#include "base/clock.h"
#include "io/fcgi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define BODY_MAX_BYTES 200000

enum record { BEGIN = 1, PARAMS = 4, STDIN = 5, STDOUT = 6, END = 3 };

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
	struct fcgi *fcgi = fcgi_open(listener);
	struct reply reply = {0};
	struct request request;

	(void)sigaction(SIGTERM, &term, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
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
	(void)snprintf(folder, sizeof(folder), "/tmp/fcgi-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	(void)snprintf(socket_path, sizeof(socket_path), "%s/s", folder);
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

static int
dial(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s",
	    socket_path);
	assert_int_equal(connect(fd, (struct sockaddr *)&address,
			     sizeof(address)),
	    0);
	return fd;
}

static void
add_record(struct buf *b, enum record type, const void *bytes, size_t n)
{
	const char *p = bytes;

	buf_char(b, 1);
	buf_char(b, (char)type);
	buf_add(b, "\0\1", 2);
	buf_char(b, (char)(n >> 8));
	buf_char(b, (char)n);
	buf_add(b, "\0\0", 2);
	if (n)
		buf_add(b, p, n);
}

/* In records of at most step bytes. */
static void
add_stream(struct buf *b, enum record type, struct str bytes, size_t step)
{
	while (bytes.len) {
		size_t n = bytes.len < step ? bytes.len : step;

		add_record(b, type, bytes.text, n);
		bytes.text += n;
		bytes.len -= n;
	}
	add_record(b, type, NULL, 0);
}

static void
add_param(struct buf *b, const char *name, const char *value)
{
	size_t n = strlen(value);

	buf_char(b, (char)strlen(name));
	if (n < 128) {
		buf_char(b, (char)n);
	} else {
		buf_char(b, (char)(0x80 | n >> 24));
		buf_char(b, (char)(n >> 16));
		buf_char(b, (char)(n >> 8));
		buf_char(b, (char)n);
	}
	buf_str(b, name);
	buf_str(b, value);
}

static void
add_begin(struct buf *b)
{
	add_record(b, BEGIN, "\0\1\0\0\0\0\0\0", 8);
}

struct post {
	const char *method;
	const char *path;
	const char *length; /* NULL: no such parameter */
	struct str body;
	size_t step; /* of STDIN records; 0: 65535 */
};

static void
add_request(struct buf *b, const struct post *post)
{
	struct buf params = {0};

	add_begin(b);
	add_param(&params, "REQUEST_METHOD", post->method);
	add_param(&params, "REQUEST_URI", post->path);
	add_param(&params, "HTTP_EMPTY", "");
	if (post->length)
		add_param(&params, "CONTENT_LENGTH", post->length);
	add_stream(b, PARAMS, (struct str){params.data, params.len}, 65535);
	add_stream(b, STDIN, post->body, post->step ? post->step : 65535);
	buf_release(&params);
}

static void
send_all(int fd, const struct buf *b)
{
	size_t sent = 0;

	while (sent < b->len) {
		ssize_t n =
		    send(fd, b->data + sent, b->len - sent, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		sent += (size_t)n;
	}
}

/* Reads to the end; appends the bytes of STDOUT records. */
static void
receive(int fd, struct buf *out)
{
	struct buf raw = {0};
	char bytes[8192];
	ssize_t n;

	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		buf_add(&raw, bytes, (size_t)n);
	for (size_t at = 0; at + 8 <= raw.len;) {
		const unsigned char *head =
		    (const unsigned char *)raw.data + at;
		size_t len = (size_t)head[4] << 8 | head[5];

		if (at + 8 + len + head[6] > raw.len)
			break;
		if (head[1] == STDOUT)
			buf_add(out, raw.data + at + 8, len);
		at += 8 + len + head[6];
	}
	buf_release(&raw);
}

/* The body of the answer in out; its length. */
static size_t
ask(const struct post *post, struct buf *out)
{
	struct buf request = {0};
	struct buf answer = {0};
	const char *body;
	int fd = dial();

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
	(void)snprintf(length, sizeof(length), "%zu", body.len);
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

/* Sends bytes; nothing must come back, and the server must live. */
static void
expect_refusal(const struct buf *request)
{
	struct buf out = {0};
	int fd = dial();

	send_all(fd, request);
	(void)shutdown(fd, SHUT_WR);
	receive(fd, &out);
	assert_int_equal(out.len, 0);
	(void)close(fd);
	buf_release(&out);
	expect_alive();
}

/*
 * Lengths of name and value whose sum overflows (CVE-2025-23016), or which
 * are just more than there is.
 */
static void
survives_crafted_parameters(void **state)
{
	static const char *const lengths[] = {
	    "\xff\xff\xff\xff\xff\xff\xff\xff",
	    "\xbf\xff\xff\xff\xbf\xff\xff\xff",
	    "\xff\xff\xff\xff\x80\0\0\1",
	    "\x80\0\0\1\xff\xff\xff\xff",
	    "\xc0\0\0\0\xc0\0\0\0",
	    "\xff\xff\xff\xfe\x80\0\0\0",
	    "\xff\xff\xff\xfc\x80\0\0\0",
	    "\x80\0\xea\x61\x80\0\0\0",
	    "\x80\0\0\1\x80\0\xea\x60",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct buf request = {0};
		struct buf params = {0};

		add_begin(&request);
		buf_add(&params, lengths[i], 8);
		for (int k = 0; k < 6000; k++)
			buf_str(&params, "0123456789");
		add_stream(&request, PARAMS,
		    (struct str){params.data, params.len}, 60008);
		add_stream(&request, STDIN, (struct str){NULL, 0}, 1);
		expect_refusal(&request);
		buf_release(&request);
		buf_release(&params);
	}
}

static void
refuses_other_records(void **state)
{
	struct buf request = {0};

	(void)state;
	/* FCGI_GET_VALUES: libfcgi's answer to a long one breaks its stack. */
	buf_add(&request, "\1\11\0\0\2\0\0\0", 8);
	for (int i = 0; i < 32; i++)
		buf_add(&request, "\16\0FCGI_MAX_CONNS", 16);
	expect_refusal(&request);
	buf_reset(&request);
	add_record(&request, PARAMS, NULL, 0);
	expect_refusal(&request);
	buf_reset(&request);
	add_begin(&request);
	add_record(&request, STDIN, NULL, 0);
	expect_refusal(&request);
	/* More parameters than any front server sends. */
	buf_reset(&request);
	add_begin(&request);
	for (int i = 0; i < 700; i++)
		add_record(&request, PARAMS,
		    "\4\136NAME"
		    "1234567890123456789012345678901234567890123456789012345"
		    "678901234567890123456789012345678901234",
		    100);
	expect_refusal(&request);
	buf_release(&request);
}

/* Its connection is closed all the same: it would keep the process. */
static void
does_not_keep_connections(void **state)
{
	const struct post post = {"POST", "/echo", "3", {"abc", 3}, 0};
	struct buf request = {0};
	struct buf out = {0};
	int fd = dial();

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
	int fd = dial();

	(void)state;
	add_begin(&request);
	add_param(&params, "REQUEST_METHOD", "GET");
	add_param(&params, "DOCUMENT_URI", "/x");
	add_param(&params, "QUERY_STRING", "y");
	add_stream(&request, PARAMS, (struct str){params.data, params.len}, 1);
	add_stream(&request, STDIN, (struct str){NULL, 0}, 1);
	/* Byte by byte, too. */
	for (size_t i = 0; i < request.len; i++) {
		struct buf part = {request.data + i, 1, 1};

		send_all(fd, &part);
	}
	receive(fd, &out);
	assert_non_null(strstr(buf_text(&out), "path=/x;query=y;"));
	(void)close(fd);
	buf_release(&request);
	buf_release(&params);
	buf_release(&out);
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
		int fd = dial();

		send_all(fd, &part);
		(void)close(fd);
	}
	for (int i = 0; i < 200; i++) {
		struct buf junk = {0};
		int fd = dial();

		for (int k = 0; k < 64; k++)
			buf_char(&junk, (char)(i * 31 + k * k));
		send_all(fd, &junk);
		(void)close(fd);
		buf_release(&junk);
	}
	buf_release(&request);
	expect_alive();
}

static void
listens_for_its_group_only(void **state)
{
	struct stat info;

	(void)state;
	assert_int_equal(stat(socket_path, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0660);
	/* Somebody serves there. */
	assert_int_equal(fcgi_listen(socket_path, 1), -1);
	expect_alive();
}

static void
replaces_a_stale_socket_but_no_file(void **state)
{
	char path[96];
	FILE *file;
	int fd;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/stale", folder);
	fd = fcgi_listen(path, 1);
	assert_true(fd >= 0);
	(void)close(fd);
	fd = fcgi_listen(path, 1);
	assert_true(fd >= 0);
	(void)close(fd);
	(void)unlink(path);
	file = fopen(path, "w");
	assert_non_null(file);
	(void)fclose(file);
	assert_int_equal(fcgi_listen(path, 1), -1);
	assert_int_equal(unlink(path), 0);
	memset(path, 'x', sizeof(path) - 1);
	assert_int_equal(fcgi_listen("/tmp/no/such/folder/s", 1), -1);
}

/* Runs last: what was accepted is answered, what waits stays in the queue. */
static void
finishes_the_request_at_hand(void **state)
{
	const struct post post = {"POST", "/echo", "6", {"abcdef", 6}, 0};
	struct buf request = {0};
	struct buf out = {0};
	struct buf part;
	int fd = dial();
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
	late = dial();
	send_all(late, &request);
	assert_int_equal(waitpid(server, NULL, 0), server);
	server = fork();
	assert_true(server >= 0);
	if (server == 0)
		serve();
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
	    cmocka_unit_test(refuses_other_records),
	    cmocka_unit_test(does_not_keep_connections),
	    cmocka_unit_test(takes_parameters_in_pieces),
	    cmocka_unit_test(survives_junk_and_hang_ups),
	    cmocka_unit_test(listens_for_its_group_only),
	    cmocka_unit_test(replaces_a_stale_socket_but_no_file),
	    cmocka_unit_test(finishes_the_request_at_hand),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
