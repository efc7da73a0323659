/*
 * Money. Amounts are computed on digits, never on floating point.
 */
#include "base/money.h"
#include "base/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What the provider charges in, sorted. */
static const char currencies[][4] = {"AED", "AFN", "ALL", "AMD", "AOA", "ARS",
    "AUD", "AWG", "AZN", "BAM", "BBD", "BDT", "BHD", "BIF", "BMD", "BND", "BOB",
    "BRL", "BSD", "BWP", "BYN", "BZD", "CAD", "CDF", "CHF", "CLP", "CNY", "COP",
    "CRC", "CVE", "CZK", "DJF", "DKK", "DOP", "DZD", "EGP", "ETB", "EUR", "FJD",
    "FKP", "GBP", "GEL", "GIP", "GMD", "GNF", "GTQ", "GYD", "HKD", "HNL", "HTG",
    "HUF", "IDR", "ILS", "INR", "ISK", "JMD", "JOD", "JPY", "KES", "KGS", "KHR",
    "KMF", "KRW", "KWD", "KYD", "KZT", "LAK", "LBP", "LKR", "LRD", "LSL", "MAD",
    "MDL", "MGA", "MKD", "MMK", "MNT", "MOP", "MUR", "MVR", "MWK", "MXN", "MYR",
    "MZN", "NAD", "NGN", "NIO", "NOK", "NPR", "NZD", "OMR", "PAB", "PEN", "PGK",
    "PHP", "PKR", "PLN", "PYG", "QAR", "RON", "RSD", "RUB", "RWF", "SAR", "SBD",
    "SCR", "SEK", "SGD", "SHP", "SLE", "SOS", "SRD", "STD", "SZL", "THB", "TJS",
    "TND", "TOP", "TRY", "TTD", "TWD", "TZS", "UAH", "UGX", "USD", "UYU", "UZS",
    "VND", "VUV", "WST", "XAF", "XCD", "XCG", "XOF", "XPF", "YER", "ZAR",
    "ZMW"};

#define CURRENCY_COUNT (sizeof(currencies) / sizeof(currencies[0]))

static const char zero_decimals[] =
    "BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF";
static const char three_decimals[] = "BHD JOD KWD OMR TND";
/* Two decimals on the wire, but only whole units are charged. */
static const char whole_units[] = "ISK UGX";
/* Two decimals are charged, but only whole units are paid out. */
static const char whole_payouts[] = "HUF TWD";

/* The least that is charged, in minor units. */
static const struct {
	char currency[4];
	int least;
} minimums[] = {{"AED", 200}, {"AUD", 50}, {"BRL", 50}, {"CAD", 50},
    {"CHF", 50}, {"CZK", 1500}, {"DKK", 250}, {"EUR", 50}, {"GBP", 30},
    {"HKD", 400}, {"HUF", 17500}, {"INR", 50}, {"JPY", 50}, {"KRW", 50},
    {"MXN", 1000}, {"MYR", 200}, {"NOK", 300}, {"NZD", 50}, {"PLN", 200},
    {"RON", 200}, {"SEK", 300}, {"SGD", 50}, {"THB", 1000}, {"USD", 50},
    {"ZAR", 50}};

/* MONEY_AMOUNT_MAX, by the number of decimals. */
static const char *const too_much[] = {
    "an amount is at most 99999999 in this currency",
    NULL,
    "an amount is at most 999999.99 in this currency",
    "an amount is at most 99999.990 in this currency",
};

static int
code_compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

int
money_decimals(const char *currency)
{
	if (!bsearch(currency, currencies, CURRENCY_COUNT,
		sizeof(currencies[0]), code_compare))
		return -1;
	if (strstr(zero_decimals, currency))
		return 0;
	return strstr(three_decimals, currency) ? 3 : 2;
}

/* What an amount must be a multiple of. */
static int64_t
money_step(const char *currency)
{
	if (strstr(three_decimals, currency))
		return 10;
	return strstr(whole_units, currency) ? 100 : 1;
}

/* The digits after the point, shifted to that many decimals. */
static const char *
fraction_parse(int64_t *out, const char *text, int decimals)
{
	int64_t n = 0;
	int count = 0;

	for (; text[count]; count++) {
		if (text[count] < '0' || text[count] > '9')
			return "the amount is no decimal number";
		if (count == decimals)
			return "the amount has too many decimals for its "
			       "currency";
		n = n * 10 + (text[count] - '0');
	}
	if (count == 0)
		return "the amount is no decimal number";
	for (; count < decimals; count++)
		n *= 10;
	*out = n;
	return NULL;
}

static const char *
amount_check(int64_t amount, const char *currency, int decimals)
{
	if (amount < 1)
		return "an amount is more than 0";
	if (amount > MONEY_AMOUNT_MAX)
		return too_much[decimals];
	if (amount % money_step(currency) == 0)
		return NULL;
	return decimals == 3
	    ? "the last of three decimals must be 0 in this currency"
	    : "this currency is charged in whole units only";
}

const char *
money_parse(struct money *out, const char *text, const char *currency)
{
	int decimals = money_decimals(currency);
	const char *point = strchr(text, '.');
	struct str whole = str_of(text);
	int64_t amount = 0;
	int64_t fraction = 0;
	const char *why = NULL;

	if (decimals < 0)
		return "the currency is unknown";
	if (point)
		whole.len = (size_t)(point - text);
	/* Nine digits are over every limit and cannot overflow below. */
	if (whole.len > 9)
		whole.len = 9;
	if (!str_int(whole, &amount) || text[0] == '-')
		return "the amount is no decimal number";
	if (point)
		why = fraction_parse(&fraction, point + 1, decimals);
	for (int i = 0; i < decimals; i++)
		amount *= 10;
	amount += fraction;
	if (!why)
		why = amount_check(amount, currency, decimals);
	if (why)
		return why;
	out->amount = amount;
	memcpy(out->currency, currency, sizeof(out->currency));
	return NULL;
}

int64_t
money_least(const char *currency)
{
	for (size_t i = 0; i < sizeof(minimums) / sizeof(minimums[0]); i++) {
		if (strcmp(minimums[i].currency, currency) == 0)
			return minimums[i].least;
	}
	return 0;
}

bool
money_price(const struct money *price, int64_t units, struct buf *why)
{
	struct money limit = *price;

	limit.amount = money_least(price->currency);
	if (price->amount < limit.amount) {
		buf_str(why, "the payment provider charges at least ");
		money_format(why, &limit);
		return false;
	}
	/* Divided, because a product could wrap. */
	if (price->amount <= MONEY_AMOUNT_MAX / units)
		return true;
	limit.amount = MONEY_AMOUNT_MAX;
	limit.amount -= limit.amount % money_step(price->currency);
	buf_printf(why,
	    "a buyer may have %" PRId64 ", and a payment is at most ", units);
	money_format(why, &limit);
	return false;
}

const char *
money_advice(const struct money *price)
{
	if (strstr(whole_payouts, price->currency) && price->amount % 100)
		return "buyers are charged the decimals, but the payment "
		       "provider pays this currency out in whole units only";
	return NULL;
}

void
money_format(struct buf *b, const struct money *money)
{
	money_decimal(b, money);
	buf_printf(b, " %s", money->currency);
}

void
money_decimal(struct buf *b, const struct money *money)
{
	int decimals = money_decimals(money->currency);
	int64_t unit = 1;

	if (decimals < 0 || money->amount < 0)
		log_bug("cannot write %" PRId64 " %.3s", money->amount,
		    money->currency);
	for (int i = 0; i < decimals; i++)
		unit *= 10;
	buf_printf(b, "%" PRId64, money->amount / unit);
	if (decimals)
		buf_printf(b, ".%0*" PRId64, decimals, money->amount % unit);
}
