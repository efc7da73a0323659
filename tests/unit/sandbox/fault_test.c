/* sandbox/fault: what each does to a call. */
#include "sandbox/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
kinds_are_known_by_their_names(void **state)
{
	(void)state;
	assert_int_equal(fault_kind_of(""), FAULT_NONE);
	assert_int_equal(fault_kind_of("slow"), FAULT_SLOW);
	assert_int_equal(fault_kind_of("conflict"), FAULT_CONFLICT);
	assert_int_equal(fault_kind_of("rate"), FAULT_RATE);
	assert_int_equal(fault_kind_of("error"), FAULT_ERROR);
	assert_int_equal(fault_kind_of("error_after"), FAULT_ERROR_AFTER);
	assert_int_equal(fault_kind_of("unavailable"), FAULT_UNAVAILABLE);
	assert_int_equal(fault_kind_of("timeout"), FAULT_TIMEOUT);
	assert_int_equal(fault_kind_of("lost"), FAULT_LOST);
}

static void
a_slow_call_pauses_before_it_is_answered(void **state)
{
	struct fault fault = {0};

	(void)state;
	fault_begin(&fault, FAULT_SLOW, 700);
	assert_true(fault.decided);
	assert_true(fault.unanswered);
	assert_int_equal(fault.wait_ms, 700);
	fault = (struct fault){0};
	fault_begin(&fault, FAULT_SLOW, 0);
	assert_false(fault.unanswered);
}

static void
a_late_answer_is_made_at_once(void **state)
{
	struct fault fault = {0};

	(void)state;
	fault_begin(&fault, FAULT_TIMEOUT, 700);
	assert_false(fault.unanswered);
	assert_int_equal(fault.wait_ms, 700);
}

static void
others_do_not_pause(void **state)
{
	const enum fault_kind kinds[] = {FAULT_NONE, FAULT_CONFLICT, FAULT_RATE,
	    FAULT_ERROR, FAULT_ERROR_AFTER, FAULT_UNAVAILABLE, FAULT_LOST};

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct fault fault = {0};

		fault_begin(&fault, kinds[i], 700);
		assert_true(fault.decided);
		assert_false(fault.unanswered);
		assert_int_equal(fault.wait_ms, 0);
	}
}

static void
a_lost_answer_is_never_whole(void **state)
{
	struct fault fault = {0};

	(void)state;
	assert_int_equal(fault_cut(&fault, 1000), 0);
	fault_begin(&fault, FAULT_LOST, 0);
	assert_int_equal(fault_cut(&fault, 1000), 500);
	assert_int_equal(fault_cut(&fault, 1), 1);
	assert_int_equal(fault_cut(&fault, 0), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(kinds_are_known_by_their_names),
	    cmocka_unit_test(a_slow_call_pauses_before_it_is_answered),
	    cmocka_unit_test(a_late_answer_is_made_at_once),
	    cmocka_unit_test(others_do_not_pause),
	    cmocka_unit_test(a_lost_answer_is_never_whole),
	};

	return cmocka_run_group_tests_name("sandbox/fault", tests, NULL, NULL);
}
