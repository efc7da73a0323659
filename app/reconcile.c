/*
 * One run: begin, pages, comparison, questions, end. Each step that fails says
 * why in r->result and ends the run; whatever is in the database by then is
 * gone on with.
 */
#include "reconcile_own.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/sign.h"
#include "web/settlement.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Of a run, when the database fails in the middle of it. */
#define RUN_TRIES 3
#define RUN_PAUSE_MS 1000
/* Before looking again whether somebody who should be over soon is. */
#define BUSY_PAUSE_MS 100
/* More than the way from one call of the database to the next can take. */
#define LEASE_SLACK_MS 10000
/* Between two looks whether news that was under way has come: at least so
 * long, and so many times as long as a look takes. */
#define LOOK_MS 2000
#define LOOK_TIMES 5

/* Whether a call by the lease was carried out. */
static bool
db_ok(struct reconcile *r, enum db_status status)
{
	r->status = status;
	if (status != DB_OK)
		return reconcile_stop(r, RECONCILE_DATABASE);
	return r->lease.kept || reconcile_stop(r, RECONCILE_TAKEN);
}

static bool
reconcile_begin(struct reconcile *r)
{
	struct reconcile_begun begun = {0};
	bool done = false;

	while (!done) {
		r->status =
		    db_reconcile_begin(r->db, &r->start, &r->lease, &begun);
		if (r->status != DB_OK) {
			buf_release(&begun.place.cursor);
			return reconcile_stop(r, RECONCILE_DATABASE);
		}
		done = strcmp(begun.outcome, "busy") != 0;
		if (done || !r->wait)
			break;
		reconcile_say(r, "another comparison is under way; waiting");
		reconcile_rest(r,
		    begun.busy_ms < RUN_PAUSE_MS ? BUSY_PAUSE_MS
						 : RUN_PAUSE_MS);
		if (reconcile_is_stopping(r))
			break;
	}
	buf_release(&r->place.cursor);
	r->place = begun.place;
	r->since = begun.since;
	r->listed = begun.listed;
	r->pages = 0;
	if (!done)
		return reconcile_stop(r, RECONCILE_BUSY);
	if (strcmp(begun.outcome, "recent") == 0)
		return reconcile_stop(r, RECONCILE_RECENT);
	/* Should it have to be begun once more, it is gone on with. */
	r->start.restart = false;
	if (strcmp(begun.outcome, "resumed") == 0 && r->place.list[0] != '\0')
		reconcile_say(r, "going on after %" PRId64 " that were read",
		    r->listed);
	return true;
}

static enum list
place_list(const struct reconcile_place *place)
{
	if (strcmp(place->list, "sessions") == 0)
		return LIST_SESSIONS;
	return strcmp(place->list, "refunds") == 0 ? LIST_REFUNDS : LIST_EVENTS;
}

/* Gathers what a page, or the news of one thing, tells. */
static void
things_add(struct reconcile_things *things, const struct reconcile *r,
    const struct event *event)
{
	struct settlement thing;

	if (event->kind == EVENT_UNUSABLE)
		log_warn("cannot read %.*s in the books of %s: %.*s",
		    (int)event->id.len, event->id.len ? event->id.text : "",
		    r->provider->name, (int)event->detail.len,
		    event->detail.len ? event->detail.text : "");
	settlement_fill(&thing, r->provider, event, (struct str){NULL, 0});
	reconcile_things_add(things, &thing);
}

/*
 * Whether a cursor comes again, so that the list would never end. One of those
 * before is kept, another one whenever there are twice as many.
 */
static bool
reconcile_circles(struct reconcile *r, struct str next)
{
	if (next.len == 0) {
		r->pages = 0;
		return false;
	}
	if (r->pages++ > 0 && str_equal(next, str_view(&r->mark)))
		return true;
	if ((r->pages & (r->pages - 1)) == 0) {
		buf_reset(&r->mark);
		buf_add(&r->mark, next.text, next.len);
	}
	return false;
}

static bool
reconcile_page(struct reconcile *r)
{
	struct call call = {
	    .act = ACT_LIST,
	    .list = place_list(&r->place),
	    .since = r->since,
	    .cursor = str_view(&r->place.cursor),
	};
	struct reconcile_things things = {0};
	struct event event;
	struct work work;
	bool ok;

	reconcile_say(r, "reading %s, %" PRId64 " so far", r->place.list,
	    r->listed);
	ok = reconcile_ask(r, &call, &work);
	if (ok && work.result == CALL_REFUSED)
		ok = reconcile_stop(r, RECONCILE_REFUSED);
	if (ok && reconcile_circles(r, str_view(&work.outcome.cursor))) {
		snprintf(r->error, sizeof(r->error),
		    "its list of %s goes round in circles", r->place.list);
		ok = reconcile_stop(r, RECONCILE_REFUSED);
	}
	if (ok) {
		while (r->provider->next(work.outcome.reader, &event))
			things_add(&things, r, &event);
		r->listed += (int64_t)things.count;
		ok = db_ok(r,
		    db_reconcile_page(r->db, &r->lease, &things,
			str_view(&work.outcome.cursor), &r->place));
	}
	reconcile_things_release(&things);
	work_release(&work);
	return ok;
}

/*
 * Applies news as if its webhook had come. outcome stays empty when the
 * database will not have it.
 */
static bool
reconcile_apply(struct reconcile *r, const struct event *event, struct str body,
    char outcome[24])
{
	struct settlement settlement;
	struct answer answer;
	enum db_status status;

	settlement_fill(&settlement, r->provider, event, body);
	answer_init(&answer);
	status = db_payment_settle(r->db, &settlement, &answer);
	if (status == DB_OK)
		memcpy(outcome, answer.outcome, sizeof(answer.outcome));
	else if (status == DB_REFUSED)
		log_error("cannot record event %.*s: %s", (int)event->id.len,
		    event->id.text, db_error(r->db));
	answer_release(&answer);
	if (status == DB_OK || status == DB_REFUSED)
		return true;
	r->status = status;
	return reconcile_stop(r, RECONCILE_DATABASE);
}

/* Reads the news of one thing, and applies it if that is wanted. */
static bool
reconcile_hear(struct reconcile *r, struct str body,
    struct reconcile_things *things, char outcome[24])
{
	struct event_reader *reader = r->provider->read(r->conf, NULL, body);
	struct event event;
	bool ok = true;

	while (ok && r->provider->next(reader, &event)) {
		things_add(things, r, &event);
		if (r->start.repair && event.kind != EVENT_UNUSABLE)
			ok = reconcile_apply(r, &event, body, outcome);
	}
	r->provider->read_free(reader);
	return ok;
}

/* Looks once more at what seems to differ. */
static bool
reconcile_look(struct reconcile *r, const struct reconcile_question *question)
{
	struct call call = {
	    .act = ACT_FETCH,
	    .key = str_view(&question->key),
	    .payment_key = str_view(&question->payment_key),
	    .hold = str_view(&question->hold),
	    .session_id = str_view(&question->session_id),
	    .payment_ref = str_view(&question->payment_ref),
	    .refund_ref = str_view(&question->refund_ref),
	    .event_id = str_view(&question->event_id),
	};
	struct reconcile_things things = {0};
	char outcome[24] = "";
	struct work work;
	bool ok = reconcile_ask(r, &call, &work);

	if (ok && work.result == CALL_REFUSED && !r->refused)
		log_warn("%s does not show what differs, as it seems gone: %s",
		    r->provider->name, r->error);
	if (ok && work.result == CALL_REFUSED)
		r->refused = true;
	else if (ok && work.outcome.body.len > 0)
		ok = reconcile_hear(r, str_view(&work.outcome.body), &things,
		    outcome);
	/* An event tells what was; what is, the lists have said. */
	if (question->event_id.len > 0)
		reconcile_things_release(&things);
	ok = ok &&
	    db_ok(r,
		db_reconcile_heard(r->db, &r->lease, question->id,
		    outcome[0] == '\0' ? NULL : outcome, &things));
	reconcile_things_release(&things);
	work_release(&work);
	return ok;
}

/* Asks about all that may be asked about now; *asked: how many. */
static bool
reconcile_questions(struct reconcile *r, int64_t differ, int64_t *asked)
{
	struct reconcile_question question = {0};
	bool ok;

	for (;;) {
		ok = db_ok(r,
		    db_reconcile_next(r->db, &r->lease, r->grace_ms,
			&question));
		if (!ok || question.id == 0)
			break;
		++*asked;
		reconcile_say(r,
		    "looking at what differs, %" PRId64 " of %" PRId64, *asked,
		    differ < *asked ? *asked : differ);
		ok = reconcile_look(r, &question);
		if (!ok)
			break;
	}
	reconcile_question_release(&question);
	return ok;
}

/*
 * Waits a while for news that may be under way, at most ms. Whoever comes
 * meanwhile may go on with the run.
 */
static bool
reconcile_wait(struct reconcile *r, int64_t ms, int64_t look_ms)
{
	int64_t pause = look_ms * LOOK_TIMES;

	if (pause < LOOK_MS)
		pause = LOOK_MS;
	reconcile_say(r,
	    "the news of some may be under way: %" PRId64 " s left",
	    (ms + 999) / 1000);
	r->status = db_reconcile_release(r->db, &r->lease);
	r->lease.kept = false;
	if (r->status != DB_OK)
		return reconcile_stop(r, RECONCILE_DATABASE);
	reconcile_rest(r, ms < pause ? ms : pause);
	return !reconcile_is_stopping(r) ||
	    reconcile_stop(r, RECONCILE_STOPPED);
}

/*
 * Compares until there is nothing to ask. *wait_ms: how long some of the news
 * may be under way; *look_ms: how long a comparison takes.
 */
static bool
reconcile_compare(struct reconcile *r, int64_t *wait_ms, int64_t *look_ms)
{
	struct reconcile_compared compared;
	int64_t asked, began;

	do {
		reconcile_say(r, "comparing %" PRId64 " that were read",
		    r->listed);
		began = clock_monotonic_ms();
		if (!db_ok(r,
			db_reconcile_compare(r->db, &r->lease, r->grace_ms,
			    &compared)))
			return false;
		*look_ms = clock_monotonic_ms() - began;
		*wait_ms = compared.wait_ms;
		asked = 0;
		if (!reconcile_questions(r, compared.differ, &asked))
			return false;
	} while (asked > 0);
	return true;
}

static bool
reconcile_once(struct reconcile *r)
{
	int64_t wait_ms, look_ms;

	do {
		if (!reconcile_begin(r))
			return false;
		while (r->place.list[0] != '\0')
			if (!reconcile_page(r))
				return false;
		if (!reconcile_compare(r, &wait_ms, &look_ms))
			return false;
		if (wait_ms > 0 && !reconcile_wait(r, wait_ms, look_ms))
			return false;
	} while (wait_ms > 0);
	if (!db_ok(r, db_reconcile_finish(r->db, &r->lease, &r->end)))
		return false;
	r->result = r->end.differ == 0 ? RECONCILE_AGREES : RECONCILE_DIFFERS;
	return true;
}

static void
reconcile_open(struct reconcile *r)
{
	struct provider_pace limits;
	unsigned char chance[16];
	struct buf holder = {0};

	r->provider->pace(r->conf, &limits);
	pace_init(&r->pace, &limits, clock_monotonic_ms());
	r->http = http_open("lastpair");
	sign_random(chance, sizeof(chance));
	str_hex(&holder, chance, sizeof(chance));
	snprintf(r->lease.holder, sizeof(r->lease.holder), "%s",
	    buf_text(&holder));
	buf_release(&holder);
	r->lease.lease_ms = limits.timeout_ms + LEASE_SLACK_MS;
}

enum reconcile_result
reconcile_run(struct reconcile *r)
{
	int try = 1;

	reconcile_open(r);
	while (!reconcile_once(r) && r->result == RECONCILE_DATABASE &&
	    r->status != DB_REFUSED && r->status != DB_BUG && try < RUN_TRIES) {
		reconcile_rest(r, (int64_t)RUN_PAUSE_MS * try++);
		if (reconcile_is_stopping(r))
			break;
	}
	if (r->lease.kept && r->result > RECONCILE_TAKEN)
		(void)db_reconcile_release(r->db, &r->lease);
	http_close(r->http);
	buf_release(&r->place.cursor);
	buf_release(&r->mark);
	return r->result;
}
