/* bench/alarm: the order of the heap, whatever is added and taken out. */
#include "alarm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define MANY 2000

static uint64_t random_state = 7;

static uint64_t
random_next(void)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1;
	return random_state >> 33;
}

static void
assert_sorted(struct alarms *alarms, size_t count)
{
	int64_t last = INT64_MIN;
	struct alarm *alarm;
	size_t n = 0;

	while ((alarm = alarms_first(alarms))) {
		assert_true(alarm->due_us >= last);
		last = alarm->due_us;
		alarms_remove(alarms, alarm);
		assert_int_equal(alarm->place, 0);
		n++;
	}
	assert_int_equal(n, count);
}

static void
come_out_in_order(void **state)
{
	static struct alarm all[MANY];
	struct alarms alarms = {0};

	(void)state;
	for (size_t i = 0; i < MANY; i++) {
		all[i].due_us = (int64_t)(random_next() % 500);
		alarms_add(&alarms, &all[i]);
	}
	assert_sorted(&alarms, MANY);
	alarms_release(&alarms);
}

static void
can_be_taken_out_anywhere(void **state)
{
	static struct alarm all[MANY];
	struct alarms alarms = {0};
	size_t left = 0;

	(void)state;
	for (int round = 0; round < 20; round++) {
		left = 0;
		for (size_t i = 0; i < MANY; i++) {
			if (all[i].place == 0) {
				all[i].due_us = (int64_t)(random_next() % 9000);
				alarms_add(&alarms, &all[i]);
			}
			if (random_next() % 3 == 0)
				alarms_remove(&alarms,
				    &all[random_next() % MANY]);
		}
		for (size_t i = 0; i < MANY; i++)
			left += all[i].place != 0;
		assert_int_equal(left, alarms.n);
	}
	assert_sorted(&alarms, left);
	alarms_remove(&alarms, &all[0]);
	assert_null(alarms_first(&alarms));
	alarms_release(&alarms);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(come_out_in_order),
	    cmocka_unit_test(can_be_taken_out_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
