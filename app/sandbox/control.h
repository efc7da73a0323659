/*
 * What tests and demonstrations steer the sandbox with. JSON, no key: whoever
 * reaches the sandbox may.
 *   POST /sandbox/sessions/:id/pay      {"delay_ms":0,"even_if_expired":false}
 *   POST /sandbox/sessions/:id/decline
 *   POST /sandbox/sessions/:id/bank     {"outcome":"succeeded" or "failed"}
 *   POST /sandbox/events/:id/resend
 *   POST /sandbox/refunds/:id/fail
 *   GET  /sandbox/deliveries?session=&limit=
 * A body may be left out. 200, and for a session {"session","view"}; 404 when
 * there is no such thing; 409 with the view when the session is not in a state
 * for it.
 */
#ifndef SANDBOX_CONTROL_H
#define SANDBOX_CONTROL_H

#include "web/exchange.h"

/* Answers a request whose body has been read. */
void
sandbox_control(struct exchange *x);

#endif
