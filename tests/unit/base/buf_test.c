/* base/buf: growing, the final NUL, format. */
#include "base/buf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static void
text_of_an_unused_buffer_is_empty(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b);
	assert_string_equal(buf_text(&b), "");
	assert_null(b.data);
	buf_release(&b);
}

static void
bytes_added_one_by_one_arrive_in_order(void **state)
{
	struct buf b = {0};

	(void)state;
	for (int i = 0; i < 100000; i++)
		buf_char(&b, (char)('a' + i % 26));
	assert_int_equal(b.len, 100000);
	assert_int_equal(strlen(buf_text(&b)), 100000);
	for (int i = 0; i < 100000; i++)
		assert_int_equal(b.data[i], 'a' + i % 26);
	buf_release(&b);
}

static void
nul_is_a_byte_like_any_other(void **state)
{
	struct buf b = {0};

	(void)state;
	buf_add(&b, "a\0b", 3);
	buf_add(&b, NULL, 0);
	assert_int_equal(b.len, 3);
	assert_memory_equal(b.data, "a\0b", 4);
	buf_release(&b);
}

static void
printf_longer_than_the_room_grows(void **state)
{
	struct buf b = {0};

	(void)state;
	buf_str(&b, "<");
	buf_printf(&b, "%0500d|%s", 7, "end");
	assert_int_equal(b.len, 505);
	assert_string_equal(b.data + 500, "7|end");
	buf_release(&b);
}

static void
reset_keeps_the_memory(void **state)
{
	struct buf b = {0};
	size_t cap;

	(void)state;
	buf_reserve(&b, 1000);
	cap = b.cap;
	assert_true(cap > 1000);
	buf_str(&b, "abc");
	buf_reset(&b);
	assert_int_equal(b.cap, cap);
	assert_string_equal(buf_text(&b), "");
	buf_release(&b);
	assert_int_equal(b.cap, 0);
	buf_str(&b, "again");
	assert_string_equal(buf_text(&b), "again");
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(text_of_an_unused_buffer_is_empty),
	    cmocka_unit_test(bytes_added_one_by_one_arrive_in_order),
	    cmocka_unit_test(nul_is_a_byte_like_any_other),
	    cmocka_unit_test(printf_longer_than_the_room_grows),
	    cmocka_unit_test(reset_keeps_the_memory),
	};

	return cmocka_run_group_tests_name("base/buf", tests, NULL, NULL);
}
