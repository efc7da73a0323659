/*
 * What the gate_*.c files share: the memory, and what can be done with it. Not
 * for anybody else but their tests.
 *
 * Nothing here is ever cleared. Whatever was written belongs to a generation,
 * by its tag; once another has begun, it counts as not written. So a wipe is
 * one store, and there is no half of it.
 */
#ifndef IO_GATE_MEMORY_H
#define IO_GATE_MEMORY_H

#include "io/gate.h"
#include "io/gate_word.h"

/* 1 MiB of 16 bits of tag and 48 of filter. With 500,000 entries of 4 bits
 * about one stranger in 80 is taken for somebody who was passed. */
#define GATE_FILTER_BITS 17
#define GATE_FILTER_WORDS (1U << GATE_FILTER_BITS)
#define GATE_FULL 500000

/* One item; four lines of a processor's cache. */
struct gate_item {
	_Atomic uint64_t name; /* tag, 48 bits of the SKU's hash */
	_Atomic uint64_t seal; /* tag, 48 bits of another: text is whole */
	_Atomic uint64_t known; /* the generation in which it was learned */
	_Atomic uint64_t evidence; /* see gate.c */
	_Atomic uint64_t detail;
	_Atomic uint64_t probe_ms; /* when one was last let through */
	_Atomic uint64_t learn; /* when it was last named, and if it wants */
	_Atomic uint64_t len;
	_Atomic uint64_t text[GATE_SKU_MAX / 8]; /* filled up with NULs */
};

/*
 * A generation: 48 bits of when it began, 16 of tag, never 0. It is in force
 * while head and tail both say so: whatever empties the memory, from whichever
 * end, empties one of them before it is through.
 */
struct gate_memory {
	_Atomic uint64_t head;
	_Atomic uint64_t wanting; /* some item may want to be learned */
	uint64_t unused[6]; /* the items begin with a line of the cache */
	_Atomic uint64_t opened_ms[GATE_ITEMS]; /* by the SKU's hash */
	struct gate_item items[GATE_ITEMS];
	_Atomic uint64_t passed; /* tag, entries of the filter */
	_Atomic uint64_t filter[GATE_FILTER_WORDS];
	_Atomic uint64_t tail;
};

/* In each process's own memory; made before it was forked. */
struct gate {
	struct gate_memory *memory;
	int64_t settle_ms;
	/* Random: nobody outside can make two names meet. */
	uint64_t item_seed;
	uint64_t seal_seed;
	uint64_t key_seed;
};

/* An SKU and its hashes. */
struct gate_name {
	struct str sku;
	uint64_t hash;
	uint64_t seal;
};

/* The generation in force; begins one when there is none. */
uint64_t
gate_generation(struct gate *gate);
bool
gate_in_force(const struct gate *gate, uint64_t generation);
/* Ends the generation seen, if it still is the newest. */
void
gate_begin(struct gate *gate, uint64_t seen);
/* When it began. */
int64_t
gate_began_ms(uint64_t generation);
uint64_t
gate_tag(uint64_t generation);

uint64_t
gate_hash(uint64_t seed, struct str s);
struct gate_name
gate_name_of(const struct gate *gate, struct str sku);
uint64_t
gate_hash_buyer(const struct gate_name *name, struct str buyer);

/* Whether the entry may have been added in this generation. */
bool
gate_filter_has(const struct gate *gate, uint64_t generation, uint64_t entry);
/* Adds it, unless the generation has ended. */
void
gate_filter_add(struct gate *gate, uint64_t generation, uint64_t entry);
bool
gate_filter_is_full(const struct gate *gate, uint64_t generation);

/* The item's place in this generation, or NULL; takes one if so wanted. */
struct gate_item *
gate_item_find(struct gate *gate, uint64_t generation,
    const struct gate_name *name, bool take);
/* Sets sku to the item's. */
void
gate_item_sku(const struct gate_item *item, struct buf *sku);

#endif
