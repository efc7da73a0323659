/*
 * The provider's interface, as far as the shop and its tests need it:
 *   POST /v1/checkout/sessions               open_key
 *   GET  /v1/checkout/sessions/:id
 *   POST /v1/checkout/sessions/:id/expire    open_key
 *   POST /v1/refunds                         refund_key
 *   GET  /v1/refunds
 *   GET  /v1/payment_intents/:id
 *   GET  /v1/events
 * A GET takes either key. Answers and errors are shaped as
 * https://docs.stripe.com/api has them.
 */
#ifndef SANDBOX_API_H
#define SANDBOX_API_H

#include "web/exchange.h"

/* Answers a request whose body has been read. */
void
sandbox_api(struct exchange *x);

#endif
