/*
 * Handler of events: what a payment provider tells us.
 */
#ifndef WEB_EVENT_H
#define WEB_EVENT_H

#include "web/exchange.h"

/* POST /pay-callback, name empty, and /pay-callback/<name of a provider> */
void
event_receive(struct exchange *x, struct str name);

#endif
