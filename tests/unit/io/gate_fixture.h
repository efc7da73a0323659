/* What the gate's tests share: short names, and the
 * time: each puts it in the place of the clock. */
#ifndef IO_GATE_FIXTURE_H
#define IO_GATE_FIXTURE_H

#include "base/clock.h"
#include "io/gate_memory.h"

#include <stdio.h>

#define SETTLE_MS 12000

static _Atomic int64_t test_clock_ms;

/* Always the same hashes, so that no two names meet by chance. */
static inline struct gate *
gate_new_fixed(void)
{
	struct gate *gate = gate_new(SETTLE_MS);

	test_clock_ms = 100000;
	gate->item_seed = 1;
	gate->seal_seed = 2;
	gate->key_seed = 3;
	return gate;
}

/* A buyer by number, and a key made of one; key 0 is none. */
struct test_ask {
	struct gate_ask ask;
	struct uuid buyer;
	char key[32];
};

static inline struct gate_ask *
ask_of(struct test_ask *t, const char *sku, int buyer, int key)
{
	*t = (struct test_ask){.ask = {.sku = str_of(sku), .qty = 1}};
	snprintf(t->buyer.text, sizeof(t->buyer.text),
	    "00000000-0000-4000-8000-%012d", buyer);
	t->ask.buyer = &t->buyer;
	if (key != 0) {
		snprintf(t->key, sizeof(t->key), "key-of-order-%07d", key);
		t->ask.key = str_of(t->key);
	}
	return &t->ask;
}

static inline void
learn_one(struct gate_learning *learning, int buyer, int key)
{
	struct test_ask t;

	ask_of(&t, "", buyer, key);
	gate_learn_add(learning, str_of(t.buyer.text), t.ask.key);
}

/* Learns that an item has the holders first..last, none when first is 0. */
static inline bool
learn(struct gate *gate, const char *sku, int first, int last)
{
	struct gate_learning learning;

	if (!gate_learn_begin(&learning, gate, str_of(sku), test_clock_ms))
		return false;
	for (int i = first; i != 0 && i <= last; i++)
		learn_one(&learning, i, i);
	gate_learn_end(&learning);
	return true;
}

#endif
