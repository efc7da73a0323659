/* The command line's calls. */
#include "io/db.h"

#include "base/log.h"
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
    {"order_list", "select api.order_list($1, $2, $3)", "text,text,integer",
	"text"},
    {"order_refund",
	"select outcome, document from api.order_refund($1, $2, $3)",
	"text,bigint,text", "text,text"},
    {"event_list", "select api.event_list($1, $2)", "text,integer", "text"},
    {"event_show", "select api.event_show($1)", "text", "text"},
    {"event_counts", "select api.event_counts()", "", "text"},
    {"event_replay_list",
	"select seq, provider, event_id, encode(body, 'hex') "
	"from api.event_replay_list($1, $2, $3, $4)",
	"text,text,bigint,integer", "bigint,text,text,text"},
    {"event_replay",
	"select api.event_replay($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, "
	"$11, $12, $13)",
	"bigint,text,text,text,text,text,text,text,text,text,bigint,text,"
	"text",
	"text"},
    {"task_list", "select api.task_list($1)", "boolean", "text"},
    {"task_settle", "select api.task_settle($1, $2, $3)", "bigint,text,text",
	"text"},
    {"task_retry", "select api.task_retry($1, $2)", "bigint,text", "text"},
    DB_SETTLE_STATEMENT,
    DB_RECONCILE_STATEMENTS,
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
	char n[6][24], late[64];
	const char *values[] = {item->sku, item->title,
	    number(n[0], item->price), item->currency,
	    number(n[1], item->total), number(n[2], item->allowance),
	    number(n[3], item->hold_seconds), number(n[4], item->per_buyer),
	    number(n[5], item->buckets), item->opens_at, item->closes_at, late};

	snprintf(late, sizeof(late), "{%s}", item->late);
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

/* The same for a call that answers a document, too. */
static enum db_status
operator_ask(struct db *db, const char *name, const char *const *values,
    size_t count, struct answer *answer)
{
	struct pg_rows *rows;
	struct str document;
	enum db_status status = db_call(db, name, values, count, &rows);

	if (status != DB_OK)
		return status;
	db_outcome(answer, rows, 0, 0);
	document = pg_value(rows, 0, 1);
	buf_add(&answer->document, document.text, document.len);
	pg_rows_free(rows);
	return DB_OK;
}

enum db_status
db_item_split(struct db *db, const struct item_split *split,
    struct answer *answer)
{
	char n[24];
	const char *values[] = {split->sku, number(n, split->buckets),
	    split->by};

	return operator_ask(db, "item_split", values, 3, answer);
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
db_order_list(struct db *db, const char *state, const char *sku, int limit,
    struct buf *document)
{
	char n[24];
	const char *values[] = {state, sku, number(n, limit)};

	return db_text(db, "order_list", values, 3, document);
}

enum db_status
db_order_refund(struct db *db, const struct order_refund *refund,
    struct answer *answer)
{
	char n[24];
	const char *values[] = {refund->name, number(n, refund->amount),
	    refund->by};

	return operator_ask(db, "order_refund", values, 3, answer);
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
db_event_show(struct db *db, const char *name, struct buf *document)
{
	return db_text(db, "event_show", &name, 1, document);
}

enum db_status
db_event_counts(struct db *db, struct buf *document)
{
	return db_text(db, "event_counts", NULL, 0, document);
}

enum db_status
db_event_replay_list(struct db *db, const struct replay_ask *ask,
    struct replay_list *list)
{
	char n[2][24];
	const char *values[] = {ask->name, ask->outcome,
	    number(n[0], ask->after), number(n[1], ask->limit)};
	enum db_status status;

	*list = (struct replay_list){NULL, 0};
	status = db_call(db, "event_replay_list", values, 4, &list->rows);
	if (status == DB_OK)
		list->count = pg_rows_count(list->rows);
	return status;
}

void
replay_read(const struct replay_list *list, size_t i, struct replay *replay)
{
	struct str body = pg_value(list->rows, i, 3);

	replay->seq = pg_int(list->rows, i, 0);
	replay->provider = pg_value(list->rows, i, 1);
	replay->event_id = pg_value(list->rows, i, 2);
	buf_reset(&replay->body);
	if (!str_unhex(&replay->body, body))
		log_bug("event %lld has no bytes", (long long)replay->seq);
}

void
replay_list_release(struct replay_list *list)
{
	pg_rows_free(list->rows);
	*list = (struct replay_list){NULL, 0};
}

enum db_status
db_event_replay(struct db *db, int64_t seq, const struct settlement *reading,
    struct answer *answer)
{
	const struct str texts[] = {reading->event_id, reading->type,
	    str_of(reading->kind), reading->key, reading->hold,
	    reading->session_id, reading->payment_ref, reading->refund_ref,
	    reading->state, reading->currency, reading->detail};
	enum { TEXTS = sizeof(texts) / sizeof(texts[0]) };
	struct buf bufs[TEXTS];
	const char *v[TEXTS];
	char n[2][24];
	enum db_status status;

	for (size_t i = 0; i < TEXTS; i++) {
		buf_init(&bufs[i]);
		v[i] = db_value(&bufs[i], texts[i]);
	}
	{
		const char *values[] = {number(n[0], seq), v[0], v[1], v[2],
		    v[3], v[4], v[5], v[6], v[7], v[8],
		    number(n[1], reading->amount), v[9], v[10]};

		status = operator_do(db, "event_replay", values,
		    sizeof(values) / sizeof(values[0]), answer);
	}
	for (size_t i = 0; i < TEXTS; i++)
		buf_release(&bufs[i]);
	return status;
}

enum db_status
db_task_list(struct db *db, bool all, struct buf *document)
{
	const char *values[] = {all ? "t" : "f"};

	return db_text(db, "task_list", values, 1, document);
}

enum db_status
db_task_settle(struct db *db, int64_t task, const char *note, const char *by,
    struct answer *answer)
{
	char n[24];
	const char *values[] = {number(n, task), note, by};

	return operator_do(db, "task_settle", values, 3, answer);
}

enum db_status
db_task_retry(struct db *db, int64_t task, const char *by,
    struct answer *answer)
{
	char n[24];
	const char *values[] = {number(n, task), by};

	return operator_do(db, "task_retry", values, 2, answer);
}

enum db_status
db_audit(struct db *db, struct buf *document)
{
	return db_text(db, "audit", NULL, 0, document);
}
