/*
 * How fast a provider is asked: a bucket of tokens for each endpoint and one
 * for all together. A bucket fills evenly, and holds a tenth of a second's
 * tokens, at least one: in no second do more go out than its rate and that.
 * Pure: the time is passed in, in milliseconds of a clock that never goes back.
 */
#ifndef CASHIER_PACE_H
#define CASHIER_PACE_H

#include "pay/provider.h"

#include <stdint.h>

struct bucket {
	int per_second;
	int64_t most; /* what it holds, in thousandths of a token, as below */
	int64_t level;
	int64_t at_ms; /* when it had that much */
};

struct pace {
	struct bucket endpoints[ENDPOINTS];
	struct bucket all;
};

void
pace_init(struct pace *pace, const struct provider_pace *limits,
    int64_t now_ms);
/* How long until a request may go there; 0: now. */
int64_t
pace_wait(const struct pace *pace, enum endpoint endpoint, int64_t now_ms);
/* How many may go there within so many milliseconds from now. */
int
pace_within(const struct pace *pace, enum endpoint endpoint, int64_t now_ms,
    int64_t ms);
/* One goes there; pace_wait has just said 0. */
void
pace_take(struct pace *pace, enum endpoint endpoint, int64_t now_ms);

#endif
