/* bench/hist: quantiles against the sorted times themselves. */
#include "hist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#define MANY 5000

static int
compare(const void *a, const void *b)
{
	const int64_t *x = a;
	const int64_t *y = b;

	return (*x > *y) - (*x < *y);
}

static void
small_times_are_exact(void **state)
{
	static struct hist hist;

	(void)state;
	for (int64_t us = 0; us < 128; us++)
		hist_add(&hist, us);
	assert_int_equal(hist_quantile(&hist, 0.5), 63);
	assert_int_equal(hist_quantile(&hist, 1), 127);
	assert_int_equal(hist_quantile(&hist, 0), 0);
	assert_int_equal(hist.max_us, 127);
	assert_int_equal(hist.count, 128);
	assert_true(hist_mean(&hist) > 63 && hist_mean(&hist) < 64);
}

/* Over eight powers of ten, never below and at most 1.6 % above. */
static void
quantiles_are_close(void **state)
{
	static const double shares[] = {0.01, 0.5, 0.9, 0.99, 0.999, 1};
	static struct hist hist;
	static int64_t times[MANY];
	uint64_t random = 1;

	(void)state;
	for (size_t i = 0; i < MANY; i++) {
		random = random * UINT64_C(6364136223846793005) + 1;
		times[i] = (int64_t)((random >> 33) >> ((random >> 20) % 30));
		hist_add(&hist, times[i]);
	}
	qsort(times, MANY, sizeof(times[0]), compare);
	for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++) {
		size_t at = (size_t)(shares[i] * MANY + 0.999999) - 1;
		int64_t got = hist_quantile(&hist, shares[i]);

		assert_true(got >= times[at]);
		assert_true((double)got <= (double)times[at] * 1.016 + 1);
	}
	assert_int_equal(hist_quantile(&hist, 1), times[MANY - 1]);
}

static void
odd_times_do_no_harm(void **state)
{
	static struct hist hist;

	(void)state;
	assert_int_equal(hist_quantile(&hist, 0.99), 0);
	assert_true(hist_mean(&hist) == 0);
	hist_add(&hist, -5);
	hist_add(&hist, INT64_MAX / 4);
	assert_int_equal(hist.count, 2);
	assert_int_equal(hist_quantile(&hist, 0.5), 0);
	assert_true(hist_quantile(&hist, 1) > INT64_C(30000000000));
}

static void
sums_are_sums(void **state)
{
	static struct hist one;
	static struct hist two;

	(void)state;
	for (int64_t us = 0; us < 1000; us++)
		hist_add(us % 2 ? &one : &two, us * 10);
	hist_merge(&one, &two);
	assert_int_equal(one.count, 1000);
	assert_int_equal(one.max_us, 9990);
	assert_true(llabs(hist_quantile(&one, 0.5) - 4990) < 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(small_times_are_exact),
	    cmocka_unit_test(quantiles_are_close),
	    cmocka_unit_test(odd_times_do_no_harm),
	    cmocka_unit_test(sums_are_sums),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
