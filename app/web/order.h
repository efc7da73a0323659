/*
 * Handler of the order page.
 */
#ifndef WEB_ORDER_H
#define WEB_ORDER_H

#include "web/exchange.h"

/* GET /order/<hold id> */
void
order_show(struct exchange *x, struct str id);

#endif
