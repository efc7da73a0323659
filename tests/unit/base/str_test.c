/* base/str: numbers as buyers send them, UTF-8, encoders and decoders. */
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#define BYTES(literal) \
	(struct str) \
	{ \
		literal, sizeof(literal) - 1 \
	}

static void
c46_qty_takes_a_plain_positive_integer_only(void **state)
{
	static const char *const bad[] = {"-1", "-5", "0", "+1", " 1", "1 ", "",
	    "01", "1.0", "1e3", "0x10", "١", "1\n", "--1", "a", "1a"};
	int64_t qty = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(str_qty(str_of(bad[i]), &qty));
	assert_false(str_qty((struct str){NULL, 0}, &qty));
	assert_false(str_qty(BYTES("1\0"), &qty));
	assert_true(str_qty(str_of("1"), &qty));
	assert_int_equal(qty, 1);
	assert_true(str_qty(str_of("10"), &qty));
	assert_int_equal(qty, 10);
}

static void
c47_qty_beyond_64_bits_is_the_largest(void **state)
{
	char nines[301];
	int64_t qty = 0;

	(void)state;
	assert_true(str_qty(str_of("2147483648"), &qty));
	assert_true(qty == INT64_C(2147483648));
	assert_true(str_qty(str_of("9223372036854775807"), &qty));
	assert_true(qty == INT64_MAX);
	assert_true(str_qty(str_of("9223372036854775808"), &qty));
	assert_true(qty == INT64_MAX);
	memset(nines, '9', 300);
	nines[300] = '\0';
	assert_true(str_qty(str_of(nines), &qty));
	assert_true(qty == INT64_MAX);
}

static void
c67_int_is_exact_or_refused(void **state)
{
	static const char *const bad[] = {"", "-", "+1", "00", "01", "-01",
	    "1.0", "1e3", " 1", "1 ", "0x1", "9223372036854775808",
	    "-9223372036854775809", "99999999999999999999999", "1_000"};
	int64_t n = 7;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(str_int(str_of(bad[i]), &n));
	assert_int_equal(n, 7);
	assert_true(str_int(str_of("0"), &n));
	assert_int_equal(n, 0);
	assert_true(str_int(str_of("-42"), &n));
	assert_true(n == -42);
	assert_true(str_int(str_of("9223372036854775807"), &n));
	assert_true(n == INT64_MAX);
	assert_true(str_int(str_of("-9223372036854775808"), &n));
	assert_true(n == INT64_MIN);
}

static void
c65_utf8_is_checked_strictly(void **state)
{
	static const char *const good[] = {"", "abc", "\xc3\xa9",
	    "\xf0\x9f\x8e\xab", "\xef\xbf\xbf", "\xf4\x8f\xbf\xbf",
	    "\xed\x9f\xbf", "\xee\x80\x80", "\xe0\xa0\x80"};
	static const char *const bad[] = {"\xff", "\xc0\x80", "\xc1\xbf",
	    "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
	    "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\x80", "\xc3", "\xe2\x82",
	    "\xf0\x9f\x8e", "\xc3(", "\xe2\x82("};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(str_is_utf8(str_of(good[i])));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(str_is_utf8(str_of(bad[i])));
}

static void
views_compare_by_length(void **state)
{
	(void)state;
	assert_true(str_is(BYTES("abc"), "abc"));
	assert_false(str_is(BYTES("abc\0x"), "abc"));
	assert_true(str_is((struct str){NULL, 0}, ""));
	assert_true(str_equal(BYTES("a\0b"), BYTES("a\0b")));
	assert_false(str_equal(BYTES("a\0b"), BYTES("a\0c")));
	assert_true(str_has_nul(BYTES("a\0")));
	assert_false(str_has_nul(BYTES("a")));
	assert_false(str_has_nul((struct str){NULL, 0}));
}

static void
encoders_escape_what_their_readers_treat_specially(void **state)
{
	struct buf b = {0};

	(void)state;
	str_json(&b, BYTES("a\"\\\n\x01\xc3\xa9/\0"));
	assert_string_equal(b.data, "\"a\\\"\\\\\\n\\u0001\xc3\xa9/\\u0000\"");
	buf_reset(&b);
	str_html(&b, BYTES("<a href=\"x\">T'&</a>"));
	assert_string_equal(b.data,
	    "&lt;a href=&quot;x&quot;&gt;T&#39;&amp;&lt;/a&gt;");
	buf_reset(&b);
	str_url(&b, BYTES("aZ9-._~ /&=+%\0\xc3\xa9[]"));
	assert_string_equal(b.data, "aZ9-._~%20%2F%26%3D%2B%25%00%C3%A9%5B%5D");
	buf_release(&b);
}

static void
base64url_matches_rfc4648(void **state)
{
	static const char *const pairs[][2] = {{"", ""}, {"f", "Zg"},
	    {"fo", "Zm8"}, {"foo", "Zm9v"}, {"foob", "Zm9vYg"},
	    {"fooba", "Zm9vYmE"}, {"foobar", "Zm9vYmFy"},
	    {"\xfb\xff\xfe", "-__-"}};
	struct buf b = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		buf_reset(&b);
		str_base64url(&b, pairs[i][0], strlen(pairs[i][0]));
		assert_string_equal(buf_text(&b), pairs[i][1]);
		buf_reset(&b);
		assert_true(str_unbase64url(&b, str_of(pairs[i][1])));
		assert_string_equal(buf_text(&b), pairs[i][0]);
	}
	buf_release(&b);
}

static void
base64_matches_rfc4648(void **state)
{
	static const char *const pairs[][2] = {{"", ""}, {"f", "Zg=="},
	    {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="},
	    {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"},
	    {"\xfb\xff\xfe", "+//+"}};
	static const char *const bad[] = {"Zg",
	    "Zg=", "Zg===", "Zh==", "Zm9=", "Z===", "====", "=", "Zm-v", "Zm_v",
	    "Zm9v Yg=", "Zg==Zg==", "Zm9v====", "Z=g=", "Zg==\n", "Zm9vYg"};
	struct buf b = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		buf_reset(&b);
		str_base64(&b, pairs[i][0], strlen(pairs[i][0]));
		assert_string_equal(buf_text(&b), pairs[i][1]);
		buf_reset(&b);
		assert_true(str_unbase64(&b, str_of(pairs[i][1])));
		assert_string_equal(buf_text(&b), pairs[i][0]);
	}
	buf_reset(&b);
	buf_str(&b, "kept");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(str_unbase64(&b, str_of(bad[i])));
	assert_false(str_unbase64(&b, BYTES("Zm\0v")));
	assert_string_equal(b.data, "kept");
	buf_release(&b);
}

static void
decoders_refuse_what_no_encoder_writes(void **state)
{
	static const char *const bad[] = {"Z", "Zg==", "Zh", "Zm9", "Zm+v",
	    "Zm/v", "Zm9v Yg", "Zm9v\n", "Zm9vY"};
	struct buf b = {0};

	(void)state;
	buf_str(&b, "kept");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(str_unbase64url(&b, str_of(bad[i])));
	assert_false(str_unbase64url(&b, BYTES("Zm\0v")));
	assert_false(str_unhex(&b, str_of("abc")));
	assert_false(str_unhex(&b, str_of("00zz")));
	assert_false(str_unhex(&b, BYTES("0\0")));
	assert_string_equal(b.data, "kept");
	buf_release(&b);
}

static void
hex_goes_there_and_back(void **state)
{
	struct buf hex = {0};
	struct buf back = {0};
	unsigned char all[256];

	(void)state;
	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (unsigned char)i;
	str_hex(&hex, all, sizeof(all));
	assert_memory_equal(hex.data, "000102", 6);
	assert_true(str_unhex(&back, (struct str){hex.data, hex.len}));
	assert_int_equal(back.len, sizeof(all));
	assert_memory_equal(back.data, all, sizeof(all));
	buf_reset(&back);
	assert_true(str_unhex(&back, str_of("AbfF")));
	assert_memory_equal(back.data, "\xab\xff", 2);
	buf_release(&hex);
	buf_release(&back);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(c46_qty_takes_a_plain_positive_integer_only),
	    cmocka_unit_test(c47_qty_beyond_64_bits_is_the_largest),
	    cmocka_unit_test(c67_int_is_exact_or_refused),
	    cmocka_unit_test(c65_utf8_is_checked_strictly),
	    cmocka_unit_test(views_compare_by_length),
	    cmocka_unit_test(
		encoders_escape_what_their_readers_treat_specially),
	    cmocka_unit_test(base64url_matches_rfc4648),
	    cmocka_unit_test(base64_matches_rfc4648),
	    cmocka_unit_test(decoders_refuse_what_no_encoder_writes),
	    cmocka_unit_test(hex_goes_there_and_back),
	};

	return cmocka_run_group_tests_name("base/str", tests, NULL, NULL);
}
