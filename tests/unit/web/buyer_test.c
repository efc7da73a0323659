/*
 * buyer.c: which cookie counts.
 */
#include "web/buyer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#define ID "6ba7b810-9dad-81d1-80b4-00c04fd430c8"
#define HEX "6ba7b8109dad81d180b400c04fd430c8"
#define VISIT "lp_visit=0123456789abcdef0123456789abcdef"

static const struct token_secrets old_secrets = {
    .now = {"an old secret of thirty-two bytes", 33}};
static const struct token_secrets secrets =
    {.now = {"a new secret of thirty-two bytes.", 33},
	.old = {"an old secret of thirty-two bytes", 33}};

static struct buyer
find(const char *before, const struct token_secrets *signer, const char *hex,
    const char *after)
{
	struct buf text = {0};
	struct buyer buyer;

	buf_str(&text, before);
	if (hex)
		token_sign(&text, signer, "buyer", str_of(hex));
	buf_str(&text, after);
	buyer_find(&buyer, (struct str){text.data, text.len}, &secrets);
	buf_release(&text);
	return buyer;
}

static void
finds_a_signed_buyer(void **state)
{
	struct buyer buyer;

	(void)state;
	buyer = find("lp_buyer=", &secrets, HEX, "");
	assert_true(buyer.known && buyer.is_signed);
	assert_string_equal(buyer.id.text, ID);
	buyer = find("a=b;  lp_buyer=", &old_secrets, HEX, "; " VISIT);
	assert_true(buyer.is_signed);
	assert_string_equal(buyer.id.text, ID);
	/* A forged one before it does not hide it. */
	buyer = find("lp_buyer=x; lp_buyer=", &secrets, HEX, "");
	assert_string_equal(buyer.id.text, ID);
}

static void
takes_no_other_for_one(void **state)
{
	static const struct token_secrets foreign = {
	    .now = {"some other secret of that length.", 33}};
	const char *const texts[] = {"", "lp_buyer",
	    "lp_buyer=", "lp_buyer=buyer." HEX ".", "lp_buyer=buyer." HEX, ";",
	    "=", ";=;", "lp_visit=", "lp_visit=0123", "LP_VISIT=" HEX,
	    "lp_visit=0123456789ABCDEF0123456789ABCDEF",
	    "xlp_visit=0123456789abcdef0123456789abcdef"};
	struct buyer buyer;
	struct buyer other;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		buyer = find(texts[i], NULL, NULL, "");
		other = find(texts[i], NULL, NULL, "");
		assert_false(buyer.known || buyer.is_signed);
		assert_string_not_equal(buyer.id.text, other.id.text);
		assert_int_equal(strlen(buyer.id.text), 36);
	}
	assert_false(find("lp_buyer=", &foreign, HEX, "").known);
	assert_false(find("lp_buyer=", &secrets, HEX, "x").known);
	assert_false(find("xlp_buyer=", &secrets, HEX, "").known);
	/* Signed by us, but for no buyer. */
	assert_false(find("lp_buyer=", &secrets, "0123", "").known);
}

static void
derives_a_visitor(void **state)
{
	struct buyer one = find(VISIT, NULL, NULL, "");
	struct buyer two =
	    find("x=y; lp_buyer=junk; " VISIT, NULL, NULL, "; z");
	struct buyer three =
	    find("lp_visit=1123456789abcdef0123456789abcdef", NULL, NULL, "");

	(void)state;
	assert_true(one.known && two.known);
	assert_false(one.is_signed || two.is_signed);
	assert_string_equal(one.id.text, two.id.text);
	assert_string_not_equal(one.id.text, three.id.text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(finds_a_signed_buyer),
	    cmocka_unit_test(takes_no_other_for_one),
	    cmocka_unit_test(derives_a_visitor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
