/*
 * A database for the lane alone: it writes down who is asked for together,
 * answers by a test's plan, and can be held in the middle of a call. Time
 * stands still but for sleeping. Defines db.h's, gate.h's and clock.h's
 * functions in place of the real ones.
 */
#ifndef UNIT_LANE_FAKE_H
#define UNIT_LANE_FAKE_H

#include "base/clock.h"
#include "base/log.h"
#include "io/gate.h"
#include "io/lane.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FAKE_CALLS 200
/* A test that hangs says so instead. */
#define FAKE_PATIENCE_MS 20000

struct fake_batch {
	const struct hold_request *const *requests;
	size_t n;
	int nr; /* of the call, from 1 */
};

static struct fake {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool held; /* calls do not end */
	int entered;
	struct buf seen; /* the names asked for, a line a call */
	/* NULL: all goes well. In the lane's thread, where no assertion may
	 * fail; without the lock. */
	enum db_status (*plan)(const struct fake_batch *batch);
	bool wrong; /* what a plan thinks of it */
	enum db_status members_status;
	const char *wanted; /* what gate_wants says, once */
	bool unsettled; /* the gate does not want to learn after all */
	struct buf learned;
	struct lane *lane;
	int wake_fd;
	struct lane_call calls[FAKE_CALLS];
} fake;

static _Atomic int64_t fake_ms;

int64_t
clock_monotonic_ms(void)
{
	return fake_ms;
}

void
clock_sleep_ms(int64_t ms)
{
	fake_ms += ms;
}

void
log_write(enum log_level level, const char *format, ...)
{
}

struct db *
db_open(const struct conf *conf, enum db_role role, const char *process)
{
	static char token;

	assert_int_equal(role, DB_WEB);
	assert_string_equal(process, "lastpair test");
	return (struct db *)(void *)&token;
}

void
db_close(struct db *db)
{
}

enum db_status
db_check(struct db *db)
{
	return DB_OK;
}

const char *
db_error(const struct db *db)
{
	return "it says no";
}

/* Writes the call down, and stays in it while the test wants that. */
static int
fake_enter(const struct hold_request *const *requests, size_t n)
{
	int nr;

	pthread_mutex_lock(&fake.lock);
	for (size_t i = 0; i < n; i++)
		buf_printf(&fake.seen, "%s%s", i ? " " : "", requests[i]->id);
	buf_char(&fake.seen, '\n');
	nr = ++fake.entered;
	pthread_cond_broadcast(&fake.changed);
	while (fake.held)
		pthread_cond_wait(&fake.changed, &fake.lock);
	pthread_mutex_unlock(&fake.lock);
	return nr;
}

enum db_status
db_hold_take(struct db *db, const struct hold_request *const *requests,
    struct answer *const *answers, size_t n)
{
	struct fake_batch batch = {requests, n, fake_enter(requests, n)};
	enum db_status status = fake.plan ? fake.plan(&batch) : DB_OK;

	for (size_t i = 0; status == DB_OK && i < n; i++) {
		snprintf(answers[i]->outcome, sizeof(answers[i]->outcome),
		    "created");
		buf_reset(&answers[i]->document);
		buf_str(&answers[i]->document, requests[i]->id);
	}
	return status;
}

bool
gate_wants(struct gate *gate, int64_t now_ms, struct buf *sku)
{
	const char *wanted = fake.wanted;

	fake.wrong |= now_ms != fake_ms;
	if (wanted)
		buf_str(sku, wanted);
	fake.wanted = NULL;
	return wanted != NULL;
}

bool
gate_learn_begin(struct gate_learning *learning, struct gate *gate,
    struct str sku, int64_t now_ms)
{
	*learning = (struct gate_learning){.gate = gate, .sku = sku};
	buf_printf(&fake.learned, "begin %.*s\n", (int)sku.len, sku.text);
	return !fake.unsettled;
}

void
gate_learn_add(struct gate_learning *learning, struct str buyer, struct str key)
{
	buf_printf(&fake.learned, "%.*s %.*s\n", (int)buyer.len, buyer.text,
	    (int)key.len, key.len ? key.text : "");
}

void
gate_learn_end(struct gate_learning *learning)
{
	buf_printf(&fake.learned, "end %.*s\n", (int)learning->sku.len,
	    learning->sku.text);
}

enum db_status
db_gate_members(struct db *db, struct str sku, struct gate_members *members)
{
	fake.wrong |= !str_is(sku, "RUN-42");
	buf_str(&fake.learned, "asked\n");
	if (fake.members_status != DB_OK)
		return fake.members_status;
	*members = (struct gate_members){.count = 2};
	return DB_OK;
}

struct str
gate_member_buyer(const struct gate_members *members, size_t i)
{
	return str_of(i ? "ben" : "ann");
}

struct str
gate_member_key(const struct gate_members *members, size_t i)
{
	return i ? str_of("key-of-ben") : (struct str){NULL, 0};
}

void
gate_members_release(struct gate_members *members)
{
	buf_str(&fake.learned, "released\n");
}

#endif
