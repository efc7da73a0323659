/*
 * What the db_*.c files share: the handle, the one way to call, and each
 * role's table of statements. Not for anybody else.
 */
#ifndef IO_DB_CALL_H
#define IO_DB_CALL_H

#include "io/db.h"
#include "io/pg.h"

struct db {
	struct pg *pg;
};

/* A role's statements, counted. */
struct db_table {
	const struct pg_statement *statements;
	size_t count;
};

extern const struct db_table db_table_web;
extern const struct db_table db_table_sweeper;
extern const struct db_table db_table_cashier;
extern const struct db_table db_table_reconcile;
extern const struct db_table db_table_courier;
extern const struct db_table db_table_operator;
extern const struct db_table db_table_sandbox;
/* What the cashier and the command line say to the inbox. */
#define DB_SETTLE_STATEMENT \
	{ \
		"payment_settle", \
		    "select api.payment_settle($1, $2, $3, $4, $5, $6, $7, " \
		    "$8, $9, $10, $11, $12, $13, $14)", \
		    "text,text,text,text,text,text,text,text,text,text," \
		    "bigint,text,text,bytea", \
		    "text" \
	}

/* The web's way: many at once. */
#define DB_SETTLE_ALL_STATEMENT \
	{ \
		"payment_settle_all", \
		    "select delivery, outcome from api.payment_settle_all(" \
		    "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, " \
		    "$13, $14)", \
		    "text[],text[],text[],text[],text[],text[],text[]," \
		    "text[],text[],text[],bigint[],text[],text[],bytea[]", \
		    "integer,text" \
	}

/* What the operator and the cashier's thread say when they compare the books. */
#define DB_RECONCILE_STATEMENTS \
	{"reconcile_begin", \
	    "select outcome, run_id, since, list, cursor, listed, lease_ms " \
	    "from api.reconcile_begin($1, $2, $3, $4, $5, $6, $7, $8, $9, " \
	    "$10)", \
	    "text,timestamp with time zone,bigint,bigint,bigint,boolean," \
	    "boolean,text,text,integer", \
	    "text,bigint,bigint,text,text,bigint,bigint"}, \
	    {"reconcile_page", \
		"select kept, list, cursor from api.reconcile_page($1, $2, " \
		"$3, " \
		"$4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)", \
		"bigint,text,integer,text,text,text,text[],text[],text[]," \
		"text[],text[],text[],text[],text[],bigint[],text[]", \
		"boolean,text,text"}, \
	    {"reconcile_compare", \
		"select kept, differ, wait_ms " \
		"from api.reconcile_compare($1, $2, $3, $4)", \
		"bigint,text,integer,bigint", "boolean,bigint,bigint"}, \
	    {"reconcile_next", \
		"select kept, difference_id, event_id, refund_ref, " \
		"session_id, " \
		"payment_ref, key, payment_key, hold " \
		"from api.reconcile_next($1, $2, $3, $4)", \
		"bigint,text,integer,bigint", \
		"boolean,bigint,text,text,text,text,text,text,text"}, \
	    {"reconcile_heard", \
		"select api.reconcile_heard($1, $2, $3, $4, $5, $6, $7, $8, " \
		"$9, $10, $11, $12, $13, $14, $15)", \
		"bigint,text,integer,bigint,text,text[],text[],text[],text[]," \
		"text[],text[],text[],text[],bigint[],text[]", \
		"boolean"}, \
	    {"reconcile_finish", \
		"select kept, differ, repaired " \
		"from api.reconcile_finish($1, $2, $3)", \
		"bigint,text,integer", "boolean,bigint,bigint"}, \
	    {"reconcile_release", "select api.reconcile_release($1, $2)", \
		"bigint,text", "void"}, \
	{ \
		"reconcile_show", "select api.reconcile_show($1, $2)", \
		    "text,bigint", "text" \
	}

/*
 * Calls a statement, again on conflict. *rows is the caller's on DB_OK. Logs
 * what is a bug.
 */
enum db_status
db_call(struct db *db, const char *name, const char *const *values,
    size_t count, struct pg_rows **rows);
/* Calls for one text value; document stays as it is when that is NULL. */
enum db_status
db_text(struct db *db, const char *name, const char *const *values,
    size_t count, struct buf *document);
/* Fills an answer from a row's first columns: outcome, then document. */
void
db_outcome(struct answer *answer, const struct pg_rows *rows, size_t row,
    size_t column);
/* Copies a view behind a NUL, for libpq; NULL for an empty one. */
const char *
db_value(struct buf *b, struct str s);

#endif
