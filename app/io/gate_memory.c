/*
 * The gate's memory: generations, and the filter of who was passed to the
 * database. Invariant: an entry that was added in a generation is found as
 * long as that is in force. Any thread of any process, killed anywhere.
 */
#include "io/gate_memory.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/sign.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define TAG_BITS 16
#define TAG_MASK 0xffffU
/* A word under a tag: the tag, then what it is about. */
#define WORD_BITS 48
#define ENTRY_BITS 4

struct gate *
gate_new(int64_t settle_ms)
{
	struct gate *gate = calloc(1, sizeof(*gate));
	uint64_t seeds[3];

	if (!gate)
		log_bug("out of memory");
	gate->memory = mmap(NULL, sizeof(*gate->memory), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (gate->memory == MAP_FAILED)
		log_bug("out of memory");
	sign_random(seeds, sizeof(seeds));
	gate->item_seed = seeds[0];
	gate->seal_seed = seeds[1];
	gate->key_seed = seeds[2];
	/* Evidence of another generation is over before anything is known. */
	gate->settle_ms = settle_ms > GATE_MS ? settle_ms : GATE_MS;
	/* Began long ago: nobody was passed before, so it has settled. */
	gate_store(&gate->memory->head, (1U << TAG_BITS) | 1);
	gate_store(&gate->memory->tail, (1U << TAG_BITS) | 1);
	return gate;
}

void
gate_free(struct gate *gate)
{
	if (!gate)
		return;
	munmap(gate->memory, sizeof(*gate->memory));
	free(gate);
}

int64_t
gate_began_ms(uint64_t generation)
{
	return (int64_t)(generation >> TAG_BITS);
}

uint64_t
gate_tag(uint64_t generation)
{
	return (generation & TAG_MASK) << WORD_BITS;
}

static uint64_t
tag_of(uint64_t word)
{
	return word >> WORD_BITS << WORD_BITS;
}

bool
gate_in_force(const struct gate *gate, uint64_t generation)
{
	return gate_began_ms(generation) > 0 &&
	    gate_load(&gate->memory->head) == generation &&
	    gate_load(&gate->memory->tail) == generation;
}

/*
 * First a tag alone, which is not in force, then the clock: so it did not
 * begin before the old one was over, however long this process was stopped in
 * between. Whoever finds a generation that its maker left unfinished begins
 * the next.
 */
void
gate_begin(struct gate *gate, uint64_t seen)
{
	struct gate_memory *m = gate->memory;
	uint64_t fresh = (seen + 1) & TAG_MASK;
	uint64_t began;

	if (fresh == 0)
		fresh = 1;
	if (!gate_swap(&m->head, &seen, fresh))
		return;
	began = (uint64_t)clock_monotonic_ms();
	if (began == 0)
		began = 1;
	began = began << TAG_BITS | fresh;
	if (gate_swap(&m->head, &fresh, began))
		gate_store(&m->tail, began);
}

uint64_t
gate_generation(struct gate *gate)
{
	uint64_t generation = gate_load(&gate->memory->head);

	while (!gate_in_force(gate, generation)) {
		gate_begin(gate, generation);
		generation = gate_load(&gate->memory->head);
	}
	return generation;
}

void
gate_wipe(struct gate *gate)
{
	gate_begin(gate, gate_load(&gate->memory->head));
}

/* Each bit of the result hangs on each of x (splitmix64's finish). */
static uint64_t
stir(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
	return x ^ (x >> 31);
}

uint64_t
gate_hash(uint64_t seed, struct str s)
{
	uint64_t hash = stir(seed + s.len);

	while (s.len > 0) {
		size_t n = s.len < 8 ? s.len : 8;
		uint64_t part = 0;

		memcpy(&part, s.text, n);
		hash = stir(hash ^ part);
		s.text += n;
		s.len -= n;
	}
	return hash;
}

struct gate_name
gate_name_of(const struct gate *gate, struct str sku)
{
	return (struct gate_name){sku, gate_hash(gate->item_seed, sku),
	    gate_hash(gate->seal_seed, sku)};
}

uint64_t
gate_hash_buyer(const struct gate_name *name, struct str buyer)
{
	return gate_hash(name->seal, buyer);
}

static size_t
filter_place(uint64_t entry)
{
	return entry >> (64 - GATE_FILTER_BITS);
}

/* All in one word, so that an entry is there or is not. */
static uint64_t
filter_mask(uint64_t entry)
{
	uint64_t mask = 0;

	for (int i = 0; i < ENTRY_BITS; i++) {
		mask |= (uint64_t)1 << ((entry & 0xff) * WORD_BITS >> 8);
		entry >>= 8;
	}
	return mask;
}

bool
gate_filter_has(const struct gate *gate, uint64_t generation, uint64_t entry)
{
	uint64_t mask = gate_tag(generation) | filter_mask(entry);
	uint64_t word = gate_load(&gate->memory->filter[filter_place(entry)]);

	return tag_of(word) == gate_tag(generation) && (word & mask) == mask;
}

static void
filter_count(struct gate *gate, uint64_t generation)
{
	uint64_t tag = gate_tag(generation);
	uint64_t passed = gate_load(&gate->memory->passed);
	uint64_t next;

	do {
		next = (tag_of(passed) == tag ? passed : tag) + 1;
	} while (!gate_swap(&gate->memory->passed, &passed, next));
}

/*
 * The generation is looked at after the word was read: a word that a newer
 * one has written by then ends this here, and one that it writes later is
 * another word than the one that we expect to replace.
 */
void
gate_filter_add(struct gate *gate, uint64_t generation, uint64_t entry)
{
	_Atomic uint64_t *place = &gate->memory->filter[filter_place(entry)];
	uint64_t tag = gate_tag(generation);
	uint64_t word = gate_load(place);
	uint64_t next;

	do {
		if (!gate_in_force(gate, generation))
			return;
		next = (tag_of(word) == tag ? word : tag) | filter_mask(entry);
		if (next == word)
			return;
	} while (!gate_swap(place, &word, next));
	filter_count(gate, generation);
}

bool
gate_filter_is_full(const struct gate *gate, uint64_t generation)
{
	uint64_t passed = gate_load(&gate->memory->passed);

	return tag_of(passed) == gate_tag(generation) &&
	    passed - tag_of(passed) > GATE_FULL;
}
