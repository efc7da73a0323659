/* io/lane: who goes together. */
#include "io/lane_rig.h"

/* Batches ----------------------------------------------------------------- */

static void
one_alone_goes_at_once(void **state)
{
	lane_begin(128);
	put(0, 0);
	assert_ptr_equal(await_done(1), &fake.calls[0]);
	assert_seen("c0\n");
	assert_statuses("o");
	assert_int_equal(fake.calls[0].asked_ms, 1000);
	assert_int_equal(lane_waiting(fake.lane), 0);
}

static void
all_that_wait_go_together(void **state)
{
	struct lane_call *call;
	int i = 0;

	begin_with_one_under_way(128);
	put(1, 5);
	assert_int_equal(lane_waiting(fake.lane), 6);
	assert_null(lane_done(fake.lane));
	hold_calls(false);
	for (call = await_done(6); call; call = call->next)
		assert_ptr_equal(call, &fake.calls[i++]);
	assert_int_equal(i, 6);
	assert_seen("c0\nc1 c2 c3 c4 c5\n");
	assert_statuses("oooooo");
}

static void
what_is_put_together_goes_together(void **state)
{
	lane_begin(128);
	for (int i = 0; i < 3; i++)
		fake.calls[i].next = &fake.calls[i + 1];
	fake.calls[2].until_ms = 900;
	lane_put(fake.lane, &fake.calls[0]);
	(void)await_done(4);
	assert_seen("c0 c1 c3\n");
	assert_statuses("oodo");
}

static void
a_batch_has_its_limit_oldest_first(void **state)
{
	begin_with_one_under_way(3);
	put(1, 7);
	hold_calls(false);
	(void)await_done(8);
	assert_seen("c0\nc1 c2 c3\nc4 c5 c6\nc7\n");
	assert_statuses("oooooooo");
}

static void
a_limit_of_one_means_each_alone(void **state)
{
	begin_with_one_under_way(1);
	put(1, 3);
	hold_calls(false);
	(void)await_done(4);
	assert_seen("c0\nc1\nc2\nc3\n");
}

static void
wakes_are_few(void **state)
{
	begin_with_one_under_way(1);
	put(1, 4);
	hold_calls(false);
	await_calls(5);
	lane_stop(fake.lane);
	assert_int_equal(await_wake(), 1);
	for (size_t i = 0; i < 5; i++)
		assert_int_equal(fake.calls[i].status, DB_OK);
	assert_non_null(lane_done(fake.lane));
	lane_close(fake.lane);
	/* Fetched: the next batch tells again. */
	lane_begin(1);
	put(0, 0);
	assert_int_equal(await_wake(), 1);
	assert_non_null(lane_done(fake.lane));
	put(1, 1);
	assert_int_equal(await_wake(), 1);
}

static void
a_stop_carries_out_what_waits(void **state)
{
	size_t n = 0;

	lane_begin(7);
	put(0, FAKE_CALLS - 1);
	lane_stop(fake.lane);
	for (struct lane_call *c = lane_done(fake.lane); c; c = c->next, n++)
		assert_int_equal(c->status, DB_OK);
	assert_int_equal(n, FAKE_CALLS);
	assert_int_equal(lane_waiting(fake.lane), 0);
	lane_close(fake.lane);
	lane_begin(7);
}

#define STRESS_THREADS 4
#define STRESS_EACH 2500

static struct lane_call stress[STRESS_THREADS][STRESS_EACH];

static enum db_status
plan_stress(const struct fake_batch *batch)
{
	switch (batch->nr % 17) {
	case 3:
		return DB_LOST;
	case 8:
		return DB_CONFLICT;
	default:
		return DB_OK;
	}
}

/* One, two, three, one… at a time. */
static void *
stress_put(void *arg)
{
	struct lane_call *calls = arg;
	int at = 0, n;

	for (int round = 0; at < STRESS_EACH; round++, at += n) {
		n = 1 + round % 3;
		if (n > STRESS_EACH - at)
			n = STRESS_EACH - at;
		for (int i = 0; i < n - 1; i++)
			calls[at + i].next = &calls[at + i + 1];
		lane_put(fake.lane, &calls[at]);
	}
	return NULL;
}

static void
stress_check(const struct lane_call *call)
{
	if (call->status == DB_OK)
		assert_string_equal(buf_text(&call->answer.document),
		    call->request.id);
	else
		assert_true(
		    call->status == DB_CONFLICT || call->status == DB_DOWN);
}

static void
many_threads_each_get_their_own_answers(void **state)
{
	pthread_t threads[STRESS_THREADS];
	size_t left = (size_t)STRESS_THREADS * STRESS_EACH;

	fake.plan = plan_stress;
	for (int t = 0; t < STRESS_THREADS; t++) {
		for (int i = 0; i < STRESS_EACH; i++) {
			struct lane_call *call = &stress[t][i];

			answer_init(&call->answer);
			call->until_ms = INT64_MAX;
			snprintf(call->request.id, sizeof(call->request.id),
			    "t%di%d", t, i);
		}
	}
	lane_begin(64);
	for (int t = 0; t < STRESS_THREADS; t++)
		assert_int_equal(pthread_create(&threads[t], NULL, stress_put,
				     stress[t]),
		    0);
	while (left > 0) {
		struct lane_call *next, *call;

		(void)await_wake();
		for (call = lane_done(fake.lane); call; call = next, left--) {
			assert_true(left > 0);
			next = call->next;
			stress_check(call);
			answer_release(&call->answer);
		}
	}
	for (int t = 0; t < STRESS_THREADS; t++)
		pthread_join(threads[t], NULL);
	assert_int_equal(lane_waiting(fake.lane), 0);
	assert_null(lane_done(fake.lane));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(one_alone_goes_at_once),
	    TEST(all_that_wait_go_together),
	    TEST(what_is_put_together_goes_together),
	    TEST(a_batch_has_its_limit_oldest_first),
	    TEST(a_limit_of_one_means_each_alone),
	    TEST(wakes_are_few),
	    TEST(a_stop_carries_out_what_waits),
	    TEST(many_threads_each_get_their_own_answers),
	};

	return cmocka_run_group_tests_name("io/lane", tests, NULL, NULL);
}
