/* base/json: what a provider or a buyer may send, and what is refused. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <malloc.h>
#include <string.h>

#define BYTES(literal) \
	(struct str) \
	{ \
		literal, sizeof(literal) - 1 \
	}

static struct json_doc *
parse(const char *text)
{
	const char *why = NULL;
	struct json_doc *doc = json_parse(str_of(text), &why);

	if (!doc)
		fail_msg("%s: %s", text, why);
	return doc;
}

static void
assert_refused(struct str text, const char *part)
{
	const char *why = NULL;
	struct json_doc *doc = json_parse(text, &why);

	assert_null(doc);
	assert_non_null(why);
	assert_non_null(strstr(why, part));
}

static void
every_type_is_read(void **state)
{
	struct json_doc *doc = parse(" {\"s\":\"a\\u00e9\\n\","
				     "\"n\":-12.5e3,\"t\":true,\"f\":false,"
				     "\"z\":null,\"a\":[1,[],{}],\"o\":{}} ");
	const struct json *root = json_root(doc);
	const struct json *array = json_get(root, "a");

	(void)state;
	assert_int_equal(root->type, JSON_OBJECT);
	assert_true(str_is(json_text(json_get(root, "s")), "a\xc3\xa9\n"));
	assert_int_equal(json_get(root, "n")->type, JSON_NUMBER);
	assert_true(str_is(json_get(root, "n")->text, "-12.5e3"));
	assert_true(json_get(root, "t")->truth);
	assert_int_equal(json_get(root, "f")->type, JSON_BOOL);
	assert_false(json_get(root, "f")->truth);
	assert_int_equal(json_get(root, "z")->type, JSON_NULL);
	assert_int_equal(array->type, JSON_ARRAY);
	assert_int_equal(array->first->next->next->type, JSON_OBJECT);
	assert_null(array->first->next->next->next);
	assert_null(json_get(root, "o")->first);
	assert_null(json_get(array, "a"));
	assert_null(json_get(NULL, "a"));
	json_free(doc);
	json_free(NULL);
}

static void
paths_are_followed(void **state)
{
	struct json_doc *doc = parse("{\"data\":{\"object\":{\"id\":\"pi_1\","
				     "\"list\":[1]}}}");
	const struct json *root = json_root(doc);

	(void)state;
	assert_true(
	    str_is(json_text(json_path(root, "data.object.id")), "pi_1"));
	assert_int_equal(json_path(root, "data")->type, JSON_OBJECT);
	assert_null(json_path(root, "data.objec.id"));
	assert_null(json_path(root, "data.object.id.x"));
	assert_null(json_path(root, "data.object.list.0"));
	assert_null(json_path(NULL, "data"));
	assert_int_equal(json_text(json_path(root, "data")).len, 0);
	json_free(doc);
}

static void
malformed_text_is_refused(void **state)
{
	static const char *const bad[] = {" ", "{", "[1,]", "{\"a\":1,}", "1 2",
	    "{} {}", "[1]x", "nul", "'a'", "\"abc", "\"\\x\"", "\"a\tb\"",
	    "[1]/**/", "//\n1", "01", "1.", ".5", "+1", "NaN", "-", "{a:1}",
	    "\xef\xbb\xbf{}", "[1\f]", "[1\v]", "\"\\u12\"", "\"\\u12G4\"",
	    "\"\\", "\"\\u", "]", "{\"a\"}", "[1 2]", "truefalse",
	    "\"a\"\"b\""};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_refused(str_of(bad[i]), "malformed");
	assert_refused((struct str){NULL, 0}, "empty");
}

static void
blanks_inside_strings_are_not_blanks(void **state)
{
	struct json_doc *doc = parse("[\"\\f\\\"\\\\\",\"\\\\u0000\"]");
	const struct json *first = json_root(doc)->first;

	(void)state;
	assert_true(str_is(json_text(first), "\f\"\\"));
	assert_true(str_is(json_text(first->next), "\\u0000"));
	json_free(doc);
}

static void
doubled_keys_are_refused(void **state)
{
	(void)state;
	assert_refused(str_of("{\"a\":1,\"b\":2,\"a\":1}"), "twice");
	assert_refused(str_of("[{\"x\":{\"a\":1,\"\\u0061\":2}}]"), "twice");
	assert_refused(str_of("{\"\":1,\"\":2}"), "twice");
	json_free(parse("{\"a\":{\"a\":1},\"b\":{\"a\":1},\"A\":0,\"\":0}"));
}

static void
c64_deep_nesting_is_refused_fast(void **state)
{
	struct buf text = {0};
	int64_t start;

	(void)state;
	for (int i = 0; i < 100000; i++)
		buf_char(&text, '[');
	start = clock_monotonic_ms();
	assert_refused((struct str){text.data, text.len}, "deep");
	assert_true(clock_monotonic_ms() - start < 50);
	buf_reset(&text);
	for (int i = 0; i < 20000; i++)
		buf_str(&text, "{\"a\":");
	start = clock_monotonic_ms();
	assert_refused((struct str){text.data, text.len}, "deep");
	assert_true(clock_monotonic_ms() - start < 50);
	buf_release(&text);
}

static void
c64_the_depth_limit_is_exact(void **state)
{
	struct buf text = {0};

	(void)state;
	for (int i = 0; i < JSON_DEPTH_MAX; i++)
		buf_char(&text, '[');
	for (int i = 0; i < JSON_DEPTH_MAX; i++)
		buf_char(&text, ']');
	json_free(parse(text.data));
	buf_reset(&text);
	for (int i = 0; i <= JSON_DEPTH_MAX; i++)
		buf_char(&text, '[');
	for (int i = 0; i <= JSON_DEPTH_MAX; i++)
		buf_char(&text, ']');
	assert_refused((struct str){text.data, text.len}, "deep");
	buf_release(&text);
}

static void
c64_errors_leak_nothing(void **state)
{
	static const char bad[] = "{\"x\":{\"y\":true \"z\":[1,}}";
	size_t before;

	(void)state;
	assert_refused(str_of(bad), "malformed");
	before = mallinfo2().uordblks;
	for (int i = 0; i < 50000; i++)
		assert_refused(str_of(bad), "malformed");
	assert_int_equal(mallinfo2().uordblks, before);
}

static void
c64_many_keys_are_not_quadratic(void **state)
{
	struct buf text = {0};
	const char *why = NULL;
	struct json_doc *doc;
	int64_t start;

	(void)state;
	buf_str(&text, "{\"k\":0");
	for (int i = 0; text.len < 262144; i++)
		buf_printf(&text, ",\"%d\":0", i);
	start = clock_monotonic_ms();
	buf_char(&text, '}');
	doc = json_parse((struct str){text.data, text.len}, &why);
	assert_non_null(doc);
	assert_true(json_get(json_root(doc), "20000") != NULL);
	json_free(doc);
	text.data[text.len - 1] = ',';
	buf_str(&text, "\"k\":1}");
	assert_refused((struct str){text.data, text.len}, "twice");
	/* Quadratic, these are 300 million comparisons each. */
	assert_true(clock_monotonic_ms() - start < 500);
	buf_release(&text);
}

static void
c65_escaped_nul_is_refused(void **state)
{
	(void)state;
	assert_refused(str_of("{\"hold\\u0000x\":1}"), "NUL");
	assert_refused(str_of("{\"hold\":\"h_0001\\u0000zz\"}"), "NUL");
}

static void
c65_raw_nul_is_refused(void **state)
{
	(void)state;
	assert_refused(BYTES("\"a\0b\""), "NUL");
	assert_refused(BYTES("{}\0"), "NUL");
	assert_refused(BYTES("\0"), "NUL");
}

static void
c65_lone_surrogates_are_refused(void **state)
{
	static const char *const bad[] = {"\"\\uD800\"", "\"\\udc00\"",
	    "\"\\uDBFF\xf0\x9f\x8e\xab\"", "\"\\uD83Cx\"", "\"\\ud83c\\u0041\"",
	    "\"\\ud83c\\ud83c\\udfab\"", "\"\\udfab\\ud83c\"",
	    "{\"\\uD800\":1}", "\"\\ud83c", "\"\\ud83c\\n\""};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_refused(str_of(bad[i]), "surrogate");
}

static void
c65_surrogate_pairs_are_read(void **state)
{
	struct json_doc *doc = parse("\"\\uD83C\\udfab\"");

	(void)state;
	assert_true(str_is(json_text(json_root(doc)), "\xf0\x9f\x8e\xab"));
	json_free(doc);
}

static void
c65_bytes_that_are_not_utf8_are_refused(void **state)
{
	(void)state;
	assert_refused(str_of("\"\xff\""), "UTF-8");
	assert_refused(str_of("\"\xc0\x80\""), "UTF-8");
	assert_refused(str_of("{\"\xed\xa0\x80\":1}"), "UTF-8");
}

static void
c65_raw_utf8_is_read_as_it_is(void **state)
{
	struct json_doc *doc =
	    parse("{\"id\":\"evt_0003\",\"note\":\"\xf0\x9f\x8e\xab "
		  "caf\xc3\xa9\",\"data\":{\"object\":{\"amount\":2500}}}");
	int64_t amount = 0;

	(void)state;
	assert_true(str_is(json_text(json_get(json_root(doc), "note")),
	    "\xf0\x9f\x8e\xab caf\xc3\xa9"));
	assert_true(
	    json_int(json_path(json_root(doc), "data.object.amount"), &amount));
	assert_int_equal(amount, 2500);
	json_free(doc);
}

static void
c67_only_an_integer_in_range_is_an_int(void **state)
{
	static const char *const bad[] = {"2500.0", "2.5e3", "2500.5",
	    "9223372036854775808", "1e999", "\"2500\"", "true", "null", "[]",
	    "{}"};
	struct json_doc *doc;
	int64_t n = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		doc = parse(bad[i]);
		assert_false(json_int(json_root(doc), &n));
		json_free(doc);
	}
	assert_false(json_int(NULL, &n));
	assert_int_equal(n, 7);
	assert_refused(str_of("00012"), "malformed");
	doc = parse("9223372036854775807");
	assert_true(json_int(json_root(doc), &n));
	assert_true(n == INT64_MAX);
	json_free(doc);
	doc = parse("-9223372036854775808");
	assert_true(json_int(json_root(doc), &n));
	assert_true(n == INT64_MIN);
	json_free(doc);
}

static void
c67_a_long_reference_survives_digit_for_digit(void **state)
{
	struct json_doc *doc =
	    parse("[123456789012345678,0.10000000000000001]");
	const struct json *first = json_root(doc)->first;

	(void)state;
	assert_true(str_is(first->text, "123456789012345678"));
	assert_true(str_is(first->next->text, "0.10000000000000001"));
	json_free(doc);
}

static void
long_texts_outgrow_a_chunk(void **state)
{
	struct buf text = {0};
	const char *why = NULL;
	struct json_doc *doc;

	(void)state;
	buf_str(&text, "[\"a\",\"");
	for (int i = 0; i < 50000; i++)
		buf_char(&text, 'x');
	buf_str(&text, "\",\"b\"]");
	doc = json_parse((struct str){text.data, text.len}, &why);
	assert_non_null(doc);
	assert_int_equal(json_root(doc)->first->next->text.len, 50000);
	assert_true(str_is(json_root(doc)->first->next->next->text, "b"));
	json_free(doc);
	buf_release(&text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_type_is_read),
	    cmocka_unit_test(paths_are_followed),
	    cmocka_unit_test(malformed_text_is_refused),
	    cmocka_unit_test(blanks_inside_strings_are_not_blanks),
	    cmocka_unit_test(doubled_keys_are_refused),
	    cmocka_unit_test(c64_deep_nesting_is_refused_fast),
	    cmocka_unit_test(c64_the_depth_limit_is_exact),
	    cmocka_unit_test(c64_errors_leak_nothing),
	    cmocka_unit_test(c64_many_keys_are_not_quadratic),
	    cmocka_unit_test(c65_escaped_nul_is_refused),
	    cmocka_unit_test(c65_raw_nul_is_refused),
	    cmocka_unit_test(c65_lone_surrogates_are_refused),
	    cmocka_unit_test(c65_surrogate_pairs_are_read),
	    cmocka_unit_test(c65_bytes_that_are_not_utf8_are_refused),
	    cmocka_unit_test(c65_raw_utf8_is_read_as_it_is),
	    cmocka_unit_test(c67_only_an_integer_in_range_is_an_int),
	    cmocka_unit_test(c67_a_long_reference_survives_digit_for_digit),
	    cmocka_unit_test(long_texts_outgrow_a_chunk),
	};

	return cmocka_run_group_tests_name("base/json", tests, NULL, NULL);
}
