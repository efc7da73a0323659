/*
 * Money: 64-bit minor units and a currency (ISO 4217, upper case). Decimals
 * follow the provider's table, https://docs.stripe.com/currencies: zero for
 * BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF, three for BHD
 * JOD KWD OMR TND (last digit 0), two for all others.
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
 * three-decimal amount not a multiple of ten, out of range).
 */
const char *
money_parse(struct money *out, const char *text, const char *currency);
/* "129.00 EUR" */
void
money_format(struct buf *b, const struct money *money);
/* "129.00", as people write it in a form */
void
money_decimal(struct buf *b, const struct money *money);

#endif
