/* base/money: what is shown is what is charged. */
#include "base/money.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static void
assert_money(const char *text, const char *currency, int64_t amount,
    const char *shown)
{
	struct money money = {0};
	struct buf b = {0};

	assert_null(money_parse(&money, text, currency));
	assert_true(money.amount == amount);
	assert_string_equal(money.currency, currency);
	money_format(&b, &money);
	assert_string_equal(b.data, shown);
	buf_release(&b);
}

static void
assert_no_money(const char *text, const char *currency, const char *part)
{
	struct money money = {0};
	const char *why = money_parse(&money, text, currency);

	assert_non_null(why);
	assert_non_null(strstr(why, part));
}

static void
c31_decimals_follow_the_currency(void **state)
{
	(void)state;
	assert_money("500", "JPY", 500, "500 JPY");
	assert_money("18.600", "KWD", 18600, "18.600 KWD");
	assert_money("5.12", "KWD", 5120, "5.120 KWD");
	assert_money("19.99", "EUR", 1999, "19.99 EUR");
	assert_money("129", "EUR", 12900, "129.00 EUR");
	assert_money("0.5", "USD", 50, "0.50 USD");
	assert_money("0.01", "USD", 1, "0.01 USD");
	assert_money("999999.99", "EUR", 99999999, "999999.99 EUR");
}

static void
c31_a_third_decimal_must_be_zero(void **state)
{
	(void)state;
	assert_no_money("5.124", "KWD", "must be 0");
	assert_money("5.130", "KWD", 5130, "5.130 KWD");
	assert_no_money("5.1300", "KWD", "too many decimals");
}

static void
c31_an_unknown_currency_is_refused(void **state)
{
	static const char *const bad[] = {"XXQ", "eur", "EU", "EURO", "", "E U",
	    "BGN", "HRK"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(money_decimals(bad[i]), -1);
		assert_no_money("1", bad[i], "unknown");
	}
}

static void
isk_and_ugx_are_whole_but_sent_with_two_decimals(void **state)
{
	(void)state;
	assert_money("5", "ISK", 500, "5.00 ISK");
	assert_money("5.00", "UGX", 500, "5.00 UGX");
	assert_no_money("5.50", "ISK", "whole units");
	assert_no_money("0.01", "UGX", "whole units");
}

static void
decimals_of_all_kinds(void **state)
{
	static const char *const zero[] = {"BIF", "CLP", "DJF", "GNF", "JPY",
	    "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF", "XOF",
	    "XPF"};
	static const char *const three[] = {"BHD", "JOD", "KWD", "OMR", "TND"};
	static const char *const two[] = {"AED", "EUR", "HUF", "ISK", "TWD",
	    "UGX", "USD", "ZMW", "XCG", "GBP"};

	(void)state;
	for (size_t i = 0; i < sizeof(zero) / sizeof(zero[0]); i++)
		assert_int_equal(money_decimals(zero[i]), 0);
	for (size_t i = 0; i < sizeof(three) / sizeof(three[0]); i++)
		assert_int_equal(money_decimals(three[i]), 3);
	for (size_t i = 0; i < sizeof(two) / sizeof(two[0]); i++)
		assert_int_equal(money_decimals(two[i]), 2);
}

static void
amounts_that_are_no_decimal_number_are_refused(void **state)
{
	static const char *const bad[] = {"", "-1", "+1", " 1", "1 ", "1,00",
	    "1.", ".5", "1.2.3", "1e3", "0x10", "01", "abc", "1.-5", "1. 5",
	    "-0", "--1"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_no_money(bad[i], "EUR", "no decimal number");
	assert_no_money("19.999", "EUR", "too many decimals");
	assert_no_money("500.00", "JPY", "too many decimals");
}

static void
c47_amounts_never_wrap(void **state)
{
	static const char *const bad[] = {"1000000", "999999999.99",
	    "9223372036854775807", "9223372036854775808",
	    "99999999999999999999999999999999"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_no_money(bad[i], "EUR", "at most 999999.99");
	assert_no_money("0", "EUR", "more than 0");
	assert_no_money("0.00", "EUR", "more than 0");
	assert_money("99999999", "JPY", 99999999, "99999999 JPY");
	assert_no_money("100000000", "JPY", "at most 99999999 ");
	assert_money("99999.99", "KWD", 99999990, "99999.990 KWD");
	assert_no_money("100000", "KWD", "at most 99999.990");
}

static void
assert_price(const char *text, const char *currency, int64_t units,
    const char *limit)
{
	struct money price = {0};
	struct buf why = {0};

	assert_null(money_parse(&price, text, currency));
	if (money_price(&price, units, &why) != (limit == NULL))
		fail_msg("%s %s: %s", text, currency, buf_text(&why));
	if (limit && !strstr(buf_text(&why), limit))
		fail_msg("no %s in: %s", limit, buf_text(&why));
	if (!limit)
		assert_int_equal(why.len, 0);
	buf_release(&why);
}

static void
the_least_and_the_most_are_named(void **state)
{
	(void)state;
	assert_price("0.49", "EUR", 1, "at least 0.50 EUR");
	assert_price("0.50", "EUR", 1, NULL);
	assert_price("0.29", "GBP", 1, "at least 0.30 GBP");
	assert_price("0.30", "GBP", 1, NULL);
	assert_price("49", "JPY", 1, "at least 50 JPY");
	assert_price("50", "JPY", 1, NULL);
	assert_price("174.99", "HUF", 1, "at least 175.00 HUF");
	assert_price("175", "HUF", 1, NULL);
	/* None is listed: none is made up. */
	assert_price("0.010", "KWD", 1, NULL);
	assert_price("1", "ISK", 1, NULL);
	assert_price("0.01", "TWD", 1, NULL);
	assert_price("999999.99", "EUR", 1, NULL);
	assert_price("999999.99", "EUR", 2, "at most 999999.99 EUR");
	assert_price("499999.99", "EUR", 2, NULL);
	assert_price("500000.00", "EUR", 2, "may have 2, ");
	assert_price("100000", "JPY", 1000, "at most 99999999 JPY");
	assert_price("99999", "JPY", 1000, NULL);
	assert_price("60000.000", "KWD", 2, "at most 99999.990 KWD");
	assert_price("600000", "UGX", 2, "at most 999999.00 UGX");
}

static void
a_listed_least_can_be_charged(void **state)
{
	static const char *const listed[] = {"AED", "AUD", "BRL", "CAD", "CHF",
	    "CZK", "DKK", "EUR", "GBP", "HKD", "HUF", "INR", "JPY", "KRW",
	    "MXN", "MYR", "NOK", "NZD", "PLN", "RON", "SEK", "SGD", "THB",
	    "USD", "ZAR"};

	(void)state;
	for (size_t i = 0; i < sizeof(listed) / sizeof(listed[0]); i++) {
		assert_true(money_decimals(listed[i]) >= 0);
		assert_in_range(money_least(listed[i]), 30, 17500);
	}
	assert_int_equal(money_least("KWD"), 0);
	assert_int_equal(money_least("XXQ"), 0);
}

static void
decimals_that_are_not_paid_out_are_told(void **state)
{
	static const struct money whole = {17500, "HUF"};
	static const struct money part = {17550, "HUF"};
	static const struct money taiwan = {1001, "TWD"};
	static const struct money euro = {1999, "EUR"};

	(void)state;
	assert_null(money_advice(&whole));
	assert_non_null(strstr(money_advice(&part), "whole units"));
	assert_non_null(money_advice(&taiwan));
	assert_null(money_advice(&euro));
}

static void
decimal_is_written_without_the_currency(void **state)
{
	struct money money = {12900, "EUR"};
	struct buf b = {0};

	(void)state;
	money_decimal(&b, &money);
	assert_string_equal(b.data, "129.00");
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(c31_decimals_follow_the_currency),
	    cmocka_unit_test(c31_a_third_decimal_must_be_zero),
	    cmocka_unit_test(c31_an_unknown_currency_is_refused),
	    cmocka_unit_test(isk_and_ugx_are_whole_but_sent_with_two_decimals),
	    cmocka_unit_test(decimals_of_all_kinds),
	    cmocka_unit_test(amounts_that_are_no_decimal_number_are_refused),
	    cmocka_unit_test(c47_amounts_never_wrap),
	    cmocka_unit_test(the_least_and_the_most_are_named),
	    cmocka_unit_test(a_listed_least_can_be_charged),
	    cmocka_unit_test(decimals_that_are_not_paid_out_are_told),
	    cmocka_unit_test(decimal_is_written_without_the_currency),
	};

	return cmocka_run_group_tests_name("base/money", tests, NULL, NULL);
}
