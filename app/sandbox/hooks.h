/*
 * Delivers events to the shop, signed as the provider signs them, and does
 * what the clock brings: sessions over, payments under way.
 */
#ifndef SANDBOX_HOOKS_H
#define SANDBOX_HOOKS_H

#include "base/conf.h"
#include "base/str.h"

#include <stdint.h>

/* Runs until SIGTERM; an exit status. fd is not used. */
int
sandbox_hooks(const struct conf *conf, int fd);
/*
 * Appends "t=<now>,v1=<hex>" over now "." body, with a second v1 while an old
 * secret is set. https://docs.stripe.com/webhooks#verify-manually
 */
void
hook_signature(struct buf *out, const struct conf *conf, int64_t now,
    struct str body);

#endif
