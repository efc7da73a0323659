/*
 * One connection to PostgreSQL, made when it is needed and made again when it
 * is lost. Invariant: conn is NULL or has every statement prepared, compared,
 * and the channel listened to. One thread at a time.
 */
#include "io/pg.h"

#include "base/clock.h"
#include "base/log.h"

#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* After a failed connection the next try waits so long: a request that comes
 * meanwhile is answered "busy" at once instead of queueing for a time-out. */
#define CONNECT_PAUSE_MS 200
/* libpq's least is 2 s; a server across a network answers well within. */
#define CONNECT_TIMEOUT_S "3"

struct pg {
	struct pg_options options;
	PGconn *conn;
	const char *channel;
	int64_t failed_at; /* clock_monotonic_ms of the last failure, or 0 */
	char error[512];
};

struct pg_rows {
	PGresult *result;
};

struct pg *
pg_open(const struct pg_options *options)
{
	struct pg *pg = calloc(1, sizeof(*pg));

	if (pg == NULL)
		log_bug("out of memory");
	pg->options = *options;
	return pg;
}

static void
pg_drop(struct pg *pg)
{
	PQfinish(pg->conn);
	pg->conn = NULL;
}

void
pg_close(struct pg *pg)
{
	if (pg == NULL)
		return;
	pg_drop(pg);
	free(pg);
}

const char *
pg_error(const struct pg *pg)
{
	return pg->error;
}

/* Keeps the first line: the rest is context for people at a terminal. */
static void
pg_fail(struct pg *pg, const char *what, const char *message)
{
	size_t len = strcspn(message, "\n");

	snprintf(pg->error, sizeof(pg->error), "%s%s%.*s", what,
	    what[0] == '\0' ? "" : ": ", (int)len, message);
}

/*
 * The one place that says what an SQLSTATE asks for (PostgreSQL manual,
 * appendix A). Unique violations are retried: the second run finds the row.
 */
static enum pg_status
pg_status_of(const char *state)
{
	static const struct {
		const char *prefix;
		enum pg_status status;
	} map[] = {
	    {"40", PG_RETRY}, /* serialization, deadlock */
	    {"23505", PG_RETRY}, /* unique violation */
	    {"0A000", PG_RETRY}, /* a cached plan's result type changed */
	    {"08", PG_DOWN}, /* connection */
	    {"53", PG_DOWN}, /* out of memory, disk, connections */
	    {"57", PG_DOWN}, /* cancelled, shutting down */
	    {"58", PG_DOWN}, /* system, input and output */
	    {"55P03", PG_DOWN}, /* lock not to be had in time */
	    {"25006", PG_DOWN}, /* read-only: no longer the primary */
	    {"25P03", PG_DOWN}, /* idle in transaction for too long */
	    {"26", PG_DOWN}, /* the statement is gone: prepare anew */
	    {"22", PG_REFUSED}, /* data */
	    {"23", PG_REFUSED}, /* constraint */
	};
	size_t i;

	if (state == NULL)
		return PG_DOWN;
	for (i = 0; i < sizeof(map) / sizeof(map[0]); i++)
		if (strncmp(state, map[i].prefix, strlen(map[i].prefix)) == 0)
			return map[i].status;
	return PG_BUG;
}

/* Whether the session is of no more use after this SQLSTATE. */
static bool
pg_must_reconnect(const char *state)
{
	return strcmp(state, "25006") == 0 || strncmp(state, "26", 2) == 0 ||
	    strncmp(state, "0A", 2) == 0;
}

static enum pg_status
pg_check(struct pg *pg, const char *what, PGresult *result)
{
	ExecStatusType got = PQresultStatus(result);
	const char *state;
	enum pg_status status;

	if (got == PGRES_TUPLES_OK || got == PGRES_COMMAND_OK)
		return PG_OK;
	state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	status = pg_status_of(state);
	pg_fail(pg, what, PQresultErrorMessage(result));
	if (PQstatus(pg->conn) != CONNECTION_OK ||
	    (state != NULL && pg_must_reconnect(state))) {
		log_warn("lost the database: %s", pg->error);
		pg_drop(pg);
		if (status != PG_RETRY)
			status = PG_DOWN;
	}
	return status;
}

/* Types by name, comma-separated, as the server calls these oids. */
static enum pg_status
pg_type_names(struct pg *pg, struct buf *oids, struct buf *names)
{
	const char *values[1];
	PGresult *result;
	enum pg_status status;

	values[0] = pg_array_end(oids);
	result = PQexecParams(pg->conn,
	    "select coalesce(string_agg(format_type(t.o, null), ',' "
	    "order by t.n), '') from unnest($1::oid[]) "
	    "with ordinality as t (o, n)",
	    1, NULL, values, NULL, NULL, 0);
	status = pg_check(pg, "types", result);
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
	PGresult *described = PQdescribePrepared(pg->conn, statement->name);
	struct buf params, columns, oids;
	enum pg_status status = pg_check(pg, statement->name, described);
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
		PGresult *result =
		    PQprepare(pg->conn, s->name, s->sql, 0, NULL);

		status = pg_check(pg, s->name, result);
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
	PGresult *result = PQexec(pg->conn, "select pg_backend_pid()");
	enum pg_status status = pg_check(pg, "pooler", result);
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

static enum pg_status
pg_session(struct pg *pg)
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
	result = PQexec(pg->conn, buf_text(&sql));
	status = pg_check(pg, "session", result);
	PQclear(result);
	buf_release(&sql);
	return status;
}

static void
pg_notice(void *unused, const char *message)
{
	(void)unused;
	(void)message;
}

/*
 * Whether the server has closed the connection since the last call, as it
 * does when it restarts. Nothing has been sent on it yet, so a new one can
 * take its place unseen.
 */
static void
pg_drop_closed(struct pg *pg)
{
	struct pollfd ready = {.fd = PQsocket(pg->conn), .events = POLLIN};

	if (poll(&ready, 1, 0) > 0 && PQconsumeInput(pg->conn) == 0) {
		log_info("the database closed the connection");
		pg_drop(pg);
	}
}

enum pg_status
pg_connect(struct pg *pg)
{
	const char *const names[] = {"dbname", "user", "application_name",
	    "client_encoding", "connect_timeout", "target_session_attrs", NULL};
	const char *const values[] = {pg->options.url, pg->options.role,
	    pg->options.process, "UTF8", CONNECT_TIMEOUT_S, "read-write", NULL};
	bool again = pg->failed_at != 0;
	enum pg_status status = PG_DOWN;

	if (pg->conn != NULL)
		pg_drop_closed(pg);
	if (pg->conn != NULL)
		return PG_OK;
	if (again && clock_monotonic_ms() - pg->failed_at < CONNECT_PAUSE_MS)
		return PG_DOWN;
	pg->conn = PQconnectdbParams(names, values, 1);
	/* What the server says by itself is told by the call that meets it. */
	PQsetNoticeProcessor(pg->conn, pg_notice, NULL);
	if (PQstatus(pg->conn) == CONNECTION_OK)
		status = pg_refuse_pooler(pg);
	else
		pg_fail(pg, "", PQerrorMessage(pg->conn));
	if (status == PG_OK)
		status = pg_session(pg);
	if (status == PG_OK)
		status = pg_prepare(pg);
	if (status != PG_OK) {
		pg_drop(pg);
		pg->failed_at = clock_monotonic_ms();
		log_warn("could not reach the database: %s", pg->error);
		return status;
	}
	pg->failed_at = 0;
	if (again)
		log_info("reached the database again");
	return PG_OK;
}

enum pg_status
pg_call(struct pg *pg, const char *name, const char *const *values,
    size_t count, struct pg_rows **rows)
{
	PGresult *result;
	enum pg_status status = pg_connect(pg);

	*rows = NULL;
	if (status != PG_OK)
		return status;
	result =
	    PQexecPrepared(pg->conn, name, (int)count, values, NULL, NULL, 0);
	status = pg_check(pg, name, result);
	if (status != PG_OK) {
		PQclear(result);
		return status;
	}
	*rows = calloc(1, sizeof(**rows));
	if (*rows == NULL)
		log_bug("out of memory");
	(*rows)->result = result;
	return PG_OK;
}

enum pg_status
pg_script(struct pg *pg, const char *sql)
{
	PGresult *result;
	enum pg_status status = pg_connect(pg);

	if (status != PG_OK)
		return status;
	result = PQexec(pg->conn, sql);
	status = pg_check(pg, "", result);
	PQclear(result);
	return status;
}

enum pg_status
pg_affected(struct pg *pg, const char *sql, bool *any)
{
	PGresult *result;
	enum pg_status status = pg_connect(pg);

	if (status != PG_OK)
		return status;
	result = PQexec(pg->conn, sql);
	status = pg_check(pg, "", result);
	*any = status == PG_OK && strcmp(PQcmdTuples(result), "0") != 0;
	PQclear(result);
	return status;
}

void
pg_set_error(struct pg *pg, const char *reason)
{
	pg_fail(pg, "", reason);
}

void
pg_rows_free(struct pg_rows *rows)
{
	if (rows == NULL)
		return;
	PQclear(rows->result);
	free(rows);
}

size_t
pg_rows_count(const struct pg_rows *rows)
{
	return (size_t)PQntuples(rows->result);
}

struct str
pg_value(const struct pg_rows *rows, size_t row, size_t column)
{
	struct str value = {NULL, 0};

	if (PQgetisnull(rows->result, (int)row, (int)column))
		return value;
	value.text = PQgetvalue(rows->result, (int)row, (int)column);
	value.len = (size_t)PQgetlength(rows->result, (int)row, (int)column);
	return value;
}

int64_t
pg_int(const struct pg_rows *rows, size_t row, size_t column)
{
	int64_t value = 0;

	if (!str_int(pg_value(rows, row, column), &value))
		log_bug("column %zu is no integer", column);
	return value;
}

bool
pg_bool(const struct pg_rows *rows, size_t row, size_t column)
{
	return str_is(pg_value(rows, row, column), "t");
}

void
pg_listen(struct pg *pg, const char *channel)
{
	pg->channel = channel;
	if (pg->conn != NULL && pg_session(pg) != PG_OK)
		log_warn("could not listen: %s", pg->error);
}

bool
pg_wait(struct pg *pg, int ms)
{
	struct pollfd ready = {.events = POLLIN};
	PGnotify *notice;
	bool any = false;

	if (pg->conn == NULL) {
		clock_sleep_ms(ms);
		return false;
	}
	/* A notice may have come along with an earlier answer. */
	while ((notice = PQnotifies(pg->conn)) != NULL) {
		PQfreemem(notice);
		any = true;
	}
	if (any)
		return true;
	ready.fd = PQsocket(pg->conn);
	if (poll(&ready, 1, ms) <= 0)
		return false;
	if (PQconsumeInput(pg->conn) == 0) {
		pg_fail(pg, "", PQerrorMessage(pg->conn));
		log_warn("lost the database: %s", pg->error);
		pg_drop(pg);
		return false;
	}
	while ((notice = PQnotifies(pg->conn)) != NULL) {
		PQfreemem(notice);
		any = true;
	}
	return any;
}
