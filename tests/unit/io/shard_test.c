/*
 * The table of owners: spreading is even and moves as few as it can; what it
 * says is the same in every process, also after one was killed. And what a
 * connection tells of its shard.
 */
#include "io/fcgi.h"
#include "io/shard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static struct shards *shards;

static int
setup(void **state)
{
	(void)state;
	shards = shards_new();
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	shards_free(shards);
	return 0;
}

/* Helpers ------------------------------------------------------------------ */

static void
owners_copy(int owners[SHARDS])
{
	for (int s = 0; s < SHARDS; s++)
		owners[s] = shards_owner(shards, s);
}

/* Spreads over the workers whose bits are set (1: worker 1); the moves. */
static int
spread(unsigned mask)
{
	bool serving[SHARD_WORKERS_MAX];
	int before[SHARDS];
	int moves = 0;

	owners_copy(before);
	for (int i = 0; i < SHARD_WORKERS_MAX; i++)
		serving[i] = mask >> i & 1;
	shards_spread(shards, serving);
	for (int s = 0; s < SHARDS; s++)
		moves += shards_owner(shards, s) != before[s];
	return moves;
}

static int
load(int worker)
{
	int n = 0;

	for (int s = 0; s < SHARDS; s++)
		n += shards_owner(shards, s) == worker;
	return n;
}

static int
bits(unsigned mask)
{
	int n = 0;

	for (; mask; mask &= mask - 1)
		n++;
	return n;
}

/* Each that serves has its part, to one; nobody else has any. */
static void
assert_even(unsigned mask)
{
	int n = bits(mask);

	for (int worker = 1; worker <= SHARD_WORKERS_MAX; worker++) {
		if (mask >> (worker - 1) & 1)
			assert_in_range(load(worker), SHARDS / n,
			    (SHARDS + n - 1) / n);
		else
			assert_int_equal(load(worker), 0);
	}
	assert_int_equal(load(0), 0);
}

/*
 * The fewest moves that make it even: the shards of those who do not serve,
 * and what the others have above their parts. The larger parts, when the
 * division leaves a rest, are for those who have the most.
 */
static int
fewest(unsigned mask)
{
	int n = bits(mask);
	int larger = SHARDS % n;
	int moves = SHARDS;

	for (int worker = 1; worker <= SHARD_WORKERS_MAX; worker++) {
		int has = load(worker);
		int part = SHARDS / n;

		if (!(mask >> (worker - 1) & 1))
			continue;
		if (has > part && larger > 0) {
			part++;
			larger--;
		}
		moves -= has < part ? has : part;
	}
	return moves;
}

/* Tests -------------------------------------------------------------------- */

static void
nobody_owns_anything_at_first(void **state)
{
	(void)state;
	assert_int_equal(load(0), SHARDS);
	assert_int_equal(spread(0), 0);
	assert_int_equal(load(0), SHARDS);
	assert_int_equal(spread(1), SHARDS);
	assert_int_equal(load(1), SHARDS);
}

static void
a_dead_one_s_go_to_the_others_and_half_comes_back(void **state)
{
	(void)state;
	(void)spread(3);
	assert_even(3);
	assert_int_equal(spread(3), 0);
	assert_int_equal(spread(1), SHARDS / 2);
	assert_even(1);
	assert_int_equal(spread(3), SHARDS / 2);
	assert_even(3);
	/* The last one has died: what waits, waits for whoever had it. */
	assert_int_equal(spread(0), 0);
	assert_even(3);
}

static void
every_set_after_every_other_is_even_and_moves_few(void **state)
{
	unsigned long long seed = 88172645463325252ULL;
	unsigned mask = 1;

	(void)state;
	(void)spread(mask);
	for (int round = 0; round < 20000; round++) {
		int moves;

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		/* Mostly one comes or goes, sometimes all is new. */
		if (round % 8)
			mask ^= 1U << (seed & 15);
		else
			mask = (unsigned)(seed >> 20) & 0xffff;
		if (mask == 0)
			mask = 0x8001;
		moves = fewest(mask);
		assert_int_equal(spread(mask), moves);
		assert_even(mask);
		assert_int_equal(spread(mask), 0);
	}
}

static void
a_table_that_was_damaged_is_mended(void **state)
{
	(void)state;
	shards_give(shards, 0, -7);
	shards_give(shards, 1, SHARD_WORKERS_MAX + 1);
	shards_give(shards, 2, 1 << 30);
	(void)spread(5);
	assert_even(5);
}

static void
ready_is_who_said_it(void **state)
{
	pid_t child;
	int status;

	(void)state;
	assert_false(shards_is_ready(shards, 3, getpid()));
	child = fork();
	if (child == 0) {
		shards_ready(shards, 3);
		shards_give(shards, 9, 3);
		(void)raise(SIGKILL);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	/* It holds although that process was killed, and for it alone. */
	assert_true(shards_is_ready(shards, 3, child));
	assert_int_equal(shards_owner(shards, 9), 3);
	assert_false(shards_is_ready(shards, 3, getpid()));
	assert_false(shards_is_ready(shards, 2, child));
	shards_ready(shards, 3);
	assert_true(shards_is_ready(shards, 3, getpid()));
	assert_false(shards_is_ready(shards, 3, child));
}

/* The other side's end of a connection to path; *accepted is the server's. */
static int
connect_to(const char *path, int listener, int *accepted)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_true(strlen(path) < sizeof(address.sun_path));
	memcpy(address.sun_path, path, strlen(path) + 1);
	assert_int_equal(connect(fd, (struct sockaddr *)&address,
			     sizeof(address)),
	    0);
	*accepted = accept(listener, NULL, NULL);
	assert_true(*accepted >= 0);
	return fd;
}

static void
a_connection_knows_its_shard(void **state)
{
	static const struct {
		const char *name; /* NULL: as shard_path has it */
		int shard;
	} cases[] = {{NULL, 0}, {NULL, 9}, {NULL, 15}, {"web.16.sock", -1},
	    {"web.-1.sock", -1}, {"web.01.sock", -1}, {"web..sock", -1},
	    {"web.1.sock.sock", -1}, {"web.1.socks", -1}, {"web.1", -1},
	    {"xweb.1.sock", -1}, {"sandbox.sock", -1}};
	char folder[] = "/tmp/web.3.sock-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(folder));
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf path = {0};
		int listener, near, far;

		if (cases[i].name)
			buf_printf(&path, "%s/%s", folder, cases[i].name);
		else
			shard_path(&path, folder, cases[i].shard);
		listener = fcgi_listen(buf_text(&path), 8);
		assert_true(listener >= 0);
		near = connect_to(buf_text(&path), listener, &far);
		assert_int_equal(shard_of(far), cases[i].shard);
		assert_int_equal(shard_of(near), -1);
		(void)close(near);
		(void)close(far);
		(void)close(listener);
		(void)unlink(buf_text(&path));
		buf_release(&path);
	}
	assert_int_equal(shard_of(-1), -1);
	assert_int_equal(shard_of(0), -1);
	assert_int_equal(rmdir(folder), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(nobody_owns_anything_at_first),
	    TEST(a_dead_one_s_go_to_the_others_and_half_comes_back),
	    TEST(every_set_after_every_other_is_even_and_moves_few),
	    TEST(a_table_that_was_damaged_is_mended),
	    TEST(ready_is_who_said_it),
	    TEST(a_connection_knows_its_shard),
	};

	return cmocka_run_group_tests_name("io/shard", tests, NULL, NULL);
}
