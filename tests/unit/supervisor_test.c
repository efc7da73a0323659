/*
 * supervisor.c with processes that only count themselves, in memory that all
 * of them share.
 */
#include "base/clock.h"
#include "cashier.h"
#include "supervisor.h"
#include "sweeper.h"
#include "web/page.h"
#include "worker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS 4
#define SWEEPER WORKERS
#define CASHIER (WORKERS + 1)
#define PLACES (WORKERS + 2)
#define PATIENCE_MS 8000

static struct shared {
	_Atomic int starts[PLACES];
	_Atomic int ended[PLACES]; /* by SIGTERM, in good order */
	_Atomic int pids[PLACES];
	_Atomic int bad_pages;
} * shared;

static char folder[64];
static char conf_path[96];
static char socket_path[96];
static pid_t supervisor;

/* In place of the processes ---------------------------------------------- */

static volatile sig_atomic_t told;

static void
on_term(int signo)
{
	(void)signo;
	told = 1;
}

static int
pretend(int place)
{
	(void)signal(SIGTERM, on_term);
	shared->starts[place]++;
	shared->pids[place] = getpid();
	while (!told)
		clock_sleep_ms(5);
	shared->ended[place]++;
	return 0;
}

int
worker_run(const struct conf *conf, int fd, int number)
{
	(void)conf;
	(void)fd;
	return pretend(number - 1);
}

int
sweeper_run(const struct conf *conf)
{
	(void)conf;
	return pretend(SWEEPER);
}

int
cashier_run(const struct conf *conf)
{
	(void)conf;
	return pretend(CASHIER);
}

bool
pages_check(const char *share)
{
	(void)share;
	return !shared->bad_pages;
}

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
			"webhook_secret = whsec_1\n",
			workers, folder) > 0);
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
		    shared->starts[i] < starts[i] && clock_monotonic_ms() < end)
			clock_sleep_ms(5);
		assert_int_equal(shared->starts[i], starts[i]);
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
	snprintf(socket_path, sizeof(socket_path), "%s/web.sock", folder);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(shared != MAP_FAILED);
	write_conf("2");
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	(void)munmap(shared, sizeof(*shared));
	(void)unlink(socket_path);
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
		wait_starts((int[PLACES]){round, round, 0, 0, round, round});
		assert_int_equal(access(socket_path, F_OK), 0);
		assert_int_equal(stop(signals[round - 1]), 0);
		assert_int_equal(access(socket_path, F_OK), -1);
		assert_int_equal(shared->ended[0], round);
		assert_int_equal(shared->ended[1], round);
		assert_int_equal(shared->ended[SWEEPER], round);
		assert_int_equal(shared->ended[CASHIER], round);
	}
}

static void
starts_again_what_dies_after_a_pause(void **state)
{
	int64_t before;

	(void)state;
	start();
	wait_starts((int[PLACES]){1, 1, 0, 0, 1, 1});
	before = clock_monotonic_ms();
	assert_int_equal(kill(shared->pids[1], SIGKILL), 0);
	wait_starts((int[PLACES]){1, 2, 0, 0, 1, 1});
	assert_in_range(clock_monotonic_ms() - before, 990, 1900);
	/* The pause doubles. */
	before = clock_monotonic_ms();
	assert_int_equal(kill(shared->pids[1], SIGKILL), 0);
	wait_starts((int[PLACES]){1, 3, 0, 0, 1, 1});
	assert_in_range(clock_monotonic_ms() - before, 1990, 2900);
	assert_int_equal(stop(SIGTERM), 0);
}

static void
replaces_all_for_new_settings(void **state)
{
	(void)state;
	start();
	wait_starts((int[PLACES]){1, 1, 0, 0, 1, 1});
	write_conf("4");
	assert_int_equal(kill(supervisor, SIGHUP), 0);
	wait_starts((int[PLACES]){2, 2, 1, 1, 2, 2});
	write_conf("1");
	assert_int_equal(kill(supervisor, SIGHUP), 0);
	wait_starts((int[PLACES]){3, 2, 1, 1, 3, 3});
	assert_true(gone_in_time(shared->pids[1]));
	assert_true(gone_in_time(shared->pids[3]));
	assert_int_equal(stop(SIGTERM), 0);
	assert_int_equal(shared->starts[1], 2);
	/* Each was asked, none was killed. */
	assert_int_equal(shared->ended[0], 3);
	assert_int_equal(shared->ended[1], 2);
	assert_int_equal(shared->ended[3], 1);
	assert_int_equal(shared->ended[CASHIER], 3);
}

static void
keeps_its_settings_when_the_new_are_bad(void **state)
{
	(void)state;
	start();
	wait_starts((int[PLACES]){1, 1, 0, 0, 1, 1});
	write_conf("many");
	assert_int_equal(kill(supervisor, SIGHUP), 0);
	/* Signals that wait become one: leave room for each. */
	clock_sleep_ms(100);
	write_conf("3");
	shared->bad_pages = 1;
	assert_int_equal(kill(supervisor, SIGHUP), 0);
	clock_sleep_ms(100);
	shared->bad_pages = 0;
	assert_int_equal(kill(supervisor, SIGHUP), 0);
	wait_starts((int[PLACES]){2, 2, 1, 0, 2, 2});
	assert_int_equal(stop(SIGTERM), 0);
}

static void
takes_its_children_with_it(void **state)
{
	(void)state;
	start();
	wait_starts((int[PLACES]){1, 1, 0, 0, 1, 1});
	assert_int_equal(stop(SIGKILL), -SIGKILL);
	assert_true(gone_in_time(shared->pids[0]));
	assert_true(gone_in_time(shared->pids[1]));
	assert_true(gone_in_time(shared->pids[SWEEPER]));
	assert_true(gone_in_time(shared->pids[CASHIER]));
	/* And the next one finds its way. */
	start();
	wait_starts((int[PLACES]){2, 2, 0, 0, 2, 2});
	assert_int_equal(stop(SIGTERM), 0);
}

static void
says_when_it_cannot_start(void **state)
{
	int status;

	(void)state;
	start();
	wait_starts((int[PLACES]){1, 1, 0, 0, 1, 1});
	/* A second one, for the same socket. */
	assert_int_equal(run(), 1);
	assert_int_equal(stop(SIGTERM), 0);
	shared->bad_pages = 1;
	start();
	assert_int_equal(waitpid(supervisor, &status, 0), supervisor);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(starts_and_ends_all),
	    TEST(starts_again_what_dies_after_a_pause),
	    TEST(replaces_all_for_new_settings),
	    TEST(keeps_its_settings_when_the_new_are_bad),
	    TEST(takes_its_children_with_it),
	    TEST(says_when_it_cannot_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
