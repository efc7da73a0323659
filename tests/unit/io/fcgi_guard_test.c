/*
 * fcgi_guard.c over a pair of sockets: what it lets through to libfcgi.
 */
#include "io/fcgi.h"
#include "io/fcgi_guard.h"
#include "io/fcgi_peer.h"

static struct fcgi_guard guard;
static struct buf request;
static struct buf params;

static int
teardown(void **state)
{
	(void)state;
	fcgi_guard_release(&guard);
	buf_release(&request);
	buf_release(&params);
	return 0;
}

/* Sends the request; what the guard finds. */
static enum fcgi_found
found(void)
{
	enum fcgi_found result;
	char byte;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	send_all(fds[0], &request);
	result = fcgi_guard_look(&guard, fds[1]);
	/* It does not take anything: it finds the same again. */
	assert_int_equal(fcgi_guard_look(&guard, fds[1]), result);
	if (request.len) {
		assert_int_equal(read(fds[1], &byte, 1), 1);
		assert_int_equal(byte, request.data[0]);
	}
	(void)close(fds[0]);
	(void)close(fds[1]);
	return result;
}

static void
begin(void)
{
	buf_reset(&request);
	buf_reset(&params);
	add_begin(&request);
}

static void
add_params(size_t step)
{
	add_stream(&request, PARAMS, (struct str){params.data, params.len},
	    step);
}

static void
add_end(void)
{
	add_record(&request, STDIN, NULL, 0);
}

static void
passes_what_adds_up(void **state)
{
	static const size_t steps[] = {65535, 8192, 7, 1};
	char value[300];

	(void)state;
	memset(value, 'v', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		begin();
		add_param(&params, "REQUEST_METHOD", "GET");
		add_param(&params, "", "");
		add_param(&params, "LONG", value);
		add_params(steps[i]);
		add_stream(&request, STDIN, str_of("the body"), steps[i]);
		assert_int_equal(found(), FCGI_WHOLE);
		/* A second request before the first has its answer. */
		add_begin(&request);
		assert_int_equal(found(), FCGI_BAD);
	}
	begin();
	add_params(1);
	add_end();
	assert_int_equal(found(), FCGI_WHOLE);
}

static void
waits_for_the_rest(void **state)
{
	size_t whole;

	(void)state;
	begin();
	add_param(&params, "REQUEST_METHOD", "GET");
	add_params(5);
	add_stream(&request, STDIN, str_of("the body"), 3);
	whole = request.len;
	for (size_t n = 1; n < whole; n++) {
		request.len = n;
		assert_int_equal(found(), FCGI_PART);
	}
	request.len = whole;
	assert_int_equal(found(), FCGI_WHOLE);
	request.len = 0;
	assert_int_equal(found(), FCGI_NOTHING);
}

static void
tells_when_the_peer_has_gone(void **state)
{
	int fds[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(fcgi_guard_look(&guard, fds[1]), FCGI_NOTHING);
	(void)close(fds[0]);
	assert_int_equal(fcgi_guard_look(&guard, fds[1]), FCGI_BAD);
	(void)close(fds[1]);
}

/* One that is longer than a socket holds cannot be waited for. */
static void
passes_the_start_of_a_long_body(void **state)
{
	static const size_t steps[] = {65535, 8192, 1};
	struct buf body = {0};
	size_t head;

	(void)state;
	while (body.len < 70000)
		buf_str(&body, "0123456789abcdef");
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		begin();
		add_param(&params, "REQUEST_METHOD", "POST");
		add_params(65535);
		head = request.len;
		add_stream(&request, STDIN, (struct str){body.data, body.len},
		    steps[i]);
		request.len = head + FCGI_BODY_AHEAD - 1;
		assert_int_equal(found(), FCGI_PART);
		request.len = head + FCGI_BODY_AHEAD;
		assert_int_equal(found(), FCGI_LONG);
	}
	buf_release(&body);
}

/* Sums that overflow (CVE-2025-23016), or that are just more than there is. */
static void
refuses_lengths_that_lie(void **state)
{
	static const struct {
		const char *bytes;
		size_t n;
	} cases[] = {
	    {"\xff\xff\xff\xff\xff\xff\xff\xff", 8},
	    {"\xbf\xff\xff\xff\xbf\xff\xff\xff", 8},
	    {"\xff\xff\xff\xff\x80\0\0\1", 8},
	    {"\x80\0\0\1\xff\xff\xff\xff", 8},
	    {"\xc0\0\0\0\xc0\0\0\0", 8},
	    {"\xff\xff\xff\xfe\x80\0\0\0", 8},
	    {"\xff\xff\xff\xfc\x80\0\0\0", 8},
	    {"\x80\0\x0b\xb9\x80\0\0\0", 8},
	    {"\x80\0\0\1\x80\0\x0b\xb8", 8},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin();
		buf_add(&params, cases[i].bytes, cases[i].n);
		for (int k = 0; k < 300; k++)
			buf_str(&params, "0123456789");
		add_params(65535);
		add_end();
		assert_int_equal(found(), FCGI_BAD);
	}
	/* Lengths that are cut themselves. */
	for (size_t n = 1; n < 8; n++) {
		begin();
		buf_add(&params, "\x80\0\0\0\x80\0\0\0", n);
		add_params(65535);
		add_end();
		assert_int_equal(found(), FCGI_BAD);
	}
}

static void
refuses_other_records(void **state)
{
	(void)state;
	/* FCGI_GET_VALUES: libfcgi's answer to a long one breaks its stack. */
	buf_reset(&request);
	buf_add(&request, "\1\11\0\0\2\0\0\0", 8);
	for (int i = 0; i < 32; i++)
		buf_add(&request, "\16\0FCGI_MAX_CONNS", 16);
	assert_int_equal(found(), FCGI_BAD);
	/* The same after the parameters. */
	begin();
	add_params(1);
	buf_add(&request, "\1\11\0\0\2\0\0\0", 8);
	assert_int_equal(found(), FCGI_BAD);
	buf_reset(&request);
	add_record(&request, PARAMS, NULL, 0);
	assert_int_equal(found(), FCGI_BAD);
	begin();
	add_end();
	assert_int_equal(found(), FCGI_BAD);
	begin();
	add_begin(&request);
	assert_int_equal(found(), FCGI_BAD);
}

static void
refuses_other_numbers(void **state)
{
	/* Of another request, here and there; another version; role; id 0. */
	static const struct {
		size_t at;
		char value;
	} cases[] = {
	    {19, 2},
	    {27, 2},
	    {0, 2},
	    {16, 2},
	    {24, 0},
	    {9, 2},
	    {8, 1},
	    {3, 0},
	    /* Paddings that libfcgi takes for records. */
	    {6, 1},
	    {22, 1},
	    {30, 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin();
		add_params(1);
		add_end();
		assert_int_equal(found(), FCGI_WHOLE);
		request.data[cases[i].at] = cases[i].value;
		if (cases[i].value == 1 && cases[i].at % 8 == 6)
			buf_char(&request, '\0');
		assert_int_equal(found(), FCGI_BAD);
	}
	buf_reset(&request);
	add_record(&request, BEGIN, "\0\1\0\0\0\0\0", 7);
	add_record(&request, PARAMS, NULL, 0);
	assert_int_equal(found(), FCGI_BAD);
}

static void
refuses_more_than_any_server_sends(void **state)
{
	(void)state;
	for (int k = 600; k <= 700; k += 100) {
		begin();
		buf_reserve(&params, 70000);
		for (int i = 0; i < k; i++) {
			add_param(&params, "NAME",
			    "1234567890123456789012345678901234567890123456"
			    "7890123456789012345678901234567890123456789");
		}
		add_params(8192);
		add_end();
		assert_int_equal(found(), k == 600 ? FCGI_WHOLE : FCGI_BAD);
	}
	/* It is refused as soon as that is clear. */
	request.len = FCGI_HEAD_MAX;
	assert_int_equal(found(), FCGI_PART);
	request.len++;
	assert_int_equal(found(), FCGI_BAD);
}

#define TEST(f) cmocka_unit_test_teardown(f, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(passes_what_adds_up),
	    TEST(waits_for_the_rest),
	    TEST(tells_when_the_peer_has_gone),
	    TEST(passes_the_start_of_a_long_body),
	    TEST(refuses_lengths_that_lie),
	    TEST(refuses_other_records),
	    TEST(refuses_other_numbers),
	    TEST(refuses_more_than_any_server_sends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
