/* io/http: many calls at once, and what ends a wait for them. */
#include "io/http.h"

#include "http_hall.h"

#include <signal.h>
#include <sys/time.h>

#define CALLS 24
/* No wait of these tests is over by its time. */
#define LONG_MS 60000

static struct hall hall;
static struct http *http;
static struct http_call calls[CALLS];

static int
setup(void **state)
{
	memset(calls, 0, sizeof(calls));
	hall_open(&hall);
	http = http_open("lastpair-test");
	return 0;
}

static int
teardown(void **state)
{
	http_close(http);
	hall_close(&hall);
	for (size_t i = 0; i < CALLS; i++)
		http_call_release(&calls[i]);
	return 0;
}

static struct http_call *
start(size_t i, const char *path, int timeout_ms)
{
	struct http_call *call = &calls[i];

	http_call_reset(call);
	call->slot = i;
	call->request.method = "GET";
	call->request.timeout_ms = timeout_ms;
	buf_printf(&call->request.url, "http://127.0.0.1:%d%s%zu", hall.port,
	    path, i);
	http_start(http, call);
	return call;
}

/* Waits for the next that ends. */
static struct http_call *
next(void)
{
	struct http_call *call;

	while ((call = http_next(http)) == NULL)
		http_wait(http, -1, LONG_MS);
	assert_null(call->transfer);
	assert_ptr_equal(call, &calls[call->slot]);
	return call;
}

static void
answered(const struct http_call *call, const char *path)
{
	char expected[64];

	snprintf(expected, sizeof(expected), "%s%zu", path, call->slot);
	assert_int_equal(call->answer.status, 200);
	assert_string_equal(buf_text(&call->answer.body), expected);
}

static void
a_slow_one_holds_none_of_twenty(void **state)
{
	bool seen[CALLS] = {false};

	for (size_t i = 0; i <= 20; i++)
		start(i, i == 7 ? "/slow" : "/now", LONG_MS);
	for (int n = 0; n < 20; n++) {
		struct http_call *call = next();

		assert_false(seen[call->slot]);
		seen[call->slot] = true;
		answered(call, "/now");
	}
	assert_false(seen[7]);
	assert_non_null(calls[7].transfer);
	assert_null(http_next(http));
	hall_order(&hall, 's');
	answered(next(), "/slow");
}

static void
connections_are_used_again(void **state)
{
	for (int round = 0; round < 4; round++) {
		for (size_t i = 0; i < 5; i++)
			start(i, "/slow", LONG_MS);
		/* All have arrived: none waits for another's connection. */
		while (hall.waiting < 5 * (round + 1))
			http_wait(http, -1, 5);
		hall_order(&hall, 's');
		for (int n = 0; n < 5; n++)
			answered(next(), "/slow");
	}
	assert_int_equal(hall.guests, 5);
}

static void
a_cancelled_call_is_void_and_may_start_again(void **state)
{
	start(0, "/slow", LONG_MS);
	start(1, "/now", LONG_MS);
	answered(next(), "/now");
	http_cancel(http, &calls[0]);
	assert_null(calls[0].transfer);
	assert_int_equal(calls[0].answer.status, 0);
	http_cancel(http, &calls[0]);
	http_wait(http, -1, 0);
	assert_null(http_next(http));
	start(0, "/now", LONG_MS);
	answered(next(), "/now");
	/* One that has ended but was not taken is given up as well. */
	start(0, "/now", LONG_MS);
	http_wait(http, -1, LONG_MS);
	http_cancel(http, &calls[0]);
	assert_null(http_next(http));
	assert_int_equal(calls[0].answer.status, 0);
	assert_int_equal(calls[0].answer.body.len, 0);
}

static void
closing_gives_all_up(void **state)
{
	start(0, "/slow", LONG_MS);
	start(1, "/now", LONG_MS);
	start(2, "/slow", LONG_MS);
	http_wait(http, -1, LONG_MS);
	http_close(http);
	for (size_t i = 0; i < 3; i++) {
		assert_null(calls[i].transfer);
		assert_int_equal(calls[i].answer.status, 0);
	}
	http = http_open("lastpair-test");
}

static void
one_that_fails_fails_alone(void **state)
{
	bool cut = false, late = false;

	start(0, "/cut", LONG_MS);
	start(1, "/slow", 100);
	start(2, "/now", LONG_MS);
	start(3, "/now", LONG_MS);
	for (int n = 0; n < 4; n++) {
		struct http_call *call = next();

		if (call->slot >= 2) {
			answered(call, "/now");
			continue;
		}
		cut |= call->slot == 0;
		late |= call->slot == 1;
		assert_int_equal(call->answer.status, 0);
		assert_int_equal(call->answer.body.len, 0);
		assert_null(strstr(call->answer.error, "/slow"));
		assert_true(strlen(call->answer.error) > 0);
		if (call->slot == 1)
			assert_non_null(
			    strstr(call->answer.error, "timed out"));
	}
	assert_true(cut && late);
}

/* Calls by http_do and http_start do not get into each other's way. */
static void
waiting_for_one_leaves_the_others_to_be_taken(void **state)
{
	struct http_call one = {
	    .request = {.method = "GET", .timeout_ms = LONG_MS}};

	start(0, "/now", LONG_MS);
	start(1, "/slow", LONG_MS);
	http_wait(http, -1, LONG_MS);
	buf_printf(&one.request.url, "http://127.0.0.1:%d/now", hall.port);
	assert_true(http_do(http, &one));
	assert_string_equal(buf_text(&one.answer.body), "/now");
	assert_ptr_equal(http_next(http), &calls[0]);
	assert_null(http_next(http));
	http_call_release(&one);
}

static void
a_descriptor_ends_a_wait(void **state)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "x", 1), 1);
	http_wait(http, ends[0], LONG_MS);
	start(0, "/slow", LONG_MS);
	http_wait(http, ends[0], LONG_MS);
	assert_null(http_next(http));
	/* A call does so as well, while there is nothing to be read. */
	assert_int_equal(read(ends[0], ends, 1), 1);
	start(1, "/now", LONG_MS);
	http_wait(http, ends[0], LONG_MS);
	answered(http_next(http), "/now");
	close(ends[0]);
	close(ends[1]);
}

static void
its_time_ends_a_wait(void **state)
{
	start(0, "/slow", LONG_MS);
	http_wait(http, -1, 20);
	http_wait(http, -1, 0);
	assert_null(http_next(http));
	assert_non_null(calls[0].transfer);
}

static volatile sig_atomic_t rung;

static void
on_alarm(int signo)
{
	rung = 1;
}

static void
a_signal_ends_a_wait(void **state)
{
	struct itimerval often = {{0, 20000}, {0, 20000}}, never = {{0}, {0}};
	struct sigaction action = {.sa_handler = on_alarm}, before;

	start(0, "/slow", LONG_MS);
	sigaction(SIGALRM, &action, &before);
	setitimer(ITIMER_REAL, &often, NULL);
	while (!rung)
		http_wait(http, -1, LONG_MS);
	setitimer(ITIMER_REAL, &never, NULL);
	sigaction(SIGALRM, &before, NULL);
	assert_non_null(calls[0].transfer);
	alarm(LONG_MS / 2000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_slow_one_holds_none_of_twenty),
	    TEST(connections_are_used_again),
	    TEST(a_cancelled_call_is_void_and_may_start_again),
	    TEST(closing_gives_all_up),
	    TEST(one_that_fails_fails_alone),
	    TEST(waiting_for_one_leaves_the_others_to_be_taken),
	    TEST(a_descriptor_ends_a_wait),
	    TEST(its_time_ends_a_wait),
	    TEST(a_signal_ends_a_wait),
	};

	/* A wait that does not end is a failure before its time is over. */
	alarm(LONG_MS / 2000);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
