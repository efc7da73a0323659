/*
 * What the gate knows of an item, and whom it refuses by that. Invariant: the
 * evidence word alone decides until when somebody is refused, and as what; the
 * detail beside it only says how many and how long. Any thread of any process,
 * killed anywhere.
 *
 * Why nobody who has a hold is refused: a holder's take was committed before
 * the item was learned, and then learning has found it; or afterwards, and
 * then it was passed less than settle_ms before that. Learning begins only
 * settle_ms after its generation began, so it was passed in this generation,
 * and is in the filter.
 */
#include "io/gate.h"
#include "io/gate_memory.h"

#include "base/clock.h"

#include <string.h>

/* An item that could not be learned is named again so much later. */
#define LEARN_PAUSE_MS 1000
/* A table without room is begun anew, but not more often. */
#define TABLE_MS 600000

/* evidence: 40 bits of when it was asked (34 years), 8 of what was said, 16
 * of the quantity. */
#define ASKED_SHIFT 24
#define QTY_MAX 0xffff
/* detail: 8 bits of what was said, 56 of how many or when. */
#define AMOUNT_BITS 56
#define AMOUNT_MAX (((int64_t)1 << AMOUNT_BITS) - 1)

enum said {
	NOTHING, /* newer than what spoke against the item */
	SOLD_OUT,
	NOT_OPEN,
	PAUSED,
	CLOSED,
	SAIDS,
};

static const char *const said_names[SAIDS] = {"", "sold-out", "not-open",
    "paused", "closed"};

struct evidence {
	int64_t asked_ms;
	enum said said;
	int64_t qty; /* sold-out: so many were asked for */
};

static enum said
said_of(const char *outcome)
{
	enum said said = SOLD_OUT;

	while (said < SAIDS && strcmp(outcome, said_names[said]) != 0)
		said++;
	return said;
}

static struct evidence
evidence_read(uint64_t word)
{
	uint64_t said = (word >> 16) & 0xff;

	return (struct evidence){(int64_t)(word >> ASKED_SHIFT),
	    said < SAIDS ? (enum said)said : NOTHING,
	    (int64_t)(word & QTY_MAX)};
}

static uint64_t
evidence_word(const struct evidence *e)
{
	return (uint64_t)e->asked_ms << ASKED_SHIFT | (uint64_t)e->said << 16 |
	    (uint64_t)(e->qty < QTY_MAX ? e->qty : QTY_MAX);
}

static _Atomic uint64_t *
opened_place(struct gate *gate, const struct gate_name *name)
{
	return &gate->memory->opened_ms[name->hash % GATE_ITEMS];
}

/* What was asked up to then is void: units came back later. */
static int64_t
opened_ms(struct gate *gate, const struct gate_name *name)
{
	return (int64_t)gate_load(opened_place(gate, name));
}

void
gate_open(struct gate *gate, struct str sku)
{
	struct gate_name name = gate_name_of(gate, sku);
	_Atomic uint64_t *place = opened_place(gate, &name);
	uint64_t now = (uint64_t)clock_monotonic_ms();
	uint64_t before = gate_load(place);

	while (before < now && !gate_swap(place, &before, now))
		;
}

void
gate_pass(struct gate *gate, const struct gate_ask *ask)
{
	struct gate_name name = gate_name_of(gate, ask->sku);
	uint64_t buyer = gate_hash_buyer(&name, str_of(ask->buyer->text));
	uint64_t generation;

	do {
		generation = gate_generation(gate);
		gate_filter_add(gate, generation, buyer);
		if (ask->key.len > 0)
			gate_filter_add(gate, generation,
			    gate_hash(gate->key_seed, ask->key));
		if (gate_filter_is_full(gate, generation))
			gate_begin(gate, generation);
	} while (!gate_in_force(gate, generation));
}

static bool
gate_has_passed(const struct gate *gate, uint64_t generation,
    const struct gate_name *name, const struct gate_ask *ask)
{
	if (gate_filter_has(gate, generation,
		gate_hash_buyer(name, str_of(ask->buyer->text))))
		return true;
	return ask->key.len > 0 &&
	    gate_filter_has(gate, generation,
		gate_hash(gate->key_seed, ask->key));
}

/* Whether the caller is the one who renews what is known. */
static bool
probe_take(struct gate_item *item, int64_t now_ms)
{
	uint64_t last = gate_load(&item->probe_ms);
	int64_t since = now_ms - (int64_t)last;

	/* Clocks are read before they are compared, so a last one may be a
	 * little ahead; not by more. */
	if (since < GATE_PROBE_MS && since > -GATE_MS)
		return false;
	return gate_swap(&item->probe_ms, &last, (uint64_t)now_ms);
}

/* The refusal that speaks against this quantity now; false: none. */
static bool
evidence_refusal(const struct gate_item *item, const struct evidence *e,
    const struct gate_ask *ask, int64_t now_ms, struct gate_refusal *refusal)
{
	uint64_t detail = gate_load(&item->detail);
	int64_t amount = (int64_t)(detail & AMOUNT_MAX);

	/* Written by another process, and the evidence not yet, or never. */
	if (e->said == NOTHING || detail >> AMOUNT_BITS != e->said)
		return false;
	*refusal = (struct gate_refusal){.outcome = ""};
	memcpy(refusal->outcome, said_names[e->said],
	    strlen(said_names[e->said]));
	if (e->said == SOLD_OUT) {
		/* Whoever wants more may have to hear of the limit. */
		if (ask->qty > e->qty)
			return false;
		refusal->held = amount;
	} else if (e->said == NOT_OPEN) {
		refusal->opens_in_ms = amount - now_ms;
		return refusal->opens_in_ms >= GATE_MS;
	}
	return true;
}

bool
gate_refuses(struct gate *gate, const struct gate_ask *ask, int64_t now_ms,
    struct gate_refusal *refusal)
{
	struct gate_name name = gate_name_of(gate, ask->sku);
	uint64_t generation = gate_generation(gate);
	struct gate_item *item;
	struct gate_refusal found;
	struct evidence e;

	item = gate_item_find(gate, generation, &name, false);
	if (!item || gate_load(&item->known) != generation)
		return false;
	e = evidence_read(gate_load(&item->evidence));
	if (now_ms - e.asked_ms >= GATE_MS || e.asked_ms - now_ms >= GATE_MS ||
	    e.asked_ms <= opened_ms(gate, &name) ||
	    !evidence_refusal(item, &e, ask, now_ms, &found) ||
	    gate_has_passed(gate, generation, &name, ask))
		return false;
	/* What was read above may already be of another generation. */
	if (!gate_in_force(gate, generation))
		return false;
	if (now_ms - e.asked_ms >= GATE_SOFT_MS && probe_take(item, now_ms))
		return false;
	*refusal = found;
	return true;
}

/* Marks an item that could refuse as one that is to be learned. */
static void
learn_want(struct gate *gate, struct gate_item *item, int64_t asked_ms)
{
	uint64_t learn = gate_load(&item->learn);

	if (asked_ms - (int64_t)(learn >> 1) < LEARN_PAUSE_MS)
		return;
	/* Fails when it has just been named. */
	if (!(learn & 1) && !gate_swap(&item->learn, &learn, learn | 1))
		return;
	gate_store(&gate->memory->wanting, 1);
}

/* What goes into the detail: how many, or when. */
static uint64_t
refusal_amount(const struct gate_refusal *refusal, int64_t asked_ms)
{
	int64_t amount = refusal->held;

	if (refusal->opens_in_ms > 0)
		amount = refusal->opens_in_ms < AMOUNT_MAX - asked_ms
		    ? asked_ms + refusal->opens_in_ms
		    : AMOUNT_MAX;
	return (uint64_t)amount & AMOUNT_MAX;
}

/* Keeps what was said, unless something newer is there. */
static bool
evidence_keep(struct gate_item *item, struct evidence e, uint64_t amount,
    int64_t opened)
{
	const int64_t qty = e.qty;
	uint64_t old = gate_load(&item->evidence);
	struct evidence before;

	do {
		before = evidence_read(old);
		if (before.asked_ms >= e.asked_ms || opened >= e.asked_ms)
			return false;
		/* What was within the limit a moment ago still is. */
		e.qty = qty;
		if (before.said == e.said && before.asked_ms > opened &&
		    e.asked_ms - before.asked_ms < GATE_MS && before.qty > qty)
			e.qty = before.qty;
		/* Before the evidence: see evidence_refusal. */
		gate_store(&item->detail,
		    (uint64_t)e.said << AMOUNT_BITS | amount);
	} while (!gate_swap(&item->evidence, &old, evidence_word(&e)));
	return true;
}

void
gate_tell(struct gate *gate, const struct gate_ask *ask,
    const struct gate_refusal *refusal, int64_t asked_ms)
{
	struct gate_name name = gate_name_of(gate, ask->sku);
	uint64_t generation = gate_generation(gate);
	struct evidence e = {asked_ms, said_of(refusal->outcome), ask->qty};
	struct gate_item *item;

	if (e.said == SAIDS || asked_ms <= 0)
		return;
	item = gate_item_find(gate, generation, &name, true);
	if (!item) {
		if (ask->sku.len <= GATE_SKU_MAX &&
		    asked_ms - gate_began_ms(generation) >= TABLE_MS)
			gate_begin(gate, generation);
		return;
	}
	/* Some are left, or it opens before this would have an end. */
	if ((e.said == SOLD_OUT && refusal->free != 0) ||
	    (e.said == NOT_OPEN && refusal->opens_in_ms < GATE_MS))
		e.said = NOTHING;
	if (evidence_keep(item, e, refusal_amount(refusal, asked_ms),
		opened_ms(gate, &name)) &&
	    e.said != NOTHING && gate_load(&item->known) != generation)
		learn_want(gate, item, asked_ms);
}

static bool
gate_has_settled(const struct gate *gate, uint64_t generation, int64_t now_ms)
{
	return now_ms - gate_began_ms(generation) >= gate->settle_ms;
}

bool
gate_wants(struct gate *gate, int64_t now_ms, struct buf *sku)
{
	struct gate_memory *m = gate->memory;
	uint64_t generation = gate_generation(gate);

	if (!gate_has_settled(gate, generation, now_ms) ||
	    !gate_load(&m->wanting))
		return false;
	gate_store(&m->wanting, 0);
	for (size_t i = 0; i < GATE_ITEMS; i++) {
		struct gate_item *item = &m->items[i];
		uint64_t learn = gate_load(&item->learn);

		if (!(learn & 1) ||
		    !gate_swap(&item->learn, &learn, (uint64_t)now_ms << 1))
			continue;
		if (gate_load(&item->known) == generation ||
		    (gate_load(&item->name) ^ gate_tag(generation)) >> 48 != 0)
			continue;
		gate_item_sku(item, sku);
		/* There may be others. */
		gate_store(&m->wanting, 1);
		return true;
	}
	return false;
}

bool
gate_learn_begin(struct gate_learning *learning, struct gate *gate,
    struct str sku, int64_t now_ms)
{
	uint64_t generation = gate_generation(gate);

	*learning = (struct gate_learning){gate, sku, generation, true};
	return gate_has_settled(gate, generation, now_ms);
}

void
gate_learn_add(struct gate_learning *learning, struct str buyer, struct str key)
{
	struct gate *gate = learning->gate;
	struct gate_name name = gate_name_of(gate, learning->sku);

	if (buyer.len == 0) {
		learning->whole = false;
		return;
	}
	gate_filter_add(gate, learning->generation,
	    gate_hash_buyer(&name, buyer));
	if (key.len > 0)
		gate_filter_add(gate, learning->generation,
		    gate_hash(gate->key_seed, key));
}

void
gate_learn_end(struct gate_learning *learning)
{
	struct gate *gate = learning->gate;
	struct gate_name name = gate_name_of(gate, learning->sku);
	struct gate_item *item;

	if (!learning->whole || !gate_in_force(gate, learning->generation))
		return;
	item = gate_item_find(gate, learning->generation, &name, true);
	if (item)
		gate_store(&item->known, learning->generation);
}
