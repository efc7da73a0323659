/*
 * A lane over the fake database, and what its tests say to it and expect of
 * it.
 */
#ifndef UNIT_LANE_RIG_H
#define UNIT_LANE_RIG_H

#include "io/lane_fake.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static inline void
lane_begin(int batch_max)
{
	static struct conf conf;
	static char gate;
	const struct lane_options options = {.conf = &conf,
	    .gate = (struct gate *)(void *)&gate,
	    .process = "lastpair test",
	    .wake_fd = fake.wake_fd};

	conf.server.batch_max = batch_max;
	fake.lane = lane_open(&options);
}

static inline int
setup(void **state)
{
	memset(&fake, 0, sizeof(fake));
	pthread_mutex_init(&fake.lock, NULL);
	pthread_cond_init(&fake.changed, NULL);
	fake_ms = 1000;
	fake.wake_fd = eventfd(0, EFD_CLOEXEC);
	assert_true(fake.wake_fd >= 0);
	for (int i = 0; i < FAKE_CALLS; i++) {
		struct lane_call *call = &fake.calls[i];

		answer_init(&call->answer);
		snprintf(call->request.id, sizeof(call->request.id), "c%d", i);
		call->until_ms = 4000;
	}
	return 0;
}

static inline int
teardown(void **state)
{
	lane_stop(fake.lane);
	lane_close(fake.lane);
	assert_false(fake.wrong);
	for (int i = 0; i < FAKE_CALLS; i++)
		answer_release(&fake.calls[i].answer);
	buf_release(&fake.seen);
	buf_release(&fake.learned);
	(void)close(fake.wake_fd);
	pthread_cond_destroy(&fake.changed);
	pthread_mutex_destroy(&fake.lock);
	return 0;
}

static inline void
put(int from, int to)
{
	for (int i = from; i <= to; i++) {
		fake.calls[i].next = NULL;
		lane_put(fake.lane, &fake.calls[i]);
	}
}

static inline void
hold_calls(bool held)
{
	pthread_mutex_lock(&fake.lock);
	fake.held = held;
	pthread_cond_broadcast(&fake.changed);
	pthread_mutex_unlock(&fake.lock);
}

/* Waits until so many calls of the database have begun. */
static inline void
await_calls(int n)
{
	pthread_mutex_lock(&fake.lock);
	while (fake.entered < n)
		pthread_cond_wait(&fake.changed, &fake.lock);
	pthread_mutex_unlock(&fake.lock);
}

/* The first call, c0, stays in the database, the others gather behind it. */
static inline void
begin_with_one_under_way(int batch_max)
{
	hold_calls(true);
	lane_begin(batch_max);
	put(0, 0);
	await_calls(1);
}

/* Reads wake_fd's count; fails when nothing comes. */
static inline uint64_t
await_wake(void)
{
	struct pollfd ready = {.fd = fake.wake_fd, .events = POLLIN};
	uint64_t count = 0;

	assert_int_equal(poll(&ready, 1, FAKE_PATIENCE_MS), 1);
	assert_int_equal(read(fake.wake_fd, &count, sizeof(count)),
	    sizeof(count));
	return count;
}

/* Fetches until n calls are back; the first of them, in their order. */
static inline struct lane_call *
await_done(size_t n)
{
	struct lane_call *first = NULL;
	struct lane_call **end = &first;

	for (;;) {
		(void)await_wake();
		*end = lane_done(fake.lane);
		for (; *end; end = &(*end)->next)
			n--;
		assert_true(n <= FAKE_CALLS);
		if (n == 0)
			return first;
	}
}

static inline void
assert_seen(const char *lines)
{
	pthread_mutex_lock(&fake.lock);
	assert_string_equal(buf_text(&fake.seen), lines);
	pthread_mutex_unlock(&fake.lock);
}

/* A letter for each: o is DB_OK, with its own answer. */
static inline void
assert_statuses(const char *expected)
{
	static const char letters[] = "odlcrb";
	char got[FAKE_CALLS + 1] = "";

	for (size_t i = 0; i < strlen(expected); i++) {
		const struct lane_call *call = &fake.calls[i];

		got[i] = letters[call->status];
		if (call->status == DB_OK)
			assert_string_equal(buf_text(&call->answer.document),
			    call->request.id);
	}
	assert_string_equal(got, expected);
}

static inline bool
has(const struct fake_batch *batch, const char *id)
{
	for (size_t i = 0; i < batch->n; i++) {
		if (strcmp(batch->requests[i]->id, id) == 0)
			return true;
	}
	return false;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
