/*
 * Handler of items.
 */
#ifndef WEB_ITEM_H
#define WEB_ITEM_H

#include "web/exchange.h"

/* GET /availability?item=… */
void
item_availability(struct exchange *x);

#endif
