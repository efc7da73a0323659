/* io/lane: what becomes of a batch when something fails; the gate. */
#include "io/lane_rig.h"

/* Failures ---------------------------------------------------------------- */

static enum db_status
plan_poison(const struct fake_batch *batch)
{
	return has(batch, "c2") ? DB_REFUSED : DB_OK;
}

static void
one_that_is_refused_spoils_nobody_else(void **state)
{
	fake.plan = plan_poison;
	begin_with_one_under_way(128);
	put(1, 3);
	hold_calls(false);
	(void)await_done(4);
	assert_seen("c0\nc1 c2 c3\nc1\nc2\nc3\n");
	assert_statuses("ooro");
}

static enum db_status
plan_conflict(const struct fake_batch *batch)
{
	return batch->n > 1 || has(batch, "c3") ? DB_CONFLICT : DB_OK;
}

static void
a_batch_in_conflict_is_taken_apart_once(void **state)
{
	fake.plan = plan_conflict;
	begin_with_one_under_way(128);
	put(1, 3);
	hold_calls(false);
	(void)await_done(4);
	assert_seen("c0\nc1 c2 c3\nc1\nc2\nc3\n");
	assert_statuses("oooc");
}

static enum db_status
plan_bug(const struct fake_batch *batch)
{
	return batch->n > 1 ? DB_BUG : DB_OK;
}

static void
a_bug_of_many_is_no_bug_of_each(void **state)
{
	fake.plan = plan_bug;
	begin_with_one_under_way(128);
	put(1, 2);
	hold_calls(false);
	(void)await_done(3);
	assert_seen("c0\nc1 c2\nc1\nc2\n");
	assert_statuses("ooo");
}

static enum db_status
plan_down(const struct fake_batch *batch)
{
	return DB_DOWN;
}

static void
without_a_database_all_are_told_at_once(void **state)
{
	fake.plan = plan_down;
	begin_with_one_under_way(128);
	put(1, 3);
	hold_calls(false);
	(void)await_done(4);
	assert_seen("c0\nc1 c2 c3\n");
	assert_statuses("dddd");
	assert_int_equal(fake_ms, 1000);
}

/* The batch is lost, the database is away for a moment, then there. */
static enum db_status
plan_lost(const struct fake_batch *batch)
{
	/* The last batch is another one. */
	if (batch->nr < 5 && lane_done(fake.lane))
		fake.wrong = true;
	switch (batch->nr) {
	case 1:
		return DB_LOST;
	case 2:
		return DB_DOWN;
	case 3:
		return DB_LOST;
	default:
		return DB_OK;
	}
}

static void
who_was_lost_is_asked_again_before_any_answer(void **state)
{
	fake.plan = plan_lost;
	begin_with_one_under_way(128);
	put(1, 2);
	hold_calls(false);
	(void)await_done(3);
	assert_seen("c0\nc0\nc0\nc0\nc1 c2\n");
	assert_statuses("ooo");
	/* The answer is from here. */
	assert_int_equal(fake.calls[0].asked_ms, 1150);
}

static enum db_status
plan_lost_for_ever(const struct fake_batch *batch)
{
	if (has(batch, "c0"))
		return DB_OK;
	if (fake_ms >= (has(batch, "c2") ? 1120 : 1300))
		fake.wrong = true;
	return batch->nr % 2 ? DB_DOWN : DB_LOST;
}

static void
who_stays_lost_is_told_when_the_time_is_over(void **state)
{
	fake.plan = plan_lost_for_ever;
	fake.calls[1].until_ms = 1300;
	fake.calls[2].until_ms = 1120;
	fake.calls[3].until_ms = 1300;
	begin_with_one_under_way(128);
	put(1, 3);
	hold_calls(false);
	(void)await_done(4);
	assert_seen("c0\nc1 c2 c3\nc1 c2 c3\nc1 c2 c3\n"
		    "c1 c3\nc1 c3\nc1 c3\n");
	assert_statuses("oddd");
	assert_int_equal(fake_ms, 1300);
}

/* Lost, then refused as a whole: what follows is still asked for certain. */
static enum db_status
plan_lost_and_poisoned(const struct fake_batch *batch)
{
	static const enum db_status statuses[] = {DB_OK, DB_LOST, DB_REFUSED,
	    DB_DOWN, DB_OK, DB_REFUSED};

	return statuses[batch->nr - 1];
}

static void
the_lost_are_asked_one_by_one_as_well(void **state)
{
	fake.plan = plan_lost_and_poisoned;
	begin_with_one_under_way(128);
	put(1, 2);
	hold_calls(false);
	(void)await_done(3);
	assert_seen("c0\nc1 c2\nc1 c2\nc1\nc1\nc2\n");
	assert_statuses("oor");
}

/* Time -------------------------------------------------------------------- */

static void
who_waited_too_long_is_never_sent(void **state)
{
	begin_with_one_under_way(128);
	fake.calls[1].until_ms = 1100;
	fake.calls[2].until_ms = 1101;
	put(1, 3);
	fake_ms = 1100;
	hold_calls(false);
	(void)await_done(4);
	assert_seen("c0\nc2 c3\n");
	assert_statuses("odoo");
	assert_int_equal(fake.calls[1].asked_ms, 0);
}

static enum db_status
plan_slow(const struct fake_batch *batch)
{
	if (batch->n > 1)
		return DB_CONFLICT;
	fake_ms += 60;
	return DB_OK;
}

static void
time_runs_out_one_by_one_too(void **state)
{
	fake.plan = plan_slow;
	begin_with_one_under_way(128);
	for (int i = 1; i <= 3; i++)
		fake.calls[i].until_ms = 1170;
	put(1, 3);
	hold_calls(false);
	(void)await_done(4);
	assert_seen("c0\nc1 c2 c3\nc1\nc2\n");
	assert_statuses("oood");
}

static void
who_waits_behind_a_stuck_call_is_told_in_time(void **state)
{
	struct lane_call *call;

	begin_with_one_under_way(128);
	fake.calls[1].until_ms = 2000;
	fake.calls[2].until_ms = 3000;
	fake.calls[3].until_ms = 2000;
	put(1, 3);
	assert_null(lane_done(fake.lane));
	fake_ms = 2000;
	call = lane_done(fake.lane);
	assert_ptr_equal(call, &fake.calls[1]);
	assert_ptr_equal(call->next, &fake.calls[3]);
	assert_null(call->next->next);
	assert_int_equal(lane_waiting(fake.lane), 2);
	assert_null(lane_done(fake.lane));
	put(4, 4);
	hold_calls(false);
	(void)await_done(3);
	assert_seen("c0\nc2 c4\n");
	assert_statuses("ododo");
	/* c0 was under way when its own time ended: that is its answer. */
	assert_int_equal(lane_waiting(fake.lane), 0);
}

/* The gate ------------------------------------------------------------------ */

static void
what_the_gate_wants_to_know_is_learned(void **state)
{
	fake.wanted = "RUN-42";
	lane_begin(128);
	put(0, 0);
	(void)await_done(1);
	lane_stop(fake.lane);
	assert_string_equal(buf_text(&fake.learned),
	    "begin RUN-42\nasked\nann \nben key-of-ben\nend RUN-42\n"
	    "released\n");
	lane_close(fake.lane);
	lane_begin(128);
}

static void
what_cannot_be_learned_is_not_known(void **state)
{
	fake.wanted = "RUN-42";
	fake.members_status = DB_DOWN;
	lane_begin(128);
	put(0, 0);
	(void)await_done(1);
	lane_stop(fake.lane);
	assert_string_equal(buf_text(&fake.learned), "begin RUN-42\nasked\n");
	lane_close(fake.lane);
	lane_begin(128);
}

static void
nothing_is_asked_while_the_gate_cannot_learn(void **state)
{
	fake.wanted = "RUN-42";
	fake.unsettled = true;
	lane_begin(128);
	put(0, 0);
	(void)await_done(1);
	lane_stop(fake.lane);
	assert_string_equal(buf_text(&fake.learned), "begin RUN-42\n");
	lane_close(fake.lane);
	lane_begin(128);
}

/* Many at once ----------------------------------------------------------------- */

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(one_that_is_refused_spoils_nobody_else),
	    TEST(a_batch_in_conflict_is_taken_apart_once),
	    TEST(a_bug_of_many_is_no_bug_of_each),
	    TEST(without_a_database_all_are_told_at_once),
	    TEST(who_was_lost_is_asked_again_before_any_answer),
	    TEST(who_stays_lost_is_told_when_the_time_is_over),
	    TEST(the_lost_are_asked_one_by_one_as_well),
	    TEST(who_waited_too_long_is_never_sent),
	    TEST(time_runs_out_one_by_one_too),
	    TEST(who_waits_behind_a_stuck_call_is_told_in_time),
	    TEST(what_the_gate_wants_to_know_is_learned),
	    TEST(what_cannot_be_learned_is_not_known),
	    TEST(nothing_is_asked_while_the_gate_cannot_learn),
	};

	return cmocka_run_group_tests_name("io/lane failures", tests, NULL,
	    NULL);
}
