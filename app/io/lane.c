/*
 * One thread that takes holds for all. Invariants: a call is in one place, the
 * waiting queue, the thread's batch or the done queue; one batch is under way
 * at a time, and everything that waits when it ends is the next. Under the
 * lock lies what several threads touch, and nothing slow is done there.
 */
#include "io/lane.h"

#include "base/clock.h"
#include "base/log.h"
#include "io/gate.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Before a call whose connection was lost is asked again. */
#define LOST_PAUSE_MS 50

struct queue {
	struct lane_call *first;
	struct lane_call *last;
	size_t count;
};

struct lane {
	struct gate *gate;
	int wake_fd;
	char process[64];
	pthread_t thread;

	/* The thread's: the batch, those of it that are still to be asked, and
	 * the same as the database wants them. */
	struct db *db;
	size_t batch_max;
	struct lane_call **batch;
	struct lane_call **asked;
	const struct hold_request **requests;
	struct answer **answers;

	/* Everybody's, under the lock. */
	pthread_mutex_t lock;
	pthread_cond_t wake; /* there is work for an idle thread */
	struct queue waiting;
	struct queue done;
	size_t count; /* put and not given back */
	int64_t due_ms; /* nothing that waits is due before */
	bool idle;
	bool told; /* wake_fd, since lane_done */
	bool stopping;
};

static void
queue_add(struct queue *queue, struct lane_call *call)
{
	call->next = NULL;
	if (queue->first == NULL)
		queue->first = call;
	else
		queue->last->next = call;
	queue->last = call;
	queue->count++;
}

static struct lane_call *
queue_take(struct queue *queue)
{
	struct lane_call *call = queue->first;

	queue->first = call->next;
	queue->count--;
	call->next = NULL;
	return call;
}

/* The next batch, as soon as there is one; 0 when it is time to end. */
static size_t
batch_take(struct lane *lane)
{
	size_t n = 0;

	pthread_mutex_lock(&lane->lock);
	while (lane->waiting.count == 0 && !lane->stopping) {
		lane->idle = true;
		pthread_cond_wait(&lane->wake, &lane->lock);
	}
	lane->idle = false;
	while (lane->waiting.count > 0 && n < lane->batch_max)
		lane->batch[n++] = queue_take(&lane->waiting);
	pthread_mutex_unlock(&lane->lock);
	return n;
}

/* Puts aside what is past its time; how many are left. */
static size_t
calls_trim(struct lane_call **calls, size_t n)
{
	int64_t now = clock_monotonic_ms();
	size_t kept = 0, i;

	for (i = 0; i < n; i++) {
		if (calls[i]->until_ms <= now) {
			calls[i]->status = DB_DOWN;
			continue;
		}
		calls[i]->asked_ms = now;
		calls[kept++] = calls[i];
	}
	return kept;
}

/*
 * Asks for all calls in one transaction, and again as long as it is not known
 * whether an earlier one was carried out (*lost). *n is how many the status
 * is for: who came too late is not among them.
 */
static enum db_status
calls_ask(struct lane *lane, struct lane_call **calls, size_t *n, bool *lost)
{
	enum db_status status;
	size_t i;

	while ((*n = calls_trim(calls, *n)) > 0) {
		for (i = 0; i < *n; i++) {
			lane->requests[i] = &calls[i]->request;
			lane->answers[i] = &calls[i]->answer;
		}
		status =
		    db_hold_take(lane->db, lane->requests, lane->answers, *n);
		if (status == DB_LOST)
			*lost = true;
		else if (status != DB_DOWN || !*lost)
			return status;
		clock_sleep_ms(LOST_PAUSE_MS);
	}
	return DB_DOWN;
}

/* One of a batch that failed as a whole: alone, it may go through. */
static void
call_ask(struct lane *lane, struct lane_call *call, bool lost)
{
	size_t n = 1;

	call->status = calls_ask(lane, &call, &n, &lost);
	if (call->status == DB_REFUSED)
		log_warn("the database refused a hold: %s", db_error(lane->db));
}

static void
batch_ask(struct lane *lane, size_t n)
{
	enum db_status status;
	bool lost = false;
	size_t i;

	for (i = 0; i < n; i++)
		lane->asked[i] = lane->batch[i];
	if (n == 1) {
		call_ask(lane, lane->asked[0], false);
		return;
	}
	status = calls_ask(lane, lane->asked, &n, &lost);
	if (status == DB_OK || status == DB_DOWN) {
		for (i = 0; i < n; i++)
			lane->asked[i]->status = status;
		return;
	}
	log_warn("could not take %zu holds at once, taking each alone: %s", n,
	    db_error(lane->db));
	for (i = 0; i < n; i++)
		call_ask(lane, lane->asked[i], lost);
}

static void
batch_give(struct lane *lane, size_t n)
{
	const uint64_t one = 1;
	bool tell;
	size_t i;

	pthread_mutex_lock(&lane->lock);
	for (i = 0; i < n; i++)
		queue_add(&lane->done, lane->batch[i]);
	tell = !lane->told;
	lane->told = true;
	pthread_mutex_unlock(&lane->lock);
	if (tell && write(lane->wake_fd, &one, sizeof(one)) < 0)
		log_bug("cannot tell that holds are done");
}

static void
members_learn(struct gate_learning *learning, struct db *db)
{
	struct gate_members members;
	size_t i;

	if (db_gate_members(db, learning->sku, &members) != DB_OK)
		return;
	for (i = 0; i < members.count; i++)
		gate_learn_add(learning, gate_member_buyer(&members, i),
		    gate_member_key(&members, i));
	gate_learn_end(learning);
	gate_members_release(&members);
}

/* The gate refuses nobody of an item before it knows who has units of it. */
static void
lane_learn(struct lane *lane)
{
	struct gate_learning learning;
	struct buf sku = {0};
	int64_t now = clock_monotonic_ms();

	if (lane->gate != NULL && gate_wants(lane->gate, now, &sku) &&
	    gate_learn_begin(&learning, lane->gate, str_view(&sku), now))
		members_learn(&learning, lane->db);
	buf_release(&sku);
}

static void *
lane_run(void *arg)
{
	struct lane *lane = arg;
	size_t n;

	/* Now, so that the first buyer need not wait for it; should it fail,
	 * the first call says so again. */
	(void)db_check(lane->db);
	while ((n = batch_take(lane)) > 0) {
		batch_ask(lane, n);
		batch_give(lane, n);
		lane_learn(lane);
	}
	return NULL;
}

static void *
lane_alloc(size_t n, size_t size)
{
	void *out = calloc(n, size);

	if (out == NULL)
		log_bug("out of memory");
	return out;
}

/* A signal that is for the process must not end up in this thread. */
static void
lane_start(struct lane *lane)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&lane->thread, NULL, lane_run, lane) != 0)
		log_bug("cannot start a thread");
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct lane *
lane_open(const struct lane_options *options)
{
	struct lane *lane = lane_alloc(1, sizeof(*lane));
	size_t max = (size_t)options->conf->server.batch_max;

	lane->gate = options->gate;
	lane->wake_fd = options->wake_fd;
	snprintf(lane->process, sizeof(lane->process), "%s", options->process);
	lane->db = db_open(options->conf, DB_WEB, lane->process);
	lane->batch_max = max;
	lane->batch = lane_alloc(max, sizeof(struct lane_call *));
	lane->asked = lane_alloc(max, sizeof(struct lane_call *));
	lane->requests = lane_alloc(max, sizeof(struct hold_request *));
	lane->answers = lane_alloc(max, sizeof(struct answer *));
	lane->due_ms = INT64_MAX;
	if (pthread_mutex_init(&lane->lock, NULL) != 0 ||
	    pthread_cond_init(&lane->wake, NULL) != 0)
		log_bug("cannot make a lock");
	lane_start(lane);
	return lane;
}

void
lane_put(struct lane *lane, struct lane_call *calls)
{
	struct lane_call *next;
	bool wake;

	pthread_mutex_lock(&lane->lock);
	for (struct lane_call *call = calls; call; call = next) {
		next = call->next;
		call->asked_ms = 0;
		if (call->until_ms < lane->due_ms)
			lane->due_ms = call->until_ms;
		queue_add(&lane->waiting, call);
		lane->count++;
	}
	/* Who is awake looks again by himself. */
	wake = lane->idle;
	lane->idle = false;
	pthread_mutex_unlock(&lane->lock);
	if (wake)
		pthread_cond_signal(&lane->wake);
}

/* Ends the wait of those whose time is over. */
static void
lane_expire(struct lane *lane, int64_t now)
{
	struct queue waiting = {0};

	if (now < lane->due_ms)
		return;
	lane->due_ms = INT64_MAX;
	while (lane->waiting.count > 0) {
		struct lane_call *call = queue_take(&lane->waiting);

		if (call->until_ms <= now) {
			call->status = DB_DOWN;
			queue_add(&lane->done, call);
			continue;
		}
		if (call->until_ms < lane->due_ms)
			lane->due_ms = call->until_ms;
		queue_add(&waiting, call);
	}
	lane->waiting = waiting;
}

struct lane_call *
lane_done(struct lane *lane)
{
	int64_t now = clock_monotonic_ms();
	struct queue done;

	pthread_mutex_lock(&lane->lock);
	lane_expire(lane, now);
	done = lane->done;
	lane->done = (struct queue){0};
	lane->count -= done.count;
	lane->told = false;
	pthread_mutex_unlock(&lane->lock);
	return done.first;
}

size_t
lane_waiting(struct lane *lane)
{
	size_t count;

	pthread_mutex_lock(&lane->lock);
	count = lane->count;
	pthread_mutex_unlock(&lane->lock);
	return count;
}

void
lane_stop(struct lane *lane)
{
	pthread_mutex_lock(&lane->lock);
	lane->stopping = true;
	pthread_mutex_unlock(&lane->lock);
	pthread_cond_signal(&lane->wake);
	pthread_join(lane->thread, NULL);
}

void
lane_close(struct lane *lane)
{
	if (lane == NULL)
		return;
	db_close(lane->db);
	pthread_cond_destroy(&lane->wake);
	pthread_mutex_destroy(&lane->lock);
	free(lane->batch);
	free(lane->asked);
	free(lane->requests);
	free(lane->answers);
	free(lane);
}
