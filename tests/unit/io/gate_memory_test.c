/*
 * io/gate_memory, io/gate_item: what a process that was killed, stopped or
 * unlucky leaves behind. States that only a kill at one instruction makes are
 * made here by hand.
 */
#include "gate_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#define SKU "RUN-42"
#define NOW ((int64_t)test_clock_ms)

static struct gate *gate;

/* In place of the machine's. */
int64_t
clock_monotonic_ms(void)
{
	return test_clock_ms;
}

static const struct gate_refusal sold_out = {.outcome = "sold-out", .held = 7};

static int
gate_setup(void **state)
{
	(void)state;
	gate = gate_new_fixed();
	return 0;
}

static int
gate_teardown(void **state)
{
	(void)state;
	gate_free(gate);
	gate = NULL;
	return 0;
}

static bool
refuses(const char *sku, int buyer)
{
	struct gate_refusal refusal;
	struct test_ask t;

	return gate_refuses(gate, ask_of(&t, sku, buyer, 0), NOW, &refusal);
}

static void
tell(const char *sku)
{
	struct test_ask t;

	test_clock_ms++;
	gate_tell(gate, ask_of(&t, sku, 999999, 0), &sold_out, NOW);
}

static void
pass(const char *sku, int buyer)
{
	struct test_ask t;

	gate_pass(gate, ask_of(&t, sku, buyer, 0));
}

static struct gate_item *
item_of(const char *sku)
{
	struct gate_name name = gate_name_of(gate, str_of(sku));

	return gate_item_find(gate, gate_generation(gate), &name, false);
}

/* Whatever happened, all is well a while after somebody has looked. */
static void
assert_heals(void)
{
	(void)refuses(SKU, 1);
	test_clock_ms += SETTLE_MS;
	pass(SKU, 1);
	assert_true(learn(gate, SKU, 0, 0));
	tell(SKU);
	assert_true(refuses(SKU, 2));
	assert_false(refuses(SKU, 1));
}

static void
assert_forgets(void)
{
	assert_false(refuses(SKU, 2));
	assert_false(learn(gate, SKU, 0, 0));
	test_clock_ms += SETTLE_MS - 2;
	tell(SKU);
	assert_false(learn(gate, SKU, 0, 0));
	assert_false(refuses(SKU, 2));
	assert_heals();
}

static void
refuse_strangers(void)
{
	pass(SKU, 1);
	assert_true(learn(gate, SKU, 0, 0));
	tell(SKU);
	assert_true(refuses(SKU, 2));
}

static void
it_is_small(void **state)
{
	(void)state;
	assert_true(sizeof(struct gate_memory) <= 1536UL * 1024);
	assert_int_equal(sizeof(struct gate_item), 256);
}

static void
a_wipe_that_was_cut_off(void **state)
{
	(void)state;
	refuse_strangers();
	/* After the tag. */
	gate->memory->head = (gate->memory->head + 1) & 0xffff;
	assert_forgets();
	/* After the head. */
	gate->memory->head += (1U << 16) + 1;
	assert_forgets();
	gate->memory->tail = 0;
	assert_forgets();
	gate->memory->tail = 1;
	assert_forgets();
	gate->memory->head = 0;
	assert_forgets();
	gate->memory->head = 0;
	gate->memory->tail = 0;
	assert_forgets();
}

static void
the_wait_counts_from_when_it_was_seen(void **state)
{
	(void)state;
	refuse_strangers();
	memset((void *)gate->memory, 0, sizeof(*gate->memory));
	/* Somebody was passed a moment ago: nobody has looked since. */
	test_clock_ms += 3600000;
	assert_forgets();
}

static void
an_item_that_was_cut_off(void **state)
{
	struct gate_item *item;

	(void)state;
	refuse_strangers();
	item = item_of(SKU);
	assert_non_null(item);
	item->seal = 0;
	item->text[0] = 0x1234;
	assert_false(refuses(SKU, 2));
	tell(SKU);
	assert_ptr_equal(item_of(SKU), item);
	assert_true(refuses(SKU, 2));
	assert_false(refuses(SKU, 1));
	/* Overwritten by somebody who was stopped for long: another place. */
	item->text[0] = 0x1234;
	assert_false(refuses(SKU, 2));
	tell(SKU);
	assert_non_null(item_of(SKU));
	assert_ptr_not_equal(item_of(SKU), item);
	assert_false(refuses(SKU, 2));
	assert_true(learn(gate, SKU, 0, 0));
	assert_true(refuses(SKU, 2));
}

static void
evidence_that_was_cut_off(void **state)
{
	struct gate_refusal refusal;
	struct test_ask t;
	struct gate_item *item;
	uint64_t kept;

	(void)state;
	refuse_strangers();
	item = item_of(SKU);
	/* The detail of newer evidence of the same kind, and of another. */
	kept = item->detail;
	item->detail = (kept & ~(uint64_t)0xff) | 9;
	assert_true(gate_refuses(gate, ask_of(&t, SKU, 2, 0), NOW, &refusal));
	assert_int_equal(refusal.held, 9);
	item->detail = (uint64_t)2 << 56 | 1;
	assert_false(refuses(SKU, 2));
	item->detail = UINT64_MAX;
	assert_false(refuses(SKU, 2));
	item->detail = 0;
	assert_false(refuses(SKU, 2));
	tell(SKU);
	assert_true(refuses(SKU, 2));
	/* No such kind. */
	item->evidence |= 0xff0000;
	item->detail = UINT64_MAX;
	assert_false(refuses(SKU, 2));
	tell(SKU);
	assert_true(refuses(SKU, 2));
}

static void
names_that_meet_are_two_items(void **state)
{
	struct gate_name a = {str_of("A"), 0x1234567890, 1};
	struct gate_name b = {str_of("B"), 0x1234567890, 2};
	struct gate_name c = {str_of("C"), 0x1234567890, 1};
	uint64_t generation = gate_generation(gate);
	struct gate_item *item = gate_item_find(gate, generation, &a, true);

	(void)state;
	assert_non_null(item);
	assert_null(gate_item_find(gate, generation, &b, false));
	assert_null(gate_item_find(gate, generation, &c, false));
	assert_ptr_not_equal(gate_item_find(gate, generation, &b, true), item);
	assert_ptr_not_equal(gate_item_find(gate, generation, &c, true), item);
	assert_ptr_equal(gate_item_find(gate, generation, &a, false), item);
	assert_ptr_not_equal(gate_item_find(gate, generation, &b, false),
	    gate_item_find(gate, generation, &c, false));
	/* Written over by one that took its time: it is nobody's. */
	item->text[0] = 'B';
	assert_ptr_not_equal(gate_item_find(gate, generation, &b, false), item);
	assert_null(gate_item_find(gate, generation, &a, false));
}

/* It reads, is stopped while others begin a generation, and goes on. */
static void
who_comes_late_spoils_nothing(void **state)
{
	const uint64_t mine = 0x1234567800000000;
	const uint64_t late = 0x12345678ff804020;
	uint64_t old = gate_generation(gate);
	struct gate_name name = gate_name_of(gate, str_of(SKU));
	struct gate_learning learning;
	uint64_t now;

	(void)state;
	assert_true(gate_learn_begin(&learning, gate, str_of(SKU), NOW));
	gate_wipe(gate);
	now = gate_generation(gate);
	assert_true(now != old && gate_tag(now) != gate_tag(old));
	gate_filter_add(gate, now, mine);
	gate_filter_add(gate, old, late);
	assert_true(gate_filter_has(gate, now, mine));
	assert_false(gate_filter_has(gate, now, late));
	assert_non_null(gate_item_find(gate, now, &name, true));
	assert_null(gate_item_find(gate, old, &name, true));
	assert_non_null(gate_item_find(gate, now, &name, false));
	gate_learn_end(&learning);
	assert_heals();
	/* Somebody else has ended it already. */
	gate_begin(gate, old);
	assert_int_equal(gate_generation(gate), now);
}

static void
tags_go_round(void **state)
{
	(void)state;
	refuse_strangers();
	for (int i = 0; i < 65535; i++) {
		gate_wipe(gate);
		assert_true(gate_tag(gate_generation(gate)) != 0);
	}
	assert_false(refuses(SKU, 2));
	assert_heals();
}

static void
a_full_filter_begins_anew(void **state)
{
	uint64_t generation;
	int strangers = 0;
	int n = 1;

	(void)state;
	gate_wipe(gate);
	generation = gate_generation(gate);
	while (gate_in_force(gate, generation)) {
		assert_true(n < 2 * GATE_FULL);
		/* Whoever comes again fills nothing. */
		pass(SKU, n);
		pass(SKU, n++);
		if (n == GATE_FULL) {
			test_clock_ms += SETTLE_MS;
			learn(gate, SKU, 0, 0);
			tell(SKU);
			assert_false(refuses(SKU, 1));
			assert_false(refuses(SKU, n - 1));
			for (int i = 0; i < 10000; i++)
				strangers += refuses(SKU, 5000000 + i);
		}
	}
	assert_true(n > GATE_FULL);
	assert_true(strangers > 9800);
	/* The one who was too much is not lost. */
	test_clock_ms += SETTLE_MS;
	learn(gate, SKU, 0, 0);
	tell(SKU);
	assert_false(refuses(SKU, n - 1));
	assert_true(refuses(SKU, 1));
}

/* Tells of n items that are never refused otherwise; how many then are. */
static int
refuse_many(int n)
{
	char sku[24];
	int refused = 0;

	for (int i = 0; i < n; i++) {
		snprintf(sku, sizeof(sku), "item-%d", i);
		(void)learn(gate, sku, 0, 0);
		tell(sku);
		refused += refuses(sku, 2);
	}
	return refused;
}

static void
a_full_table_begins_anew_now_and_then(void **state)
{
	uint64_t generation = gate_generation(gate);
	int refused;

	(void)state;
	assert_true(refuse_many(700) >= 698);
	refused = refuse_many(3000);
	assert_true(refused > 900 && refused <= GATE_ITEMS);
	assert_true(gate_in_force(gate, generation));
	test_clock_ms += 700000;
	(void)refuse_many(3000);
	assert_false(gate_in_force(gate, generation));
	generation = gate_generation(gate);
	(void)refuse_many(3000);
	assert_true(gate_in_force(gate, generation));
	test_clock_ms += SETTLE_MS;
	assert_true(refuse_many(3000) > 900);
}

#define CASE(name) \
	cmocka_unit_test_setup_teardown(name, gate_setup, gate_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(it_is_small),
	    CASE(a_wipe_that_was_cut_off),
	    CASE(the_wait_counts_from_when_it_was_seen),
	    CASE(an_item_that_was_cut_off),
	    CASE(evidence_that_was_cut_off),
	    CASE(names_that_meet_are_two_items),
	    CASE(who_comes_late_spoils_nothing),
	    CASE(tags_go_round),
	    CASE(a_full_filter_begins_anew),
	    CASE(a_full_table_begins_anew_now_and_then),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
