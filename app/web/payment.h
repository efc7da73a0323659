/*
 * Handlers of payments.
 */
#ifndef WEB_PAYMENT_H
#define WEB_PAYMENT_H

#include "web/exchange.h"

/* POST /pay */
void
payment_ask(struct exchange *x);
/* GET /pay?id=: the page that tries again by itself. */
void
payment_page(struct exchange *x);

#endif
