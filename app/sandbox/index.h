/*
 * GET /: what the sandbox has seen lately, for whoever sells or tests.
 */
#ifndef SANDBOX_INDEX_H
#define SANDBOX_INDEX_H

#include "web/exchange.h"

void
sandbox_index(struct exchange *x);

#endif
