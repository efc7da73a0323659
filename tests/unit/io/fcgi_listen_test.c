/*
 * fcgi_listen.c: who may connect, and what makes way for a new socket.
 */
#include "io/fcgi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];
static char path[96];

static int
setup(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/listen-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/s", folder);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	(void)unlink(path);
	(void)rmdir(folder);
	return 0;
}

static void
listens_for_its_group_only(void **state)
{
	struct stat info;
	int fd = fcgi_listen(path, 1);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0660);
	(void)close(fd);
}

static void
leaves_a_served_socket_alone(void **state)
{
	int fd = fcgi_listen(path, 1);

	(void)state;
	assert_true(fd >= 0);
	/* Also when its queue is full. */
	for (int i = 0; i < 4; i++)
		assert_int_equal(fcgi_listen(path, 1), -1);
	assert_int_equal(access(path, F_OK), 0);
	(void)close(fd);
}

static void
replaces_a_stale_socket(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		int fd = fcgi_listen(path, 1);

		assert_true(fd >= 0);
		(void)close(fd);
	}
}

static void
leaves_a_file_alone(void **state)
{
	FILE *file = fopen(path, "w");

	(void)state;
	assert_non_null(file);
	fclose(file);
	assert_int_equal(fcgi_listen(path, 1), -1);
	assert_int_equal(access(path, F_OK), 0);
}

static void
refuses_a_path_that_cannot_be(void **state)
{
	char deep[200] = "/tmp/";

	(void)state;
	assert_int_equal(fcgi_listen("/no/such/folder/s", 1), -1);
	memset(deep + 5, 'x', sizeof(deep) - 6);
	assert_int_equal(fcgi_listen(deep, 1), -1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(listens_for_its_group_only),
	    TEST(leaves_a_served_socket_alone),
	    TEST(replaces_a_stale_socket),
	    TEST(leaves_a_file_alone),
	    TEST(refuses_a_path_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
