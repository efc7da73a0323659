/*
 * Handlers for whoever watches.
 */
#ifndef WEB_HEALTH_H
#define WEB_HEALTH_H

#include "web/exchange.h"

/* GET /healthz: this process serves. */
void
health_alive(struct exchange *x);
/* GET /readyz: and it can sell. */
void
health_ready(struct exchange *x);

#endif
