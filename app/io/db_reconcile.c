/* Comparing the books: the calls of a run, for whoever has the lease on it. */
#include "io/db_reconcile.h"

#include "io/db_call.h"

#include <stdio.h>
#include <string.h>

static const struct pg_statement statements[] = {
    DB_RECONCILE_STATEMENTS,
    DB_SETTLE_STATEMENT,
};

const struct db_table db_table_reconcile = {statements,
    sizeof(statements) / sizeof(statements[0])};

/* What a thing has, in the order of the functions' arrays. */
enum column {
	COLUMN_ID,
	COLUMN_KIND,
	COLUMN_KEY,
	COLUMN_HOLD,
	COLUMN_SESSION,
	COLUMN_PAYMENT,
	COLUMN_REFUND,
	COLUMN_STATE,
	COLUMN_AMOUNT,
	COLUMN_CURRENCY,
	COLUMNS,
};

_Static_assert(COLUMNS ==
	sizeof(((struct reconcile_things *)0)->columns) / sizeof(struct buf),
    "one array for each");

static const char *
number_text(char text[24], int64_t value)
{
	snprintf(text, 24, "%lld", (long long)value);
	return text;
}

/* Of the first row; 0 for NULL. */
static int64_t
int_read(const struct pg_rows *rows, size_t column)
{
	return pg_value(rows, 0, column).len ? pg_int(rows, 0, column) : 0;
}

static void
thing_add(struct buf *array, struct str s)
{
	pg_array_add(array, s.len == 0 ? NULL : s.text, s.len);
}

void
reconcile_things_add(struct reconcile_things *things,
    const struct settlement *thing)
{
	const struct str texts[COLUMNS] = {
	    [COLUMN_ID] = thing->event_id,
	    [COLUMN_KIND] = str_of(thing->kind),
	    [COLUMN_KEY] = thing->key,
	    [COLUMN_HOLD] = thing->hold,
	    [COLUMN_SESSION] = thing->session_id,
	    [COLUMN_PAYMENT] = thing->payment_ref,
	    [COLUMN_REFUND] = thing->refund_ref,
	    [COLUMN_STATE] = thing->state,
	    [COLUMN_CURRENCY] = thing->currency,
	};
	char amount[24];

	for (int i = 0; i < COLUMNS; i++) {
		if (i == COLUMN_AMOUNT && thing->amount >= 0)
			thing_add(&things->columns[i],
			    str_of(number_text(amount, thing->amount)));
		else
			thing_add(&things->columns[i], texts[i]);
	}
	things->count++;
}

void
reconcile_things_release(struct reconcile_things *things)
{
	for (int i = 0; i < COLUMNS; i++)
		buf_release(&things->columns[i]);
	things->count = 0;
}

/* Ends the arrays and puts them at values. */
static void
things_end(struct reconcile_things *things, const char **values)
{
	for (int i = 0; i < COLUMNS; i++)
		values[i] = pg_array_end(&things->columns[i]);
}

void
reconcile_question_release(struct reconcile_question *question)
{
	buf_release(&question->event_id);
	buf_release(&question->refund_ref);
	buf_release(&question->session_id);
	buf_release(&question->payment_ref);
	buf_release(&question->key);
	buf_release(&question->payment_key);
	buf_release(&question->hold);
}

static void
text_put(struct buf *b, struct str value)
{
	buf_reset(b);
	buf_add(b, value.text, value.len);
}

static void
place_read(struct reconcile_place *place, const struct pg_rows *rows,
    size_t column)
{
	struct str list = pg_value(rows, 0, column);

	snprintf(place->list, sizeof(place->list), "%.*s", (int)list.len,
	    list.text == NULL ? "" : list.text);
	text_put(&place->cursor, pg_value(rows, 0, column + 1));
}

enum db_status
db_reconcile_begin(struct db *db, const struct reconcile_start *start,
    struct reconcile_lease *lease, struct reconcile_begun *begun)
{
	char n[4][24];
	const char *values[] = {start->provider, start->since,
	    start->back_s < 0 ? NULL : number_text(n[0], start->back_s),
	    number_text(n[1], start->least_s), number_text(n[2], start->rest_s),
	    start->repair ? "t" : "f", start->restart ? "t" : "f", start->by,
	    lease->holder, number_text(n[3], lease->lease_ms)};
	struct pg_rows *rows;
	enum db_status status = db_call(db, "reconcile_begin", values,
	    sizeof(values) / sizeof(values[0]), &rows);
	struct str outcome;

	if (status != DB_OK)
		return status;
	outcome = pg_value(rows, 0, 0);
	snprintf(begun->outcome, sizeof(begun->outcome), "%.*s",
	    (int)outcome.len, outcome.text == NULL ? "" : outcome.text);
	lease->run = int_read(rows, 1);
	begun->since = int_read(rows, 2);
	place_read(&begun->place, rows, 3);
	begun->listed = int_read(rows, 5);
	begun->busy_ms = int_read(rows, 6);
	lease->kept = lease->run != 0;
	pg_rows_free(rows);
	return DB_OK;
}

/* A call by the lease: its three values, then count of the caller's. */
static enum db_status
lease_call(struct db *db, const char *name, struct reconcile_lease *lease,
    const char **values, size_t count, struct pg_rows **rows)
{
	char run[24], ms[24];
	enum db_status status;

	values[0] = number_text(run, lease->run);
	values[1] = lease->holder;
	values[2] = number_text(ms, lease->lease_ms);
	status = db_call(db, name, values, 3 + count, rows);
	if (status == DB_OK)
		lease->kept = pg_bool(*rows, 0, 0);
	return status;
}

enum db_status
db_reconcile_page(struct db *db, struct reconcile_lease *lease,
    struct reconcile_things *things, struct str next,
    struct reconcile_place *place)
{
	const char *values[3 + 3 + COLUMNS];
	struct buf cursor = {0};
	struct pg_rows *rows;
	enum db_status status;

	values[3] = place->list;
	values[4] = place->cursor.len ? buf_text(&place->cursor) : NULL;
	values[5] = db_value(&cursor, next);
	things_end(things, values + 6);
	status =
	    lease_call(db, "reconcile_page", lease, values, 3 + COLUMNS, &rows);
	if (status == DB_OK) {
		place_read(place, rows, 1);
		pg_rows_free(rows);
	}
	buf_release(&cursor);
	return status;
}

enum db_status
db_reconcile_compare(struct db *db, struct reconcile_lease *lease,
    int64_t grace_ms, struct reconcile_compared *compared)
{
	char grace[24];
	const char *values[3 + 1];
	struct pg_rows *rows;
	enum db_status status;

	values[3] = number_text(grace, grace_ms);
	status = lease_call(db, "reconcile_compare", lease, values, 1, &rows);
	if (status != DB_OK)
		return status;
	compared->differ = int_read(rows, 1);
	compared->wait_ms = int_read(rows, 2);
	pg_rows_free(rows);
	return DB_OK;
}

enum db_status
db_reconcile_next(struct db *db, struct reconcile_lease *lease,
    int64_t grace_ms, struct reconcile_question *question)
{
	char grace[24];
	const char *values[3 + 1];
	struct pg_rows *rows;
	enum db_status status;

	values[3] = number_text(grace, grace_ms);
	status = lease_call(db, "reconcile_next", lease, values, 1, &rows);
	if (status != DB_OK)
		return status;
	question->id = int_read(rows, 1);
	text_put(&question->event_id, pg_value(rows, 0, 2));
	text_put(&question->refund_ref, pg_value(rows, 0, 3));
	text_put(&question->session_id, pg_value(rows, 0, 4));
	text_put(&question->payment_ref, pg_value(rows, 0, 5));
	text_put(&question->key, pg_value(rows, 0, 6));
	text_put(&question->payment_key, pg_value(rows, 0, 7));
	text_put(&question->hold, pg_value(rows, 0, 8));
	pg_rows_free(rows);
	return DB_OK;
}

enum db_status
db_reconcile_heard(struct db *db, struct reconcile_lease *lease,
    int64_t question, const char *outcome, struct reconcile_things *things)
{
	char id[24];
	const char *values[3 + 2 + COLUMNS];
	struct pg_rows *rows;
	enum db_status status;

	values[3] = number_text(id, question);
	values[4] = outcome;
	things_end(things, values + 5);
	status = lease_call(db, "reconcile_heard", lease, values, 2 + COLUMNS,
	    &rows);
	if (status == DB_OK)
		pg_rows_free(rows);
	return status;
}

enum db_status
db_reconcile_finish(struct db *db, struct reconcile_lease *lease,
    struct reconcile_end *end)
{
	const char *values[3];
	struct pg_rows *rows;
	enum db_status status =
	    lease_call(db, "reconcile_finish", lease, values, 0, &rows);

	if (status != DB_OK)
		return status;
	end->differ = int_read(rows, 1);
	end->repaired = int_read(rows, 2);
	pg_rows_free(rows);
	return DB_OK;
}

enum db_status
db_reconcile_release(struct db *db, const struct reconcile_lease *lease)
{
	char run[24];
	const char *values[] = {number_text(run, lease->run), lease->holder};
	struct pg_rows *rows = NULL;
	enum db_status status =
	    db_call(db, "reconcile_release", values, 2, &rows);

	pg_rows_free(rows);
	return status;
}

enum db_status
db_reconcile_show(struct db *db, const char *provider, int64_t run,
    struct buf *document)
{
	char text[24];
	const char *values[] = {provider,
	    run == 0 ? NULL : number_text(text, run)};

	return db_text(db, "reconcile_show", values, 2, document);
}
