/* The price of an item, as item add and item set take it. */
#ifndef COMMAND_ITEM_PRICE_H
#define COMMAND_ITEM_PRICE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Reads "129.00" and "EUR" as the price of what a buyer may have per_buyer of.
 * False, with the reason and the limit told, when no buyer could pay that. A
 * price that can be paid but has a catch is taken, and the catch told.
 */
bool
item_price(const char *text, const char *currency, int64_t per_buyer,
    int64_t *amount);

#endif
