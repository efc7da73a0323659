/* The cashier's calls: claim what is due, record what came of it. */
#include "io/db.h"
#include "io/db_call.h"

#include <stdio.h>
#include <string.h>

static const struct pg_statement statements[] = {
    {"cashier_claim",
	"select outbox_id, kind, try, key, hold, number, session_id, "
	"payment_ref, amount, currency, title, return_url, "
	"session_expires_at from api.cashier_claim(1, $1)",
	"integer",
	"bigint,text,integer,text,text,bigint,text,text,bigint,text,text,"
	"text,bigint"},
    {"cashier_wait", "select api.cashier_wait($1)", "integer", "integer"},
    {"cashier_opened", "select api.cashier_opened($1, $2, $3)",
	"bigint,text,text", "void"},
    {"cashier_expired", "select api.cashier_expired($1)", "bigint", "void"},
    {"cashier_refunded", "select api.cashier_refunded($1, $2, $3)",
	"bigint,text,text", "text"},
    {"cashier_retry", "select api.cashier_retry($1, $2, $3, $4)",
	"bigint,text,bigint,integer", "boolean"},
    {"cashier_refused", "select api.cashier_refused($1, $2)", "bigint,text",
	"void"},
    DB_SETTLE_STATEMENT,
};

const struct db_table db_table_cashier = {statements,
    sizeof(statements) / sizeof(statements[0])};

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

static void
job_text(struct buf *b, const struct pg_rows *rows, size_t column)
{
	struct str value = pg_value(rows, 0, column);

	buf_reset(b);
	buf_add(b, value.text, value.len);
}

static void
job_read(struct job *job, const struct pg_rows *rows)
{
	struct str kind = pg_value(rows, 0, 1);

	job->id = pg_int(rows, 0, 0);
	snprintf(job->kind, sizeof(job->kind), "%.*s", (int)kind.len,
	    kind.text);
	job->try = (int)pg_int(rows, 0, 2);
	job_text(&job->key, rows, 3);
	job_text(&job->hold, rows, 4);
	job->number = pg_int(rows, 0, 5);
	job_text(&job->session_id, rows, 6);
	job_text(&job->payment_ref, rows, 7);
	job->amount = pg_int(rows, 0, 8);
	job_text(&job->currency, rows, 9);
	job_text(&job->title, rows, 10);
	job_text(&job->return_url, rows, 11);
	job->session_expires_at = pg_int(rows, 0, 12);
}

enum db_status
db_cashier_claim(struct db *db, int lease_ms, struct job *job, bool *found)
{
	char lease[16];
	const char *values[1] = {lease};
	struct pg_rows *rows;
	enum db_status status;

	*found = false;
	snprintf(lease, sizeof(lease), "%d", lease_ms);
	status = db_call(db, "cashier_claim", values, 1, &rows);
	if (status != DB_OK)
		return status;
	*found = pg_rows_count(rows) > 0;
	if (*found)
		job_read(job, rows);
	pg_rows_free(rows);
	return DB_OK;
}

void
db_cashier_wait(struct db *db, int most_ms)
{
	char most[16];
	const char *values[1] = {most};
	struct pg_rows *rows;
	int ms = most_ms;

	snprintf(most, sizeof(most), "%d", most_ms);
	if (db_call(db, "cashier_wait", values, 1, &rows) == DB_OK) {
		ms = (int)pg_int(rows, 0, 0);
		pg_rows_free(rows);
	}
	if (ms > 0)
		pg_wait(db->pg, ms);
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
db_cashier_refused(struct db *db, const struct job *job, const char *error)
{
	const char *more[] = {error};
	struct pg_rows *rows = NULL;
	enum db_status status =
	    job_record(db, "cashier_refused", job, more, 1, &rows);

	pg_rows_free(rows);
	return status;
}
