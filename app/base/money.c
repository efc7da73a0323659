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
	if (amount < 1 || amount > MONEY_AMOUNT_MAX)
		return "the amount is out of range, 1 to 99999999 in the "
		       "smallest unit";
	if (decimals == 3 && amount % 10)
		return "the last of three decimals must be 0 in this currency";
	if (strstr(whole_units, currency) && amount % 100)
		return "this currency is charged in whole units only";
	return NULL;
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
