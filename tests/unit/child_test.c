/*
 * child.c with moments and processes of our own: pauses between starts, who
 * takes whose place, who is sent which signal.
 */
#include "child.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>

#define KILLED SIGKILL /* as a status of waitpid */
#define FAILED (1 << 8)

static int terms[8]; /* by pid */
static int kills[8];
static struct child child;

/* In place of the kernel's. */
int
kill(pid_t pid, int sig)
{
	assert_in_range(pid, 1, 7);
	if (sig == SIGTERM)
		terms[pid]++;
	if (sig == SIGKILL)
		kills[pid]++;
	return 0;
}

static int
setup(void **state)
{
	(void)state;
	child = (struct child){.name = "worker 1", .number = 1, .wanted = true};
	for (int i = 0; i < 8; i++) {
		terms[i] = 0;
		kills[i] = 0;
	}
	return 0;
}

/* Helpers ------------------------------------------------------------------ */

/* One that serves since that moment. */
static void
serve(pid_t pid, int64_t now)
{
	child_started(&child, pid, now);
	child_ready(&child, 0, now);
}

/* How long after its death it may be started again. */
static int64_t
pause_after(int64_t lived_ms, int64_t now)
{
	child_started(&child, 1, now - lived_ms);
	assert_true(child_reaped(&child, 1, KILLED, now));
	assert_true(child_wants_start(&child));
	assert_int_equal(child_rest(&child, now), child.delay_ms);
	return child.due_ms - now;
}

/* Tests -------------------------------------------------------------------- */

static void
who_lived_is_back_at_once_who_did_not_waits_longer(void **state)
{
	static const int64_t pauses[] = {100, 200, 400, 800, 1600, 3200, 6400,
	    12800, 25600, 30000, 30000};
	int64_t now = 1000000;

	(void)state;
	for (size_t i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
		assert_int_equal(pause_after(1000, now), pauses[i]);
		now += 100000;
	}
	/* One that lived makes up for all of that, each time. */
	assert_int_equal(pause_after(1001, now), 100);
	assert_int_equal(pause_after(1001, now), 100);
	assert_int_equal(pause_after(0, now), 200);
	assert_int_equal(pause_after(86400000, now), 100);
}

/* A kill a second, of one and then the other: each lives for two seconds. */
static void
kills_by_turns_never_meet_a_pause(void **state)
{
	int64_t now = 1000000;

	(void)state;
	child_started(&child, 1, now);
	for (int i = 0; i < 100; i++) {
		now += 2000;
		assert_true(child_reaped(&child, 1, KILLED, now));
		assert_int_equal(child.due_ms, now + 100);
		child_started(&child, 1, child.due_ms);
	}
}

static void
a_start_that_fails_is_tried_again(void **state)
{
	(void)state;
	assert_true(child_wants_start(&child));
	child_started(&child, -1, 5000);
	assert_false(child_lives(&child));
	assert_true(child_wants_start(&child));
	assert_int_equal(child_rest(&child, 5000), 100);
	child_started(&child, -1, 5100);
	assert_int_equal(child_rest(&child, 5100), 200);
	child_started(&child, 1, 5300);
	assert_false(child_wants_start(&child));
	assert_true(child_lives(&child));
}

static void
the_successor_is_ready_before_the_old_one_ends(void **state)
{
	(void)state;
	serve(1, 1000);
	assert_false(child_is_stale(&child, 1000));
	child_renew(&child);
	assert_true(child_is_stale(&child, 1000));
	assert_false(child_is_changing(&child));
	child_started(&child, 2, 2000);
	assert_true(child_is_changing(&child));
	assert_int_equal(child_find(&child, PROCESS_SERVING)->pid, 1);
	child_signal(&child, 2000);
	assert_int_equal(terms[1] + terms[2], 0);
	child_ready(&child, 0, 3000);
	/* Its shards are given away between these two. */
	assert_int_equal(child_find(&child, PROCESS_SERVING)->pid, 2);
	assert_int_equal(child_find(&child, PROCESS_ENDING)->pid, 1);
	assert_int_equal(terms[1], 0);
	child_signal(&child, 3000);
	child_signal(&child, 3001);
	assert_int_equal(terms[1], 1);
	assert_true(child_is_changing(&child));
	assert_false(child_is_stale(&child, 3001));
	assert_true(child_reaped(&child, 1, 0, 3500));
	assert_false(child_is_changing(&child));
	assert_false(child_wants_start(&child));
	assert_int_equal(child_rest(&child, 3500), 200);
}

static void
the_deaf_are_killed(void **state)
{
	(void)state;
	serve(1, 1000);
	child.wanted = false;
	child_end(&child, 2000);
	child_end(&child, 11000);
	child_signal(&child, 2000);
	assert_int_equal(child_rest(&child, 2000), 10000);
	child_signal(&child, 11999);
	assert_int_equal(kills[1], 0);
	child_signal(&child, 12000);
	assert_int_equal(kills[1], 1);
	/* Not in every turn, but again if that did not help. */
	child_signal(&child, 12001);
	assert_int_equal(kills[1], 1);
	child_signal(&child, 22000);
	assert_int_equal(kills[1], 2);
	assert_int_equal(terms[1], 1);
	assert_true(child_reaped(&child, 1, KILLED, 22001));
	assert_false(child_wants_start(&child));
}

static void
a_successor_that_is_never_ready_is_killed(void **state)
{
	(void)state;
	serve(1, 1000);
	child_renew(&child);
	child_started(&child, 2, 2000);
	assert_int_equal(child_rest(&child, 2000), 20);
	child_signal(&child, 31999);
	assert_int_equal(kills[2], 0);
	child_signal(&child, 32000);
	assert_int_equal(kills[2], 1);
	assert_int_equal(terms[1] + kills[1] + terms[2], 0);
	assert_true(child_reaped(&child, 2, KILLED, 32001));
	/* The old one serves on; the next try comes after a pause. */
	assert_int_equal(child_find(&child, PROCESS_SERVING)->pid, 1);
	assert_false(child_is_changing(&child));
	assert_false(child_is_stale(&child, 32001));
	assert_int_equal(child_rest(&child, 32001), 100);
	assert_true(child_is_stale(&child, 32101));
}

/* There is nobody better: it may wait for a database. */
static void
the_first_may_take_its_time(void **state)
{
	(void)state;
	child_started(&child, 1, 1000);
	child_signal(&child, 1000000);
	assert_int_equal(kills[1], 0);
	assert_false(child_is_changing(&child));
}

static void
growing_pauses_of_a_successor_leave_the_old_one_alone(void **state)
{
	int64_t now = 5000;

	(void)state;
	serve(1, 1000);
	child_renew(&child);
	for (int64_t pause = 100; pause < 3000; pause *= 2) {
		assert_true(child_is_stale(&child, now));
		child_started(&child, 2, now);
		assert_true(child_reaped(&child, 2, FAILED, now));
		assert_false(child_is_stale(&child, now + pause - 1));
		assert_int_equal(child_rest(&child, now),
		    pause < 200 ? pause : 200);
		now += pause;
	}
	/* New settings may be the remedy. */
	child_renew(&child);
	assert_true(child_is_stale(&child, now - 1));
	assert_int_equal(terms[1] + kills[1], 0);
}

static void
the_old_one_dies_while_its_successor_starts(void **state)
{
	(void)state;
	serve(1, 1000);
	child_renew(&child);
	child_started(&child, 2, 2000);
	assert_true(child_reaped(&child, 1, KILLED, 2001));
	assert_false(child_wants_start(&child));
	assert_false(child_is_changing(&child));
	child_ready(&child, 0, 2002);
	child_signal(&child, 2002);
	assert_int_equal(child_find(&child, PROCESS_SERVING)->pid, 2);
	assert_int_equal(terms[2], 0);
}

static void
unwanted_and_wanted_again(void **state)
{
	(void)state;
	serve(1, 1000);
	child.wanted = false;
	child_end(&child, 2000);
	child_signal(&child, 2000);
	child.wanted = true;
	assert_true(child_wants_start(&child));
	child_started(&child, 2, 2001);
	child.wanted = false;
	child_end(&child, 2002);
	child.wanted = true;
	/* There is room for two. */
	assert_false(child_wants_start(&child));
	assert_true(child_reaped(&child, 1, 0, 2003));
	assert_true(child_wants_start(&child));
	assert_false(child_reaped(&child, 7, 0, 2004));
}

/* The first look after which it is killed; 0: after none of so many. */
static int
looks_until_killed(unsigned beats, int64_t *now, int most)
{
	for (int i = 1; i <= most; i++) {
		*now += 200;
		child_look(&child, beats, *now);
		if (kills[1])
			return i;
	}
	return 0;
}

static void
the_frozen_are_killed_and_replaced_at_once(void **state)
{
	int64_t now = 1000;

	(void)state;
	child_started(&child, 1, now);
	child_ready(&child, 5, now);
	for (unsigned beats = 6; beats < 60; beats++)
		assert_int_equal(looks_until_killed(beats, &now, 9), 0);
	assert_int_equal(looks_until_killed(59, &now, 20), 2);
	assert_int_equal(terms[1], 0);
	assert_ptr_equal(child_find(&child, PROCESS_SERVING), NULL);
	/* There is no wait for its end: it may never come. */
	assert_true(child_wants_start(&child));
	assert_true(child.due_ms <= now);
	child_signal(&child, now + 9999);
	assert_int_equal(terms[1] + kills[1], 1);
	child_started(&child, 2, now);
	assert_true(child_reaped(&child, 1, KILLED, now));
	assert_false(child_wants_start(&child));
}

/* Whose loop has not begun to count, or what stood still was the machine. */
static void
others_are_not_taken_for_frozen(void **state)
{
	int64_t now = 1000;

	(void)state;
	child_started(&child, 1, now);
	assert_int_equal(looks_until_killed(0, &now, 100), 0);
	child_ready(&child, 7, now);
	assert_int_equal(looks_until_killed(7, &now, 100), 0);
	assert_int_equal(looks_until_killed(8, &now, 10), 0);
	/* An hour passes between two looks: that is one look. */
	now += 3600000;
	child_look(&child, 9, now);
	assert_int_equal(looks_until_killed(9, &now, 9), 0);
	/* And looks that follow each other too fast are none. */
	for (int i = 0; i < 199; i++)
		child_look(&child, 9, now + i);
	assert_int_equal(kills[1], 0);
	assert_int_equal(looks_until_killed(9, &now, 9), 1);
}

/* The sweeper, the cashier: no two at once. */
static void
who_is_no_worker_ends_before_it_starts_again(void **state)
{
	(void)state;
	child.number = 0;
	child_started(&child, 1, 1000);
	assert_int_equal(child_find(&child, PROCESS_SERVING)->pid, 1);
	child_end(&child, 2000);
	child_signal(&child, 2000);
	assert_false(child_wants_start(&child));
	assert_int_equal(child_rest(&child, 2000), 10000);
	assert_true(child_reaped(&child, 1, 0, 2500));
	assert_true(child_wants_start(&child));
	assert_int_equal(child_rest(&child, 2500), 0);
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(who_lived_is_back_at_once_who_did_not_waits_longer),
	    TEST(kills_by_turns_never_meet_a_pause),
	    TEST(a_start_that_fails_is_tried_again),
	    TEST(the_successor_is_ready_before_the_old_one_ends),
	    TEST(the_deaf_are_killed),
	    TEST(a_successor_that_is_never_ready_is_killed),
	    TEST(the_first_may_take_its_time),
	    TEST(growing_pauses_of_a_successor_leave_the_old_one_alone),
	    TEST(the_old_one_dies_while_its_successor_starts),
	    TEST(unwanted_and_wanted_again),
	    TEST(the_frozen_are_killed_and_replaced_at_once),
	    TEST(others_are_not_taken_for_frozen),
	    TEST(who_is_no_worker_ends_before_it_starts_again),
	};

	return cmocka_run_group_tests_name("child", tests, NULL, NULL);
}
