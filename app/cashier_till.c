/*
 * The calls under way at one provider. What must not wait for pay pages has
 * the first turn, and a part of the slots that they cannot take; and they one
 * that it cannot. Of that part no kind has more than half of what the others
 * leave: ends that get no answer leave room for refunds.
 */
#include "cashier_till.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

/* A look, what is to be done, and a look at what came of it. After a 500 there
 * may be two more; that all take as long as they may is not waited for. */
#define REQUESTS_MAX 3
/* For the database and a busy machine. Should a slow cashier still be at it
 * when its lease is over, both ask under the same key. */
#define LEASE_SLACK_MS 10000
/* "Not before something else happens". */
#define NEVER_MS INT64_MAX
/* The slots that pay pages cannot take, nor all others: one in four. */
#define RESERVE_PART 4

/* Where a kind's first request goes, mostly. */
static const enum endpoint endpoints[JOB_KINDS] = {
    [JOB_OPEN] = ENDPOINT_OPEN,
    [JOB_EXPIRE] = ENDPOINT_END,
    [JOB_REFUND] = ENDPOINT_REFUND,
    [JOB_FETCH] = ENDPOINT_LOOK,
};

static const enum act acts[JOB_KINDS] = {
    [JOB_OPEN] = ACT_OPEN,
    [JOB_EXPIRE] = ACT_END,
    [JOB_REFUND] = ACT_REFUND,
    [JOB_FETCH] = ACT_FETCH,
};

/* Whom a free slot is offered to first: money, then goods, then pages. */
static const enum job_kind turns[JOB_KINDS] = {
    JOB_REFUND,
    JOB_EXPIRE,
    JOB_FETCH,
    JOB_OPEN,
};

void
till_open(struct till *till, const struct conf *conf,
    const struct provider *provider, struct http *http, size_t first)
{
	*till = (struct till){
	    .conf = conf,
	    .provider = provider,
	    .http = http,
	    .first = first,
	};
	provider->pace(conf, &till->limits);
	if (till->limits.at_once < 1 || till->limits.at_once > TILL_SLOTS_MAX)
		log_bug("%s cannot have %d calls at once", provider->name,
		    till->limits.at_once);
	pace_init(&till->pace, &till->limits, clock_monotonic_ms());
	till->slots =
	    calloc((size_t)till->limits.at_once, sizeof(*till->slots));
	if (!till->slots)
		log_bug("out of memory");
	for (int kind = 0; kind < JOB_KINDS; kind++)
		till->more[kind] = true;
}

void
till_close(struct till *till)
{
	for (int i = 0; i < till->limits.at_once; i++)
		till_free(till, &till->slots[i]);
	free(till->slots);
	till->slots = NULL;
}

int
till_lease_ms(const struct till *till)
{
	int slowest = till->limits.calls_per_second;

	for (int i = 0; i < ENDPOINTS; i++) {
		if (till->limits.per_second[i] < slowest)
			slowest = till->limits.per_second[i];
	}
	/* At worst all slots wait for the same tokens. */
	return REQUESTS_MAX *
	    (till->limits.timeout_ms +
		(till->limits.at_once * 1000 + slowest - 1) / slowest) +
	    LEASE_SLACK_MS;
}

/* Whether a request waits already for what a kind's next call needs. */
static bool
endpoint_is_waited_for(const struct till *till, enum endpoint endpoint)
{
	for (int i = 0; i < till->limits.at_once; i++) {
		const struct slot *slot = &till->slots[i];

		if (slot->state == SLOT_WAITING &&
		    slot->work.endpoint == endpoint)
			return true;
	}
	return false;
}

static int
least(int a, int b)
{
	return a < b ? a : b;
}

/* Slots that may still be taken. */
struct slots_left {
	int pages;
	int others;
	int all;
	int taken[JOB_KINDS];
};

static void
slots_take(struct slots_left *left, enum job_kind kind, int n)
{
	left->all -= n;
	left->taken[kind] += n;
	*(kind == JOB_OPEN ? &left->pages : &left->others) -= n;
}

static struct slots_left
till_slots_left(const struct till *till)
{
	int n = till->limits.at_once;
	int reserve = n / RESERVE_PART;
	struct slots_left left;

	if (reserve == 0 && n > 1)
		reserve = 1;
	left = (struct slots_left){n - reserve, n - reserve, n, {0}};
	for (int i = 0; i < n; i++) {
		const struct slot *slot = &till->slots[i];

		if (slot->state == SLOT_FREE)
			continue;
		slots_take(&left, slot->job.kind, 1);
	}
	return left;
}

/* How many more a kind may take: one at least, while there is one. */
static int
kind_share(const struct slots_left *left, enum job_kind kind)
{
	int others = left->others + left->taken[kind]; /* have left it this */
	int half = others > 1 ? others / 2 : 1;

	if (kind == JOB_OPEN)
		return least(left->pages, left->all);
	return least(least(half - left->taken[kind], left->others), left->all);
}

/* Whether a kind may have more, and its next call would not have to wait for
 * others of ours. */
static bool
kind_is_wanted(const struct till *till, enum job_kind kind)
{
	return till->more[kind] &&
	    !endpoint_is_waited_for(till, endpoints[kind]);
}

void
till_room(const struct till *till, int64_t now_ms, int room[JOB_KINDS])
{
	struct slots_left left = till_slots_left(till);

	for (int i = 0; i < JOB_KINDS; i++) {
		enum job_kind kind = turns[i];
		int share = kind_share(&left, kind);

		room[kind] = 0;
		if (!kind_is_wanted(till, kind) || share <= 0)
			continue;
		room[kind] = least(share,
		    pace_within(&till->pace, endpoints[kind], now_ms,
			TILL_AHEAD_MS));
		slots_take(&left, kind, room[kind]);
	}
}

int64_t
till_room_ms(const struct till *till, int64_t now_ms)
{
	struct slots_left left = till_slots_left(till);
	int64_t first = till->look_ms - now_ms;

	for (int kind = 0; kind < JOB_KINDS; kind++) {
		int64_t ms;

		if (!kind_is_wanted(till, (enum job_kind)kind) ||
		    kind_share(&left, (enum job_kind)kind) <= 0)
			continue;
		ms = pace_wait(&till->pace, endpoints[kind], now_ms) -
		    TILL_AHEAD_MS;
		first = ms < first ? ms : first;
	}
	return first > 0 ? first : 0;
}

void
till_look_by(struct till *till, int64_t at_ms)
{
	if (at_ms < till->look_ms)
		till->look_ms = at_ms;
}

struct slot *
till_slot(struct till *till)
{
	size_t at = 0;
	struct slot *slot = till_find(till, SLOT_FREE, &at);

	if (!slot)
		log_bug("more calls were claimed than there is room for");
	job_init(&slot->job);
	return slot;
}

static struct call
call_of(const struct job *job)
{
	return (struct call){
	    .act = acts[job->kind],
	    .key = str_view(&job->key),
	    .payment_key = str_view(&job->payment_key),
	    .refund_key = str_view(&job->refund_key),
	    .hold = str_view(&job->hold),
	    .number = job->number,
	    .session_id = str_view(&job->session_id),
	    .payment_ref = str_view(&job->payment_ref),
	    .refund_ref = str_view(&job->refund_ref),
	    .amount = job->amount,
	    .currency = str_view(&job->currency),
	    .title = str_view(&job->title),
	    .return_url = str_view(&job->return_url),
	    .session_expires_at = job->session_expires_at,
	    .try = job->try,
	    .age_s = job->age_s,
	};
}

/* Lets the adapter write its next request, or end. */
static void
slot_step(struct slot *slot)
{
	slot->work.now = clock_unix();
	slot->state =
	    slot->work.provider->step(&slot->work) ? SLOT_WAITING : SLOT_OVER;
}

void
till_begin(struct till *till, struct slot *slot, int64_t lease_end_ms)
{
	slot->call = call_of(&slot->job);
	slot->order = till->orders++;
	slot->lease_end_ms = lease_end_ms;
	work_init(&slot->work, till->conf, till->provider, &slot->call);
	slot_step(slot);
}

/* Whether a waiting slot's turn comes before another's. */
static bool
slot_goes_before(const struct slot *a, const struct slot *b)
{
	bool a_page = a->job.kind == JOB_OPEN;
	bool b_page = b->job.kind == JOB_OPEN;

	return a_page == b_page ? a->order < b->order : b_page;
}

void
till_send(struct till *till, int64_t now_ms)
{
	struct slot *next;

	do {
		struct slot *slot;
		size_t at = 0;

		next = NULL;
		while ((slot = till_find(till, SLOT_WAITING, &at)) != NULL) {
			if (pace_wait(&till->pace, slot->work.endpoint,
				now_ms) == 0 &&
			    (!next || slot_goes_before(slot, next)))
				next = slot;
		}
		if (next) {
			pace_take(&till->pace, next->work.endpoint, now_ms);
			next->state = SLOT_SENT;
			next->work.http.slot =
			    till->first + (size_t)(next - till->slots);
			http_start(till->http, &next->work.http);
		}
	} while (next);
}

void
till_answered(struct till *till, const struct http_call *call)
{
	slot_step(&till->slots[call->slot - till->first]);
}

struct slot *
till_find(struct till *till, enum slot_state state, size_t *at)
{
	while (*at < (size_t)till->limits.at_once) {
		struct slot *slot = &till->slots[(*at)++];

		if (slot->state == state)
			return slot;
	}
	return NULL;
}

void
till_free(struct till *till, struct slot *slot)
{
	if (slot->state == SLOT_FREE)
		return;
	http_cancel(till->http, &slot->work.http);
	work_release(&slot->work);
	job_release(&slot->job);
	slot->state = SLOT_FREE;
}

int64_t
till_send_ms(const struct till *till, int64_t now_ms)
{
	int64_t first = NEVER_MS;

	for (int i = 0; i < till->limits.at_once; i++) {
		const struct slot *slot = &till->slots[i];
		int64_t ms = NEVER_MS;

		if (slot->state == SLOT_WAITING)
			ms =
			    pace_wait(&till->pace, slot->work.endpoint, now_ms);
		if (slot->state != SLOT_FREE &&
		    slot->lease_end_ms - now_ms < ms)
			ms = slot->lease_end_ms - now_ms;
		first = ms < first ? ms : first;
	}
	return first > 0 ? first : 0;
}

bool
till_is_idle(const struct till *till)
{
	for (int i = 0; i < till->limits.at_once; i++) {
		if (till->slots[i].state != SLOT_FREE)
			return false;
	}
	return true;
}
