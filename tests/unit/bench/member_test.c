/* bench/member: the member that is meant, and no other. */
#include "member.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
assert_member(const char *object, const char *name, const char *value)
{
	struct str found = member_of(str_of(object), name);

	if (!value) {
		assert_null(found.text);
		return;
	}
	assert_non_null(found.text);
	assert_true(str_is(found, value));
}

static void
a_member_is_found_with_any_blanks(void **state)
{
	(void)state;
	assert_member("{\"a\":1,\"b\":\"x\"}", "a", "1");
	assert_member("{\"a\":1,\"b\":\"x\"}", "b", "x");
	assert_member(" { \"a\" :\n1 , \"b\"\t: \"x\" } ", "a", "1");
	assert_member(" { \"a\" :\n1 , \"b\"\t: \"x\" } ", "b", "x");
	assert_member("{\"a\" : null, \"b\" : true}", "a", "null");
	assert_member("{\"a\" : null, \"b\" : true}", "b", "true");
	assert_member("{\"a\":\"\"}", "a", "");
}

static void
one_inside_another_is_not_the_objects(void **state)
{
	const char *text = "{\"lines\":[{\"id\":\"no\"},{\"id\":\"no\"}],"
			   "\"price\":{\"id\":\"no\"},\"id\":\"yes\"}";

	(void)state;
	assert_member(text, "id", "yes");
	assert_member(text, "price", "{\"id\":\"no\"}");
	assert_member("{\"price\":{\"id\":\"no\"}}", "id", NULL);
}

static void
texts_hide_braces_quotes_and_names(void **state)
{
	const char *text = "{\"t\":\"}],\\\"id\\\":\\\"no\\\\\","
			   "\"n\":[\"}\",\"]\"],\"id\":\"yes\"}";

	(void)state;
	assert_member(text, "id", "yes");
	assert_member(text, "n", "[\"}\",\"]\"]");
}

static void
what_is_no_object_has_no_members(void **state)
{
	static const char *const odd[] = {"", " ", "{", "{}", "[]", "null",
	    "{\"", "{\"a", "{\"a\"", "{\"a\":", "{\"b\":\"", "{\"b\":{",
	    "{\"b\":\"\\", "\"a\":1", "{a:1}", "{\"b\" 1,\"a\":2}",
	    "<html>{\"a\":1}</html>"};

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		struct str found = member_of(str_of(odd[i]), "a");

		assert_int_equal(found.len, 0);
		assert_int_equal(member_int(str_of(odd[i]), "a", -7), -7);
	}
	assert_null(member_of((struct str){0}, "a").text);
}

static void
numbers_are_whole_ones(void **state)
{
	struct str text = str_of("{\"a\":12,\"b\":-3,\"c\":1.5,\"d\":\"x\"}");

	(void)state;
	assert_int_equal(member_int(text, "a", -7), 12);
	assert_int_equal(member_int(text, "b", -7), -3);
	assert_int_equal(member_int(text, "c", -7), -7);
	assert_int_equal(member_int(text, "d", -7), -7);
}

static void
the_first_object_of_an_array(void **state)
{
	struct str text = str_of("{\"items\" : [ {\"a\":1}, {\"a\":2} ]}");

	(void)state;
	assert_true(str_is(member_first(text, "items"), "{\"a\":1}"));
	assert_null(member_first(str_of("{\"items\":[]}"), "items").text);
	assert_null(member_first(str_of("{\"items\":{}}"), "items").text);
	assert_null(member_first(str_of("{\"items\":[1]}"), "items").text);
	assert_null(member_first(str_of("{\"items\":["), "items").text);
	assert_null(member_first(str_of("{}"), "items").text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_member_is_found_with_any_blanks),
	    cmocka_unit_test(one_inside_another_is_not_the_objects),
	    cmocka_unit_test(texts_hide_braces_quotes_and_names),
	    cmocka_unit_test(what_is_no_object_has_no_members),
	    cmocka_unit_test(numbers_are_whole_ones),
	    cmocka_unit_test(the_first_object_of_an_array),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
