/* What the files of a run share. Not for anybody else. */
#ifndef RECONCILE_OWN_H
#define RECONCILE_OWN_H

#include "reconcile.h"

bool
reconcile_is_stopping(const struct reconcile *r);
/* Sleeps so long, or until it is time to stop. */
void
reconcile_rest(const struct reconcile *r, int64_t ms);
/* Tells how far the run is. */
void
reconcile_say(const struct reconcile *r, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Ends the run with that, or as stopped. Always false. */
bool
reconcile_stop(struct reconcile *r, enum reconcile_result result);
/*
 * Asks the provider, a few times if need be. work is the caller's to release.
 * False, and the run is over, when no answer came; a no is one, and said in
 * r->error.
 */
bool
reconcile_ask(struct reconcile *r, struct call *call, struct work *work);

#endif
