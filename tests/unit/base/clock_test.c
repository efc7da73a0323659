/* base/clock: form of the ISO text, order of the monotonic clock. */
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <string.h>
#include <unistd.h>

static void
iso_has_its_fixed_form(void **state)
{
	static const char form[] = "dddd-dd-ddTdd:dd:dd.dddZ";
	char text[25];

	(void)state;
	clock_iso(text);
	assert_int_equal(strlen(text), 24);
	for (size_t i = 0; i < 24; i++) {
		if (form[i] == 'd')
			assert_in_range(text[i], '0', '9');
		else
			assert_int_equal(text[i], form[i]);
	}
}

static void
unix_time_is_this_century(void **state)
{
	(void)state;
	assert_true(clock_unix() > 1700000000);
	assert_true(clock_unix() < 4102444800);
}

static void
sleep_lasts_at_least_its_time(void **state)
{
	int64_t start = clock_monotonic_ms();

	(void)state;
	clock_sleep_ms(0);
	clock_sleep_ms(-5);
	clock_sleep_ms(20);
	assert_true(clock_monotonic_ms() - start >= 20);
}

static void
signal_noop(int number)
{
	(void)number;
}

static void
sleep_ends_early_at_a_signal(void **state)
{
	struct sigaction action = {.sa_handler = signal_noop};
	int64_t start = clock_monotonic_ms();

	(void)state;
	assert_int_equal(sigaction(SIGALRM, &action, NULL), 0);
	(void)alarm(1);
	clock_sleep_ms(30000);
	assert_true(clock_monotonic_ms() - start < 15000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(iso_has_its_fixed_form),
	    cmocka_unit_test(unix_time_is_this_century),
	    cmocka_unit_test(sleep_lasts_at_least_its_time),
	    cmocka_unit_test(sleep_ends_early_at_a_signal),
	};

	return cmocka_run_group_tests_name("base/clock", tests, NULL, NULL);
}
