/* The courier's calls: claim what is due, record what came of it. */
#include "io/db_courier.h"
#include "io/db_call.h"

#include <stdio.h>
#include <string.h>

static const struct pg_statement statements[] = {
    {"courier_claim",
	"select mail_id, kind, try, recipient, document "
	"from api.courier_claim(1, $1)",
	"integer", "bigint,text,integer,text,text"},
    {"courier_wait", "select api.courier_wait($1)", "integer", "integer"},
    {"courier_sent", "select api.courier_sent($1)", "bigint", "void"},
    {"courier_retry", "select api.courier_retry($1, $2, $3, $4)",
	"bigint,text,bigint,integer", "boolean"},
    {"courier_refused", "select api.courier_refused($1, $2)", "bigint,text",
	"void"},
    {"courier_void", "select api.courier_void($1)", "bigint", "void"},
};

const struct db_table db_table_courier = {statements,
    sizeof(statements) / sizeof(statements[0])};

void
owed_mail_init(struct owed_mail *mail)
{
	memset(mail, 0, sizeof(*mail));
}

void
owed_mail_release(struct owed_mail *mail)
{
	buf_release(&mail->recipient);
	buf_release(&mail->document);
}

static void
text_take(struct buf *b, const struct pg_rows *rows, size_t column)
{
	struct str value = pg_value(rows, 0, column);

	buf_reset(b);
	buf_add(b, value.text, value.len);
}

static void
mail_take(struct owed_mail *mail, const struct pg_rows *rows)
{
	struct str kind = pg_value(rows, 0, 1);

	mail->id = pg_int(rows, 0, 0);
	snprintf(mail->kind, sizeof(mail->kind), "%.*s", (int)kind.len,
	    kind.text);
	mail->try = (int)pg_int(rows, 0, 2);
	text_take(&mail->recipient, rows, 3);
	text_take(&mail->document, rows, 4);
}

enum db_status
db_courier_claim(struct db *db, int lease_ms, struct owed_mail *mail,
    bool *found)
{
	char lease[16];
	const char *values[1] = {lease};
	struct pg_rows *rows;
	enum db_status status;

	*found = false;
	snprintf(lease, sizeof(lease), "%d", lease_ms);
	status = db_call(db, "courier_claim", values, 1, &rows);
	if (status != DB_OK)
		return status;
	*found = pg_rows_count(rows) > 0;
	if (*found)
		mail_take(mail, rows);
	pg_rows_free(rows);
	return DB_OK;
}

void
db_courier_wait(struct db *db, int most_ms)
{
	char most[16];
	const char *values[1] = {most};
	struct pg_rows *rows;
	int ms = most_ms;

	snprintf(most, sizeof(most), "%d", most_ms);
	if (db_call(db, "courier_wait", values, 1, &rows) == DB_OK) {
		ms = (int)pg_int(rows, 0, 0);
		pg_rows_free(rows);
	}
	if (ms > 0)
		pg_wait(db->pg, ms);
}

/* Calls a recording function: the mail's id, then up to three values. */
static enum db_status
mail_record(struct db *db, const char *name, const struct owed_mail *mail,
    const char *const more[3], struct pg_rows **rows)
{
	char id[24];
	const char *values[4] = {id};
	size_t count = 1;

	snprintf(id, sizeof(id), "%lld", (long long)mail->id);
	for (; count < 4 && more[count - 1]; count++)
		values[count] = more[count - 1];
	return db_call(db, name, values, count, rows);
}

enum db_status
db_courier_sent(struct db *db, const struct owed_mail *mail)
{
	const char *const none[3] = {NULL};
	struct pg_rows *rows = NULL;
	enum db_status status =
	    mail_record(db, "courier_sent", mail, none, &rows);

	pg_rows_free(rows);
	return status;
}

enum db_status
db_courier_retry(struct db *db, const struct owed_mail *mail,
    const struct mail_retry *retry, bool *stuck)
{
	char delay[24], tries[16];
	const char *const more[3] = {retry->error, delay, tries};
	struct pg_rows *rows = NULL;
	enum db_status status;

	snprintf(delay, sizeof(delay), "%lld", (long long)retry->delay_ms);
	snprintf(tries, sizeof(tries), "%d", retry->tries);
	status = mail_record(db, "courier_retry", mail, more, &rows);
	*stuck =
	    status == DB_OK && pg_rows_count(rows) > 0 && pg_bool(rows, 0, 0);
	pg_rows_free(rows);
	return status;
}

enum db_status
db_courier_refused(struct db *db, const struct owed_mail *mail,
    const char *error)
{
	const char *const more[3] = {error};
	struct pg_rows *rows = NULL;
	enum db_status status =
	    mail_record(db, "courier_refused", mail, more, &rows);

	pg_rows_free(rows);
	return status;
}

enum db_status
db_courier_void(struct db *db, const struct owed_mail *mail)
{
	const char *const none[3] = {NULL};
	struct pg_rows *rows = NULL;
	enum db_status status =
	    mail_record(db, "courier_void", mail, none, &rows);

	pg_rows_free(rows);
	return status;
}
