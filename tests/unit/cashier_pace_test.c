/* The token buckets: how much goes out in any second, and how evenly. */
#include "cashier_pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SENT_MAX 4000

static int64_t sent[SENT_MAX];
static size_t sent_count;

static struct provider_pace
limits(int each, int all)
{
	struct provider_pace limits = {.calls_per_second = all};

	for (int i = 0; i < ENDPOINTS; i++)
		limits.per_second[i] = each;
	return limits;
}

/* Sends whatever may go out, looking every so many milliseconds. */
static void
send_all(struct pace *pace, enum endpoint endpoint, int64_t from, int64_t to,
    int64_t every)
{
	for (int64_t now = from; now < to; now += every) {
		while (pace_wait(pace, endpoint, now) == 0) {
			pace_take(pace, endpoint, now);
			assert_true(sent_count < SENT_MAX);
			sent[sent_count++] = now;
		}
	}
}

/* The most that went out in any second. */
static size_t
most_in_a_second(void)
{
	size_t most = 0, from = 0;

	for (size_t i = 0; i < sent_count; i++) {
		while (sent[i] - sent[from] >= 1000)
			from++;
		if (i - from + 1 > most)
			most = i - from + 1;
	}
	return most;
}

static int
setup(void **state)
{
	sent_count = 0;
	return 0;
}

static void
a_rate_is_kept_in_any_second(void **state)
{
	/* rate, and what may go out in a second at most */
	static const int rates[][2] = {{1, 2}, {3, 4}, {10, 11}, {20, 22},
	    {25, 27}, {80, 88}, {100, 110}};
	/* Looking seldom lets tokens gather; a pause fills the bucket. */
	static const int64_t every[] = {1, 7, 50, 333};

	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		for (size_t e = 0; e < 4; e++) {
			struct provider_pace own = limits(rates[r][0], 1000);
			struct pace pace;

			sent_count = 0;
			pace_init(&pace, &own, 500);
			send_all(&pace, ENDPOINT_OPEN, 500, 4500, every[e]);
			send_all(&pace, ENDPOINT_OPEN, 60000, 64000, every[e]);
			assert_in_range(most_in_a_second(), 1, rates[r][1]);
		}
	}
}

static void
nothing_is_lost_by_looking_often(void **state)
{
	struct provider_pace own = limits(20, 1000);
	struct pace pace;

	pace_init(&pace, &own, 0);
	send_all(&pace, ENDPOINT_END, 0, 10000, 1);
	/* 20 a second, and the one that it begins with. */
	assert_int_equal(sent_count, 200);
	for (size_t i = 1; i < sent_count; i++)
		assert_int_equal(sent[i] - sent[i - 1], 50);
}

static void
waiting_for_as_long_as_it_says_is_enough(void **state)
{
	static const int64_t rates[] = {1, 3, 7, 20, 33, 1000};

	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		struct provider_pace own = limits((int)rates[r], 1000);
		struct pace pace;
		int64_t now = 77;

		pace_init(&pace, &own, now);
		for (int i = 0; i < 100; i++) {
			int64_t wait = pace_wait(&pace, ENDPOINT_LOOK, now);

			if (wait > 0)
				assert_true(pace_wait(&pace, ENDPOINT_LOOK,
						now + wait - 1) > 0);
			now += wait;
			assert_int_equal(pace_wait(&pace, ENDPOINT_LOOK, now),
			    0);
			pace_take(&pace, ENDPOINT_LOOK, now);
		}
		/* Rounded up to a millisecond, and never faster. */
		assert_true(now - 77 >= (int64_t)99 * 1000 / rates[r]);
		assert_true(now - 77 <= 99 * (1000 / rates[r] + 1));
	}
}

static void
endpoints_do_not_share_but_the_whole(void **state)
{
	struct provider_pace own = limits(20, 30);
	struct pace pace;

	pace_init(&pace, &own, 0);
	send_all(&pace, ENDPOINT_OPEN, 0, 1, 1);
	/* The whole lets one more go out 34 ms later, opens 50 ms. */
	assert_int_equal(pace_wait(&pace, ENDPOINT_OPEN, 0), 50);
	assert_int_equal(pace_wait(&pace, ENDPOINT_END, 0), 34);
	for (int64_t now = 1; now < 10000; now++) {
		send_all(&pace, ENDPOINT_OPEN, now, now + 1, 1);
		send_all(&pace, ENDPOINT_END, now, now + 1, 1);
	}
	assert_int_equal(sent_count, 300);
	assert_in_range(most_in_a_second(), 30, 33);
}

static void
it_says_how_many_may_go_out_soon(void **state)
{
	struct provider_pace own = limits(20, 1000);
	struct pace pace;

	pace_init(&pace, &own, 0);
	assert_int_equal(pace_within(&pace, ENDPOINT_OPEN, 0, 0), 1);
	assert_int_equal(pace_within(&pace, ENDPOINT_OPEN, 0, 49), 1);
	assert_int_equal(pace_within(&pace, ENDPOINT_OPEN, 0, 200), 5);
	pace_take(&pace, ENDPOINT_OPEN, 0);
	assert_int_equal(pace_within(&pace, ENDPOINT_OPEN, 0, 200), 4);
	assert_int_equal(pace_within(&pace, ENDPOINT_OPEN, 0, 49), 0);
	/* A bucket that has been full for long holds two. */
	assert_int_equal(pace_within(&pace, ENDPOINT_OPEN, 5000, 0), 2);
	own = limits(100, 5);
	pace_init(&pace, &own, 0);
	assert_int_equal(pace_within(&pace, ENDPOINT_OPEN, 0, 1000), 6);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_rate_is_kept_in_any_second),
	    TEST(nothing_is_lost_by_looking_often),
	    TEST(waiting_for_as_long_as_it_says_is_enough),
	    TEST(endpoints_do_not_share_but_the_whole),
	    TEST(it_says_how_many_may_go_out_soon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
