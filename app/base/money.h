/*
 * Money: 64-bit minor units and a currency (ISO 4217, upper case). Decimals
 * and limits follow the provider's tables, https://docs.stripe.com/currencies:
 * zero decimals for BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF
 * XPF, three for BHD JOD KWD OMR TND (last digit 0), two for all others. ISK
 * and UGX have two on the wire, but are charged in whole units only.
 */
#ifndef BASE_MONEY_H
#define BASE_MONEY_H

#include "buf.h"
#include "str.h"

#include <stdbool.h>
#include <stdint.h>

/* Eight digits is what every payment method takes. */
#define MONEY_AMOUNT_MAX 99999999

struct money {
	int64_t amount; /* minor units, 1 to MONEY_AMOUNT_MAX */
	char currency[4];
};

/* Decimals of a known currency; -1 for a code that is none. */
int
money_decimals(const char *currency);
/*
 * "129.00" and "EUR" to money; NULL when done, else a static sentence that
 * says why not (unknown currency, too many decimals, ISK or UGX not whole,
 * three-decimal amount not a multiple of ten, zero, more than the most).
 */
const char *
money_parse(struct money *out, const char *text, const char *currency);
/*
 * The least that the provider charges in a currency, in minor units; 0 when it
 * lists none. It counts in the currency that the provider pays the shop in,
 * which we do not know; who is paid in another may have to ask for more.
 */
int64_t
money_least(const char *currency);
/*
 * Whether this can be the price of something that a buyer may have up to
 * units of (1 to 1000), so that nobody is refused when paying. If not, why
 * gets a sentence that names the limit.
 */
bool
money_price(const struct money *price, int64_t units, struct buf *why);
/*
 * What the seller should know about a price that can be charged: a static
 * sentence, or NULL when there is nothing. HUF and TWD may be charged in
 * decimals, but are paid out in whole units.
 */
const char *
money_advice(const struct money *price);
/* "129.00 EUR" */
void
money_format(struct buf *b, const struct money *money);
/* "129.00", as people write it in a form */
void
money_decimal(struct buf *b, const struct money *money);

#endif
