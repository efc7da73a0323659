/*
 * The hosted pay page, /c/pay/:session. A GET shows where the session stands;
 * a POST with `do` is what the shopper wants:
 *   pay      paid at once
 *   decline  the card is declined, the page stays open
 *   later    by bank debit: done, but not paid yet
 *   settle, fail   what comes of that debit
 *   late     paid in `seconds`, even if the shop ends the session meanwhile
 *   then     paid at once, and after `days`: `what` of a dispute, or of what
 *            the next refund shall do
 *   debit    by bank debit, which comes or is refused, `what`, after `days`
 *   leave    back to the shop
 * It needs no JavaScript.
 */
#ifndef SANDBOX_PAGE_H
#define SANDBOX_PAGE_H

#include "web/exchange.h"

/* Answers a request whose body has been read. */
void
sandbox_page(struct exchange *x);

/* A page that only says something, and where one goes from it. */
struct page_note {
	int status;
	const char *title;
	const char *advice;
	const char *link;
	const char *back; /* the link's text */
};

void
sandbox_page_note(struct exchange *x, const struct page_note *note);
/* The same, and back to the shop. */
void
sandbox_page_say(struct exchange *x, int status, const char *title,
    const char *advice);
/* That the database is away. */
void
sandbox_page_busy(struct exchange *x);
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
