/* The cashier's calls: claim what is due, record what came of it. */
#include "io/db.h"

#include "base/log.h"
#include "io/db_call.h"

#include <stdio.h>
#include <string.h>

/* What the claim answers, a column each. */
enum job_column {
	COLUMN_ID,
	COLUMN_KIND,
	COLUMN_TRY,
	COLUMN_AGE,
	COLUMN_KEY,
	COLUMN_PAYMENT_KEY,
	COLUMN_REFUND_KEY,
	COLUMN_HOLD,
	COLUMN_NUMBER,
	COLUMN_SESSION,
	COLUMN_PAYMENT,
	COLUMN_REFUND,
	COLUMN_AMOUNT,
	COLUMN_CURRENCY,
	COLUMN_TITLE,
	COLUMN_RETURN_URL,
	COLUMN_EXPIRES_AT,
};

static const struct pg_statement statements[] = {
    {"cashier_claim",
	"select outbox_id, kind, try, age_s, key, payment_key, refund_key, "
	"hold, number, session_id, payment_ref, refund_ref, amount, currency, "
	"title, return_url, session_expires_at "
	"from api.cashier_claim($1, $2, $3, $4, $5, $6)",
	"text,integer,integer,integer,integer,integer",
	"bigint,text,integer,bigint,text,text,text,text,bigint,text,text,text,"
	"bigint,text,text,text,bigint"},
    {"cashier_wait", "select api.cashier_wait($1, $2)", "text,integer",
	"integer"},
    {"cashier_opened", "select api.cashier_opened($1, $2, $3)",
	"bigint,text,text", "void"},
    {"cashier_expired", "select api.cashier_expired($1)", "bigint", "void"},
    {"cashier_refunded", "select api.cashier_refunded($1, $2, $3)",
	"bigint,text,text", "text"},
    {"cashier_done", "select api.cashier_done($1)", "bigint", "void"},
    {"cashier_retry", "select api.cashier_retry($1, $2, $3, $4)",
	"bigint,text,bigint,integer", "boolean"},
    {"cashier_refused", "select api.cashier_refused($1, $2, $3)",
	"bigint,text,text", "void"},
    {"cashier_stray", "select api.cashier_stray($1, $2)", "text,boolean",
	"bigint"},
    DB_SETTLE_STATEMENT,
};

const struct db_table db_table_cashier = {statements,
    sizeof(statements) / sizeof(statements[0])};

static const char *const kind_names[JOB_KINDS] = {
    [JOB_OPEN] = "open",
    [JOB_EXPIRE] = "expire",
    [JOB_REFUND] = "refund",
    [JOB_FETCH] = "fetch",
};

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

static void
job_text(struct buf *b, struct str value)
{
	buf_reset(b);
	buf_add(b, value.text, value.len);
}

static enum job_kind
job_kind(struct str name)
{
	for (int kind = 0; kind < JOB_KINDS; kind++) {
		if (str_is(name, kind_names[kind]))
			return (enum job_kind)kind;
	}
	log_bug("cannot do a call of kind %.*s", (int)name.len, name.text);
}

void
job_list_read(const struct job_list *jobs, size_t i, struct job *job)
{
	const struct pg_rows *rows = jobs->rows;

	job->id = pg_int(rows, i, COLUMN_ID);
	job->kind = job_kind(pg_value(rows, i, COLUMN_KIND));
	job->try = (int)pg_int(rows, i, COLUMN_TRY);
	job->age_s = pg_int(rows, i, COLUMN_AGE);
	job_text(&job->key, pg_value(rows, i, COLUMN_KEY));
	job_text(&job->payment_key, pg_value(rows, i, COLUMN_PAYMENT_KEY));
	job_text(&job->refund_key, pg_value(rows, i, COLUMN_REFUND_KEY));
	job_text(&job->hold, pg_value(rows, i, COLUMN_HOLD));
	job->number = pg_int(rows, i, COLUMN_NUMBER);
	job_text(&job->session_id, pg_value(rows, i, COLUMN_SESSION));
	job_text(&job->payment_ref, pg_value(rows, i, COLUMN_PAYMENT));
	job_text(&job->refund_ref, pg_value(rows, i, COLUMN_REFUND));
	job->amount = pg_int(rows, i, COLUMN_AMOUNT);
	job_text(&job->currency, pg_value(rows, i, COLUMN_CURRENCY));
	job_text(&job->title, pg_value(rows, i, COLUMN_TITLE));
	job_text(&job->return_url, pg_value(rows, i, COLUMN_RETURN_URL));
	job->session_expires_at = pg_int(rows, i, COLUMN_EXPIRES_AT);
}

void
job_list_release(struct job_list *jobs)
{
	pg_rows_free(jobs->rows);
	*jobs = (struct job_list){NULL, 0};
}

enum db_status
db_cashier_claim(struct db *db, const struct job_claim *claim,
    struct job_list *jobs)
{
	const int numbers[] = {claim->most[JOB_OPEN], claim->most[JOB_EXPIRE],
	    claim->most[JOB_REFUND], claim->most[JOB_FETCH], claim->lease_ms};
	enum { NUMBERS = sizeof(numbers) / sizeof(numbers[0]) };
	char texts[NUMBERS][16];
	const char *values[1 + NUMBERS] = {claim->provider};
	enum db_status status;

	for (size_t i = 0; i < NUMBERS; i++) {
		snprintf(texts[i], sizeof(texts[i]), "%d", numbers[i]);
		values[i + 1] = texts[i];
	}
	*jobs = (struct job_list){NULL, 0};
	status = db_call(db, "cashier_claim", values, 1 + NUMBERS, &jobs->rows);
	if (status == DB_OK)
		jobs->count = pg_rows_count(jobs->rows);
	return status;
}

enum db_status
db_cashier_wait(struct db *db, const char *provider, int most_ms, int *ms)
{
	char most[16];
	const char *values[2] = {provider, most};
	struct pg_rows *rows;
	enum db_status status;

	snprintf(most, sizeof(most), "%d", most_ms);
	status = db_call(db, "cashier_wait", values, 2, &rows);
	if (status != DB_OK)
		return status;
	*ms = (int)pg_int(rows, 0, 0);
	pg_rows_free(rows);
	return DB_OK;
}

int
db_cashier_fd(const struct db *db)
{
	return pg_fd(db->pg);
}

bool
db_cashier_noticed(struct db *db)
{
	return pg_noticed(db->pg);
}

/* Calls a recording function about a job: its id, then up to three values. */
static enum db_status
job_record(struct db *db, const char *name, const struct job *job,
    const char *const *more, size_t count, struct pg_rows **rows)
{
	char id[24];
	const char *values[4] = {id};
	size_t i;

	snprintf(id, sizeof(id), "%lld", (long long)job->id);
	for (i = 0; i < count; i++)
		values[i + 1] = more[i];
	return db_call(db, name, values, count + 1, rows);
}

enum db_status
db_cashier_opened(struct db *db, const struct job *job, const char *session_id,
    const char *url)
{
	const char *more[] = {session_id, url};
	struct pg_rows *rows = NULL;
	enum db_status status =
	    job_record(db, "cashier_opened", job, more, 2, &rows);

	pg_rows_free(rows);
	return status;
}

enum db_status
db_cashier_expired(struct db *db, const struct job *job)
{
	struct pg_rows *rows = NULL;
	enum db_status status =
	    job_record(db, "cashier_expired", job, NULL, 0, &rows);

	pg_rows_free(rows);
	return status;
}

enum db_status
db_cashier_done(struct db *db, const struct job *job)
{
	struct pg_rows *rows = NULL;
	enum db_status status =
	    job_record(db, "cashier_done", job, NULL, 0, &rows);

	pg_rows_free(rows);
	return status;
}

enum db_status
db_cashier_refunded(struct db *db, const struct job *job,
    const char *refund_ref, const char *state, bool *person)
{
	const char *more[] = {refund_ref, state};
	struct pg_rows *rows = NULL;
	enum db_status status =
	    job_record(db, "cashier_refunded", job, more, 2, &rows);

	*person = status == DB_OK && str_is(pg_value(rows, 0, 0), "person");
	pg_rows_free(rows);
	return status;
}

enum db_status
db_cashier_retry(struct db *db, const struct job *job,
    const struct job_retry *retry, bool *stuck)
{
	char delay[24], tries[16];
	const char *more[] = {retry->error, delay, tries};
	struct pg_rows *rows = NULL;
	enum db_status status;

	snprintf(delay, sizeof(delay), "%lld", (long long)retry->delay_ms);
	snprintf(tries, sizeof(tries), "%d", retry->tries);
	status = job_record(db, "cashier_retry", job, more, 3, &rows);
	*stuck =
	    status == DB_OK && pg_rows_count(rows) > 0 && pg_bool(rows, 0, 0);
	pg_rows_free(rows);
	return status;
}

enum db_status
db_cashier_refused(struct db *db, const struct job *job, const char *error,
    bool key_is_used)
{
	const char *more[] = {error, key_is_used ? buf_text(&job->key) : NULL};
	struct pg_rows *rows = NULL;
	enum db_status status =
	    job_record(db, "cashier_refused", job, more, 2, &rows);

	pg_rows_free(rows);
	return status;
}

enum db_status
db_cashier_stray(struct db *db, const char *provider, bool set_up,
    int64_t *waits)
{
	const char *values[2] = {provider, set_up ? "t" : "f"};
	struct pg_rows *rows;
	enum db_status status = db_call(db, "cashier_stray", values, 2, &rows);

	if (status != DB_OK)
		return status;
	*waits = pg_int(rows, 0, 0);
	pg_rows_free(rows);
	return DB_OK;
}
