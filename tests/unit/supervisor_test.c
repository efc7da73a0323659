/*
 * supervisor.c with processes that only count themselves: who is started and
 * ended when, and that there is somebody for each shard at every moment.
 */
#include "supervisor.h"
#include "supervisor_fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define PATIENCE_MS 8000

static char folder[64];
static char conf_path[96];
static const char *mail = "";
static pid_t supervisor;

/* Helpers ------------------------------------------------------------------ */

static void
write_conf(const char *workers)
{
	FILE *file = fopen(conf_path, "w");

	assert_non_null(file);
	assert_true(fprintf(file,
			"[database]\nurl = dbname=x\n"
			"[server]\npublic_url = http://127.0.0.1:1\n"
			"workers = %s\nsocket_dir = %s\nshare = .\n"
			"[buyer]\nsecret = 0123456789abcdef0123456789abcdef\n"
			"[stripe]\napi_base = http://127.0.0.1:2\n"
			"open_key = sk_test_1\nrefund_key = rk_test_1\n"
			"webhook_secret = whsec_1\n"
			"[mail]\nfrom = shop@shop.test\nsmtp_url = %s\n",
			workers, folder, mail) > 0);
	assert_int_equal(fclose(file), 0);
}

static int
run(void)
{
	struct conf conf;
	const char *why = conf_read(&conf, conf_path);
	int result = why ? 9 : supervisor_run(&conf, conf_path);

	conf_release(&conf);
	return result;
}

static void
start(void)
{
	supervisor = fork();
	assert_true(supervisor >= 0);
	if (supervisor == 0)
		exit(run());
}

/* Waits until each of the places has been started so often. */
static void
wait_starts(const int starts[PLACES])
{
	int64_t end = clock_monotonic_ms() + PATIENCE_MS;

	for (size_t i = 0; i < PLACES; i++) {
		while (
		    seen->starts[i] < starts[i] && clock_monotonic_ms() < end)
			clock_sleep_ms(5);
		assert_int_equal(seen->starts[i], starts[i]);
	}
}

/* How many shards the worker has, as the workers see it. */
static int
owned(int number)
{
	int n = 0;

	for (int s = 0; s < SHARDS; s++)
		n += seen->owners[s] == number;
	return n;
}

static void
wait_owned(int number, int shards)
{
	int64_t end = clock_monotonic_ms() + PATIENCE_MS;

	while (owned(number) != shards && clock_monotonic_ms() < end)
		clock_sleep_ms(5);
	assert_int_equal(owned(number), shards);
}

static void
wait_value(const _Atomic int *value, int wanted)
{
	int64_t end = clock_monotonic_ms() + PATIENCE_MS;

	while (*value != wanted && clock_monotonic_ms() < end)
		clock_sleep_ms(5);
	assert_int_equal(*value, wanted);
}

/* Two workers that serve, with half of the shards each. */
static void
start_two(void)
{
	start();
	wait_starts((int[PLACES]){1, 1, 0, 0, 1, 1, 1});
	wait_owned(1, SHARDS / 2);
	wait_owned(2, SHARDS / 2);
}

/* How many of the sockets are there. */
static int
sockets_there(void)
{
	int n = 0;

	for (int s = 0; s < SHARDS; s++) {
		struct buf path = {0};

		shard_path(&path, folder, s);
		n += access(buf_text(&path), F_OK) == 0;
		buf_release(&path);
	}
	return n;
}

static void
sockets_remove(void)
{
	for (int s = 0; s < SHARDS; s++) {
		struct buf path = {0};

		shard_path(&path, folder, s);
		(void)unlink(buf_text(&path));
		buf_release(&path);
	}
}

static bool
gone_in_time(pid_t pid)
{
	int64_t end = clock_monotonic_ms() + PATIENCE_MS;

	while (kill(pid, 0) == 0 && clock_monotonic_ms() < end)
		clock_sleep_ms(5);
	return kill(pid, 0) != 0;
}

static int
stop(int signo)
{
	int status = 0;

	assert_int_equal(kill(supervisor, signo), 0);
	assert_int_equal(waitpid(supervisor, &status, 0), supervisor);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int
setup(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/super-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(conf_path, sizeof(conf_path), "%s/conf", folder);
	seen = mmap(NULL, sizeof(*seen), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(seen != MAP_FAILED);
	write_conf("2");
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	(void)munmap(seen, sizeof(*seen));
	sockets_remove();
	(void)unlink(conf_path);
	(void)rmdir(folder);
	return 0;
}

/* Tests ------------------------------------------------------------------- */

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
