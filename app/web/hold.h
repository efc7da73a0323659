/*
 * Handlers of holds.
 */
#ifndef WEB_HOLD_H
#define WEB_HOLD_H

#include "web/exchange.h"

/* POST /hold */
void
hold_take(struct exchange *x);
/* GET /hold?id= */
void
hold_show(struct exchange *x);
/* POST /hold/drop */
void
hold_drop(struct exchange *x);

#endif
