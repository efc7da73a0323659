/*
 * From a provider's event to what the database settles, whoever brought the
 * event: a webhook, or the cashier that went and looked.
 */
#ifndef WEB_SETTLEMENT_H
#define WEB_SETTLEMENT_H

#include "io/db.h"
#include "pay/provider.h"

/* All views are the event's and the body's. */
void
settlement_fill(struct settlement *settlement, const struct provider *provider,
    const struct event *event, struct str body);

#endif
