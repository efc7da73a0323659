/*
 * io/gate with a process that is stopped before each single step of a call:
 * there it is killed, or the rest of the shop goes on for as long as it likes
 * before it wakes up. Every interleaving that one stop can make.
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
/* Two whose entries are in one word of the filter. */
static int buyer_a;
static int buyer_b;
static struct buf act_sku;

static const struct gate_refusal sold_out = {.outcome = "sold-out", .held = 7};

static bool
refuses(int buyer)
{
	struct gate_refusal refusal;
	struct test_ask t;

	return gate_refuses(gate, ask_of(&t, SKU, buyer, 0), NOW, &refusal);
}

static void
tell(void)
{
	struct test_ask t;

	gate_tell(gate, ask_of(&t, SKU, 999999, 0), &sold_out, NOW);
}

static void
pass(int buyer)
{
	struct test_ask t;

	gate_pass(gate, ask_of(&t, SKU, buyer, 0));
}

/* As after a long quiet time; the buyer is known from the shop's answer. */
static void
refuse_strangers(int holder)
{
	(void)refuses(1);
	test_clock_ms += 1000000;
	assert_true(learn(gate, SKU, holder, holder));
	tell();
	assert_true(refuses(1));
}

/* One stopped process ----------------------------------------------------- */

enum act {
	REFUSES,
	PASS,
	TELL,
	OPEN,
	WIPE,
	LEARN,
	WANTS,
	ACTS,
};

/*
 * For each step of the act: prepare, let it come so far, meanwhile, let it end
 * (or kill it, if there is no meanwhile), check its result.
 */
struct walk {
	enum act act;
	void (*prepare)(void);
	void (*meanwhile)(void);
	void (*check)(bool result);
};

static const struct walk *walk; /* of the process that is under way */
static int steps_left;
static jmp_buf killed;

/* Before each step of anybody. */
static void
step(void)
{
	const struct walk *stopped = walk;

	if (!walk || steps_left-- > 0)
		return;
	walk = NULL;
	if (!stopped->meanwhile)
		longjmp(killed, 1);
	stopped->meanwhile();
}

/* In place of those in gate_word.c. */
uint64_t
gate_load(const _Atomic uint64_t *word)
{
	step();
	return *word;
}

void
gate_store(_Atomic uint64_t *word, uint64_t value)
{
	step();
	*word = value;
}

bool
gate_swap(_Atomic uint64_t *word, uint64_t *seen, uint64_t value)
{
	uint64_t before;
	bool done;

	step();
	before = *seen;
	done = atomic_compare_exchange_strong(word, &before, value);
	*seen = before;
	return done;
}

/* In place of the machine's: to read it is a step, too, and what was read may
 * be old when it is used. */
int64_t
clock_monotonic_ms(void)
{
	int64_t now;

	step();
	now = test_clock_ms;
	step();
	return now;
}

static bool
act_run(enum act act)
{
	struct gate_learning learning;
	struct gate_refusal refusal;
	struct test_ask t;
	struct gate_ask *ask = ask_of(&t, SKU, buyer_a, 0);
	int64_t now = test_clock_ms;
	bool result = false;

	switch (act) {
	case REFUSES:
		return gate_refuses(gate, ask, now, &refusal);
	case PASS:
		gate_pass(gate, ask);
		break;
	case TELL:
		gate_tell(gate, ask, &sold_out, now);
		break;
	case OPEN:
		gate_open(gate, ask->sku);
		break;
	case WIPE:
		gate_wipe(gate);
		break;
	case LEARN:
		if (!gate_learn_begin(&learning, gate, ask->sku, now))
			break;
		gate_learn_add(&learning, str_of(t.buyer.text), t.ask.key);
		gate_learn_end(&learning);
		break;
	default:
		result = gate_wants(gate, now, &act_sku);
		break;
	}
	return result;
}

static void
walk_all(const struct walk *w)
{
	static bool result; /* not lost by the jump */
	static int steps;

	for (steps = 0;; steps++) {
		w->prepare();
		result = false;
		steps_left = steps;
		walk = w;
		if (setjmp(killed) == 0)
			result = act_run(w->act);
		if (walk)
			break; /* it came to its end */
		w->check(result);
	}
	walk = NULL;
	assert_true(steps > 3);
}

/* What may happen ---------------------------------------------------------- */

static void
prepare_fresh(void)
{
	gate_free(gate);
	gate = gate_new_fixed();
}

static void
prepare_holder(void)
{
	prepare_fresh();
	refuse_strangers(buyer_a);
}

static void
prepare_stranger(void)
{
	prepare_fresh();
	refuse_strangers(0);
}

static void
prepare_told(void)
{
	prepare_fresh();
	tell();
}

static void
check_works(bool result)
{
	(void)result;
	refuse_strangers(buyer_a);
	assert_false(refuses(buyer_a));
	pass(buyer_b);
	assert_false(refuses(buyer_b));
}

static void
check_not_refused(bool result)
{
	assert_false(result);
}

/* The word of the filter is written by another generation. */
static void
wipe_and_pass(void)
{
	gate_wipe(gate);
	pass(buyer_b);
}

static void
empty_upwards(void)
{
	memset((void *)gate->memory, 0, sizeof(*gate->memory));
}

/* Cut off in the middle, as seen by whoever looks just then. */
static void
empty_downwards(void)
{
	char *bytes = (char *)gate->memory;
	size_t half = sizeof(*gate->memory) / 2;

	memset(bytes + half, 0, sizeof(*gate->memory) - half);
}

/* Both were passed in time and take a unit after the item was learned. */
static void
check_both_passed(bool result)
{
	(void)result;
	(void)refuses(1);
	refuse_strangers(0);
	assert_false(refuses(buyer_a));
	assert_false(refuses(buyer_b));
}

static void
wait_and_pass(void)
{
	test_clock_ms += 2 * (int64_t)SETTLE_MS;
	pass(buyer_b);
}

/* Passed just now: it must be in the filter, or learning is not allowed. */
static void
check_is_passed(bool result)
{
	(void)result;
	if (!learn(gate, SKU, 0, 0))
		return;
	test_clock_ms++;
	tell();
	assert_false(refuses(buyer_b));
}

static void
open_later(void)
{
	test_clock_ms++;
	gate_open(gate, str_of(SKU));
}

static void
check_is_open(bool result)
{
	(void)result;
	assert_false(refuses(1));
	test_clock_ms++;
	tell();
	assert_true(refuses(1));
}

static void
check_is_open_to_all(bool result)
{
	(void)result;
	tell();
	assert_false(refuses(1));
	assert_false(refuses(buyer_a));
}

/* -------------------------------------------------------------------------- */

static void
killed_anywhere_it_works_on(void **state)
{
	static const enum act acts[] = {REFUSES, PASS, TELL, OPEN, WIPE, LEARN,
	    WANTS};

	(void)state;
	for (size_t i = 0; i < sizeof(acts) / sizeof(acts[0]); i++) {
		struct walk w = {acts[i], prepare_fresh, NULL, check_works};

		walk_all(&w);
		w.prepare = acts[i] == WANTS ? prepare_told : prepare_holder;
		walk_all(&w);
	}
}

static void
no_holder_is_refused_across_a_wipe(void **state)
{
	struct walk w = {REFUSES, prepare_holder, wipe_and_pass,
	    check_not_refused};

	(void)state;
	walk_all(&w);
	w.meanwhile = empty_upwards;
	walk_all(&w);
	w.meanwhile = empty_downwards;
	walk_all(&w);
}

static void
nobody_is_passed_into_the_void(void **state)
{
	struct walk w = {PASS, prepare_fresh, wipe_and_pass, check_both_passed};

	(void)state;
	walk_all(&w);
	w.prepare = prepare_stranger;
	walk_all(&w);
}

static void
a_wipe_that_takes_long_settles_nothing(void **state)
{
	struct walk w = {WIPE, prepare_stranger, wait_and_pass,
	    check_is_passed};

	(void)state;
	walk_all(&w);
}

static void
what_was_told_too_late_closes_nothing(void **state)
{
	struct walk w = {TELL, prepare_stranger, open_later, check_is_open};

	(void)state;
	walk_all(&w);
}

static void
learning_that_was_overtaken_teaches_nothing(void **state)
{
	struct walk w = {LEARN, prepare_told, wipe_and_pass,
	    check_is_open_to_all};

	(void)state;
	walk_all(&w);
}

static int
find_buyers(void **state)
{
	struct gate_name name;
	struct test_ask t;
	uint64_t word;

	(void)state;
	gate = gate_new_fixed();
	name = gate_name_of(gate, str_of(SKU));
	buyer_a = buyer_b = 1000;
	ask_of(&t, SKU, buyer_a, 0);
	word = gate_hash_buyer(&name, str_of(t.buyer.text)) >>
	    (64 - GATE_FILTER_BITS);
	do {
		ask_of(&t, SKU, ++buyer_b, 0);
	} while (gate_hash_buyer(&name, str_of(t.buyer.text)) >>
		(64 - GATE_FILTER_BITS) !=
	    word);
	return 0;
}

static int
gate_done(void **state)
{
	(void)state;
	gate_free(gate);
	buf_release(&act_sku);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(killed_anywhere_it_works_on),
	    cmocka_unit_test(no_holder_is_refused_across_a_wipe),
	    cmocka_unit_test(nobody_is_passed_into_the_void),
	    cmocka_unit_test(a_wipe_that_takes_long_settles_nothing),
	    cmocka_unit_test(what_was_told_too_late_closes_nothing),
	    cmocka_unit_test(learning_that_was_overtaken_teaches_nothing),
	};

	return cmocka_run_group_tests(tests, find_buyers, gate_done);
}
