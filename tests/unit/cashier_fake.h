/*
 * A world for the cashier alone: an outbox in memory that keeps leases as the
 * real one does, a provider that goes by the rows, requests that take as long
 * as a row says, and a clock that waiting moves on. Defines db.h's, http.h's,
 * provider.h's and clock.h's functions, and the log, in place of the real ones.
 */
#ifndef UNIT_CASHIER_FAKE_H
#define UNIT_CASHIER_FAKE_H

#include "base/clock.h"
#include "base/log.h"
#include "base/sign.h"
#include "io/db.h"
#include "io/http.h"
#include "pay/provider.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_MAX 1000
#define NEVER INT64_MAX

/* A call that is owed, and how the provider takes it. */
struct row {
	const char *provider;
	int64_t hold; /* its number: older holds have smaller ones */
	int64_t born_ms; /* nobody sees it before */
	int64_t due_ms;
	int64_t done_ms;
	int64_t latency_ms; /* of each request */
	const char *news; /* events, a letter each; see fake_next */
	const char *retry_after;
	enum job_kind kind;
	int try;
	int requests; /* that it takes */
	int frozen; /* tries that get no answer at all */
	int failures; /* tries that come to nothing */
	enum call_result result; /* of the try after those */
	bool key_is_used; /* the provider's no is kept for it */
	bool locked; /* by another cashier */
	bool done;
	bool stuck;
};

static struct row rows[ROWS_MAX];
static size_t row_count;
static struct buf seen; /* what was recorded, a line each */
static int64_t fake_ms;
static int64_t stop_ms; /* SIGTERM comes then */
static int64_t down_from_ms, down_until_ms; /* the database is away */
static int64_t notice_ms; /* a notification comes then */
static bool notice_heard;
static enum db_status record_failure; /* of the next record_failures */
static int record_failures;
static bool claim_refused;
static int64_t last_delay_ms, last_lease_ms, last_claim_ms;
static int claims;
static int strays_told; /* looks at a provider that is not set up */
static char alerts[2048]; /* the lines of level error */
static char log_lines[65536];

/* The world as each test finds it. */
static void
fake_clear(void)
{
	memset(rows, 0, sizeof(rows));
	row_count = 0;
	buf_reset(&seen);
	fake_ms = 1000000;
	stop_ms = fake_ms + 60000;
	down_from_ms = down_until_ms = 0;
	notice_ms = NEVER;
	notice_heard = false;
	record_failures = 0;
	claim_refused = false;
	last_delay_ms = last_lease_ms = last_claim_ms = -1;
	claims = strays_told = 0;
	alerts[0] = log_lines[0] = '\0';
}

/* A call of one request that takes a tenth of a second, due now. */
static struct row *
row_add(enum job_kind kind)
{
	struct row *row = &rows[row_count++];

	assert_true(row_count <= ROWS_MAX);
	*row = (struct row){
	    .kind = kind,
	    .provider = "stripe",
	    .hold = (int64_t)row_count,
	    .due_ms = fake_ms,
	    .requests = 1,
	    .latency_ms = 100,
	    .result = CALL_DONE,
	};
	return row;
}

/* clock, log, chance ----------------------------------------------------- */

void
log_write(enum log_level level, const char *format, ...)
{
	size_t len = strlen(log_lines);
	char line[512];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	snprintf(log_lines + len, sizeof(log_lines) - len, "%s\n", line);
	len = strlen(alerts);
	if (level == LOG_ERROR)
		snprintf(alerts + len, sizeof(alerts) - len, "%s\n", line);
}

void
clock_iso(char out[25])
{
	snprintf(out, 25, "2026-11-30T15:00:00.000Z");
}

int64_t
clock_unix(void)
{
	return 1796050800 + fake_ms / 1000;
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
}

/* The greatest chance: a delay is what it is at most. */
void
sign_random(void *out, size_t n)
{
	memset(out, 255, n);
}

/* database -------------------------------------------------------------- */

static bool
is_down(void)
{
	return fake_ms >= down_from_ms && fake_ms < down_until_ms;
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

bool
db_is_there(const struct db *db)
{
	return !is_down();
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
	buf_release(&job->payment_key);
	buf_release(&job->refund_key);
	buf_release(&job->hold);
	buf_release(&job->session_id);
	buf_release(&job->payment_ref);
	buf_release(&job->refund_ref);
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

static size_t claimed[ROWS_MAX];

/* The next that is due: pages by their holds, the others by their time. */
static struct row *
row_due(const struct job_claim *claim, enum job_kind kind)
{
	struct row *best = NULL;

	for (size_t i = 0; i < row_count; i++) {
		struct row *row = &rows[i];

		if (row->kind != kind || row->done || row->stuck ||
		    row->locked || row->born_ms > fake_ms ||
		    row->due_ms > fake_ms ||
		    strcmp(row->provider, claim->provider) != 0)
			continue;
		if (!best ||
		    (kind == JOB_OPEN ? row->hold < best->hold
				      : row->due_ms < best->due_ms))
			best = row;
	}
	return best;
}

enum db_status
db_cashier_claim(struct db *db, const struct job_claim *claim,
    struct job_list *jobs)
{
	*jobs = (struct job_list){NULL, 0};
	claims++;
	last_claim_ms = fake_ms;
	last_lease_ms = claim->lease_ms;
	if (is_down())
		return DB_DOWN;
	if (claim_refused)
		return DB_REFUSED;
	for (int kind = 0; kind < JOB_KINDS; kind++) {
		struct row *row;

		for (int n = 0; n < claim->most[kind] &&
		     (row = row_due(claim, (enum job_kind)kind)) != NULL;
		     n++) {
			row->try++;
			row->due_ms = fake_ms + claim->lease_ms;
			claimed[jobs->count++] = (size_t)(row - rows);
		}
	}
	return DB_OK;
}

void
job_list_read(const struct job_list *jobs, size_t i, struct job *job)
{
	const struct row *row = &rows[claimed[i]];

	job->id = (int64_t)claimed[i];
	job->kind = row->kind;
	job->try = row->try;
	job->number = 42;
	job->amount = 12900;
	buf_printf(&job->key, "key-%zu", claimed[i]);
	buf_printf(&job->payment_key, "cs-%zu", claimed[i]);
	buf_printf(&job->refund_key, "refund-%zu", claimed[i]);
	buf_printf(&job->hold, "hold-%zu", claimed[i]);
	buf_str(&job->session_id, "cs_1");
	buf_printf(&job->payment_ref, "pi_%zu", claimed[i]);
	buf_printf(&job->refund_ref, "re_%zu", claimed[i]);
	buf_str(&job->currency, "EUR");
	buf_str(&job->title, "1 x Lamp");
	buf_str(&job->return_url, "https://shop.test/");
	job->session_expires_at = 1796052660;
	job->age_s = 86399;
}

void
job_list_release(struct job_list *jobs)
{
	jobs->count = 0;
}

enum db_status
db_cashier_wait(struct db *db, const char *provider, int most_ms, int *ms)
{
	int64_t first = most_ms;

	if (is_down())
		return DB_DOWN;
	for (size_t i = 0; i < row_count; i++) {
		if (!rows[i].done && !rows[i].stuck &&
		    rows[i].born_ms <= fake_ms &&
		    strcmp(rows[i].provider, provider) == 0 &&
		    rows[i].due_ms - fake_ms < first)
			first = rows[i].due_ms - fake_ms;
	}
	*ms = first > 0 ? (int)first : 0;
	return DB_OK;
}

int
db_cashier_fd(const struct db *db)
{
	return 1000;
}

bool
db_cashier_noticed(struct db *db)
{
	bool noticed = !notice_heard && notice_ms <= fake_ms;

	notice_heard |= noticed;
	return noticed;
}

/* Whether this record works; writes it down. */
static enum db_status
record(const struct job *job, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static enum db_status
record(const struct job *job, const char *format, ...)
{
	enum db_status status = DB_OK;
	va_list args;

	assert_true(seen.len < 1000000);
	if (is_down()) {
		status = DB_LOST;
	} else if (record_failures > 0) {
		record_failures--;
		status = record_failure;
	}
	buf_printf(&seen, "%s%s ", status == DB_OK ? "" : "not ",
	    buf_text(&job->hold));
	va_start(args, format);
	buf_vprintf(&seen, format, args);
	va_end(args);
	buf_char(&seen, '\n');
	return status;
}

static void
row_done(const struct job *job)
{
	rows[job->id].done = true;
	rows[job->id].done_ms = fake_ms;
}

/* A record that ends its call. */
static enum db_status
record_end(const struct job *job, enum db_status status)
{
	if (status == DB_OK)
		row_done(job);
	return status;
}

enum db_status
db_cashier_opened(struct db *db, const struct job *job, const char *session_id,
    const char *url)
{
	assert_int_equal(job->kind, JOB_OPEN);
	return record_end(job, record(job, "opened %s %s", session_id, url));
}

enum db_status
db_cashier_expired(struct db *db, const struct job *job)
{
	return record_end(job, record(job, "expired"));
}

enum db_status
db_cashier_refunded(struct db *db, const struct job *job,
    const char *refund_ref, const char *state, bool *person)
{
	*person = strcmp(state, "failed") == 0;
	return record_end(job,
	    record(job, "refunded %s %s", refund_ref, state));
}

enum db_status
db_cashier_done(struct db *db, const struct job *job)
{
	return record_end(job, record(job, "done"));
}

enum db_status
db_cashier_retry(struct db *db, const struct job *job,
    const struct job_retry *retry, bool *stuck)
{
	enum db_status status = record(job, "retry %s", retry->error);
	struct row *row = &rows[job->id];

	if (status != DB_OK)
		return status;
	last_delay_ms = retry->delay_ms;
	row->due_ms = fake_ms + retry->delay_ms;
	row->stuck = job->try >= retry->tries;
	*stuck = row->stuck;
	return status;
}

enum db_status
db_cashier_refused(struct db *db, const struct job *job, const char *error,
    bool key_is_used)
{
	enum db_status status = record(job, "refused %s%s", error,
	    key_is_used ? ", key is used" : "");

	rows[job->id].stuck = status == DB_OK;
	return status;
}

enum db_status
db_cashier_stray(struct db *db, const char *provider, bool set_up,
    int64_t *waits)
{
	if (is_down())
		return DB_DOWN;
	*waits = 0;
	for (size_t i = 0; i < row_count && !set_up; i++)
		*waits += rows[i].kind != JOB_REFUND && !rows[i].done &&
		    !rows[i].stuck && rows[i].due_ms <= fake_ms &&
		    strcmp(rows[i].provider, provider) == 0;
	strays_told += set_up ? 0 : 1;
	return DB_OK;
}

enum db_status
db_payment_settle(struct db *db, const struct settlement *s,
    struct answer *answer)
{
	struct job none = {0};

	assert_string_equal(s->provider, "stripe");
	assert_true(s->body.len > 0);
	assert_true(str_is(s->key, "cs-key"));
	if (str_is(s->event_id, "evt_x"))
		snprintf(answer->outcome, sizeof(answer->outcome), "person");
	return record(&none, "settled %s %.*s %lld", s->kind,
	    (int)s->event_id.len, s->event_id.text, (long long)s->amount);
}

#endif
