/*
 * fcgi_guard.c over a pair of sockets: what it lets through to libfcgi.
 */
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

/* Sends the request and hangs up; what the guard says. */
static bool
passes(void)
{
	char byte;
	bool good;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	send_all(fds[0], &request);
	assert_int_equal(shutdown(fds[0], SHUT_WR), 0);
	good = fcgi_guard(&guard, fds[1]);
	/* Nothing was taken: the first byte is still the first. */
	if (request.len) {
		assert_int_equal(read(fds[1], &byte, 1), 1);
		assert_int_equal(byte, request.data[0]);
	}
	(void)close(fds[0]);
	(void)close(fds[1]);
	return good;
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
		if (steps[i] > 1)
			add_param(&params, "LONG", value);
		add_params(steps[i]);
		assert_true(passes());
		/* What follows is not its business. */
		buf_str(&request, "junk");
		assert_true(passes());
	}
	begin();
	add_params(1);
	assert_true(passes());
}

static void
refuses_what_is_cut(void **state)
{
	size_t whole;

	(void)state;
	begin();
	add_param(&params, "REQUEST_METHOD", "GET");
	add_params(5);
	whole = request.len;
	for (size_t n = 0; n < whole; n++) {
		request.len = n;
		assert_false(passes());
	}
	request.len = whole;
	assert_true(passes());
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
		assert_false(passes());
	}
	/* Lengths that are cut themselves. */
	for (size_t n = 1; n < 8; n++) {
		begin();
		buf_add(&params, "\x80\0\0\0\x80\0\0\0", n);
		add_params(65535);
		assert_int_equal(passes(), false);
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
	assert_false(passes());
	buf_reset(&request);
	add_record(&request, PARAMS, NULL, 0);
	assert_false(passes());
	begin();
	add_record(&request, STDIN, NULL, 0);
	assert_false(passes());
	begin();
	add_begin(&request);
	assert_false(passes());
	/* Of another request; of another version; a BEGIN that is too short. */
	begin();
	add_record(&request, PARAMS, NULL, 0);
	request.data[19] = 2;
	assert_false(passes());
	request.data[19] = 1;
	assert_true(passes());
	request.data[0] = 2;
	assert_false(passes());
	buf_reset(&request);
	add_record(&request, BEGIN, "\0\1\0\0\0\0\0", 7);
	add_record(&request, PARAMS, NULL, 0);
	assert_false(passes());
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
		assert_int_equal(passes(), k == 600);
	}
}

#define TEST(f) cmocka_unit_test_teardown(f, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(passes_what_adds_up),
	    TEST(refuses_what_is_cut),
	    TEST(refuses_lengths_that_lie),
	    TEST(refuses_other_records),
	    TEST(refuses_more_than_any_server_sends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
