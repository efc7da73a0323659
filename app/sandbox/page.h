/*
 * The hosted pay page, /c/pay/:session. A GET shows where the session stands;
 * a POST with `do` is what the shopper wants:
 *   pay      paid at once
 *   decline  the card is declined, the page stays open
 *   later    by bank debit: done, but not paid yet
 *   settle, fail   what comes of that debit
 *   late     paid in `seconds`, even if the shop ends the session meanwhile
 *   leave    back to the shop
 * It needs no JavaScript.
 */
#ifndef SANDBOX_PAGE_H
#define SANDBOX_PAGE_H

#include "web/exchange.h"

/* Answers a request whose body has been read. */
void
sandbox_page(struct exchange *x);
/* Answers with a page that only says something. */
void
sandbox_page_say(struct exchange *x, int status, const char *title,
    const char *advice);
/* The style sheet of these pages. */
void
sandbox_style(struct exchange *x);
/*
 * The policy for a page whose forms may lead to these origins besides our
 * own; a browser checks redirects after a form, too.
 */
void
sandbox_page_policy(struct exchange *x, const char *origins);

#endif
