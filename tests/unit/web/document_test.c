/*
 * document.c: times, prices and lines in words.
 */
#include "web/document.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

static void
says_what_is_left(void **state)
{
	static const struct {
		int64_t ms;
		const char *text;
	} cases[] = {
	    {INT64_MIN, "0 s"},
	    {-1, "0 s"},
	    {0, "0 s"},
	    {1, "1 s"},
	    {1000, "1 s"},
	    {1001, "2 s"},
	    {59000, "59 s"},
	    {60000, "1 min"},
	    {598000, "9 min 58 s"},
	    {3600000, "1 h"},
	    {3900000, "1 h 5 min"},
	    {86400000, "1 day"},
	    {266400000, "3 days 2 h"},
	    {INT64_MAX, "106751991167 days 7 h"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf out = {0};

		document_left(&out, cases[i].ms);
		assert_string_equal(out.data, cases[i].text);
		buf_release(&out);
	}
}

static void
reads_a_document(void **state)
{
	struct document document;
	struct buf out = {0};

	(void)state;
	assert_true(document_read(&document,
	    str_of("{\"id\":\"h\",\"n\":5,\"price\":{\"amount\":500,"
		   "\"currency\":\"JPY\"},\"payment\":null,\"lines\":["
		   "{\"item\":\"a\",\"title\":\"A\",\"qty\":2}]}")));
	assert_true(str_is(document_text(&document, "id"), "h"));
	assert_true(str_is(document_text(&document, "n"), "5"));
	assert_int_equal(document_int(&document, "n"), 5);
	assert_int_equal(document_int(&document, "id"), 0);
	assert_int_equal(document_text(&document, "payment.state").len, 0);
	assert_int_equal(document_text(&document, "none").len, 0);
	assert_true(str_is(document_item(&document), "a"));
	document_price(&out, &document);
	assert_string_equal(buf_text(&out), "500 JPY");
	buf_reset(&out);
	document_lines(&out, &document);
	assert_string_equal(buf_text(&out), "2 x A");
	document_release(&document);
	buf_release(&out);
}

static void
reads_nothing_from_nothing(void **state)
{
	static const char *const texts[] = {"", "[", "null", "[]", "{}",
	    "{\"lines\":[]}", "{\"lines\":7,\"price\":[]}",
	    "{\"price\":{\"amount\":1,\"currency\":\"EURO\"}}"};
	struct buf out = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct document document;

		(void)document_read(&document, str_of(texts[i]));
		assert_int_equal(document_item(&document).len, 0);
		assert_int_equal(document_text(&document, "a.b").len, 0);
		assert_int_equal(document_int(&document, "a"), 0);
		document_price(&out, &document);
		document_lines(&out, &document);
		assert_int_equal(out.len, 0);
		document_release(&document);
		document_release(&document);
	}
	buf_release(&out);
}

static void
knows_an_id(void **state)
{
	static const char *const others[] = {"", "hld_",
	    "hld_0123456789abcdefghijk", "hld_0123456789abcdefghijklm",
	    "hld-0123456789abcdefghijkl", "hld_0123456789abcdefghijk.",
	    "hld_0123456789abcdefghijk'", "ord_0123456789abcdefghijkl"};

	(void)state;
	assert_true(document_is_id(str_of("hld_0123456789abcdefghijkl")));
	assert_true(document_is_id(str_of("hld_ABCXYZ_-ABCXYZ_-ABCXYZ")));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(document_is_id(str_of(others[i])));
	assert_false(
	    document_is_id((struct str){"hld_0123456789abcdefghijk\0", 26}));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(says_what_is_left),
	    cmocka_unit_test(reads_a_document),
	    cmocka_unit_test(reads_nothing_from_nothing),
	    cmocka_unit_test(knows_an_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
