/* The web's calls, but for events, and the sweeper's one call. */
#include "io/db.h"

#include "base/log.h"
#include "io/db_call.h"

#include <stdio.h>
#include <string.h>

static const struct pg_statement web_statements[] = {
    {"availability", "select api.availability($1)", "text[]", "text"},
    {"hold_take",
	"select request, outcome, buyer, document "
	"from api.hold_take($1, $2, $3, $4, $5, $6, $7, $8)",
	"text[],uuid[],boolean[],text[],text[],integer[],text[],bigint[]",
	"integer,text,uuid,text"},
    {"hold_show", "select api.hold_show($1, $2)", "text,uuid", "text"},
    {"hold_drop", "select outcome, document from api.hold_drop($1, $2)",
	"text,uuid", "text,text"},
    {"payment_start",
	"select outcome, url, ahead, document "
	"from api.payment_start($1, $2, $3, $4, $5, $6)",
	"text,uuid,text,text,integer,integer", "text,text,bigint,text"},
    DB_SETTLE_ALL_STATEMENT,
    {"gate_members", "select buyer, key from api.gate_members($1)", "text",
	"text,text"},
};

static const struct pg_statement sweeper_statements[] = {
    {"sweep", "select returned, next_in_ms from api.sweep($1)", "integer",
	"integer,bigint"},
};

#define TABLE(a) \
	{ \
		a, sizeof(a) / sizeof((a)[0]) \
	}
const struct db_table db_table_web = TABLE(web_statements);
const struct db_table db_table_sweeper = TABLE(sweeper_statements);

/* hold_take's arguments, as array literals. */
enum take_arg {
	ARG_ID,
	ARG_BUYER,
	ARG_KNOWN,
	ARG_KEY,
	ARG_EMAIL,
	ARG_REQUEST,
	ARG_SKU,
	ARG_QTY,
	ARGS,
};

static void
take_add(struct buf *array, struct str s)
{
	pg_array_add(array, s.len == 0 ? NULL : s.text, s.len);
}

static void
take_add_int(struct buf *array, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)value);
	pg_array_add(array, text, strlen(text));
}

static void
take_add_request(struct buf *args, const struct hold_request *r, size_t nr)
{
	size_t i;

	take_add(&args[ARG_ID], str_of(r->id));
	take_add(&args[ARG_BUYER], str_of(r->buyer.text));
	take_add(&args[ARG_KNOWN], str_of(r->known ? "t" : "f"));
	take_add(&args[ARG_KEY], r->key);
	take_add(&args[ARG_EMAIL], r->email);
	for (i = 0; i < r->count; i++) {
		take_add_int(&args[ARG_REQUEST], (int64_t)nr);
		take_add(&args[ARG_SKU], r->lines[i].sku);
		take_add_int(&args[ARG_QTY], r->lines[i].qty);
	}
}

static void
take_read(struct answer *const *answers, size_t n, const struct pg_rows *rows)
{
	size_t row;

	if (pg_rows_count(rows) != n)
		log_bug("hold_take answered %zu requests, not %zu",
		    pg_rows_count(rows), n);
	for (row = 0; row < n; row++) {
		int64_t nr = pg_int(rows, row, 0);
		struct str document = pg_value(rows, row, 3);
		struct answer *a;

		if (nr < 1 || (uint64_t)nr > n)
			log_bug("hold_take answered request %lld of %zu",
			    (long long)nr, n);
		a = answers[nr - 1];
		db_outcome(a, rows, row, 1);
		uuid_parse(&a->buyer, pg_value(rows, row, 2));
		buf_reset(&a->document);
		buf_add(&a->document, document.text, document.len);
	}
}

enum db_status
db_hold_take(struct db *db, const struct hold_request *const *requests,
    struct answer *const *answers, size_t n)
{
	struct buf args[ARGS];
	const char *values[ARGS];
	struct pg_rows *rows;
	enum db_status status;
	size_t i;

	for (i = 0; i < ARGS; i++)
		buf_init(&args[i]);
	for (i = 0; i < n; i++)
		take_add_request(args, requests[i], i + 1);
	for (i = 0; i < ARGS; i++)
		values[i] = pg_array_end(&args[i]);
	status = db_call(db, "hold_take", values, ARGS, &rows);
	if (status == DB_OK) {
		take_read(answers, n, rows);
		pg_rows_free(rows);
	}
	for (i = 0; i < ARGS; i++)
		buf_release(&args[i]);
	return status;
}

enum db_status
db_hold_show(struct db *db, struct str id, const struct uuid *buyer,
    struct buf *document)
{
	struct buf b;
	const char *values[2];
	enum db_status status;

	buf_init(&b);
	values[0] = db_value(&b, id);
	values[1] = buyer == NULL ? NULL : buyer->text;
	status = db_text(db, "hold_show", values, 2, document);
	buf_release(&b);
	return status;
}

enum db_status
db_hold_drop(struct db *db, struct str id, const struct uuid *buyer,
    struct answer *answer)
{
	struct buf b;
	const char *values[2];
	struct pg_rows *rows;
	enum db_status status;
	struct str document;

	buf_init(&b);
	values[0] = db_value(&b, id);
	values[1] = buyer->text;
	status = db_call(db, "hold_drop", values, 2, &rows);
	if (status == DB_OK) {
		db_outcome(answer, rows, 0, 0);
		document = pg_value(rows, 0, 1);
		buf_add(&answer->document, document.text, document.len);
		pg_rows_free(rows);
	}
	buf_release(&b);
	return status;
}

enum db_status
db_availability(struct db *db, const struct str *skus, size_t n,
    struct buf *document)
{
	struct buf array;
	const char *values[1];
	enum db_status status;
	size_t i;

	buf_init(&array);
	for (i = 0; i < n; i++)
		pg_array_add(&array, skus[i].text, skus[i].len);
	values[0] = pg_array_end(&array);
	status = db_text(db, "availability", values, 1, document);
	buf_release(&array);
	return status;
}

enum db_status
db_gate_members(struct db *db, struct str sku, struct gate_members *members)
{
	struct buf b;
	const char *values[1];
	enum db_status status;

	buf_init(&b);
	values[0] = db_value(&b, sku);
	*members = (struct gate_members){NULL, 0};
	status = db_call(db, "gate_members", values, 1, &members->rows);
	if (status == DB_OK)
		members->count = pg_rows_count(members->rows);
	buf_release(&b);
	return status;
}

struct str
gate_member_buyer(const struct gate_members *members, size_t i)
{
	return pg_value(members->rows, i, 0);
}

struct str
gate_member_key(const struct gate_members *members, size_t i)
{
	return pg_value(members->rows, i, 1);
}

void
gate_members_release(struct gate_members *members)
{
	pg_rows_free(members->rows);
	members->rows = NULL;
}

enum db_status
db_payment_start(struct db *db, const struct payment_start *start,
    struct answer *answer)
{
	struct buf b;
	char least[16], most[16];
	const char *values[6];
	struct pg_rows *rows;
	enum db_status status;
	struct str value;

	buf_init(&b);
	snprintf(least, sizeof(least), "%d", start->min_expiry_s);
	snprintf(most, sizeof(most), "%d", start->max_expiry_s);
	values[0] = db_value(&b, start->hold);
	values[1] = start->buyer->text;
	values[2] = start->provider;
	values[3] = start->return_base;
	values[4] = least;
	values[5] = most;
	status = db_call(db, "payment_start", values, 6, &rows);
	if (status == DB_OK) {
		db_outcome(answer, rows, 0, 0);
		value = pg_value(rows, 0, 1);
		buf_add(&answer->url, value.text, value.len);
		answer->ahead = pg_int(rows, 0, 2);
		value = pg_value(rows, 0, 3);
		buf_add(&answer->document, value.text, value.len);
		pg_rows_free(rows);
	}
	buf_release(&b);
	return status;
}

enum db_status
db_sweep(struct db *db, int limit, int64_t *returned, int64_t *next_in_ms)
{
	char text[16];
	const char *values[1] = {text};
	struct pg_rows *rows;
	enum db_status status;

	snprintf(text, sizeof(text), "%d", limit);
	status = db_call(db, "sweep", values, 1, &rows);
	if (status != DB_OK)
		return status;
	*returned = pg_int(rows, 0, 0);
	*next_in_ms = pg_int(rows, 0, 1);
	pg_rows_free(rows);
	return DB_OK;
}
