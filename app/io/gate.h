/*
 * Refusals from memory: an item that the database has just refused to somebody
 * is refused to the next ones without asking it. The memory is shared by all
 * processes that are forked after gate_new.
 *
 * It is a hint, not the record. What it holds against:
 *  - it is never wrong for longer than GATE_MS, and not at all once gate_open
 *    has been told that units came back;
 *  - whoever may have a hold or an order of the item, or has used the key,
 *    is never refused here: the database finds it for them. That is everybody
 *    who was passed to the database (gate_pass) and everybody who was learned
 *    from it (gate_learn_*). An item refuses nobody before it was learned.
 *    One gap: a hold that was over before the item was learned. Its key is
 *    told what anybody is, and so is its buyer if a late payment takes the
 *    units again;
 *  - it may be wiped at any moment, and a process killed at any instruction:
 *    then more requests reach the database for a while, and no more than that.
 *
 * Any thread of any process may call any function at any time. No locks.
 * Times are clock_monotonic_ms. Of an item whose SKU is longer than
 * GATE_SKU_MAX, or that found no room, nothing is known and nobody is refused.
 */
#ifndef IO_GATE_H
#define IO_GATE_H

#include "base/buf.h"
#include "base/str.h"
#include "base/token.h"

#include <stdbool.h>
#include <stdint.h>

/* Longest life of what the database said, from when it was asked. */
#define GATE_MS 250
/* From this age on, one request in GATE_PROBE_MS is let through, so that what
 * is known is renewed before its end; the others do not notice. */
#define GATE_SOFT_MS 150
#define GATE_PROBE_MS 50
/* Bytes; an SKU has 100 characters at most, nearly always of one byte. */
#define GATE_SKU_MAX 192
/* Items of which something can be known at a time. */
#define GATE_ITEMS 1024

struct gate;

/*
 * settle_ms: longer than a request can be under way, from gate_pass until its
 * transaction has ended. For so long after a wipe nothing can be learned,
 * because the wipe has forgotten who was passed before it.
 */
struct gate *
gate_new(int64_t settle_ms);
void
gate_free(struct gate *gate);
/* Forgets everything. Happens by itself when too many have been passed. */
void
gate_wipe(struct gate *gate);

/* One line of a request. */
struct gate_ask {
	struct str sku;
	int64_t qty;
	const struct uuid *buyer;
	struct str key; /* the order key; empty: none */
};

/* As api.hold_take gives it: what is not of the outcome is 0. */
struct gate_refusal {
	char outcome[16]; /* sold-out, not-open, paused, closed */
	int64_t free; /* sold-out */
	int64_t held; /* sold-out */
	int64_t opens_in_ms; /* not-open */
};

/*
 * Whether a request of this one line (never one of several) is refused now;
 * *refusal is set only then. Else it must go to the database, after gate_pass.
 */
bool
gate_refuses(struct gate *gate, const struct gate_ask *ask, int64_t now_ms,
    struct gate_refusal *refusal);
/* For each line of a request, before it can reach the database. */
void
gate_pass(struct gate *gate, const struct gate_ask *ask);
/*
 * The database, asked at asked_ms, has refused a request of this one line.
 * What was asked earlier than what is known is ignored, and so are other
 * outcomes. Never for a line of several: one was refused before the other.
 */
void
gate_tell(struct gate *gate, const struct gate_ask *ask,
    const struct gate_refusal *refusal, int64_t asked_ms);
/* Units of the item came back, committed: what was asked before is void. */
void
gate_open(struct gate *gate, struct str sku);

/*
 * An item that could refuse if its holders were known: sets sku to it. Each is
 * named once a second at most, whoever asks, until it has been learned.
 */
bool
gate_wants(struct gate *gate, int64_t now_ms, struct buf *sku);

/*
 * Learning one item: begin; if that is true, ask api.gate_members; add every
 * row; end. Without end nothing was learned. After a wipe on the way, end does
 * nothing.
 */
struct gate_learning {
	struct gate *gate;
	struct str sku; /* the caller's, valid until end */
	uint64_t generation;
	bool whole; /* nobody was left out */
};

bool
gate_learn_begin(struct gate_learning *learning, struct gate *gate,
    struct str sku, int64_t now_ms);
/* key may be empty. An empty buyer says that there are too many to name. */
void
gate_learn_add(struct gate_learning *learning, struct str buyer,
    struct str key);
void
gate_learn_end(struct gate_learning *learning);

#endif
