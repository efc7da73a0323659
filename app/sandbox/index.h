/*
 * /: what the sandbox has seen lately, for whoever sells or tests. A GET shows
 * it; ?show=SESSION unfolds that session. A POST does what its `do` says, as
 * the provider's dashboard would, and leads back:
 *   refund   a payment, or `amount` of it in `currency`
 *   dispute  a payment, or inquiry (the bank asks);  won, lost: a dispute
 *   fail     a refund
 *   resend   an event;  flush: what waits;  flush_dropped: what was dropped
 */
#ifndef SANDBOX_INDEX_H
#define SANDBOX_INDEX_H

#include "web/exchange.h"

/* Answers a request whose body has been read. */
void
sandbox_index(struct exchange *x);

#endif
