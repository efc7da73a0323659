/*
 * Who asks: a buyer is a uuid that a signed cookie carries.
 */
#ifndef WEB_BUYER_H
#define WEB_BUYER_H

#include "web/exchange.h"

/*
 * Finds the buyer in the Cookie header: by lp_buyer, which we signed; else by
 * lp_visit, which came with the page, so that two quick first clicks are one
 * buyer's; else makes one up. A cookie that is not valid counts as none.
 */
void
buyer_find(struct buyer *buyer, struct str cookies,
    const struct token_secrets *secrets);
/* Sends lp_buyer for id, unless the request brought it. */
void
buyer_remember(struct exchange *x, const struct uuid *id);

#endif
