/*
 * From an outcome to the database's words for it. Who reads the log learns what
 * failed and whether somebody must act; no key and no address is in it.
 */
#include "cashier_record.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/sign.h"
#include "web/settlement.h"

#include <string.h>

/* Between tries of a call. */
#define RETRY_MIN_MS 500
#define RETRY_MAX_MS 60000

/* What the functions below have in common. */
struct record {
	struct db *db;
	struct till *till;
	const struct job *job;
	const struct work *work;
};

const char *
job_act(const struct job *job)
{
	static const char *const acts[JOB_KINDS] = {
	    [JOB_OPEN] = "open a session",
	    [JOB_EXPIRE] = "end a session",
	    [JOB_REFUND] = "send a refund",
	    [JOB_FETCH] = "look up an event",
	};

	return acts[job->kind];
}

/* RETRY_MIN_MS doubled try - 1 times, at most RETRY_MAX_MS, times a random 0.5
 * to 1: calls that failed together do not come back together. */
static int64_t
backoff_ms(int try)
{
	int64_t ms = RETRY_MIN_MS;
	unsigned char chance;

	while (--try > 0 && ms < RETRY_MAX_MS)
		ms *= 2;
	if (ms > RETRY_MAX_MS)
		ms = RETRY_MAX_MS;
	sign_random(&chance, sizeof(chance));
	return ms / 2 + ms / 2 * chance / 255;
}

/* How long the provider's last answer asks us to wait; a date is not read. */
static int64_t
asked_ms(const struct work *work)
{
	int64_t s = 0;

	if (!str_int(str_view(&work->http.answer.retry_after), &s) || s < 0)
		return 0;
	return s < RETRY_MAX_MS / 1000 ? s * 1000 : RETRY_MAX_MS;
}

static enum db_status
record_retry(const struct record *r, const char *error, int64_t delay_ms)
{
	struct job_retry retry = {error, delay_ms, r->till->limits.tries};
	const char *hold = buf_text(&r->job->hold);
	bool stuck = false;
	enum db_status status = db_cashier_retry(r->db, r->job, &retry, &stuck);

	if (status != DB_OK)
		return status;
	till_look_by(r->till, clock_monotonic_ms() + delay_ms);
	if (stuck)
		log_error("cannot %s for hold %s, given up after %d tries: %s",
		    job_act(r->job), hold, r->job->try, error);
	else
		log_warn("could not %s for hold %s, try %d: %s",
		    job_act(r->job), hold, r->job->try, error);
	return status;
}

static enum db_status
record_again(const struct record *r)
{
	int64_t own = backoff_ms(r->job->try);
	int64_t theirs = asked_ms(r->work);

	return record_retry(r, buf_text(&r->work->outcome.error),
	    own > theirs ? own : theirs);
}

static enum db_status
record_refused(const struct record *r)
{
	const char *error = buf_text(&r->work->outcome.error);
	enum db_status status = db_cashier_refused(r->db, r->job, error,
	    r->work->outcome.key_is_used);

	if (status == DB_OK)
		log_error("cannot %s for hold %s: %s", job_act(r->job),
		    buf_text(&r->job->hold), error);
	return status;
}

static enum db_status
record_refund(const struct record *r)
{
	const char *state = buf_text(&r->work->outcome.state);
	const char *hold = buf_text(&r->job->hold);
	bool person = false;
	enum db_status status = db_cashier_refunded(r->db, r->job,
	    buf_text(&r->work->outcome.id), state, &person);

	if (status != DB_OK)
		return status;
	if (person)
		log_error("refund is %s, hold %s needs a person", state, hold);
	else
		log_info("refund is %s, hold %s", state, hold);
	return status;
}

/* Records one event as if its webhook had come. */
static enum db_status
record_event(const struct record *r, const struct event *event, struct str body)
{
	struct settlement settlement;
	struct answer answer;
	enum db_status status;

	answer_init(&answer);
	settlement_fill(&settlement, r->till->provider, event, body);
	status = db_payment_settle(r->db, &settlement, &answer);
	if (status == DB_OK && strcmp(answer.outcome, "person") == 0)
		log_error("event %.*s of hold %s needs a person",
		    (int)event->id.len, event->id.text,
		    buf_text(&r->job->hold));
	answer_release(&answer);
	return status;
}

/*
 * The call has found news: they are settled, and nothing more is to be done. A
 * session that is complete needs no end.
 */
static enum db_status
record_news(const struct record *r)
{
	const struct provider *provider = r->till->provider;
	struct str body = str_view(&r->work->outcome.body);
	struct event_reader *reader = NULL;
	enum db_status status = DB_OK;
	struct event event;

	if (body.len)
		reader = provider->read(r->till->conf, NULL, body);
	while (reader && status == DB_OK && provider->next(reader, &event)) {
		if (event.kind == EVENT_UNUSABLE) {
			status = record_retry(r,
			    "what was looked up cannot be read", RETRY_MAX_MS);
			goto out;
		}
		status = record_event(r, &event, body);
	}
	if (status == DB_OK)
		status = db_cashier_done(r->db, r->job);
out:
	provider->read_free(reader);
	return status;
}

static enum db_status
record_done(const struct record *r)
{
	const struct call_outcome *outcome = &r->work->outcome;

	switch (r->job->kind) {
	case JOB_OPEN:
		return db_cashier_opened(r->db, r->job, buf_text(&outcome->id),
		    buf_text(&outcome->url));
	case JOB_EXPIRE:
		return db_cashier_expired(r->db, r->job);
	case JOB_REFUND:
		return record_refund(r);
	default:
		return record_news(r);
	}
}

static enum db_status
record_outcome(const struct record *r)
{
	switch (r->work->result) {
	case CALL_DONE:
		return record_done(r);
	case CALL_COMPLETE:
		return record_news(r);
	case CALL_REFUSED:
		return record_refused(r);
	default:
		return record_again(r);
	}
}

enum db_status
slot_record(const struct slot *slot, struct till *till, struct db *db)
{
	const struct record r = {db, till, &slot->job, &slot->work};
	enum db_status status = record_outcome(&r);

	if (status == DB_CONFLICT)
		return record_retry(&r, "the outcome could not be recorded",
		    backoff_ms(slot->job.try));
	if (status == DB_REFUSED || status == DB_BUG) {
		log_error("cannot record a call for hold %s: %s",
		    buf_text(&slot->job.hold), db_error(db));
		(void)record_retry(&r, "the outcome cannot be recorded",
		    RETRY_MAX_MS);
	}
	return status;
}
