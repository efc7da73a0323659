/*
 * io/gate under threads that buy, give back, learn and wipe at once, in front
 * of a shop in memory; and under processes that are killed anywhere. The clock
 * moves with what is done, never by itself, so that no pause of the machine
 * decides anything.
 */
#include "gate_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define WALKERS 3
#define ROUNDS 60
#define STEPS 300 /* of a walker, in a round */
#define ITEMS 3
#define BUYERS 60 /* of a walker */
#define UNITS 40
#define KILLS 100

static struct gate *gate;

/* In place of the machine's. */
int64_t
clock_monotonic_ms(void)
{
	return test_clock_ms;
}
static pthread_barrier_t barrier;

/* The shop: what would be in the database. */
struct goods {
	char sku[24];
	pthread_mutex_t lock; /* of the stock row */
	int free;
	_Atomic int64_t free_since_ms; /* INT64_MAX: none is */
	_Atomic bool held[WALKERS * BUYERS];
};

static struct goods shop[ITEMS];

struct walker {
	pthread_t thread;
	int nr;
	unsigned dice;
	int refused;
	int holders; /* who were refused and must not be */
	int late; /* refusals later than GATE_MS */
};

static unsigned
roll(unsigned *dice, unsigned sides)
{
	*dice = *dice * 1103515245U + 12345U;
	return (*dice >> 16) % sides;
}

/* Under the stock row's lock; whether the buyer has it now. */
static bool
shop_take(struct goods *g, int buyer)
{
	if (!g->held[buyer] && g->free > 0) {
		g->held[buyer] = true;
		if (--g->free == 0)
			g->free_since_ms = INT64_MAX;
	}
	return g->held[buyer];
}

static void
walker_buy(struct walker *w, struct goods *g, int buyer)
{
	const struct gate_refusal none = {.outcome = "sold-out"};
	bool had = g->held[buyer];
	bool lost_cookie = roll(&w->dice, 4) == 0;
	int64_t since = g->free_since_ms;
	int64_t now = test_clock_ms;
	struct gate_refusal refusal;
	struct test_ask t;
	struct gate_ask *ask;

	ask = ask_of(&t, g->sku, lost_cookie ? 5000000 : buyer,
	    1 + buyer * ITEMS + (int)(g - shop));
	if (gate_refuses(gate, ask, now, &refusal)) {
		w->refused++;
		w->holders += had;
		w->late += since == g->free_since_ms && since < INT64_MAX &&
		    now - since >= GATE_MS;
		return;
	}
	if (lost_cookie)
		return;
	gate_pass(gate, ask);
	/* In the lane. */
	if (roll(&w->dice, 4) == 0)
		sched_yield();
	now = test_clock_ms;
	pthread_mutex_lock(&g->lock);
	had = shop_take(g, buyer);
	pthread_mutex_unlock(&g->lock);
	if (!had)
		gate_tell(gate, ask, &none, now);
}

static void
walker_give_back(struct goods *g, int buyer)
{
	pthread_mutex_lock(&g->lock);
	if (g->held[buyer]) {
		g->held[buyer] = false;
		if (g->free++ == 0)
			g->free_since_ms = test_clock_ms;
	}
	pthread_mutex_unlock(&g->lock);
	gate_open(gate, str_of(g->sku));
}

static void
walker_learn(void)
{
	struct gate_learning learning;
	struct buf sku = {0};

	if (!gate_wants(gate, test_clock_ms, &sku))
		goto out;
	for (int i = 0; i < ITEMS; i++) {
		if (!str_is(str_view(&sku), shop[i].sku))
			continue;
		if (!gate_learn_begin(&learning, gate, str_view(&sku),
			test_clock_ms))
			break;
		pthread_mutex_lock(&shop[i].lock);
		for (int b = 0; b < WALKERS * BUYERS; b++) {
			if (shop[i].held[b])
				learn_one(&learning, b, 1 + b * ITEMS + i);
		}
		pthread_mutex_unlock(&shop[i].lock);
		gate_learn_end(&learning);
	}
out:
	buf_release(&sku);
}

static void *
walker_run(void *arg)
{
	struct walker *w = arg;

	for (int round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&barrier);
		for (int i = 0; i < STEPS; i++) {
			struct goods *g = &shop[roll(&w->dice, ITEMS)];
			int buyer =
			    w->nr * BUYERS + (int)roll(&w->dice, BUYERS);

			test_clock_ms += roll(&w->dice, 4);
			walker_buy(w, g, buyer);
			if (roll(&w->dice, 40) == 0)
				walker_give_back(g, buyer);
			walker_learn();
		}
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

/* As if the memory was emptied from outside, from either end. */
static void
gate_empty(bool upwards)
{
	_Atomic uint64_t *words = (_Atomic uint64_t *)gate->memory;
	size_t n = sizeof(*gate->memory) / sizeof(*words);

	for (size_t i = 0; i < n; i++)
		words[upwards ? i : n - 1 - i] = 0;
}

static void
wipe_somehow(unsigned *dice)
{
	for (unsigned pause = roll(dice, 200); pause > 0; pause--)
		sched_yield();
	switch (roll(dice, 4)) {
	case 0:
		gate_empty(true);
		break;
	case 1:
		gate_empty(false);
		break;
	default:
		gate_wipe(gate);
		break;
	}
}

static void
shop_open(void)
{
	for (int i = 0; i < ITEMS; i++) {
		snprintf(shop[i].sku, sizeof(shop[i].sku), "item-%d", i);
		pthread_mutex_init(&shop[i].lock, NULL);
		shop[i].free = UNITS;
		shop[i].free_since_ms = test_clock_ms;
	}
}

static void
a_holder_is_never_refused(void **state)
{
	struct walker walkers[WALKERS] = {{.nr = 0}};
	unsigned dice = 42;

	(void)state;
	gate = gate_new_fixed();
	shop_open();
	pthread_barrier_init(&barrier, NULL, WALKERS + 1);
	for (int i = 0; i < WALKERS; i++) {
		walkers[i].nr = i;
		walkers[i].dice = 1 + (unsigned)i;
		assert_int_equal(pthread_create(&walkers[i].thread, NULL,
				     walker_run, &walkers[i]),
		    0);
	}
	for (int round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&barrier);
		for (unsigned n = round % 3 ? roll(&dice, 4) : 0; n > 0; n--)
			wipe_somehow(&dice);
		pthread_barrier_wait(&barrier);
		/* Nobody is under way. Every other time it settles. */
		(void)gate_generation(gate);
		test_clock_ms += round % 2 ? SETTLE_MS : SETTLE_MS / 3;
	}
	for (int i = 0; i < WALKERS; i++) {
		pthread_join(walkers[i].thread, NULL);
		assert_int_equal(walkers[i].holders, 0);
		assert_int_equal(walkers[i].late, 0);
		assert_true(walkers[i].refused > STEPS);
	}
	pthread_barrier_destroy(&barrier);
	gate_free(gate);
}

/* Everything at once, until killed. */
static void
child_run(_Atomic unsigned *steps, unsigned dice)
{
	static const struct gate_refusal said[] = {
	    {.outcome = "sold-out", .held = 3},
	    {.outcome = "not-open", .opens_in_ms = 60000},
	    {.outcome = "paused"},
	};
	struct gate_refusal refusal;
	struct gate_ask *ask;
	struct test_ask t;
	char sku[24];

	for (;; (*steps)++) {
		snprintf(sku, sizeof(sku), "item-%u", roll(&dice, 30));
		ask = ask_of(&t, sku, (int)roll(&dice, 1000), 0);
		test_clock_ms++;
		gate_tell(gate, ask, &said[roll(&dice, 3)], test_clock_ms);
		if (roll(&dice, 4) == 0)
			gate_pass(gate, ask);
		if (roll(&dice, 16) == 0)
			gate_open(gate, ask->sku);
		if (roll(&dice, 16) == 0)
			(void)learn(gate, sku, 1, 2);
		if (roll(&dice, 64) == 0)
			gate_wipe(gate);
		(void)gate_refuses(gate, ask, test_clock_ms, &refusal);
	}
}

/* The gate as good as new, for an item that the dead one was busy with. */
static void
assert_works(unsigned nr)
{
	const struct gate_refusal closed = {.outcome = "closed"};
	struct gate_refusal refusal;
	struct test_ask t;
	char sku[24];

	snprintf(sku, sizeof(sku), "item-%u", nr);
	(void)gate_refuses(gate, ask_of(&t, sku, 1, 0), test_clock_ms,
	    &refusal);
	/* Later than all that it has written, too. */
	test_clock_ms += 10000000;
	gate_pass(gate, ask_of(&t, sku, 1, 0));
	assert_true(learn(gate, sku, 2, 3));
	gate_tell(gate, ask_of(&t, sku, 4, 0), &closed, test_clock_ms);
	for (int buyer = 1; buyer <= 3; buyer++)
		assert_false(gate_refuses(gate, ask_of(&t, sku, buyer, 0),
		    test_clock_ms, &refusal));
	assert_true(gate_refuses(gate, ask_of(&t, sku, 1001, 0), test_clock_ms,
	    &refusal));
	assert_string_equal(refusal.outcome, "closed");
}

static void
who_is_killed_anywhere_leaves_a_gate_that_works(void **state)
{
	_Atomic unsigned *steps = mmap(NULL, sizeof(*steps),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned dice = 7;
	int status;
	pid_t pid;

	(void)state;
	assert_true(steps != MAP_FAILED);
	gate = gate_new_fixed();
	for (unsigned i = 0; i < KILLS; i++) {
		unsigned most = 100 + roll(&dice, 2000);

		*steps = 0;
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			child_run(steps, i + 1);
			_exit(0);
		}
		while (*steps < most)
			sched_yield();
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		for (unsigned nr = 0; nr < 30; nr++)
			assert_works(nr);
	}
	gate_free(gate);
	munmap((void *)steps, sizeof(*steps));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_holder_is_never_refused),
	    cmocka_unit_test(who_is_killed_anywhere_leaves_a_gate_that_works),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
