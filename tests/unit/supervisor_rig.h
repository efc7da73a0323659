/*
 * A supervisor in a process of its own, with settings in a folder of its own:
 * how a test starts it, waits for what it does, and ends it. Include it once.
 */
#ifndef SUPERVISOR_RIG_H
#define SUPERVISOR_RIG_H

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

#endif
