/*
 * fcgi.c and fcgi_front.c against raw FastCGI bytes over a real unix socket:
 * connections that are kept, and the end of a process.
 */
#include "io/fcgi_echo.h"

/* The body of an answer on a connection that is there already. */
static void
expect_body(int fd, const struct post *post, const char *body)
{
	struct buf request = {0};
	struct buf out = {0};
	const char *got;

	add_request(&request, post);
	send_all(fd, &request);
	assert_true(receive(fd, &out));
	got = strstr(buf_text(&out), "\r\n\r\n");
	assert_non_null(got);
	assert_string_equal(got + 4, body);
	buf_release(&request);
	buf_release(&out);
}

static void
keeps_a_connection_if_asked(void **state)
{
	struct post post = {"POST", "/echo", "3", {"abc", 3}, 0, true};
	int fd = dial(socket_path);

	(void)state;
	for (int i = 0; i < 100; i++) {
		post.step = (size_t)i;
		expect_body(fd, &post, "abc");
	}
	post.keep = false;
	expect_body(fd, &post, "abc");
	assert_true(is_closed(fd));
	(void)close(fd);
}

/* What nobody has read is not the start of the next request. */
static void
keeps_requests_apart(void **state)
{
	struct buf body = {0};
	struct post unread = {"POST", "/unread", "3", {"abc", 3}, 0, true};
	const struct post lies = {"POST", "/echo", "3", {"abcd", 4}, 0, true};
	const struct post odd = {"GET", "/echo", NULL, {"abcd", 4}, 0, true};
	const struct post next = {"POST", "/echo", "1", {"x", 1}, 0, true};
	const char *answer = "ok 0;path=/unread;query=(none);none=(none);"
			     "empty=;";
	char length[32];
	int fd = dial(socket_path);

	(void)state;
	/* As large as it may be to have come as a whole. */
	while (body.len < FCGI_BODY_AHEAD - 16) {
		unread.body = (struct str){body.data, body.len};
		snprintf(length, sizeof(length), "%zu", body.len);
		unread.length = length;
		expect_body(fd, &unread, answer);
		expect_body(fd, &next, "x");
		expect_body(fd, &lies, "");
		expect_body(fd, &next, "x");
		expect_body(fd, &odd, "");
		expect_body(fd, &next, "x");
		for (int i = 0; i < 500; i++)
			buf_str(&body, "\1\1\1\1\1\1\1");
	}
	(void)close(fd);
	buf_release(&body);
}

/* Also when it is longer, and its peer does not stop to send it. */
static void
answers_before_a_long_body_has_come(void **state)
{
	struct post post = {"POST", "/unread", "3000000", {NULL, 0}, 0, true};
	struct buf request = {0};
	struct buf body = {0};
	struct buf out = {0};
	int fd = dial(socket_path);

	(void)state;
	while (body.len < 3000000)
		buf_str(&body, "0123456789");
	post.body = (struct str){body.data, body.len};
	add_request(&request, &post);
	send_all(fd, &request);
	assert_true(receive(fd, &out));
	assert_non_null(strstr(buf_text(&out), "path=/unread"));
	assert_true(is_closed(fd));
	(void)close(fd);
	buf_release(&request);
	buf_release(&body);
	buf_release(&out);
}

/* Runs last: what has come is answered, what waits stays in the queue. */
static void
finishes_what_has_come(void **state)
{
	const struct post post = {"POST", "/echo", "6", {"abcdef", 6}, 0,
	    false};
	struct buf request = {0};
	struct buf out = {0};
	int fd = dial(socket_path);
	int late;

	(void)state;
	expect_alive();
	/* It is stopped, so both come at once, the signal perhaps first. */
	assert_int_equal(kill(server, SIGSTOP), 0);
	add_request(&request, &post);
	send_all(fd, &request);
	assert_int_equal(kill(server, SIGTERM), 0);
	assert_int_equal(kill(server, SIGCONT), 0);
	assert_true(receive(fd, &out));
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
	assert_true(receive(late, &out));
	assert_non_null(strstr(buf_text(&out), "\r\n\r\nabcdef"));
	(void)close(late);
	buf_release(&request);
	buf_release(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(keeps_a_connection_if_asked),
	    cmocka_unit_test(keeps_requests_apart),
	    cmocka_unit_test(answers_before_a_long_body_has_come),
	    cmocka_unit_test(finishes_what_has_come),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
