/*
 * The cashier: opens and ends sessions at the provider and sends refunds. It
 * claims a row of the outbox, calls outside any transaction with the key that
 * is stored there, and records the outcome. Killed in between, the row comes
 * back by itself and the provider knows the key. Several are harmless.
 */
#ifndef CASHIER_H
#define CASHIER_H

#include "base/conf.h"

/* Runs until SIGTERM; the process's exit status. */
int
cashier_run(const struct conf *conf);

#endif
