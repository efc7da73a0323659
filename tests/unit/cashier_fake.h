/*
 * A database and a clock for the cashier alone: claims go by a script, what
 * is recorded is written down, sleeping takes no time. Defines db.h's and
 * clock.h's functions, and the log, in place of the real ones.
 */
#ifndef UNIT_CASHIER_FAKE_H
#define UNIT_CASHIER_FAKE_H

#include "pay/script.h"

#include "base/clock.h"
#include "base/log.h"
#include "io/db.h"

#include <signal.h>
#include <stdarg.h>

#define JOBS_MAX 32
#define SESSION "cs_test_1"

/* What the database does, in order. */
enum step_kind { STEP_JOB, STEP_NONE, STEP_DOWN, STEP_REFUSED };

struct step {
	const char *job; /* open, expire, refund */
	enum step_kind kind;
	int try;
};

static struct step steps[JOBS_MAX];
static size_t step_count;
static size_t step_next;
static int record_failures; /* how many records fail before one works */
static enum db_status record_failure;
static bool stop_at_record;
static bool stuck_next;
static struct buf seen; /* what was recorded, a line each */
static int64_t delay_seen;
static int lease_seen;
static int64_t fake_ms;
static int64_t slept_ms;
static int64_t claimed_ms[JOBS_MAX];
static char alert[512]; /* the last log line of level error */

void
log_write(enum log_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (level == LOG_ERROR)
		vsnprintf(alert, sizeof(alert), format, args);
	va_end(args);
}

void
clock_iso(char out[25])
{
	snprintf(out, 25, "2026-11-30T15:00:00.000Z");
}

int64_t
clock_unix(void)
{
	return 1796050800;
}

int64_t
clock_monotonic_ms(void)
{
	return fake_ms;
}

void
clock_sleep_ms(int64_t ms)
{
	fake_ms += ms;
	slept_ms += ms;
}

struct db *
db_open(const struct conf *conf, enum db_role role, const char *process)
{
	static char token;

	assert_int_equal(role, DB_CASHIER);
	return (struct db *)(void *)&token;
}

void
db_close(struct db *db)
{
}

const char *
db_error(const struct db *db)
{
	return "it says no";
}

void
job_init(struct job *job)
{
	memset(job, 0, sizeof(*job));
}

void
job_release(struct job *job)
{
	buf_release(&job->key);
	buf_release(&job->hold);
	buf_release(&job->session_id);
	buf_release(&job->payment_ref);
	buf_release(&job->currency);
	buf_release(&job->title);
	buf_release(&job->return_url);
}

void
answer_init(struct answer *answer)
{
	memset(answer, 0, sizeof(*answer));
}

void
answer_release(struct answer *answer)
{
}

static void
job_fill(struct job *job, const struct step *step)
{
	job->id = 7;
	snprintf(job->kind, sizeof(job->kind), "%s", step->job);
	job->try = step->try;
	buf_printf(&job->key, "%s-" HOLD, step->job);
	buf_str(&job->hold, HOLD);
	buf_str(&job->session_id, SESSION);
	buf_str(&job->payment_ref, "pi_1");
	buf_str(&job->currency, "EUR");
	buf_str(&job->title, "1 x Lamp");
	buf_str(&job->return_url, "https://shop.test/order/" HOLD);
	job->number = 42;
	job->amount = 12900;
	job->session_expires_at = 1796052660;
}

enum db_status
db_cashier_claim(struct db *db, int lease_ms, struct job *job, bool *found)
{
	const struct step *step = &steps[step_next];

	*found = false;
	lease_seen = lease_ms;
	if (step_next == step_count) {
		raise(SIGTERM);
		return DB_OK;
	}
	claimed_ms[step_next++] = fake_ms;
	if (step->kind == STEP_DOWN)
		return DB_DOWN;
	if (step->kind == STEP_REFUSED)
		return DB_REFUSED;
	*found = step->kind == STEP_JOB;
	if (*found)
		job_fill(job, step);
	return DB_OK;
}

void
db_cashier_wait(struct db *db, int most_ms)
{
	buf_printf(&seen, "wait %d\n", most_ms);
}

/* Whether this record works. */
static enum db_status
record(void)
{
	if (stop_at_record)
		raise(SIGTERM);
	if (record_failures > 0) {
		record_failures--;
		buf_str(&seen, "not ");
		return record_failure;
	}
	return DB_OK;
}

enum db_status
db_cashier_opened(struct db *db, const struct job *job, const char *session_id,
    const char *url)
{
	enum db_status status = record();

	assert_int_equal(job->id, 7);
	buf_printf(&seen, "opened %s %s\n", session_id, url);
	return status;
}

enum db_status
db_cashier_expired(struct db *db, const struct job *job)
{
	enum db_status status = record();

	buf_str(&seen, "expired\n");
	return status;
}

enum db_status
db_cashier_refunded(struct db *db, const struct job *job,
    const char *refund_ref, const char *state, bool *person)
{
	enum db_status status = record();

	*person = strcmp(state, "failed") == 0;
	buf_printf(&seen, "refunded %s %s\n", refund_ref, state);
	return status;
}

enum db_status
db_cashier_retry(struct db *db, const struct job *job,
    const struct job_retry *retry, bool *stuck)
{
	enum db_status status = record();

	assert_int_equal(retry->tries, 3);
	delay_seen = retry->delay_ms;
	*stuck = stuck_next;
	buf_printf(&seen, "retry %s\n", retry->error);
	return status;
}

enum db_status
db_cashier_refused(struct db *db, const struct job *job, const char *error)
{
	enum db_status status = record();

	buf_printf(&seen, "refused %s\n", error);
	return status;
}

enum db_status
db_payment_settle(struct db *db, const struct settlement *settlement,
    struct answer *answer)
{
	enum db_status status = record();

	assert_string_equal(settlement->provider, "stripe");
	assert_true(str_is(settlement->hold, HOLD));
	assert_true(str_is(settlement->session_id, SESSION));
	assert_true(str_is(settlement->payment_ref, "pi_1"));
	assert_true(str_is(settlement->currency, "EUR"));
	assert_true(str_is(settlement->type, "checkout.session.completed"));
	assert_true(settlement->body.len > 0);
	buf_printf(&seen, "settled %s %.*s %lld\n", settlement->kind,
	    (int)settlement->event_id.len, settlement->event_id.text,
	    (long long)settlement->amount);
	return status;
}

#endif
