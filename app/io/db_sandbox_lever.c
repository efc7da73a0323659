/* The stand-in provider's calls: its levers. */
#include "io/db_sandbox_own.h"

#include <stdio.h>

void
sandbox_made_release(struct sandbox_made *made)
{
	buf_release(&made->id);
	buf_release(&made->problem);
}

/* values[0] is what it is done to. */
static enum db_status
made_call(struct db *db, const char *name, const char *const *values,
    size_t count, struct sandbox_made *made)
{
	struct pg_rows *rows;
	enum db_status status = db_call(db, name, values, count, &rows);

	if (status != DB_OK)
		return status;
	sandbox_text(&made->id, rows, 0);
	sandbox_text(&made->problem, rows, 1);
	pg_rows_free(rows);
	return DB_OK;
}

enum db_status
db_sandbox_payment_refund(struct db *db, struct str id, int64_t amount,
    struct sandbox_made *made)
{
	struct buf text = {0};
	char number[24];
	const char *values[] = {db_value(&text, id), amount ? number : NULL};
	enum db_status status;

	snprintf(number, sizeof(number), "%lld", (long long)amount);
	status = made_call(db, "payment_refund", values, 2, made);
	buf_release(&text);
	return status;
}

enum db_status
db_sandbox_payment_dispute(struct db *db, struct str id, bool inquiry,
    struct sandbox_made *made)
{
	struct buf text = {0};
	const char *values[] = {db_value(&text, id), inquiry ? "t" : "f"};
	enum db_status status =
	    made_call(db, "payment_dispute", values, 2, made);

	buf_release(&text);
	return status;
}

enum db_status
db_sandbox_dispute_close(struct db *db, struct str id, const char *outcome,
    struct sandbox_made *made)
{
	struct buf text = {0};
	const char *values[] = {db_value(&text, id), outcome};
	enum db_status status = made_call(db, "dispute_close", values, 2, made);

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
db_sandbox_books(struct db *db, struct buf *document)
{
	return db_text(db, "books", NULL, 0, document);
}

enum db_status
db_sandbox_clock_show(struct db *db, struct buf *document)
{
	return db_text(db, "clock_show", NULL, 0, document);
}

enum db_status
db_sandbox_clock_forward(struct db *db, int64_t ms, struct buf *document)
{
	char number[24];
	const char *values[] = {number};

	snprintf(number, sizeof(number), "%lld", (long long)ms);
	return db_text(db, "clock_forward", values, 1, document);
}

enum db_status
db_sandbox_seed_show(struct db *db, struct buf *seed)
{
	return db_text(db, "seed_show", NULL, 0, seed);
}

enum db_status
db_sandbox_seed_set(struct db *db, struct str seed, struct buf *now)
{
	struct buf text = {0};
	const char *values[] = {db_value(&text, seed)};
	enum db_status status = db_text(db, "seed_set", values, 1, now);

	buf_release(&text);
	return status;
}

enum db_status
db_sandbox_alias_add(struct db *db, struct str name, struct str as)
{
	struct buf texts[2] = {0};
	struct buf known = {0};
	const char *values[] = {db_value(&texts[0], name),
	    db_value(&texts[1], as)};
	enum db_status status = db_text(db, "alias_add", values, 2, &known);

	buf_release(&known);
	buf_release(&texts[0]);
	buf_release(&texts[1]);
	return status;
}

static enum db_status
number_call(struct db *db, const char *name, const char *const *values,
    size_t count, int64_t *number)
{
	struct pg_rows *rows;
	enum db_status status = db_call(db, name, values, count, &rows);

	if (status != DB_OK)
		return status;
	*number = pg_int(rows, 0, 0);
	pg_rows_free(rows);
	return DB_OK;
}

enum db_status
db_sandbox_fault_add(struct db *db, const struct sandbox_fault_new *fault,
    int64_t *id)
{
	const int64_t numbers[] = {fault->percent, fault->times, fault->ms,
	    fault->timeout_ms};
	struct buf target = {0};
	struct buf kind = {0};
	char texts[4][24];
	const char *values[] = {db_value(&target, fault->target),
	    db_value(&kind, fault->kind), texts[0],
	    fault->times ? texts[1] : NULL, fault->ms < 0 ? NULL : texts[2],
	    texts[3]};
	enum db_status status;

	for (int i = 0; i < 4; i++)
		snprintf(texts[i], sizeof(texts[i]), "%lld",
		    (long long)numbers[i]);
	status = number_call(db, "fault_add", values, 6, id);
	buf_release(&target);
	buf_release(&kind);
	return status;
}

enum db_status
db_sandbox_fault_clear(struct db *db, int64_t id, int64_t *count)
{
	char number[24];
	const char *values[] = {id ? number : NULL};

	snprintf(number, sizeof(number), "%lld", (long long)id);
	return number_call(db, "fault_clear", values, 1, count);
}

enum db_status
db_sandbox_fault_list(struct db *db, int limit, struct buf *document)
{
	char most[16];
	const char *values[] = {most};

	snprintf(most, sizeof(most), "%d", limit);
	return db_text(db, "fault_list", values, 1, document);
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

enum db_status
db_sandbox_delivery_flush(struct db *db, bool dropped,
    struct sandbox_flush *flush)
{
	const char *values[] = {dropped ? "t" : "f"};
	struct pg_rows *rows;
	enum db_status status = db_call(db, "delivery_flush", values, 1, &rows);

	if (status != DB_OK)
		return status;
	flush->due = pg_int(rows, 0, 0);
	flush->resent = pg_int(rows, 0, 1);
	pg_rows_free(rows);
	return DB_OK;
}
