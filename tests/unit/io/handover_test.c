/*
 * Connections handed from process to process: what waits in them survives,
 * nobody waits for ever, no descriptor stays behind.
 */
#include "base/clock.h"
#include "io/handover.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Two of nginx's processes keep that many, all of one shard perhaps. */
#define KEPT 512

static int pair[2];
static int open_before;

static int
open_count(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(folder);
	while (readdir(folder))
		n++;
	(void)closedir(folder);
	return n;
}

static int
setup(void **state)
{
	(void)state;
	open_before = open_count();
	return handover_open(pair) ? 0 : -1;
}

static int
teardown(void **state)
{
	(void)state;
	handover_close(pair);
	assert_int_equal(pair[0], -1);
	assert_int_equal(pair[1], -1);
	assert_int_equal(open_count(), open_before);
	return 0;
}

/* Helpers ------------------------------------------------------------------ */

/* A connection: *near is the client's end, the other the server's. */
static int
connection(int *near)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	*near = ends[0];
	return ends[1];
}

static bool
give(int fd, int64_t wait_ms)
{
	return handover_give(pair[1], fd, clock_monotonic_ms() + wait_ms);
}

/* Whether the other end of this connection has been closed. */
static bool
is_closed(int near)
{
	char byte;

	return recv(near, &byte, 1, MSG_DONTWAIT) == 0;
}

/* Gives until there is no room; how many went in, their ends in near. */
static int
fill(int *near, int max)
{
	int n = 0;

	for (; n < max; n++) {
		int fd = connection(&near[n]);

		if (!give(fd, 0)) {
			assert_true(is_closed(near[n]));
			(void)close(near[n]);
			break;
		}
	}
	return n;
}

/* Tests -------------------------------------------------------------------- */

static void
nothing_waits_at_first(void **state)
{
	(void)state;
	assert_int_equal(handover_take(pair[0]), -1);
	assert_int_equal(handover_take(pair[0]), -1);
}

static void
what_arrived_goes_along(void **state)
{
	char text[16] = "";
	int near;
	int fd = connection(&near);

	(void)state;
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(write(near, "before ", 7), 7);
	assert_true(give(fd, 0));
	/* The giver has it no more. */
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(write(near, "between", 7), 7);
	fd = handover_take(pair[0]);
	assert_true(fd >= 0);
	assert_int_equal(handover_take(pair[0]), -1);
	assert_int_equal(read(fd, text, sizeof(text)), 14);
	assert_string_equal(text, "before between");
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_int_equal(write(fd, "answer", 6), 6);
	assert_int_equal(read(near, text, sizeof(text)), 6);
	(void)close(fd);
	(void)close(near);
}

static void
they_wait_for_a_taker_that_comes_later(void **state)
{
	int near[3];
	pid_t giver;
	int status;

	(void)state;
	giver = fork();
	if (giver == 0) {
		/* It ends at once, as a worker does. */
		for (int i = 0; i < 3; i++) {
			int far = connection(&near[i]);

			if (write(near[i], "x", 1) != 1 || !give(far, 0))
				_exit(1);
		}
		_exit(0);
	}
	assert_int_equal(waitpid(giver, &status, 0), giver);
	assert_int_equal(status, 0);
	for (int i = 0; i < 3; i++) {
		char bytes[2];
		int fd = handover_take(pair[0]);

		assert_true(fd >= 0);
		assert_int_equal(read(fd, bytes, 2), 1);
		(void)close(fd);
	}
	assert_int_equal(handover_take(pair[0]), -1);
}

static void
each_is_taken_once_by_several(void **state)
{
	enum { TAKERS = 4 };
	int near[KEPT];
	pid_t takers[TAKERS];
	int n;

	(void)state;
	for (int i = 0; i < TAKERS; i++) {
		takers[i] = fork();
		if (takers[i] == 0) {
			for (;;) {
				int fd = handover_take(pair[0]);

				if (fd >= 0 && write(fd, "mine", 4) == 4)
					(void)close(fd);
				else
					clock_sleep_ms(1);
			}
		}
	}
	for (n = 0; n < KEPT; n++)
		assert_true(give(connection(&near[n]), 10000));
	for (int i = 0; i < n; i++) {
		char text[16] = "";

		assert_int_equal(recv(near[i], text, sizeof(text), MSG_WAITALL),
		    4);
		assert_string_equal(text, "mine");
		(void)close(near[i]);
	}
	for (int i = 0; i < TAKERS; i++) {
		assert_int_equal(kill(takers[i], SIGKILL), 0);
		assert_int_equal(waitpid(takers[i], NULL, 0), takers[i]);
	}
}

static void
all_that_nginx_keeps_find_room(void **state)
{
	int near[KEPT];
	int n;

	(void)state;
	n = fill(near, KEPT);
	assert_int_equal(n, KEPT);
	for (int i = 0; i < n; i++) {
		int fd = handover_take(pair[0]);

		assert_true(fd >= 0);
		assert_false(is_closed(near[i]));
		(void)close(fd);
		assert_true(is_closed(near[i]));
		(void)close(near[i]);
	}
}

static void
a_full_queue_is_waited_for_but_not_for_ever(void **state)
{
	enum { MANY = 4096 };
	static int near[MANY];
	int64_t begun = clock_monotonic_ms();
	int more;
	int fd;
	int n;

	(void)state;
	n = fill(near, MANY);
	assert_in_range(n, KEPT, MANY - 1);
	fd = connection(&more);
	assert_false(give(fd, 100));
	assert_true(clock_monotonic_ms() - begun >= 100);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_true(is_closed(more));
	(void)close(more);
	/* The moment there is room, it goes. */
	fd = handover_take(pair[0]);
	assert_true(fd >= 0);
	(void)close(fd);
	assert_true(give(connection(&more), 10000));
	(void)close(more);
	for (int i = 0; i < n; i++)
		(void)close(near[i]);
	/* What nobody takes is closed with the pair: teardown counts. */
}

static void
without_a_reader_it_is_closed_at_once(void **state)
{
	int near;
	int fd = connection(&near);

	(void)state;
	(void)close(pair[0]);
	pair[0] = -1;
	/* And no SIGPIPE ends us. */
	assert_false(give(fd, 60000));
	assert_true(is_closed(near));
	(void)close(near);
	assert_int_equal(handover_take(-1), -1);
}

static void
the_end_of_the_writers_is_nothing(void **state)
{
	(void)state;
	(void)close(pair[1]);
	pair[1] = -1;
	assert_int_equal(handover_take(pair[0]), -1);
}

static void
no_free_descriptor_loses_that_one_only(void **state)
{
	struct rlimit limit, low;
	int near[2];
	int fd;

	(void)state;
	assert_true(give(connection(&near[0]), 0));
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = limit;
	/* No descriptor below the lowest free one may be opened. */
	fd = dup(pair[0]);
	(void)close(fd);
	low.rlim_cur = (rlim_t)fd;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	assert_int_equal(handover_take(pair[0]), -1);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(is_closed(near[0]));
	assert_true(give(connection(&near[1]), 0));
	fd = handover_take(pair[0]);
	assert_true(fd >= 0);
	(void)close(fd);
	(void)close(near[0]);
	(void)close(near[1]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(nothing_waits_at_first),
	    TEST(what_arrived_goes_along),
	    TEST(they_wait_for_a_taker_that_comes_later),
	    TEST(each_is_taken_once_by_several),
	    TEST(all_that_nginx_keeps_find_room),
	    TEST(a_full_queue_is_waited_for_but_not_for_ever),
	    TEST(without_a_reader_it_is_closed_at_once),
	    TEST(the_end_of_the_writers_is_nothing),
	    TEST(no_free_descriptor_loses_that_one_only),
	};

	return cmocka_run_group_tests_name("io/handover", tests, NULL, NULL);
}
