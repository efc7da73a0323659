/*
 * One connection to PostgreSQL. The only file that knows libpq. A lost
 * connection is made anew at the next call; a PGresult never leaves io/.
 * Nothing here waits for ever: a server that has stopped answering without
 * hanging up, as a frozen one does, counts as lost when a call's time is over.
 * A handle belongs to one thread; a process may have several.
 */
#ifndef IO_PG_H
#define IO_PG_H

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* What to do about a call that gave no result. */
enum pg_status {
	PG_OK,
	PG_RETRY, /* a conflict: the same call may go through */
	PG_DOWN, /* the database is away or too slow: not carried out */
	PG_LOST, /* the connection went away: perhaps carried out */
	PG_REFUSED, /* it will not take these values; pg_error says why */
	PG_BUG, /* nobody should have asked that */
};

/* A statement: its text, and the types that it must turn out to have. */
struct pg_statement {
	const char *name;
	const char *sql;
	const char *params; /* "text[],uuid,…" as format_type writes them */
	const char *columns;
};

struct pg;
struct pg_rows; /* a result */

struct pg_options {
	const char *url; /* connection string without a user */
	const char *role;
	const char *process; /* application_name */
	int lock_timeout_ms;
	int statement_timeout_ms; /* 0: a call may take as long as it wants */
	bool lookups; /* it asks for few rows by their keys, and nothing else */
	const struct pg_statement *statements;
	size_t count;
};

/* Makes the handle; connects at the first call or with pg_connect. */
struct pg *
pg_open(const struct pg_options *options);
void
pg_close(struct pg *pg);
/*
 * Connects if need be, refuses a transaction pooler, prepares every statement
 * and compares its types. PG_BUG when they differ.
 */
enum pg_status
pg_connect(struct pg *pg);
/* The last failure in one line. */
const char *
pg_error(const struct pg *pg);

/*
 * Runs a prepared statement; values[i] is text or NULL. *rows is the
 * caller's on PG_OK.
 */
enum pg_status
pg_call(struct pg *pg, const char *name, const char *const *values,
    size_t count, struct pg_rows **rows);
/* Runs a script of several statements, as migrate does. */
enum pg_status
pg_script(struct pg *pg, const char *sql);
/* Runs one statement and says whether it touched any row. */
enum pg_status
pg_affected(struct pg *pg, const char *sql, bool *any);
/* Lets the caller of pg_error read a reason that is not the server's. */
void
pg_set_error(struct pg *pg, const char *reason);
void
pg_rows_free(struct pg_rows *rows);
size_t
pg_rows_count(const struct pg_rows *rows);
/* A value as text; empty view with text NULL when it is NULL. */
struct str
pg_value(const struct pg_rows *rows, size_t row, size_t column);
int64_t
pg_int(const struct pg_rows *rows, size_t row, size_t column);
bool
pg_bool(const struct pg_rows *rows, size_t row, size_t column);

/* Appends one element to an array literal under way: {"a",NULL,… */
void
pg_array_add(struct buf *array, const char *value, size_t len);
/* Closes it; an empty one becomes {}. */
const char *
pg_array_end(struct buf *array);
/* Appends bytea's hex form. */
void
pg_bytea(struct buf *b, struct str bytes);

/* What to do about an error of this SQLSTATE. */
enum pg_status
pg_status_of(const char *state);
/* Whether the session is of no more use after it. */
bool
pg_must_reconnect(const char *state);

/* LISTEN on a channel, also after each reconnection. */
void
pg_listen(struct pg *pg, const char *channel);
/* Waits for a notification, at most ms; false when none came. */
bool
pg_wait(struct pg *pg, int ms);
/* For who waits for other things as well: can be read when something has come
 * from the server. -1 when there is no connection. */
int
pg_fd(const struct pg *pg);
/*
 * Takes what has come, without waiting. True when it was a notification, and
 * when one may have gone unheard: after the connection was lost, or made.
 */
bool
pg_noticed(struct pg *pg);

#endif
