/* The command line's calls. */
#include "io/db.h"
#include "io/db_call.h"

#include <stdio.h>

static const struct pg_statement statements[] = {
    {"item_add",
	"select api.item_add($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, "
	"$11, $12)",
	"text,text,bigint,text,bigint,bigint,integer,integer,integer,"
	"timestamp with time zone,timestamp with time zone,text[]",
	"text"},
    {"item_set", "select api.item_set($1, $2, $3, $4, $5, $6, $7)",
	"text,bigint,text,bigint,bigint,text,text", "text"},
    {"item_split", "select outcome, document from api.item_split($1, $2, $3)",
	"text,integer,text", "text,text"},
    {"item_show", "select api.item_show($1)", "text", "text"},
    {"item_list", "select api.item_list()", "", "text"},
    {"hold_list", "select api.hold_list($1, $2, $3)", "text,text,integer",
	"text"},
    {"order_show", "select api.order_show($1)", "text", "text"},
    {"event_list", "select api.event_list($1, $2)", "text,integer", "text"},
    {"person_list", "select api.person_list()", "", "text"},
    {"audit",
	"select coalesce(json_agg(a order by promise, what), '[]')::text "
	"from api.audit() a",
	"", "text"},
};

const struct db_table db_table_operator = {statements,
    sizeof(statements) / sizeof(statements[0])};

/* A number as text; NULL for one below 0, which stands for "not given". */
static const char *
number(char text[24], int64_t value)
{
	snprintf(text, 24, "%lld", (long long)value);
	return value < 0 ? NULL : text;
}

static enum db_status
operator_do(struct db *db, const char *name, const char *const *values,
    size_t count, struct answer *answer)
{
	struct pg_rows *rows;
	enum db_status status = db_call(db, name, values, count, &rows);

	if (status != DB_OK)
		return status;
	db_outcome(answer, rows, 0, 0);
	pg_rows_free(rows);
	return DB_OK;
}

enum db_status
db_item_add(struct db *db, const struct item_new *item, struct answer *answer)
{
	char n[6][24];
	const char *values[] = {item->sku, item->title,
	    number(n[0], item->price), item->currency,
	    number(n[1], item->total), number(n[2], item->allowance),
	    number(n[3], item->hold_seconds), number(n[4], item->per_buyer),
	    number(n[5], item->buckets), item->opens_at, item->closes_at,
	    item->retake ? "{retake,refund}" : "{refund}"};

	return operator_do(db, "item_add", values,
	    sizeof(values) / sizeof(values[0]), answer);
}

enum db_status
db_item_set(struct db *db, const struct item_edit *edit, struct answer *answer)
{
	char n[3][24];
	const char *values[] = {edit->sku, number(n[0], edit->version),
	    edit->title, number(n[1], edit->price), number(n[2], edit->total),
	    edit->status, edit->by};

	return operator_do(db, "item_set", values,
	    sizeof(values) / sizeof(values[0]), answer);
}

enum db_status
db_item_split(struct db *db, const struct item_split *split,
    struct answer *answer)
{
	char n[24];
	const char *values[] = {split->sku, number(n, split->buckets),
	    split->by};
	struct pg_rows *rows;
	struct str document;
	enum db_status status = db_call(db, "item_split", values, 3, &rows);

	if (status != DB_OK)
		return status;
	db_outcome(answer, rows, 0, 0);
	document = pg_value(rows, 0, 1);
	buf_add(&answer->document, document.text, document.len);
	pg_rows_free(rows);
	return DB_OK;
}

enum db_status
db_item_show(struct db *db, const char *sku, struct buf *document)
{
	return db_text(db, "item_show", &sku, 1, document);
}

enum db_status
db_item_list(struct db *db, struct buf *document)
{
	return db_text(db, "item_list", NULL, 0, document);
}

enum db_status
db_hold_list(struct db *db, const char *state, const char *sku, int limit,
    struct buf *document)
{
	char n[24];
	const char *values[] = {state, sku, number(n, limit)};

	return db_text(db, "hold_list", values, 3, document);
}

enum db_status
db_order_show(struct db *db, const char *name, struct buf *document)
{
	return db_text(db, "order_show", &name, 1, document);
}

enum db_status
db_event_list(struct db *db, const char *outcome, int limit,
    struct buf *document)
{
	char n[24];
	const char *values[] = {outcome, number(n, limit)};

	return db_text(db, "event_list", values, 2, document);
}

enum db_status
db_person_list(struct db *db, struct buf *document)
{
	return db_text(db, "person_list", NULL, 0, document);
}

enum db_status
db_audit(struct db *db, struct buf *document)
{
	return db_text(db, "audit", NULL, 0, document);
}
