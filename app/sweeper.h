/*
 * The sweeper: returns expired holds to stock in the background. Never needed
 * for correctness (a take returns them itself); it keeps the counts tidy and
 * frees units of items that nobody asks for. Several are harmless.
 */
#ifndef SWEEPER_H
#define SWEEPER_H

#include "base/conf.h"

/* Runs until SIGTERM; the process's exit status. */
int
sweeper_run(const struct conf *conf);

#endif
