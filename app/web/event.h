/*
 * Handler of events: what a payment provider tells us.
 */
#ifndef WEB_EVENT_H
#define WEB_EVENT_H

#include "web/exchange.h"

/* POST /pay-callback, name empty, and /pay-callback/<name of a provider> */
void
event_receive(struct exchange *x, struct str name);
/*
 * Records what these exchanges have to record (x->resume is set), in one
 * transaction if that can be, and goes on with each. Those that are not
 * answered then have more: until none has.
 */
void
event_record(struct exchange *const *xs, size_t count);
/* So many at once, at most. */
#define EVENT_GATHER_MAX 64

#endif
