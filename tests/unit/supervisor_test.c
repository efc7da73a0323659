/*
 * supervisor.c with processes that only count themselves: who is started and
 * ended when, and that there is somebody for each shard at every moment.
 */
#include "supervisor_rig.h"

static void
starts_and_ends_all(void **state)
{
	static const int signals[] = {SIGTERM, SIGINT};

	(void)state;
	for (int round = 1; round <= 2; round++) {
		start();
		wait_starts(
		    (int[PLACES]){round, round, 0, 0, round, round, round});
		assert_int_equal(sockets_there(), SHARDS);
		wait_value(&seen->serve[0], 1);
		wait_value(&seen->serve[1], 1);
		assert_int_equal(stop(signals[round - 1]), 0);
		assert_int_equal(sockets_there(), 0);
		assert_int_equal(seen->ended[0], round);
		assert_int_equal(seen->ended[1], round);
		assert_int_equal(seen->ended[SWEEPER], round);
		assert_int_equal(seen->ended[CASHIER], round);
		assert_int_equal(seen->ended[COURIER], round);
	}
	/* The sockets are for the workers alone. */
	assert_int_equal(seen->sockets[0], SHARDS);
	assert_int_equal(seen->sockets[SWEEPER], 0);
	assert_int_equal(seen->sockets[CASHIER], 0);
	assert_int_equal(seen->sockets[COURIER], 0);
	assert_int_equal(seen->few_files, 0);
}

static void
starts_again_what_dies_after_a_pause(void **state)
{
	int64_t before;

	(void)state;
	start_two();
	before = clock_monotonic_ms();
	assert_int_equal(kill(seen->pids[1], SIGKILL), 0);
	wait_starts((int[PLACES]){1, 2, 0, 0, 1, 1, 1});
	assert_true(clock_monotonic_ms() - before >= 100);
	assert_int_equal(kill(seen->pids[CASHIER], SIGKILL), 0);
	wait_starts((int[PLACES]){1, 2, 0, 0, 1, 2, 1});
	assert_int_equal(stop(SIGTERM), 0);
}

static void
the_others_serve_what_a_dead_one_had(void **state)
{
	(void)state;
	start_two();
	seen->slow_start = 1;
	assert_int_equal(kill(seen->pids[1], SIGKILL), 0);
	/* At once, not when its successor is there. */
	wait_owned(1, SHARDS);
	wait_starts((int[PLACES]){1, 2, 0, 0, 1, 1, 1});
	assert_int_equal(owned(1), SHARDS);
	seen->slow_start = 0;
	wait_owned(2, SHARDS / 2);
	assert_int_equal(owned(1), SHARDS / 2);
	assert_int_equal(stop(SIGTERM), 0);
}

static void
when_all_die_the_first_back_gets_all(void **state)
{
	(void)state;
	start_two();
	assert_int_equal(kill(seen->pids[0], SIGSTOP), 0);
	assert_int_equal(kill(seen->pids[1], SIGKILL), 0);
	assert_int_equal(kill(seen->pids[0], SIGKILL), 0);
	wait_starts((int[PLACES]){2, 2, 0, 0, 1, 1, 1});
	wait_owned(1, SHARDS / 2);
	wait_owned(2, SHARDS / 2);
	assert_int_equal(stop(SIGTERM), 0);
}

static void
a_frozen_worker_is_replaced(void **state)
{
	pid_t frozen;

	(void)state;
	start_two();
	frozen = seen->pids[1];
	/* It has shown that it lives, and stops to. */
	clock_sleep_ms(500);
	assert_int_equal(kill(frozen, SIGSTOP), 0);
	assert_true(gone_in_time(frozen));
	wait_starts((int[PLACES]){1, 2, 0, 0, 1, 1, 1});
	wait_owned(2, SHARDS / 2);
	assert_int_equal(stop(SIGTERM), 0);
}

static void
replaces_all_for_new_settings(void **state)
{
	(void)state;
	start_two();
	write_conf("4");
	assert_int_equal(kill(supervisor, SIGHUP), 0);
	wait_starts((int[PLACES]){2, 2, 1, 1, 2, 2, 2});
	for (int number = 1; number <= WORKERS; number++)
		wait_owned(number, SHARDS / WORKERS);
	write_conf("1");
	assert_int_equal(kill(supervisor, SIGHUP), 0);
	wait_starts((int[PLACES]){3, 2, 1, 1, 3, 3, 3});
	assert_true(gone_in_time(seen->pids[1]));
	assert_true(gone_in_time(seen->pids[3]));
	wait_owned(1, SHARDS);
	/* Nobody who was told to end had a shard, or had one that was ready. */
	assert_int_equal(seen->alone[0], 0);
	for (int i = 1; i < WORKERS; i++) {
		assert_int_equal(seen->alone[i], 1);
		assert_int_equal(seen->kept[i], 0);
	}
	assert_int_equal(stop(SIGTERM), 0);
	assert_int_equal(seen->starts[1], 2);
	/* Each was asked, none was killed. */
	assert_int_equal(seen->ended[0], 3);
	assert_int_equal(seen->ended[1], 2);
	assert_int_equal(seen->ended[3], 1);
	assert_int_equal(seen->ended[CASHIER], 3);
}

static void
one_worker_alone_is_replaced_without_a_gap(void **state)
{
	pid_t first;

	(void)state;
	write_conf("1");
	start();
	wait_starts((int[PLACES]){1, 0, 0, 0, 1, 1, 1});
	wait_owned(1, SHARDS);
	first = seen->pids[0];
	seen->slow_start = 1;
	assert_int_equal(kill(supervisor, SIGHUP), 0);
	wait_starts((int[PLACES]){2, 0, 0, 0, 1, 1, 1});
	/* It goes on while the other is not ready. */
	assert_int_equal(kill(first, 0), 0);
	assert_int_equal(seen->serve[0], 1);
	assert_int_equal(seen->ended[0], 0);
	seen->slow_start = 0;
	assert_true(gone_in_time(first));
	wait_value(&seen->ended[0], 1);
	assert_int_equal(seen->alone[0], 0);
	wait_starts((int[PLACES]){2, 0, 0, 0, 2, 2, 2});
	assert_int_equal(stop(SIGTERM), 0);
}

static void
a_successor_that_cannot_start_changes_nothing(void **state)
{
	pid_t first;

	(void)state;
	start_two();
	first = seen->pids[0];
	seen->bad_start = 1;
	assert_int_equal(kill(supervisor, SIGHUP), 0);
	/* It is tried again and again, in growing pauses. */
	wait_value(&seen->starts[0], 3);
	assert_int_equal(kill(first, 0), 0);
	assert_int_equal(seen->ended[0] + seen->ended[1], 0);
	assert_int_equal(owned(1), SHARDS / 2);
	seen->bad_start = 0;
	assert_true(gone_in_time(first));
	wait_value(&seen->ended[1], 1);
	assert_int_equal(seen->alone[0] + seen->alone[1], 0);
	assert_int_equal(stop(SIGTERM), 0);
}

static void
a_death_during_the_replacement_is_made_good(void **state)
{
	pid_t first;

	(void)state;
	start_two();
	first = seen->pids[0];
	seen->slow_start = 1;
	assert_int_equal(kill(supervisor, SIGHUP), 0);
	wait_value(&seen->starts[0], 2);
	/* The old one, while the new one starts. */
	assert_int_equal(kill(first, SIGKILL), 0);
	wait_owned(2, SHARDS);
	assert_int_equal(seen->starts[0], 2);
	seen->slow_start = 0;
	wait_starts((int[PLACES]){2, 2, 0, 0, 2, 2, 2});
	wait_owned(1, SHARDS / 2);
	wait_value(&seen->ended[1], 1);
	assert_int_equal(stop(SIGTERM), 0);
	assert_int_equal(seen->starts[0], 2);
}

static void
settings_during_a_replacement_replace_again(void **state)
{
	(void)state;
	start_two();
	seen->slow_start = 1;
	assert_int_equal(kill(supervisor, SIGHUP), 0);
	wait_value(&seen->starts[0], 2);
	write_conf("3");
	assert_int_equal(kill(supervisor, SIGHUP), 0);
	wait_value(&seen->starts[2], 1);
	seen->slow_start = 0;
	wait_starts((int[PLACES]){3, 2, 1, 0, 2, 2, 2});
	wait_value(&seen->ended[0], 2);
	wait_value(&seen->ended[1], 1);
	assert_int_equal(seen->alone[0] + seen->alone[1], 0);
	assert_int_equal(stop(SIGTERM), 0);
	assert_int_equal(seen->starts[2], 1);
}

static void
keeps_its_settings_when_the_new_are_bad(void **state)
{
	(void)state;
	start();
	wait_starts((int[PLACES]){1, 1, 0, 0, 1, 1, 1});
	write_conf("many");
	assert_int_equal(kill(supervisor, SIGHUP), 0);
	/* Signals that wait become one: leave room for each. */
	clock_sleep_ms(100);
	write_conf("3");
	seen->bad_pages = 1;
	assert_int_equal(kill(supervisor, SIGHUP), 0);
	clock_sleep_ms(100);
	seen->bad_pages = 0;
	seen->bad_letters = 1;
	assert_int_equal(kill(supervisor, SIGHUP), 0);
	clock_sleep_ms(100);
	seen->bad_letters = 0;
	mail = "http://mail.test";
	write_conf("3");
	assert_int_equal(kill(supervisor, SIGHUP), 0);
	clock_sleep_ms(100);
	mail = "smtp://mail.test";
	write_conf("3");
	assert_int_equal(kill(supervisor, SIGHUP), 0);
	wait_starts((int[PLACES]){2, 2, 1, 0, 2, 2, 2});
	mail = "";
	assert_int_equal(stop(SIGTERM), 0);
}

static void
takes_its_children_with_it(void **state)
{
	(void)state;
	start();
	wait_starts((int[PLACES]){1, 1, 0, 0, 1, 1, 1});
	assert_int_equal(stop(SIGKILL), -SIGKILL);
	assert_true(gone_in_time(seen->pids[0]));
	assert_true(gone_in_time(seen->pids[1]));
	assert_true(gone_in_time(seen->pids[SWEEPER]));
	assert_true(gone_in_time(seen->pids[CASHIER]));
	assert_true(gone_in_time(seen->pids[COURIER]));
	/* And the next one finds its way. */
	start();
	wait_starts((int[PLACES]){2, 2, 0, 0, 2, 2, 2});
	assert_int_equal(stop(SIGTERM), 0);
}

static void
says_when_it_cannot_start(void **state)
{
	struct buf path = {0};
	int status;

	(void)state;
	start();
	wait_starts((int[PLACES]){1, 1, 0, 0, 1, 1, 1});
	/* A second one, for the same sockets, which it leaves alone. */
	assert_int_equal(run(), 1);
	assert_int_equal(sockets_there(), SHARDS);
	assert_int_equal(stop(SIGTERM), 0);
	seen->bad_pages = 1;
	start();
	assert_int_equal(waitpid(supervisor, &status, 0), supervisor);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	seen->bad_pages = 0;
	/* A file in the way of one of them: none stays behind. */
	shard_path(&path, folder, 5);
	assert_int_equal(mkdir(buf_text(&path), 0700), 0);
	assert_int_equal(run(), 1);
	assert_int_equal(sockets_there(), 1);
	assert_int_equal(rmdir(buf_text(&path)), 0);
	buf_release(&path);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(starts_and_ends_all),
	    TEST(starts_again_what_dies_after_a_pause),
	    TEST(the_others_serve_what_a_dead_one_had),
	    TEST(when_all_die_the_first_back_gets_all),
	    TEST(a_frozen_worker_is_replaced),
	    TEST(replaces_all_for_new_settings),
	    TEST(one_worker_alone_is_replaced_without_a_gap),
	    TEST(a_successor_that_cannot_start_changes_nothing),
	    TEST(a_death_during_the_replacement_is_made_good),
	    TEST(settings_during_a_replacement_replace_again),
	    TEST(keeps_its_settings_when_the_new_are_bad),
	    TEST(takes_its_children_with_it),
	    TEST(says_when_it_cannot_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
