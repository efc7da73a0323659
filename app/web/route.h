/*
 * From a request to its handler.
 */
#ifndef WEB_ROUTE_H
#define WEB_ROUTE_H

#include "web/exchange.h"

/*
 * Answers any request: x comes with web, fcgi, request and an empty reply; the
 * rest is filled here.
 */
void
route(struct exchange *x);

#endif
