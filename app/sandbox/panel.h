/*
 * /faults: what can go wrong at the provider, to switch on and off by hand;
 * the clock and the seed. A GET shows it, a POST does what its `do` says and
 * leads back:
 *   add      a fault: kind, target, percent, times, ms or days
 *   end      one: fault;  end_all
 *   forward  the clock: hours
 *   seed     seed
 */
#ifndef SANDBOX_PANEL_H
#define SANDBOX_PANEL_H

#include "web/exchange.h"

/* Answers a request whose body has been read. */
void
sandbox_panel(struct exchange *x);

#endif
