/* The stand-in provider's calls: its pages. */
#include "io/db_sandbox_own.h"

#include <stdio.h>

void
sandbox_session_release(struct sandbox_session *session)
{
	buf_release(&session->error);
	buf_release(&session->name);
	buf_release(&session->success_url);
	buf_release(&session->back_url);
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

	sandbox_text(&session->error, rows, 1);
	sandbox_text(&session->name, rows, 2);
	session->quantity = pg_int(rows, 0, 3);
	session->amount = pg_int(rows, 0, 4);
	snprintf(session->currency, sizeof(session->currency), "%.*s",
	    (int)currency.len, currency.text);
	session->left_ms = pg_int(rows, 0, 6);
	session->pay_in_ms = -1;
	if (pg_value(rows, 0, 7).text)
		session->pay_in_ms = pg_int(rows, 0, 7);
	sandbox_text(&session->success_url, rows, 8);
	sandbox_text(&session->back_url, rows, 9);
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
db_sandbox_session_bank(struct db *db, struct str id,
    const struct sandbox_bank *bank, struct sandbox_view *view)
{
	struct buf text = {0};
	char delay[24];
	const char *values[] = {db_value(&text, id), bank->outcome, delay};
	enum db_status status;

	snprintf(delay, sizeof(delay), "%lld", (long long)bank->delay_ms);
	status = view_call(db, "session_bank", values, 3, view);
	buf_release(&text);
	return status;
}

enum db_status
db_sandbox_session_pay_then(struct db *db, struct str id,
    const struct sandbox_then *then, struct sandbox_view *view)
{
	struct buf text = {0};
	char after[24];
	const char *values[] = {db_value(&text, id), then->what, after};
	enum db_status status;

	snprintf(after, sizeof(after), "%lld", (long long)then->after_ms);
	status = view_call(db, "session_pay_then", values, 3, view);
	buf_release(&text);
	return status;
}

/* A page's document, with so many of each kind. */
static enum db_status
page_call(struct db *db, const char *name, int limit, struct buf *document)
{
	char most[16];
	const char *values[] = {most};

	snprintf(most, sizeof(most), "%d", limit);
	return db_text(db, name, values, 1, document);
}

enum db_status
db_sandbox_desk(struct db *db, int limit, struct buf *document)
{
	return page_call(db, "desk", limit, document);
}

enum db_status
db_sandbox_panel(struct db *db, int limit, struct buf *document)
{
	return page_call(db, "panel", limit, document);
}
