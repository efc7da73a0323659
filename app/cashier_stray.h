/*
 * Calls to a provider that is not set up any more: nobody would make them, so
 * they go on the operator's list. Refunds one by one, the others together.
 */
#ifndef CASHIER_STRAY_H
#define CASHIER_STRAY_H

#include "io/db.h"
#include "pay/provider.h"

#include <stdint.h>

/* Has refunds that are due given up, with a task each: it sends them when the
 * provider is set up again. The first status that is not DB_OK. */
enum db_status
stray_refuse(struct db *db, const struct provider *provider);
/* Has one task for all others; it is over when the provider is set up again.
 * *waits: how many there were, and then are; said when it changes. */
enum db_status
stray_tell(struct db *db, const struct provider *provider, bool set_up,
    int64_t *waits);

#endif
