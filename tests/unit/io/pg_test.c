/* What pg.c makes of values on their way to the server. */
#include "io/pg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void
an_empty_array_is_a_pair_of_braces(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b);
	assert_string_equal(pg_array_end(&b), "{}");
	buf_release(&b);
}

static void
an_array_keeps_null_apart_from_the_word(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b);
	pg_array_add(&b, "NULL", 4);
	pg_array_add(&b, NULL, 0);
	pg_array_add(&b, "", 0);
	assert_string_equal(pg_array_end(&b), "{\"NULL\",NULL,\"\"}");
	buf_release(&b);
}

static void
an_array_element_cannot_end_the_array(void **state)
{
	const char *evil = "a\",\"b}\\{,";
	struct buf b;

	(void)state;
	buf_init(&b);
	pg_array_add(&b, evil, strlen(evil));
	assert_string_equal(pg_array_end(&b), "{\"a\\\",\\\"b}\\\\{,\"}");
	buf_release(&b);
}

static void
bytes_travel_as_hex(void **state)
{
	struct str bytes = {"\x00\xff{", 3};
	struct buf b;

	(void)state;
	buf_init(&b);
	pg_bytea(&b, bytes);
	assert_string_equal(buf_text(&b), "\\x00ff7b");
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_empty_array_is_a_pair_of_braces),
	    cmocka_unit_test(an_array_keeps_null_apart_from_the_word),
	    cmocka_unit_test(an_array_element_cannot_end_the_array),
	    cmocka_unit_test(bytes_travel_as_hex),
	};

	return cmocka_run_group_tests_name("pg", tests, NULL, NULL);
}
