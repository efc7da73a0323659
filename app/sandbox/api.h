/*
 * The provider's interface, as far as the shop and its tests need it:
 *   POST /v1/checkout/sessions               open_key
 *   GET  /v1/checkout/sessions, /v1/checkout/sessions/:id
 *   POST /v1/checkout/sessions/:id/expire    open_key
 *   POST /v1/refunds                         refund_key
 *   GET  /v1/refunds, /v1/refunds/:id
 *   GET  /v1/payment_intents/:id
 *   GET  /v1/disputes, /v1/disputes/:id
 *   GET  /v1/events, /v1/events/:id
 * A GET takes either key. Answers and errors are shaped as
 * https://docs.stripe.com/api has them.
 */
#ifndef SANDBOX_API_H
#define SANDBOX_API_H

#include "sandbox/fault.h"
#include "web/exchange.h"

/*
 * Answers a request whose body has been read, or decides to pause first and
 * says so in fault; then it is to be called again.
 */
void
sandbox_api(struct exchange *x, struct fault *fault);

#endif
