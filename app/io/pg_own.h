/*
 * What the pg files share: the handle, and the one way to wait for an answer.
 * The only header that knows libpq. Not for anybody else.
 */
#ifndef IO_PG_OWN_H
#define IO_PG_OWN_H

#include "io/pg.h"

#include <libpq-fe.h>

struct pg {
	struct pg_options options;
	PGconn *conn;
	const char *channel;
	bool unheard; /* who notified when there was no connection */
	int64_t failed_at; /* clock_monotonic_ms of the last failure, or 0 */
	int64_t until_ms; /* an answer that comes later is none */
	char error[512];
};

struct pg_rows {
	PGresult *result;
};

/* Sets pg_error to the first line of a message: the rest is for people at a
 * terminal. what may be "". */
void
pg_fail(struct pg *pg, const char *what, const char *message);
/* When a call that begins now is over at the latest. */
int64_t
pg_call_end(const struct pg *pg);
/*
 * Waits, at most to until_ms, for the whole answer to what has just been sent
 * (sent: what libpq said to that). *result is the first error or the last
 * result, the caller's to clear in any case. A result alone is no success:
 * what it tells is committed when the answer ends.
 */
enum pg_status
pg_answer(struct pg *pg, const char *what, int sent, PGresult **result);
/* Sends statements without values, and waits in the same way. */
enum pg_status
pg_exec(struct pg *pg, const char *what, const char *sql, PGresult **result);
/* Makes a new connection one that calls can be made on. Sets until_ms. */
enum pg_status
pg_session_open(struct pg *pg);
/* The settings alone, and the channel; until_ms is the caller's. */
enum pg_status
pg_session_set(struct pg *pg);

#endif
