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
