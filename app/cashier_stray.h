/*
 * Refunds that are owed through a provider that is not set up any more: nobody
 * would send them, so they go on the operator's list.
 */
#ifndef CASHIER_STRAY_H
#define CASHIER_STRAY_H

#include "io/db.h"
#include "pay/provider.h"

/* Has those that are due given up, with a task each: it sends them when the
 * provider is set up again. The first status that is not DB_OK. */
enum db_status
stray_refuse(struct db *db, const struct provider *provider);

#endif
