/* The stand-in provider's calls. */
#include "io/db_sandbox.h"
#include "io/db_call.h"

#include <stdio.h>
#include <string.h>

#define ANSWER "integer,text"
#define POST_ANSWER "integer,text,text"

static const struct pg_statement statements[] = {
    {"session_create",
	"select http_status, answer, original "
	"from sandbox.session_create($1, $2, $3, $4, $5)",
	"text,jsonb,text,text,text", POST_ANSWER},
    {"session_get", "select http_status, answer from sandbox.session_get($1)",
	"text", ANSWER},
    {"session_expire",
	"select http_status, answer, original "
	"from sandbox.session_expire($4, $1, $2, $3)",
	"text,jsonb,text,text", POST_ANSWER},
    {"payment_get", "select http_status, answer from sandbox.payment_get($1)",
	"text", ANSWER},
    {"refund_create",
	"select http_status, answer, original "
	"from sandbox.refund_create($1, $2, $3)",
	"text,jsonb,text", POST_ANSWER},
    {"refund_list", "select http_status, answer from sandbox.refund_list($1)",
	"jsonb", ANSWER},
    {"event_list", "select http_status, answer from sandbox.event_list($1)",
	"jsonb", ANSWER},
    {"session_page",
	"select view, error, name, quantity, amount, currency, left_ms, "
	"pay_in_ms, success_url, back_url, refunded "
	"from sandbox.session_page($1)",
	"text",
	"text,text,text,bigint,bigint,text,bigint,bigint,text,text,bigint"},
    {"session_pay", "select sandbox.session_pay($1, $2, $3)",
	"text,bigint,boolean", "text"},
    {"session_decline", "select sandbox.session_decline($1)", "text", "text"},
    {"session_bank", "select sandbox.session_bank($1, $2)", "text,text",
	"text"},
    {"session_list",
	"select coalesce(json_agg(s), '[]')::text "
	"from sandbox.session_list($1) s",
	"integer", "text"},
    {"delivery_list",
	"select coalesce(json_agg(d), '[]')::text "
	"from sandbox.delivery_list($1, $2) d",
	"text,integer", "text"},
    {"event_resend", "select sandbox.event_resend($1)", "text", "boolean"},
    {"refund_fail", "select sandbox.refund_fail($1)", "text", "boolean"},
    {"tick", "select sandbox.tick($1)", "integer", "integer"},
    {"delivery_claim",
	"select delivery_id, event_id, try, body "
	"from sandbox.delivery_claim($1)",
	"integer", "bigint,text,integer,text"},
    {"delivery_done", "select sandbox.delivery_done($1, $2, $3)",
	"bigint,integer,text", "void"},
    {"wait", "select sandbox.wait($1)", "integer", "integer"},
};

const struct db_table db_table_sandbox = {statements,
    sizeof(statements) / sizeof(statements[0])};

void
sandbox_answer_release(struct sandbox_answer *answer)
{
	buf_release(&answer->body);
	buf_release(&answer->original);
}

void
sandbox_session_release(struct sandbox_session *session)
{
	buf_release(&session->error);
	buf_release(&session->name);
	buf_release(&session->success_url);
	buf_release(&session->back_url);
}

void
sandbox_delivery_release(struct sandbox_delivery *delivery)
{
	buf_release(&delivery->event_id);
	buf_release(&delivery->body);
}

static void
text_read(struct buf *b, const struct pg_rows *rows, size_t column)
{
	struct str value = pg_value(rows, 0, column);

	buf_reset(b);
	buf_add(b, value.text, value.len);
}

static enum db_status
answer_call(struct db *db, const char *name, const char *const *values,
    size_t count, struct sandbox_answer *answer)
{
	struct pg_rows *rows;
	enum db_status status = db_call(db, name, values, count, &rows);

	if (status != DB_OK)
		return status;
	answer->status = (int)pg_int(rows, 0, 0);
	text_read(&answer->body, rows, 1);
	pg_rows_free(rows);
	return DB_OK;
}

/* values from the third on are the statement's own. */
static enum db_status
post_call(struct db *db, const char *name, const struct sandbox_post *post,
    const char **values, size_t count, struct sandbox_answer *answer)
{
	struct buf key = {0};
	struct pg_rows *rows;
	enum db_status status;

	values[0] = db_value(&key, post->key);
	values[1] = post->params;
	values[2] = post->request;
	status = db_call(db, name, values, count, &rows);
	buf_release(&key);
	if (status != DB_OK)
		return status;
	answer->status = (int)pg_int(rows, 0, 0);
	text_read(&answer->body, rows, 1);
	text_read(&answer->original, rows, 2);
	pg_rows_free(rows);
	return DB_OK;
}

enum db_status
db_sandbox_session_create(struct db *db, const struct sandbox_post *post,
    const char *pay_url, struct sandbox_answer *answer)
{
	const char *values[5] = {[3] = post->version, [4] = pay_url};

	return post_call(db, "session_create", post, values, 5, answer);
}

enum db_status
db_sandbox_session_expire(struct db *db, struct str id,
    const struct sandbox_post *post, struct sandbox_answer *answer)
{
	struct buf text = {0};
	const char *values[4] = {[3] = db_value(&text, id)};
	enum db_status status =
	    post_call(db, "session_expire", post, values, 4, answer);

	buf_release(&text);
	return status;
}

enum db_status
db_sandbox_refund_create(struct db *db, const struct sandbox_post *post,
    struct sandbox_answer *answer)
{
	const char *values[3] = {NULL};

	return post_call(db, "refund_create", post, values, 3, answer);
}

/* A question about one thing. */
static enum db_status
id_call(struct db *db, const char *name, struct str id,
    struct sandbox_answer *answer)
{
	struct buf text = {0};
	const char *values[] = {db_value(&text, id)};
	enum db_status status = answer_call(db, name, values, 1, answer);

	buf_release(&text);
	return status;
}

enum db_status
db_sandbox_session_get(struct db *db, struct str id,
    struct sandbox_answer *answer)
{
	return id_call(db, "session_get", id, answer);
}

enum db_status
db_sandbox_payment_get(struct db *db, struct str id,
    struct sandbox_answer *answer)
{
	return id_call(db, "payment_get", id, answer);
}

enum db_status
db_sandbox_refund_list(struct db *db, const char *params,
    struct sandbox_answer *answer)
{
	return answer_call(db, "refund_list", &params, 1, answer);
}

enum db_status
db_sandbox_event_list(struct db *db, const char *params,
    struct sandbox_answer *answer)
{
	return answer_call(db, "event_list", &params, 1, answer);
}

static void
view_read(struct sandbox_view *view, const struct pg_rows *rows)
{
	struct str text = {NULL, 0};

	if (pg_rows_count(rows) > 0)
		text = pg_value(rows, 0, 0);
	snprintf(view->text, sizeof(view->text), "%.*s", (int)text.len,
	    text.text ? text.text : "");
}

static void
session_read(struct sandbox_session *session, const struct pg_rows *rows)
{
	struct str currency = pg_value(rows, 0, 5);

	text_read(&session->error, rows, 1);
	text_read(&session->name, rows, 2);
	session->quantity = pg_int(rows, 0, 3);
	session->amount = pg_int(rows, 0, 4);
	snprintf(session->currency, sizeof(session->currency), "%.*s",
	    (int)currency.len, currency.text);
	session->left_ms = pg_int(rows, 0, 6);
	session->pay_in_ms = -1;
	if (pg_value(rows, 0, 7).text)
		session->pay_in_ms = pg_int(rows, 0, 7);
	text_read(&session->success_url, rows, 8);
	text_read(&session->back_url, rows, 9);
	session->refunded = pg_int(rows, 0, 10);
}

enum db_status
db_sandbox_session_page(struct db *db, struct str id,
    struct sandbox_session *session)
{
	struct buf text = {0};
	const char *values[] = {db_value(&text, id)};
	struct pg_rows *rows;
	enum db_status status = db_call(db, "session_page", values, 1, &rows);

	buf_release(&text);
	if (status != DB_OK)
		return status;
	view_read(&session->view, rows);
	if (pg_rows_count(rows) > 0)
		session_read(session, rows);
	pg_rows_free(rows);
	return DB_OK;
}

/* Something that a shopper does: values[0] is the session. */
static enum db_status
view_call(struct db *db, const char *name, const char *const *values,
    size_t count, struct sandbox_view *view)
{
	struct pg_rows *rows;
	enum db_status status = db_call(db, name, values, count, &rows);

	if (status != DB_OK)
		return status;
	view_read(view, rows);
	pg_rows_free(rows);
	return DB_OK;
}

enum db_status
db_sandbox_session_pay(struct db *db, struct str id,
    const struct sandbox_pay *pay, struct sandbox_view *view)
{
	struct buf text = {0};
	char delay[24];
	const char *values[] = {db_value(&text, id), delay,
	    pay->even_if_expired ? "t" : "f"};
	enum db_status status;

	snprintf(delay, sizeof(delay), "%lld", (long long)pay->delay_ms);
	status = view_call(db, "session_pay", values, 3, view);
	buf_release(&text);
	return status;
}

enum db_status
db_sandbox_session_decline(struct db *db, struct str id,
    struct sandbox_view *view)
{
	struct buf text = {0};
	const char *values[] = {db_value(&text, id)};
	enum db_status status =
	    view_call(db, "session_decline", values, 1, view);

	buf_release(&text);
	return status;
}

enum db_status
db_sandbox_session_bank(struct db *db, struct str id, const char *outcome,
    struct sandbox_view *view)
{
	struct buf text = {0};
	const char *values[] = {db_value(&text, id), outcome};
	enum db_status status = view_call(db, "session_bank", values, 2, view);

	buf_release(&text);
	return status;
}

enum db_status
db_sandbox_session_list(struct db *db, int limit, struct buf *document)
{
	char most[16];
	const char *values[] = {most};

	snprintf(most, sizeof(most), "%d", limit);
	return db_text(db, "session_list", values, 1, document);
}

enum db_status
db_sandbox_delivery_list(struct db *db, struct str session, int limit,
    struct buf *document)
{
	struct buf text = {0};
	char most[16];
	const char *values[] = {db_value(&text, session), most};
	enum db_status status;

	snprintf(most, sizeof(most), "%d", limit);
	status = db_text(db, "delivery_list", values, 2, document);
	buf_release(&text);
	return status;
}

static enum db_status
found_call(struct db *db, const char *name, struct str id, bool *found)
{
	struct buf text = {0};
	const char *values[] = {db_value(&text, id)};
	struct pg_rows *rows;
	enum db_status status = db_call(db, name, values, 1, &rows);

	buf_release(&text);
	*found = status == DB_OK && pg_bool(rows, 0, 0);
	if (status == DB_OK)
		pg_rows_free(rows);
	return status;
}

enum db_status
db_sandbox_event_resend(struct db *db, struct str id, bool *found)
{
	return found_call(db, "event_resend", id, found);
}

enum db_status
db_sandbox_refund_fail(struct db *db, struct str id, bool *found)
{
	return found_call(db, "refund_fail", id, found);
}

enum db_status
db_sandbox_tick(struct db *db, int limit, int64_t *n)
{
	char most[16];
	const char *values[] = {most};
	struct pg_rows *rows;
	enum db_status status;

	snprintf(most, sizeof(most), "%d", limit);
	status = db_call(db, "tick", values, 1, &rows);
	if (status != DB_OK)
		return status;
	*n = pg_int(rows, 0, 0);
	pg_rows_free(rows);
	return DB_OK;
}

enum db_status
db_sandbox_delivery_claim(struct db *db, int lease_ms,
    struct sandbox_delivery *delivery, bool *found)
{
	char lease[16];
	const char *values[] = {lease};
	struct pg_rows *rows;
	enum db_status status;

	*found = false;
	snprintf(lease, sizeof(lease), "%d", lease_ms);
	status = db_call(db, "delivery_claim", values, 1, &rows);
	if (status != DB_OK)
		return status;
	*found = pg_rows_count(rows) > 0;
	if (*found) {
		delivery->id = pg_int(rows, 0, 0);
		text_read(&delivery->event_id, rows, 1);
		delivery->try = (int)pg_int(rows, 0, 2);
		text_read(&delivery->body, rows, 3);
	}
	pg_rows_free(rows);
	return DB_OK;
}

enum db_status
db_sandbox_delivery_done(struct db *db, const struct sandbox_delivery *delivery,
    int status, const char *error)
{
	char id[24];
	char code[16];
	const char *values[] = {id, code, error};
	struct pg_rows *rows;
	enum db_status result;

	snprintf(id, sizeof(id), "%lld", (long long)delivery->id);
	snprintf(code, sizeof(code), "%d", status);
	result = db_call(db, "delivery_done", values, 3, &rows);
	if (result == DB_OK)
		pg_rows_free(rows);
	return result;
}

void
db_sandbox_listen(struct db *db)
{
	pg_listen(db->pg, "lastpair_sandbox");
}

void
db_sandbox_wait(struct db *db, int most_ms)
{
	char most[16];
	const char *values[] = {most};
	struct pg_rows *rows;
	int ms = most_ms;

	snprintf(most, sizeof(most), "%d", most_ms);
	if (db_call(db, "wait", values, 1, &rows) == DB_OK) {
		ms = (int)pg_int(rows, 0, 0);
		pg_rows_free(rows);
	}
	if (ms > 0)
		pg_wait(db->pg, ms);
}
