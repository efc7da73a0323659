/* The stand-in provider's statements, and the calls of its API. */
#include "io/db_sandbox_own.h"

#include <stdio.h>
#include <string.h>

#define ANSWER "integer,text"
#define POST_ANSWER "integer,text,text"

static const struct pg_statement statements[] = {
    {"session_create",
	"select http_status, answer, original "
	"from sandbox.session_create($1, $2, $3, $4, $5)",
	"text,jsonb,text,text,text", POST_ANSWER},
    {"session_expire",
	"select http_status, answer, original "
	"from sandbox.session_expire($4, $1, $2, $3)",
	"text,jsonb,text,text", POST_ANSWER},
    {"refund_create",
	"select http_status, answer, original "
	"from sandbox.refund_create($1, $2, $3)",
	"text,jsonb,text", POST_ANSWER},
    {"call_fail",
	"select http_status, answer, original "
	"from sandbox.call_fail($1, $4, $2, $3, $5)",
	"text,jsonb,text,text,boolean", POST_ANSWER},
    {"call_fault",
	"select kind, ms from sandbox.call_fault($1, $2, $3, $4, $5)",
	"text,text,text,text,jsonb", "text,bigint"},
    {"session_get", "select http_status, answer from sandbox.session_get($1)",
	"text", ANSWER},
    {"payment_get", "select http_status, answer from sandbox.payment_get($1)",
	"text", ANSWER},
    {"refund_get", "select http_status, answer from sandbox.refund_get($1)",
	"text", ANSWER},
    {"dispute_get", "select http_status, answer from sandbox.dispute_get($1)",
	"text", ANSWER},
    {"event_get", "select http_status, answer from sandbox.event_get($1)",
	"text", ANSWER},
    {"session_search",
	"select http_status, answer from sandbox.session_search($1)", "jsonb",
	ANSWER},
    {"refund_list", "select http_status, answer from sandbox.refund_list($1)",
	"jsonb", ANSWER},
    {"dispute_list", "select http_status, answer from sandbox.dispute_list($1)",
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
    {"session_bank", "select sandbox.session_bank($1, $2, $3)",
	"text,text,bigint", "text"},
    {"session_pay_then", "select sandbox.session_pay_then($1, $2, $3)",
	"text,text,bigint", "text"},
    {"desk", "select sandbox.desk($1)", "integer", "text"},
    {"panel", "select sandbox.panel($1)", "integer", "text"},
    {"payment_refund",
	"select refund, problem from sandbox.payment_refund($1, $2)",
	"text,bigint", "text,text"},
    {"payment_dispute",
	"select dispute, problem from sandbox.payment_dispute($1, $2)",
	"text,boolean", "text,text"},
    {"dispute_close",
	"select dispute, problem from sandbox.dispute_close($1, $2)",
	"text,text", "text,text"},
    {"refund_fail", "select sandbox.refund_fail($1)", "text", "boolean"},
    {"books", "select sandbox.books()", "", "text"},
    {"clock_show", "select sandbox.clock_show()", "", "text"},
    {"clock_forward", "select sandbox.clock_forward($1)", "bigint", "text"},
    {"seed_show", "select sandbox.seed_show()", "", "text"},
    {"seed_set", "select sandbox.seed_set($1)", "text", "text"},
    {"alias_add", "select sandbox.alias_add($1, $2)", "text,text", "text"},
    {"fault_add", "select sandbox.fault_add($1, $2, $3, $4, $5, $6)",
	"text,text,integer,integer,bigint,bigint", "bigint"},
    {"fault_clear", "select sandbox.fault_clear($1)", "bigint", "bigint"},
    {"fault_list",
	"select coalesce(json_agg(f), '[]')::text "
	"from sandbox.fault_list($1) f",
	"integer", "text"},
    {"event_resend", "select sandbox.event_resend($1)", "text", "boolean"},
    {"delivery_list",
	"select coalesce(json_agg(d), '[]')::text "
	"from sandbox.delivery_list($1, $2) d",
	"text,integer", "text"},
    {"delivery_flush", "select due, resent from sandbox.delivery_flush($1)",
	"boolean", "bigint,bigint"},
    {"delivery_claim",
	"select delivery_id, event_id, try, body "
	"from sandbox.delivery_claim($1)",
	"integer", "bigint,text,integer,text"},
    {"delivery_done", "select sandbox.delivery_done($1, $2, $3)",
	"bigint,integer,text", "void"},
    {"tick", "select sandbox.tick($1)", "integer", "integer"},
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
sandbox_text(struct buf *b, const struct pg_rows *rows, size_t column)
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
	sandbox_text(&answer->body, rows, 1);
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
	sandbox_text(&answer->body, rows, 1);
	sandbox_text(&answer->original, rows, 2);
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
db_sandbox_refund_get(struct db *db, struct str id,
    struct sandbox_answer *answer)
{
	return id_call(db, "refund_get", id, answer);
}

enum db_status
db_sandbox_dispute_get(struct db *db, struct str id,
    struct sandbox_answer *answer)
{
	return id_call(db, "dispute_get", id, answer);
}

enum db_status
db_sandbox_event_get(struct db *db, struct str id,
    struct sandbox_answer *answer)
{
	return id_call(db, "event_get", id, answer);
}

enum db_status
db_sandbox_session_search(struct db *db, const char *params,
    struct sandbox_answer *answer)
{
	return answer_call(db, "session_search", &params, 1, answer);
}

enum db_status
db_sandbox_refund_list(struct db *db, const char *params,
    struct sandbox_answer *answer)
{
	return answer_call(db, "refund_list", &params, 1, answer);
}

enum db_status
db_sandbox_dispute_list(struct db *db, const char *params,
    struct sandbox_answer *answer)
{
	return answer_call(db, "dispute_list", &params, 1, answer);
}

enum db_status
db_sandbox_event_list(struct db *db, const char *params,
    struct sandbox_answer *answer)
{
	return answer_call(db, "event_list", &params, 1, answer);
}

enum db_status
db_sandbox_call_fail(struct db *db, const struct sandbox_fail *fail,
    struct sandbox_answer *answer)
{
	const char *values[5] =
	    {[3] = fail->path, [4] = fail->after ? "t" : "f"};

	return post_call(db, "call_fail", fail->post, values, 5, answer);
}

static void
fault_read(struct sandbox_fault *fault, const struct pg_rows *rows)
{
	struct str kind = pg_value(rows, 0, 0);

	*fault = (struct sandbox_fault){"", 0};
	if (!kind.text)
		return;
	snprintf(fault->kind, sizeof(fault->kind), "%.*s", (int)kind.len,
	    kind.text);
	if (pg_value(rows, 0, 1).text)
		fault->ms = pg_int(rows, 0, 1);
}

enum db_status
db_sandbox_call_fault(struct db *db, const struct sandbox_ask *ask,
    struct sandbox_fault *fault)
{
	struct buf key = {0};
	struct buf id = {0};
	const char *values[] = {ask->target, db_value(&key, ask->key),
	    ask->path, db_value(&id, ask->id), ask->params};
	struct pg_rows *rows;
	enum db_status status = db_call(db, "call_fault", values, 5, &rows);

	buf_release(&key);
	buf_release(&id);
	if (status != DB_OK)
		return status;
	fault_read(fault, rows);
	pg_rows_free(rows);
	return DB_OK;
}
