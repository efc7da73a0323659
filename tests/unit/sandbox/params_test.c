/* sandbox/params: a form's fields as JSON. */
#include "sandbox/params.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
assert_params(const char *form_text, const char *json)
{
	struct form form;
	struct buf out = {0};

	assert_null(form_parse(&form, str_of(form_text)));
	params_json(&out, &form);
	assert_string_equal(buf_text(&out), json);
	form_release(&form);
	buf_release(&out);
}

static void
no_field_is_an_empty_object(void **state)
{
	(void)state;
	assert_params("", "{}");
}

static void
names_keep_their_brackets(void **state)
{
	(void)state;
	assert_params("mode=payment&line_items%5B0%5D[quantity]=1&a=",
	    "{\"mode\":\"payment\",\"line_items[0][quantity]\":\"1\","
	    "\"a\":\"\"}");
}

static void
values_are_escaped(void **state)
{
	(void)state;
	assert_params("n=a%22b%5C%0A%C3%BC",
	    "{\"n\":\"a\\\"b\\\\\\n\xc3\xbc\"}");
}

static void
a_list_is_numbered_by_name(void **state)
{
	(void)state;
	assert_params("types[]=a&t[]=x&types[]=b&[]=c",
	    "{\"types[0]\":\"a\",\"t[0]\":\"x\",\"types[1]\":\"b\","
	    "\"[]\":\"c\"}");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(no_field_is_an_empty_object),
	    cmocka_unit_test(names_keep_their_brackets),
	    cmocka_unit_test(values_are_escaped),
	    cmocka_unit_test(a_list_is_numbered_by_name),
	};

	return cmocka_run_group_tests_name("sandbox/params", tests, NULL, NULL);
}
