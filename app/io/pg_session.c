/*
 * What a new connection needs before it is of use: that no pooler stands
 * between, its settings, and every statement prepared and compared.
 */
#include "io/pg_own.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

/* For all of it, whatever the settings allow a call: some 30 questions, which
 * take a hundredth of this on one machine. */
#define SESSION_MS 5000

/* Types by name, comma-separated, as the server calls these oids. */
static enum pg_status
pg_type_names(struct pg *pg, struct buf *oids, struct buf *names)
{
	const char *values[1];
	PGresult *result;
	enum pg_status status;

	values[0] = pg_array_end(oids);
	status = pg_answer(pg, "types",
	    PQsendQueryParams(pg->conn,
		"select coalesce(string_agg(format_type(t.o, null), ',' "
		"order by t.n), '') from unnest($1::oid[]) "
		"with ordinality as t (o, n)",
		1, NULL, values, NULL, NULL, 0),
	    &result);
	if (status == PG_OK)
		buf_str(names, PQgetvalue(result, 0, 0));
	PQclear(result);
	return status;
}

static void
pg_add_oid(struct buf *oids, Oid oid)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", oid);
	pg_array_add(oids, text, strlen(text));
}

/* Compares a prepared statement's types with what its caller expects. */
static enum pg_status
pg_compare(struct pg *pg, const struct pg_statement *statement)
{
	PGresult *described;
	struct buf params, columns, oids;
	enum pg_status status = pg_answer(pg, statement->name,
	    PQsendDescribePrepared(pg->conn, statement->name), &described);
	int i;

	buf_init(&params);
	buf_init(&columns);
	buf_init(&oids);
	if (status != PG_OK)
		goto out;
	for (i = 0; i < PQnparams(described); i++)
		pg_add_oid(&oids, PQparamtype(described, i));
	status = pg_type_names(pg, &oids, &params);
	if (status != PG_OK)
		goto out;
	buf_reset(&oids);
	for (i = 0; i < PQnfields(described); i++)
		pg_add_oid(&oids, PQftype(described, i));
	status = pg_type_names(pg, &oids, &columns);
	if (status != PG_OK)
		goto out;
	if (strcmp(buf_text(&params), statement->params) != 0 ||
	    strcmp(buf_text(&columns), statement->columns) != 0) {
		snprintf(pg->error, sizeof(pg->error),
		    "%s takes (%s) and gives (%s) in this database, not (%s) "
		    "and (%s): run lastpair migrate",
		    statement->name, buf_text(&params), buf_text(&columns),
		    statement->params, statement->columns);
		status = PG_BUG;
	}
out:
	PQclear(described);
	buf_release(&params);
	buf_release(&columns);
	buf_release(&oids);
	return status;
}

static enum pg_status
pg_prepare(struct pg *pg)
{
	enum pg_status status = PG_OK;
	size_t i;

	for (i = 0; i < pg->options.count && status == PG_OK; i++) {
		const struct pg_statement *s = &pg->options.statements[i];
		PGresult *result;

		status = pg_answer(pg, s->name,
		    PQsendPrepare(pg->conn, s->name, s->sql, 0, NULL), &result);
		PQclear(result);
		if (status == PG_OK)
			status = pg_compare(pg, s);
	}
	return status;
}

/*
 * A transaction pooler would move the session's statements and settings to
 * other clients; it gives itself away by answering for a server process that
 * is not the one it named.
 */
static enum pg_status
pg_refuse_pooler(struct pg *pg)
{
	PGresult *result;
	enum pg_status status =
	    pg_exec(pg, "pooler", "select pg_backend_pid()", &result);
	int64_t pid = 0;

	if (status == PG_OK &&
	    str_int(str_of(PQgetvalue(result, 0, 0)), &pid) &&
	    pid != PQbackendPID(pg->conn)) {
		pg_fail(pg, "",
		    "a connection pooler stands between: database.url must "
		    "name the PostgreSQL server itself");
		status = PG_BUG;
	}
	PQclear(result);
	return status;
}

enum pg_status
pg_session_set(struct pg *pg)
{
	struct buf sql;
	enum pg_status status;
	PGresult *result;

	buf_init(&sql);
	buf_printf(&sql,
	    /* Whatever the server's default: an answer follows the disk. */
	    "set synchronous_commit = on; "
	    "set timezone = 'UTC'; set datestyle = 'ISO'; "
	    "set lock_timeout = %d; set statement_timeout = %d; "
	    "set idle_in_transaction_session_timeout = %d; ",
	    pg->options.lock_timeout_ms, pg->options.statement_timeout_ms,
	    pg->options.statement_timeout_ms);
	/* A plan that was made when the table was empty, as it is when a sale
	 * opens, must not read all of it when it is full. */
	if (pg->options.lookups)
		buf_str(&sql,
		    "set plan_cache_mode = force_generic_plan; "
		    "set enable_seqscan = off; "
		    "set enable_hashjoin = off; "
		    "set enable_mergejoin = off; ");
	if (pg->channel != NULL)
		buf_printf(&sql, "listen %s; ", pg->channel);
	status = pg_exec(pg, "session", buf_text(&sql), &result);
	PQclear(result);
	buf_release(&sql);
	return status;
}

enum pg_status
pg_session_open(struct pg *pg)
{
	int64_t most_ms = clock_monotonic_ms() + SESSION_MS;
	enum pg_status status;

	pg->until_ms = pg_call_end(pg);
	if (pg->until_ms > most_ms)
		pg->until_ms = most_ms;
	status = pg_refuse_pooler(pg);
	if (status == PG_OK)
		status = pg_session_set(pg);
	if (status == PG_OK)
		status = pg_prepare(pg);
	return status;
}
