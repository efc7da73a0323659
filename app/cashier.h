/*
 * The cashier: opens and ends sessions at the providers, sends refunds and
 * looks up what events do not say. It claims rows of the outbox, calls outside
 * any transaction with the key that is stored there, many at once and at each
 * provider's pace, and records the outcomes. Killed in between, a row comes
 * back by itself and the provider knows the key. Several are harmless. Now and
 * then it compares the books with the provider's, too.
 */
#ifndef CASHIER_H
#define CASHIER_H

#include "base/conf.h"

/* Runs until SIGTERM; the process's exit status. */
int
cashier_run(const struct conf *conf);

#endif
