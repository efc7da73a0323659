/*
 * The gate's table of items. Invariant: in one generation a place belongs to
 * one SKU and a found place's text is that SKU; no place becomes free. Any
 * thread of any process, killed anywhere.
 */
#include "io/gate_memory.h"

#include <string.h>

/* Places that are tried. With three quarters of the table taken, an item in
 * 5,000 finds no room. */
#define TRIES 32
#define HASH_MASK 0xffffffffffffU

/* The i-th 8 bytes of a text, with NULs behind its end. */
static uint64_t
text_word(struct str s, size_t i)
{
	size_t n = s.len - i * 8;
	uint64_t word = 0;

	memcpy(&word, s.text + i * 8, n < 8 ? n : 8);
	return word;
}

static bool
item_is(const struct gate_item *item, struct str sku)
{
	if (gate_load(&item->len) != sku.len)
		return false;
	for (size_t i = 0; i * 8 < sku.len; i++) {
		if (gate_load(&item->text[i]) != text_word(sku, i))
			return false;
	}
	return true;
}

/*
 * Whoever took the place may have been killed before it wrote the text, so
 * everybody who comes for the same hash does. Should two SKUs ever share a
 * place's hash, one of them seals it; their texts may be mixed, and then it is
 * nobody's.
 */
static void
item_write(struct gate_item *item, struct str sku, uint64_t seal)
{
	uint64_t old = gate_load(&item->seal);

	if (old >> 48 == seal >> 48)
		return;
	for (size_t i = 0; i * 8 < sku.len; i++)
		gate_store(&item->text[i], text_word(sku, i));
	gate_store(&item->len, sku.len);
	(void)gate_swap(&item->seal, &old, seal);
}

struct gate_item *
gate_item_find(struct gate *gate, uint64_t generation,
    const struct gate_name *name, bool take)
{
	uint64_t tag = gate_tag(generation);
	uint64_t mine = tag | (name->hash & HASH_MASK);
	uint64_t seal = tag | (name->seal & HASH_MASK);

	if (name->sku.len == 0 || name->sku.len > GATE_SKU_MAX)
		return NULL;
	for (size_t i = 0; i < TRIES; i++) {
		size_t place = ((name->hash >> 48) + i) % GATE_ITEMS;
		struct gate_item *item = &gate->memory->items[place];
		uint64_t there = gate_load(&item->name);

		if (there >> 48 != tag >> 48) {
			/* Not the place of a generation newer than ours. */
			if (!take || !gate_in_force(gate, generation))
				return NULL;
			/* If another was quicker, `there` is what it wrote. */
			if (gate_swap(&item->name, &there, mine))
				there = mine;
		}
		if (there != mine)
			continue;
		if (take)
			item_write(item, name->sku, seal);
		if (gate_load(&item->seal) == seal && item_is(item, name->sku))
			return item;
	}
	return NULL;
}

void
gate_item_sku(const struct gate_item *item, struct buf *sku)
{
	size_t len = gate_load(&item->len);

	buf_reset(sku);
	if (len > GATE_SKU_MAX)
		return;
	for (size_t i = 0; i * 8 < len; i++) {
		uint64_t word = gate_load(&item->text[i]);

		buf_add(sku, &word, len - i * 8 < 8 ? len - i * 8 : 8);
	}
}
