/*
 * What tests and demonstrations steer the sandbox with. JSON, no key: whoever
 * reaches the sandbox may.
 *   GET  /sandbox/clock
 *   POST /sandbox/clock                 {"forward_ms":0}
 *   GET  /sandbox/seed
 *   POST /sandbox/seed                  {"seed":"text"}
 *   POST /sandbox/alias                 {"name":"hld_…","as":"buyer 7"}
 *   GET  /sandbox/faults
 *   POST /sandbox/faults                {"target","kind","percent":100,
 *                                        "times":null,"ms":null}
 *   POST /sandbox/faults/:id/clear, /sandbox/faults/clear
 *   POST /sandbox/sessions/:id/pay      {"delay_ms":0,"even_if_expired":false}
 *   POST /sandbox/sessions/:id/decline
 *   POST /sandbox/sessions/:id/bank     {"outcome":"succeeded" or "failed",
 *                                        "delay_ms":0}
 *   POST /sandbox/payments/:id/refund   {"amount":null}
 *   POST /sandbox/payments/:id/dispute  {"inquiry":false}
 *   POST /sandbox/disputes/:id/close    {"outcome":"won" or "lost"}
 *   POST /sandbox/refunds/:id/fail
 *   POST /sandbox/events/:id/resend
 *   GET  /sandbox/deliveries?session=&limit=
 *   POST /sandbox/deliveries/flush      {"dropped":false}
 *   GET  /sandbox/books
 * A body may be left out. 200, and for a session {"session","view"}; 400 for
 * what cannot be; 404 when there is no such thing; 409 with the view or the
 * reason when it is not in a state for it.
 *
 * Faults: which target can have which kind is said in the table of faults,
 * sql/sandbox/migrations/0002_faults.sql. Of calls:
 *   slow         carried out and answered after ms; its key is in use meanwhile
 *   conflict     409, not carried out       rate         429, not carried out
 *   unavailable  503, not carried out       error        500, kept for its key
 *   error_after  carried out, then 500      timeout      answered after ms
 *   lost         carried out, the answer is cut off
 * Of a delivery: duplicate (again after ms), delay or reorder (after ms), drop
 * (never). Of a payment: dispute (after ms). Of a refund, by the sandbox's
 * clock: refund_pending (pending, succeeds after ms), refund_fails (succeeds,
 * fails after ms), refund_pending_fails.
 */
#ifndef SANDBOX_CONTROL_H
#define SANDBOX_CONTROL_H

#include "web/exchange.h"

/* Answers a request whose body has been read. */
void
sandbox_control(struct exchange *x);

#endif
