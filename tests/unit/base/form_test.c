/* base/form: decoding, doubled names, refusals. */
#include "base/form.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static struct form form;

static void
assert_field(const char *name, const char *value, size_t times)
{
	struct str found = {NULL, 0};

	assert_int_equal(form_get(&form, name, &found), times);
	assert_true(str_is(found, value));
}

static void
fields_are_decoded(void **state)
{
	(void)state;
	assert_null(form_parse(&form,
	    str_of("item=RUN-42&qty=1&&note=a+b%26c%3Dd%C3%A9&empty=&bare&x=1="
		   "2&=noname&a%5B0%5D=5")));
	assert_int_equal(form.count, 8);
	assert_field("item", "RUN-42", 1);
	assert_field("qty", "1", 1);
	assert_field("note", "a b&c=d\xc3\xa9", 1);
	assert_field("empty", "", 1);
	assert_field("bare", "", 1);
	assert_field("x", "1=2", 1);
	assert_field("", "noname", 1);
	assert_field("a[0]", "5", 1);
	assert_field("absent", "", 0);
	form_release(&form);
}

static void
repeated_names_are_counted(void **state)
{
	(void)state;
	assert_null(form_parse(&form, str_of("item=a&item=b&%69tem=c")));
	assert_field("item", "a", 3);
	form_release(&form);
}

static void
empty_text_has_no_field(void **state)
{
	(void)state;
	assert_null(form_parse(&form, (struct str){NULL, 0}));
	assert_int_equal(form.count, 0);
	form_release(&form);
	assert_null(form_parse(&form, str_of("&&&")));
	assert_int_equal(form.count, 0);
	form_release(&form);
}

static void
bad_encoding_is_refused(void **state)
{
	static const char *const bad[] = {"a=%", "a=%4", "a=%zz", "%=1",
	    "a=%4&b=1", "a=%00", "%00=1", "a=%ff", "a=%c0%80", "a=\xff",
	    "a=%ed%a0%80"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_non_null(form_parse(&form, str_of(bad[i])));
		form_release(&form);
	}
	assert_non_null(form_parse(&form, (struct str){"a=b\0c", 5}));
	form_release(&form);
	assert_non_null(form_parse(&form, (struct str){"a=%4", 3}));
	form_release(&form);
}

static void
fields_have_a_limit(void **state)
{
	struct buf text = {0};

	(void)state;
	for (int i = 0; i < FORM_FIELDS_MAX; i++)
		buf_str(&text, "item=x&");
	assert_null(form_parse(&form, str_of(text.data)));
	assert_field("item", "x", FORM_FIELDS_MAX);
	form_release(&form);
	buf_str(&text, "item=x");
	assert_non_null(form_parse(&form, str_of(text.data)));
	form_release(&form);
	buf_release(&text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(fields_are_decoded),
	    cmocka_unit_test(repeated_names_are_counted),
	    cmocka_unit_test(empty_text_has_no_field),
	    cmocka_unit_test(bad_encoding_is_refused),
	    cmocka_unit_test(fields_have_a_limit),
	};

	return cmocka_run_group_tests_name("base/form", tests, NULL, NULL);
}
