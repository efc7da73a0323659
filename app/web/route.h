/*
 * From a request to its handler.
 */
#ifndef WEB_ROUTE_H
#define WEB_ROUTE_H

#include "web/exchange.h"

/*
 * Whether its handler waits neither for the database nor for a long body, so
 * that the thread with all connections may run it.
 */
bool
route_is_quick(const struct request *request);
/*
 * Whether several such requests are best run together: each ends in something
 * to record (event_record).
 */
bool
route_gathers(const struct request *request);
/*
 * Answers any request: x comes with web, fcgi, request and an empty reply; the
 * rest is filled here. With x->resume set it is not answered yet: x->call is
 * to go through the lane first, or x->delivery to be recorded.
 */
void
route(struct exchange *x);
/* Answers that there is no room for it now (503), without its handler. */
void
route_busy(struct exchange *x);

#endif
