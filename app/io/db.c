/*
 * Opens the database for a role, and holds the only retry loop: a conflict
 * (two takes by one key, a deadlock) is run again up to TRIES times. Whoever
 * waits longer is told "busy", with nothing taken.
 */
#include "io/db.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/sign.h"
#include "io/db_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 3
/* The pause before another try, at random up to this. */
#define PAUSE_MS_MAX 50

static const struct db_table no_statements = {NULL, 0};

static const struct {
	const char *role;
	const struct db_table *table;
	const char *channel; /* that it is woken on; NULL: none */
} roles[] = {
    [DB_OWNER] = {"lastpair_owner", &no_statements, NULL},
    [DB_WEB] = {"lastpair_web", &db_table_web, NULL},
    [DB_SWEEPER] = {"lastpair_sweeper", &db_table_sweeper, NULL},
    [DB_CASHIER] = {"lastpair_cashier", &db_table_cashier, "lastpair_cashier"},
    [DB_RECONCILE] = {"lastpair_cashier", &db_table_reconcile, NULL},
    [DB_COURIER] = {"lastpair_courier", &db_table_courier, "lastpair_courier"},
    [DB_OPERATOR] = {"lastpair_operator", &db_table_operator, NULL},
    [DB_SANDBOX] = {"lastpair_sandbox", &db_table_sandbox, NULL},
};

struct db *
db_open(const struct conf *conf, enum db_role role, const char *process)
{
	struct db *db = calloc(1, sizeof(*db));
	struct pg_options options = {
	    .url = conf->database.url,
	    .role = roles[role].role,
	    .process = process,
	    .lock_timeout_ms = conf->server.lock_timeout_ms,
	    .statement_timeout_ms = conf->server.statement_timeout_ms,
	    .statements = roles[role].table->statements,
	    .count = roles[role].table->count,
	};

	if (db == NULL)
		log_bug("out of memory");
	/* An operator's question may take its time and read a lot. */
	options.lookups =
	    role != DB_OPERATOR && role != DB_OWNER && role != DB_RECONCILE;
	if (!options.lookups)
		options.statement_timeout_ms = 0;
	db->pg = pg_open(&options);
	if (roles[role].channel)
		pg_listen(db->pg, roles[role].channel);
	return db;
}

void
db_close(struct db *db)
{
	if (db == NULL)
		return;
	pg_close(db->pg);
	free(db);
}

const char *
db_error(const struct db *db)
{
	return pg_error(db->pg);
}

bool
db_is_there(const struct db *db)
{
	return pg_fd(db->pg) >= 0;
}

void
db_lock_wait(struct db *db, int ms)
{
	char sql[48];

	if (!db_is_there(db))
		return;
	snprintf(sql, sizeof(sql), "set lock_timeout = %d", ms);
	(void)pg_script(db->pg, sql);
}

static enum db_status
db_status_of(struct db *db, enum pg_status status)
{
	switch (status) {
	case PG_OK:
		return DB_OK;
	case PG_RETRY:
		return DB_CONFLICT;
	case PG_DOWN:
		return DB_DOWN;
	case PG_LOST:
		return DB_LOST;
	case PG_REFUSED:
		return DB_REFUSED;
	case PG_BUG:
		break;
	}
	log_error("the database refused a call: %s", pg_error(db->pg));
	return DB_BUG;
}

enum db_status
db_check(struct db *db)
{
	enum pg_status status = pg_connect(db->pg);

	return status == PG_BUG ? DB_REFUSED : db_status_of(db, status);
}

enum db_status
db_call(struct db *db, const char *name, const char *const *values,
    size_t count, struct pg_rows **rows)
{
	enum pg_status status = PG_RETRY;
	unsigned char dice;
	int try;

	for (try = 1; try <= TRIES && status == PG_RETRY; try++) {
		if (try > 1) {
			sign_random(&dice, sizeof(dice));
			clock_sleep_ms(dice % PAUSE_MS_MAX);
		}
		status = pg_call(db->pg, name, values, count, rows);
	}
	if (status == PG_RETRY)
		log_warn("gave a call up after %d conflicts: %s", TRIES,
		    pg_error(db->pg));
	else if (status == PG_DOWN || status == PG_LOST)
		log_warn("could not call %s: %s", name, pg_error(db->pg));
	return db_status_of(db, status);
}

enum db_status
db_text(struct db *db, const char *name, const char *const *values,
    size_t count, struct buf *document)
{
	struct pg_rows *rows;
	enum db_status status = db_call(db, name, values, count, &rows);
	struct str value;

	if (status != DB_OK)
		return status;
	if (pg_rows_count(rows) > 0) {
		value = pg_value(rows, 0, 0);
		buf_add(document, value.text, value.len);
	}
	pg_rows_free(rows);
	return DB_OK;
}

void
db_outcome(struct answer *answer, const struct pg_rows *rows, size_t row,
    size_t column)
{
	struct str outcome = pg_value(rows, row, column);

	snprintf(answer->outcome, sizeof(answer->outcome), "%.*s",
	    (int)outcome.len, outcome.text == NULL ? "" : outcome.text);
}

const char *
db_value(struct buf *b, struct str s)
{
	if (s.len == 0)
		return NULL;
	buf_reset(b);
	buf_add(b, s.text, s.len);
	return buf_text(b);
}

void
answer_init(struct answer *answer)
{
	memset(answer, 0, sizeof(*answer));
	buf_init(&answer->document);
	buf_init(&answer->url);
}

void
answer_release(struct answer *answer)
{
	buf_release(&answer->document);
	buf_release(&answer->url);
}
