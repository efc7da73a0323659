/*
 * Records what came of a call. To record the same twice changes nothing: while
 * the database is away, the cashier keeps an outcome and comes back with it.
 */
#ifndef CASHIER_RECORD_H
#define CASHIER_RECORD_H

#include "cashier_till.h"
#include "io/db.h"

/* What a call is to do, for the log: "open a session". */
const char *
job_act(const struct job *job);
/* Unless the database is away (DB_DOWN, DB_LOST), that was the last word: the
 * slot may be freed. */
enum db_status
slot_record(const struct slot *slot, struct till *till, struct db *db);

#endif
