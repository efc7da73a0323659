/*
 * One call at a time, each kind at its own pace. Whatever the provider did
 * and we could not record, is asked for again under the same key.
 */
#include "cashier.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/sign.h"
#include "io/db.h"
#include "io/http.h"
#include "pay/provider.h"
#include "web/settlement.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>

/* A row whose cashier died comes back after one call's time and this. Should a
 * slow cashier still be at it, both ask under the same key. */
#define LEASE_SLACK_MS 10000
#define WAIT_MS 1000
/* Between tries of a call, and while the database is away. */
#define RETRY_MIN_MS 500
#define RETRY_MAX_MS 60000
#define AWAY_MAX_MS 5000
/* The provider takes 25 a second of each kind. */
#define CALLS_PER_SECOND 20

enum kind { KIND_OPEN, KIND_EXPIRE, KIND_REFUND, KINDS };

static const struct {
	const char *name; /* in data.outbox.kind */
	const char *act;
} kinds[KINDS] = {
    [KIND_OPEN] = {"open", "open a session"},
    [KIND_EXPIRE] = {"expire", "end a session"},
    [KIND_REFUND] = {"refund", "send a refund"},
};

struct cashier {
	const struct conf *conf;
	const struct provider *provider;
	struct db *db;
	struct http *http;
	int64_t next_ms[KINDS]; /* when the kind's next call may go out */
	int failures; /* of the database, in a row */
};

static volatile sig_atomic_t stopping;

static void
cashier_on_term(int signo)
{
	(void)signo;
	stopping = 1;
}

/* In short parts: a signal that comes just before a sleep does not end it. */
static void
cashier_rest(int64_t ms)
{
	while (ms > 0 && !stopping) {
		int64_t part = ms > 100 ? 100 : ms;

		clock_sleep_ms(part);
		ms -= part;
	}
}

/* min doubled failures - 1 times, at most max, times a random 0.5 to 1. */
static int64_t
backoff_ms(int failures, int64_t min, int64_t max)
{
	int64_t ms = min;
	unsigned char chance;

	while (--failures > 0 && ms < max)
		ms *= 2;
	if (ms > max)
		ms = max;
	sign_random(&chance, sizeof(chance));
	return ms / 2 + ms / 2 * chance / 255;
}

/* The call may go through later, also one that perhaps has: to record the same
 * outcome twice changes nothing. */
static bool
is_away(enum db_status status)
{
	return status != DB_OK && status != DB_REFUSED;
}

/* Notes how the database did; rests when it is away. */
static void
cashier_weigh(struct cashier *c, enum db_status status)
{
	if (!is_away(status)) {
		if (c->failures > 0)
			log_info("the database is back");
		c->failures = 0;
		return;
	}
	if (c->failures++ == 0)
		log_warn("could not reach the database: %s", db_error(c->db));
	cashier_rest(backoff_ms(c->failures, RETRY_MIN_MS, AWAY_MAX_MS));
}

static enum kind
job_kind(const struct job *job)
{
	for (int kind = 0; kind < KINDS; kind++) {
		if (strcmp(job->kind, kinds[kind].name) == 0)
			return (enum kind)kind;
	}
	log_bug("cannot do a call of kind %s", job->kind);
}

/* A bucket that holds one token: calls go out evenly. */
static void
cashier_pace(struct cashier *c, enum kind kind)
{
	int rate = kind == KIND_OPEN ? c->conf->stripe.opens_per_second
				     : CALLS_PER_SECOND;
	int64_t gap = (1000 + rate - 1) / rate;
	int64_t now = clock_monotonic_ms();

	if (c->next_ms[kind] > now) {
		cashier_rest(c->next_ms[kind] - now);
		now = c->next_ms[kind];
	}
	c->next_ms[kind] = now + gap;
}

static struct call
job_call(const struct job *job)
{
	return (struct call){
	    .key = str_view(&job->key),
	    .hold = str_view(&job->hold),
	    .number = job->number,
	    .session_id = str_view(&job->session_id),
	    .payment_ref = str_view(&job->payment_ref),
	    .amount = job->amount,
	    .currency = str_view(&job->currency),
	    .title = str_view(&job->title),
	    .return_url = str_view(&job->return_url),
	    .session_expires_at = job->session_expires_at,
	    .try = job->try,
	};
}

/*
 * Asks the provider. CALL_COMPLETE: the session could not be ended, because
 * the buyer was faster, and outcome->body is the news of it.
 */
static enum call_result
cashier_call(struct cashier *c, const struct job *job,
    struct call_outcome *outcome)
{
	struct call call = job_call(job);
	enum call_result result;

	switch (job_kind(job)) {
	case KIND_OPEN:
		return c->provider->open(c->conf, c->http, &call, outcome);
	case KIND_REFUND:
		return c->provider->refund(c->conf, c->http, &call, outcome);
	default:
		result = c->provider->end(c->conf, c->http, &call, outcome);
	}
	if (result != CALL_COMPLETE)
		return result;
	result = c->provider->fetch(c->conf, c->http, &call, outcome);
	return result == CALL_DONE ? CALL_COMPLETE : result;
}

static enum db_status
record_refund(struct cashier *c, const struct job *job,
    const struct call_outcome *outcome)
{
	const char *state = buf_text(&outcome->state);
	bool person = false;
	enum db_status status = db_cashier_refunded(c->db, job,
	    buf_text(&outcome->id), state, &person);

	if (status != DB_OK)
		return status;
	if (person)
		log_error("refund is %s, hold %s needs a person", state,
		    buf_text(&job->hold));
	else
		log_info("refund is %s, hold %s", state, buf_text(&job->hold));
	return status;
}

static enum db_status
record_done(struct cashier *c, const struct job *job,
    const struct call_outcome *outcome)
{
	switch (job_kind(job)) {
	case KIND_OPEN:
		return db_cashier_opened(c->db, job, buf_text(&outcome->id),
		    buf_text(&outcome->url));
	case KIND_EXPIRE:
		return db_cashier_expired(c->db, job);
	default:
		return record_refund(c, job, outcome);
	}
}

static enum db_status
record_retry(struct cashier *c, const struct job *job, const char *error,
    int64_t delay_ms)
{
	struct job_retry retry = {error, delay_ms, c->conf->stripe.tries};
	const char *act = kinds[job_kind(job)].act;
	bool stuck = false;
	enum db_status status = db_cashier_retry(c->db, job, &retry, &stuck);

	if (status != DB_OK)
		return status;
	if (stuck)
		log_error("cannot %s for hold %s, given up after %d tries: %s",
		    act, buf_text(&job->hold), job->try, error);
	else
		log_warn("could not %s for hold %s, try %d: %s", act,
		    buf_text(&job->hold), job->try, error);
	return status;
}

static enum db_status
record_refused(struct cashier *c, const struct job *job, const char *error)
{
	enum db_status status = db_cashier_refused(c->db, job, error);

	if (status == DB_OK)
		log_error("cannot %s for hold %s: %s", kinds[job_kind(job)].act,
		    buf_text(&job->hold), error);
	return status;
}

/*
 * Records the news of a session as if its webhook had come, and closes the
 * row: a session that is complete needs no end.
 */
static enum db_status
record_news(struct cashier *c, const struct job *job, struct str body)
{
	struct event event;
	struct event_reader *reader = c->provider->read(c->conf, body, &event);
	struct settlement settlement;
	struct answer answer;
	enum db_status status;

	answer_init(&answer);
	if (event.kind == EVENT_UNUSABLE) {
		status = record_retry(c, job, "the session cannot be read",
		    RETRY_MAX_MS);
		goto out;
	}
	settlement_fill(&settlement, c->provider, &event, body);
	status = db_payment_settle(c->db, &settlement, &answer);
	if (status == DB_OK)
		status = db_cashier_expired(c->db, job);
out:
	answer_release(&answer);
	c->provider->read_free(reader);
	return status;
}

static enum db_status
cashier_record(struct cashier *c, const struct job *job,
    enum call_result result, const struct call_outcome *outcome)
{
	const char *error = buf_text(&outcome->error);

	switch (result) {
	case CALL_DONE:
		return record_done(c, job, outcome);
	case CALL_COMPLETE:
		return record_news(c, job, str_view(&outcome->body));
	case CALL_REFUSED:
		return record_refused(c, job, error);
	default:
		return record_retry(c, job, error,
		    backoff_ms(job->try, RETRY_MIN_MS, RETRY_MAX_MS));
	}
}

/*
 * Does one job. While the database is away, its outcome is kept as long as
 * nobody else may have the row.
 */
static void
cashier_do(struct cashier *c, const struct job *job, int64_t lease_end_ms)
{
	struct call_outcome outcome;
	enum call_result result;
	enum db_status status;

	call_outcome_init(&outcome);
	cashier_pace(c, job_kind(job));
	result = cashier_call(c, job, &outcome);
	status = cashier_record(c, job, result, &outcome);
	cashier_weigh(c, status);
	while (is_away(status) && !stopping &&
	    clock_monotonic_ms() < lease_end_ms) {
		status = cashier_record(c, job, result, &outcome);
		cashier_weigh(c, status);
	}
	if (is_away(status))
		log_warn("could not record a call for hold %s; it is made "
			 "again under its key",
		    buf_text(&job->hold));
	if (status == DB_REFUSED) {
		log_error("cannot record a call for hold %s: %s",
		    buf_text(&job->hold), db_error(c->db));
		(void)record_retry(c, job, "the outcome cannot be recorded",
		    RETRY_MAX_MS);
	}
	call_outcome_release(&outcome);
}

static void
cashier_loop(struct cashier *c)
{
	int lease_ms = c->conf->stripe.timeout_ms + LEASE_SLACK_MS;

	while (!stopping) {
		int64_t claimed_ms = clock_monotonic_ms();
		struct job job;
		bool found = false;
		enum db_status status;

		job_init(&job);
		status = db_cashier_claim(c->db, lease_ms, &job, &found);
		cashier_weigh(c, status);
		if (status == DB_REFUSED) {
			log_error("cannot claim a call: %s", db_error(c->db));
			cashier_rest(WAIT_MS);
		} else if (status == DB_OK && found) {
			cashier_do(c, &job, claimed_ms + lease_ms);
		} else if (status == DB_OK) {
			db_cashier_wait(c->db, WAIT_MS);
		}
		job_release(&job);
	}
}

int
cashier_run(const struct conf *conf)
{
	struct cashier c = {.conf = conf};
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	sigemptyset(&action.sa_mask);
	action.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &action, NULL);
	/* Not restarted: waits end when it is time to stop. */
	stopping = 0;
	action.sa_handler = cashier_on_term;
	sigaction(SIGTERM, &action, NULL);
	c.provider = provider_default();
	c.db = db_open(conf, DB_CASHIER, "lastpair cashier");
	c.http = http_open("lastpair");
	cashier_loop(&c);
	http_close(c.http);
	db_close(c.db);
	return 0;
}
