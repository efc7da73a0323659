/* The stand-in provider's calls: what its sender of webhooks does. */
#include "io/db_sandbox_own.h"

#include <stdio.h>

void
sandbox_delivery_release(struct sandbox_delivery *delivery)
{
	buf_release(&delivery->event_id);
	buf_release(&delivery->body);
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
		sandbox_text(&delivery->event_id, rows, 1);
		delivery->try = (int)pg_int(rows, 0, 2);
		sandbox_text(&delivery->body, rows, 3);
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

int
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
	return ms;
}

int
db_sandbox_fd(const struct db *db)
{
	return pg_fd(db->pg);
}

bool
db_sandbox_noticed(struct db *db)
{
	return pg_noticed(db->pg);
}
