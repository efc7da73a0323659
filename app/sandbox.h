/*
 * A stand-in for the payment provider: a server with Stripe's interface, a
 * pay page and signed webhooks, which moves no money. The shop calls it as it
 * calls Stripe. Its state is in schemas of its own; no right on the shop's.
 */
#ifndef SANDBOX_H
#define SANDBOX_H

#include "base/conf.h"

/*
 * Serves <socket_dir>/sandbox.sock and delivers webhooks, in two processes of
 * its own, until SIGTERM or SIGINT; the process's exit status.
 */
int
sandbox_run(const struct conf *conf);

#endif
