/* sandbox/route: paths against patterns. */
#include "sandbox/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
assert_part(const char *path, const char *pattern, const char *part)
{
	struct str got;

	assert_true(route_match(str_of(path), pattern, &got));
	assert_true(str_is(got, part));
}

static void
assert_other(const char *path, const char *pattern)
{
	struct str got;

	assert_false(route_match(str_of(path), pattern, &got));
}

static void
a_plain_pattern_is_the_path(void **state)
{
	(void)state;
	assert_part("/v1/refunds", "/v1/refunds", "");
	assert_other("/v1/refunds/", "/v1/refunds");
	assert_other("/v1/refund", "/v1/refunds");
}

static void
a_star_is_one_part(void **state)
{
	(void)state;
	assert_part("/v1/s/cs_1", "/v1/s/*", "cs_1");
	assert_part("/v1/s/cs_1/expire", "/v1/s/*/expire", "cs_1");
	assert_other("/v1/s/cs_1/expire", "/v1/s/*");
	assert_other("/v1/s/a/b/expire", "/v1/s/*/expire");
}

static void
a_part_is_never_empty(void **state)
{
	(void)state;
	assert_other("/v1/s/", "/v1/s/*");
	assert_other("/v1/s//expire", "/v1/s/*/expire");
	assert_other("/v1/s/expire", "/v1/s/*/expire");
	assert_other("", "/v1/s/*");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_plain_pattern_is_the_path),
	    cmocka_unit_test(a_star_is_one_part),
	    cmocka_unit_test(a_part_is_never_empty),
	};

	return cmocka_run_group_tests_name("sandbox/route", tests, NULL, NULL);
}
