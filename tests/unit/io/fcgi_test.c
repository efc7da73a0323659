/*
 * fcgi.c against raw FastCGI bytes over a real unix socket: what it reads and
 * what it answers.
 */
#include "io/fcgi_echo.h"

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
		    {body.data, body.len}, steps[i], false};

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
		    str_of(cases[i].body), 0, false};

		expect_start(&post, cases[i].start);
	}
}

static void
takes_a_body_of_exactly_the_most(void **state)
{
	struct buf body = {0};
	struct post post = {.method = "POST", .path = "/", .length = "200000"};

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
	struct post post = {.method = "GET", .path = "/large"};
	struct buf out = {0};

	(void)state;
	assert_int_equal(ask(&post, &out), 1000000);
	post.method = "HEAD";
	assert_int_equal(ask(&post, &out), 0);
	buf_release(&out);
}

/* Its length is that of the whole, so the peer sees that it is cut. */
static void
sends_a_part_when_told_to(void **state)
{
	struct post post = {.method = "GET", .path = "/cut"};
	struct buf request = {0};
	struct buf answer = {0};
	int fd = dial(socket_path);

	(void)state;
	add_request(&request, &post);
	send_all(fd, &request);
	(void)receive(fd, &answer);
	(void)close(fd);
	assert_non_null(strstr(answer.data, "Content-Length: 10\r\n"));
	assert_string_equal(strstr(answer.data, "\r\n\r\n"), "\r\n\r\n012345");
	buf_release(&request);
	buf_release(&answer);
	expect_alive();
}

static void
takes_long_parameters(void **state)
{
	const size_t lengths[] = {8191, 8192, 20000};
	char path[20001] = "/";

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		const struct post post = {.method = "GET", .path = path};

		memset(path + 1, 'x', lengths[i] - 1);
		path[lengths[i]] = '\0';
		expect_start(&post, "ok 0;path=/xxx");
	}
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
	assert_true(receive(fd, &out));
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
	assert_false(receive(fd, &out));
	assert_int_equal(out.len, 0);
	(void)close(fd);
	buf_release(&request);
	buf_release(&out);
	expect_alive();
}

static void
survives_junk_and_hang_ups(void **state)
{
	const struct post post = {"POST", "/large", "3", {"abc", 3}, 0, false};
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(answers_a_get),
	    cmocka_unit_test(reads_a_body_whatever_its_records),
	    cmocka_unit_test(refuses_a_length_that_is_not_so),
	    cmocka_unit_test(takes_a_body_of_exactly_the_most),
	    cmocka_unit_test(sends_a_large_answer_and_none_to_head),
	    cmocka_unit_test(sends_a_part_when_told_to),
	    cmocka_unit_test(takes_long_parameters),
	    cmocka_unit_test(survives_crafted_parameters),
	    cmocka_unit_test(takes_parameters_in_pieces),
	    cmocka_unit_test(survives_junk_and_hang_ups),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
