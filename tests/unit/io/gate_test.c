/* io/gate: whom it refuses, as what, and until when. One thread. */
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
static const struct gate_refusal paused = {.outcome = "paused"};
static const struct gate_refusal closed = {.outcome = "closed"};

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
refuses_as(const char *sku, int buyer, int key, int64_t now,
    struct gate_refusal *refusal)
{
	struct test_ask t;

	return gate_refuses(gate, ask_of(&t, sku, buyer, key), now, refusal);
}

static bool
refuses(int buyer, int key, int64_t now)
{
	struct gate_refusal refusal;

	return refuses_as(SKU, buyer, key, now, &refusal);
}

static void
tell(const char *sku, const struct gate_refusal *refusal, int64_t asked)
{
	struct test_ask t;

	gate_tell(gate, ask_of(&t, sku, 999999, 0), refusal, asked);
}

static void
pass(const char *sku, int buyer, int key)
{
	struct test_ask t;

	gate_pass(gate, ask_of(&t, sku, buyer, key));
}

static void
what_was_told_is_answered(void **state)
{
	struct gate_refusal got = {.free = 5};

	(void)state;
	assert_true(learn(gate, SKU, 0, 0));
	assert_false(refuses(1, 1, NOW));
	tell(SKU, &sold_out, NOW);
	assert_true(refuses_as(SKU, 1, 1, NOW + 1, &got));
	assert_string_equal(got.outcome, "sold-out");
	assert_int_equal(got.held, 7);
	assert_int_equal(got.free, 0);
	assert_int_equal(got.opens_in_ms, 0);
	tell(SKU, &paused, NOW + 1);
	assert_true(refuses_as(SKU, 1, 0, NOW + 1, &got));
	assert_string_equal(got.outcome, "paused");
	assert_int_equal(got.held, 0);
	tell(SKU, &closed, NOW + 2);
	assert_true(refuses_as(SKU, 1, 0, NOW + 2, &got));
	assert_string_equal(got.outcome, "closed");
	assert_false(refuses_as("RUN-43", 1, 0, NOW + 2, &got));
	assert_false(refuses_as("RUN-4", 1, 0, NOW + 2, &got));
	assert_false(refuses_as("", 1, 0, NOW + 2, &got));
}

static void
it_is_over_in_time(void **state)
{
	(void)state;
	learn(gate, SKU, 0, 0);
	tell(SKU, &paused, NOW);
	assert_true(refuses(1, 0, NOW));
	assert_true(refuses(1, 0, NOW - 2)); /* a clock read before */
	assert_true(refuses(1, 0, NOW + GATE_SOFT_MS - 1));
	assert_false(refuses(1, 0, NOW + GATE_MS));
	assert_false(refuses(1, 0, NOW + GATE_MS + 1));
	assert_false(refuses(1, 0, NOW + 1000000000));
	assert_false(refuses(1, 0, NOW - GATE_MS));
	assert_false(refuses(1, 0, 0));
	tell(SKU, &paused, NOW + GATE_MS);
	assert_true(refuses(1, 0, NOW + GATE_MS + 1));
}

static void
one_in_fifty_ms_renews(void **state)
{
	const int64_t soft = NOW + GATE_SOFT_MS;

	(void)state;
	learn(gate, SKU, 0, 0);
	tell(SKU, &sold_out, NOW);
	assert_false(refuses(1, 0, soft));
	assert_true(refuses(2, 0, soft));
	assert_true(refuses(2, 0, soft - 1));
	assert_true(refuses(2, 0, soft + GATE_PROBE_MS - 1));
	assert_false(refuses(3, 0, soft + GATE_PROBE_MS));
	assert_true(refuses(3, 0, soft + GATE_PROBE_MS));
	assert_true(refuses(4, 0, soft + GATE_PROBE_MS + 1));
	assert_false(refuses(4, 0, NOW + GATE_MS));
	/* Renewed: nobody is let through before that is old, too. */
	tell(SKU, &sold_out, soft);
	for (int i = 0; i < GATE_SOFT_MS; i++)
		assert_true(refuses(5, 0, soft + i));
	assert_false(refuses(5, 0, soft + GATE_SOFT_MS));
}

static void
the_newest_counts(void **state)
{
	struct gate_refusal got;

	(void)state;
	learn(gate, SKU, 0, 0);
	tell(SKU, &sold_out, NOW + 100);
	tell(SKU, &closed, NOW + 99);
	tell(SKU, &closed, NOW + 100);
	assert_true(refuses_as(SKU, 1, 0, NOW + 100, &got));
	assert_string_equal(got.outcome, "sold-out");
	assert_int_equal(got.held, 7);
	assert_false(refuses(1, 0, NOW + 100 + GATE_MS));
}

static void
other_outcomes_are_ignored(void **state)
{
	static const char *const others[] = {"", "limit", "created", "existing",
	    "no-such-item", "key-reused", "mixed-currencies", "sold-ou",
	    "sold-outs"};
	struct gate_refusal said = {.held = 1};

	(void)state;
	learn(gate, SKU, 0, 0);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		snprintf(said.outcome, sizeof(said.outcome), "%s", others[i]);
		tell(SKU, &said, NOW);
		assert_false(refuses(1, 0, NOW));
	}
	tell(SKU, &sold_out, NOW);
	snprintf(said.outcome, sizeof(said.outcome), "limit");
	tell(SKU, &said, NOW + 1);
	assert_true(refuses(1, 0, NOW + 1));
}

static void
sold_out_is_not_said_while_some_are_free(void **state)
{
	const struct gate_refusal some = {"sold-out", 1, 7, 0};

	(void)state;
	learn(gate, SKU, 0, 0);
	tell(SKU, &some, NOW);
	assert_false(refuses(1, 0, NOW));
	tell(SKU, &sold_out, NOW + 1);
	assert_true(refuses(1, 0, NOW + 1));
	/* One has come back meanwhile. */
	tell(SKU, &some, NOW + 2);
	assert_false(refuses(1, 0, NOW + 2));
	tell(SKU, &sold_out, NOW + 1);
	assert_false(refuses(1, 0, NOW + 2));
}

static void
more_than_was_asked_for_may_be_over_the_limit(void **state)
{
	struct gate_refusal got;
	struct test_ask t;
	struct gate_ask *ask = ask_of(&t, SKU, 1, 0);

	(void)state;
	learn(gate, SKU, 0, 0);
	tell(SKU, &sold_out, NOW);
	ask->qty = 2;
	assert_false(gate_refuses(gate, ask, NOW, &got));
	gate_tell(gate, ask, &sold_out, NOW + 1);
	assert_true(gate_refuses(gate, ask, NOW + 1, &got));
	/* A request for one says nothing new about the limit. */
	tell(SKU, &sold_out, NOW + 2);
	assert_true(gate_refuses(gate, ask, NOW + 2, &got));
	ask->qty = INT64_MAX;
	assert_false(gate_refuses(gate, ask, NOW + 2, &got));
	/* The limit comes after these. */
	tell(SKU, &paused, NOW + 3);
	assert_true(gate_refuses(gate, ask, NOW + 3, &got));
	ask->qty = 2;
	tell(SKU, &sold_out, NOW + 4);
	assert_false(gate_refuses(gate, ask, NOW + 4, &got));
}

static void
not_open_counts_down_and_ends_before_the_opening(void **state)
{
	struct gate_refusal said = {.outcome = "not-open"};
	struct gate_refusal got;

	(void)state;
	learn(gate, SKU, 0, 0);
	said.opens_in_ms = 3600000;
	tell(SKU, &said, NOW);
	assert_true(refuses_as(SKU, 1, 0, NOW + 100, &got));
	assert_string_equal(got.outcome, "not-open");
	assert_int_equal(got.opens_in_ms, 3599900);
	said.opens_in_ms = 350;
	tell(SKU, &said, NOW + 100);
	assert_true(refuses_as(SKU, 1, 0, NOW + 200, &got));
	assert_int_equal(got.opens_in_ms, GATE_MS);
	assert_false(refuses(1, 0, NOW + 201));
	tell(SKU, &said, NOW + 101);
	said.opens_in_ms = GATE_MS - 1;
	tell(SKU, &said, NOW + 102);
	assert_false(refuses(1, 0, NOW + 102));
	said.opens_in_ms = INT64_MAX;
	tell(SKU, &said, NOW + 103);
	assert_true(refuses_as(SKU, 1, 0, NOW + 103, &got));
	assert_true(got.opens_in_ms > 3600000);
	said.opens_in_ms = 0;
	tell(SKU, &said, NOW + 104);
	assert_false(refuses(1, 0, NOW + 104));
}

static void
what_was_asked_before_units_came_back_is_void(void **state)
{
	const int64_t opened = NOW + 50;

	(void)state;
	learn(gate, SKU, 0, 0);
	tell(SKU, &sold_out, NOW);
	test_clock_ms = opened;
	gate_open(gate, str_of("RUN-43"));
	assert_true(refuses(1, 0, NOW));
	gate_open(gate, str_of(SKU));
	assert_false(refuses(1, 0, NOW));
	/* Asked before, told after. */
	tell(SKU, &sold_out, opened - 1);
	tell(SKU, &sold_out, opened);
	assert_false(refuses(1, 0, NOW));
	/* Of an item of which nothing was known, too. */
	gate_open(gate, str_of("NEW"));
	learn(gate, "NEW", 0, 0);
	tell("NEW", &sold_out, opened);
	assert_false(
	    refuses_as("NEW", 1, 0, NOW, &(struct gate_refusal){.held = 0}));
	/* A clock that is behind takes nothing back. */
	test_clock_ms = opened - 40;
	gate_open(gate, str_of(SKU));
	tell(SKU, &sold_out, opened);
	assert_false(refuses(1, 0, opened));
	tell(SKU, &sold_out, opened + 1);
	assert_true(refuses(1, 0, opened + 1));
}

static void
who_was_passed_is_passed_again(void **state)
{
	struct gate_refusal got;

	(void)state;
	learn(gate, SKU, 0, 0);
	learn(gate, "RUN-43", 0, 0);
	pass(SKU, 1, 11);
	pass(SKU, 2, 0);
	tell(SKU, &sold_out, NOW);
	tell("RUN-43", &sold_out, NOW);
	assert_false(refuses(1, 11, NOW));
	assert_false(refuses(1, 0, NOW));
	assert_false(refuses(1, 12, NOW));
	/* A first-time buyer whose answer was lost: no cookie, the key. */
	assert_false(refuses(3, 11, NOW));
	assert_false(refuses_as("RUN-43", 3, 11, NOW, &got));
	assert_false(refuses(2, 0, NOW));
	assert_true(refuses(3, 12, NOW));
	/* Another item is another matter. */
	assert_true(refuses_as("RUN-43", 1, 0, NOW, &got));
}

static void
an_item_refuses_nobody_before_it_was_learned(void **state)
{
	struct gate_refusal got;

	(void)state;
	tell(SKU, &sold_out, NOW);
	assert_false(refuses(1, 0, NOW));
	learn(gate, "RUN-43", 0, 0);
	assert_false(refuses(1, 0, NOW));
	learn(gate, SKU, 10, 20);
	assert_true(refuses(1, 0, NOW));
	assert_true(refuses_as(SKU, 21, 21, NOW, &got));
	for (int i = 10; i <= 20; i++) {
		assert_false(refuses(i, 0, NOW));
		assert_false(refuses(1, i, NOW));
	}
}

static void
learning_that_did_not_end_teaches_nothing(void **state)
{
	struct gate_learning learning;

	(void)state;
	tell(SKU, &sold_out, NOW);
	assert_true(gate_learn_begin(&learning, gate, str_of(SKU), NOW));
	learn_one(&learning, 1, 1);
	assert_false(refuses(2, 0, NOW));
	/* Too many to name. */
	gate_learn_add(&learning, (struct str){NULL, 0}, (struct str){NULL, 0});
	gate_learn_end(&learning);
	assert_false(refuses(2, 0, NOW));
	/* A wipe on the way. */
	assert_true(gate_learn_begin(&learning, gate, str_of(SKU), NOW));
	gate_wipe(gate);
	learn_one(&learning, 1, 1);
	gate_learn_end(&learning);
	test_clock_ms += SETTLE_MS;
	tell(SKU, &sold_out, NOW);
	assert_false(refuses(2, 0, NOW));
	assert_true(learn(gate, SKU, 0, 0));
	assert_true(refuses(2, 0, NOW));
}

static void
what_could_refuse_wants_to_be_learned(void **state)
{
	const struct gate_refusal some = {"sold-out", 1, 7, 0};
	struct buf sku = {0};

	(void)state;
	assert_false(gate_wants(gate, NOW, &sku));
	tell(SKU, &some, NOW);
	assert_false(gate_wants(gate, NOW, &sku));
	tell(SKU, &sold_out, NOW + 1);
	tell("a-rather-long-name", &paused, NOW + 1);
	buf_str(&sku, "before");
	assert_true(gate_wants(gate, NOW + 1, &sku));
	if (str_is(str_view(&sku), SKU)) {
		assert_true(gate_wants(gate, NOW + 1, &sku));
		assert_string_equal(buf_text(&sku), "a-rather-long-name");
	} else {
		assert_string_equal(buf_text(&sku), "a-rather-long-name");
		assert_true(gate_wants(gate, NOW + 1, &sku));
		assert_string_equal(buf_text(&sku), SKU);
	}
	/* Named once; again when that came to nothing. */
	assert_false(gate_wants(gate, NOW + 1, &sku));
	tell(SKU, &sold_out, NOW + 1000);
	assert_false(gate_wants(gate, NOW + 1000, &sku));
	tell(SKU, &sold_out, NOW + 1001);
	tell(SKU, &sold_out, NOW + 1002);
	assert_true(gate_wants(gate, NOW + 1002, &sku));
	assert_string_equal(buf_text(&sku), SKU);
	learn(gate, SKU, 0, 0);
	tell(SKU, &sold_out, NOW + 3000);
	assert_false(gate_wants(gate, NOW + 3000, &sku));
	buf_release(&sku);
}

static void
after_a_wipe_nothing_is_learned_for_a_while(void **state)
{
	struct buf sku = {0};

	(void)state;
	learn(gate, SKU, 0, 0);
	tell(SKU, &sold_out, NOW);
	assert_true(refuses(1, 0, NOW));
	gate_wipe(gate);
	assert_false(refuses(1, 0, NOW));
	tell(SKU, &sold_out, NOW + 1);
	test_clock_ms += SETTLE_MS - 1;
	assert_false(gate_wants(gate, NOW, &sku));
	assert_false(learn(gate, SKU, 0, 0));
	tell(SKU, &sold_out, NOW);
	assert_false(refuses(1, 0, NOW));
	/* Whoever was passed since is known, whoever was before is learned. */
	pass(SKU, 5, 5);
	test_clock_ms += 1;
	assert_true(gate_wants(gate, NOW, &sku));
	assert_string_equal(buf_text(&sku), SKU);
	assert_true(learn(gate, SKU, 7, 7));
	tell(SKU, &sold_out, NOW);
	assert_true(refuses(1, 0, NOW));
	assert_false(refuses(5, 0, NOW));
	assert_false(refuses(1, 5, NOW));
	assert_false(refuses(7, 0, NOW));
	buf_release(&sku);
}

static void
sku_edges(void **state)
{
	struct gate_refusal got;
	char a[GATE_SKU_MAX + 2];
	char b[GATE_SKU_MAX + 2];

	(void)state;
	memset(a, 'x', sizeof(a));
	memset(b, 'x', sizeof(b));
	a[GATE_SKU_MAX + 1] = b[GATE_SKU_MAX + 1] = '\0';
	learn(gate, a, 0, 0);
	tell(a, &sold_out, NOW);
	assert_false(refuses_as(a, 1, 0, NOW, &got));
	a[GATE_SKU_MAX] = '\0';
	b[GATE_SKU_MAX] = '\0';
	b[GATE_SKU_MAX - 1] = 'y';
	learn(gate, a, 0, 0);
	learn(gate, b, 0, 0);
	tell(a, &sold_out, NOW);
	assert_true(refuses_as(a, 1, 0, NOW, &got));
	assert_false(refuses_as(b, 1, 0, NOW, &got));
	b[GATE_SKU_MAX - 1] = '\0';
	assert_false(refuses_as(b, 1, 0, NOW, &got));
	learn(gate, "\xc3\xa4", 0, 0);
	tell("\xc3\xa4", &sold_out, NOW);
	assert_true(refuses_as("\xc3\xa4", 1, 0, NOW, &got));
	assert_false(refuses_as("\xc3", 1, 0, NOW, &got));
}

#define CASE(name) \
	cmocka_unit_test_setup_teardown(name, gate_setup, gate_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    CASE(what_was_told_is_answered),
	    CASE(it_is_over_in_time),
	    CASE(one_in_fifty_ms_renews),
	    CASE(the_newest_counts),
	    CASE(other_outcomes_are_ignored),
	    CASE(sold_out_is_not_said_while_some_are_free),
	    CASE(more_than_was_asked_for_may_be_over_the_limit),
	    CASE(not_open_counts_down_and_ends_before_the_opening),
	    CASE(what_was_asked_before_units_came_back_is_void),
	    CASE(who_was_passed_is_passed_again),
	    CASE(an_item_refuses_nobody_before_it_was_learned),
	    CASE(learning_that_did_not_end_teaches_nothing),
	    CASE(what_could_refuse_wants_to_be_learned),
	    CASE(after_a_wipe_nothing_is_learned_for_a_while),
	    CASE(sku_edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
