/*
 * The courier: the only process that sends mail, to buyers about their orders
 * and to the operator about tasks. It claims a mail that is owed, writes it
 * from what is true at that moment, sends it outside any transaction, and
 * records what came of it. Killed in between, the mail comes back and goes out
 * again under the same Message-ID. Several are harmless.
 */
#ifndef COURIER_H
#define COURIER_H

#include "base/conf.h"

/* Runs until SIGTERM; the process's exit status. */
int
courier_run(const struct conf *conf);

#endif
