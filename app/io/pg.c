/*
 * One connection to PostgreSQL, made when it is needed and made again when it
 * is lost. Invariants: conn is NULL or has every statement prepared, compared,
 * and the channel listened to; nothing is waited for past until_ms. One thread
 * at a time.
 */
#include "io/pg_own.h"

#include "base/clock.h"
#include "base/log.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* After a failed connection the next try waits so long: a request that comes
 * meanwhile is answered "busy" at once instead of queueing for a time-out. */
#define CONNECT_PAUSE_MS 200
/* libpq's least is 2 s; a server across a network answers well within. Counts
 * until the server has let us in, and for each of several hosts. */
#define CONNECT_TIMEOUT_S "3"
/* The server itself ends a call that takes too long. Who has not even said so
 * by then is gone. */
#define CALL_GRACE_MS 1000
/* poll's longest wait at once. */
#define POLL_MS 60000

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
	pg->unheard = true;
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

void
pg_fail(struct pg *pg, const char *what, const char *message)
{
	size_t len = strcspn(message, "\n");

	snprintf(pg->error, sizeof(pg->error), "%s%s%.*s", what,
	    what[0] == '\0' ? "" : ": ", (int)len, message);
}

int64_t
pg_call_end(const struct pg *pg)
{
	const struct pg_options *o = &pg->options;

	if (o->statement_timeout_ms == 0)
		return INT64_MAX;
	return clock_monotonic_ms() + o->statement_timeout_ms +
	    o->lock_timeout_ms + CALL_GRACE_MS;
}

/*
 * Sends what is unsent and reads until the next result can be had without
 * waiting. False when time is over or the connection broke.
 */
static bool
pg_await(struct pg *pg)
{
	struct pollfd ready = {.fd = PQsocket(pg->conn)};
	int unsent;

	while ((unsent = PQflush(pg->conn)) > 0 || PQisBusy(pg->conn)) {
		int64_t left = pg->until_ms - clock_monotonic_ms();

		if (unsent < 0 || left <= 0)
			return false;
		ready.events = POLLIN;
		if (unsent > 0)
			ready.events |= POLLOUT;
		if (poll(&ready, 1, (int)(left < POLL_MS ? left : POLL_MS)) <=
		    0)
			continue;
		if ((ready.revents & ~POLLOUT) != 0 &&
		    PQconsumeInput(pg->conn) == 0)
			return false;
	}
	return true;
}

static bool
pg_is_good(const PGresult *result)
{
	ExecStatusType got = PQresultStatus(result);

	return got == PGRES_TUPLES_OK || got == PGRES_COMMAND_OK;
}

/* What a failure means; drops a connection that is of no more use. */
static enum pg_status
pg_judge(struct pg *pg, const char *what, const PGresult *result, bool whole)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *why = state != NULL ? PQresultErrorMessage(result)
					: PQerrorMessage(pg->conn);
	enum pg_status status = PG_LOST;
	bool drop = true;

	pg_fail(pg, what, why[0] != '\0' ? why : "no answer in time");
	/* Only what comes before the end of an answer is the last word. */
	if (whole && state != NULL && PQstatus(pg->conn) == CONNECTION_OK) {
		drop = pg_must_reconnect(state);
		status = pg_status_of(state);
		if (drop && status != PG_RETRY)
			status = PG_DOWN;
	}
	if (drop) {
		log_warn("lost the database: %s", pg->error);
		pg_drop(pg);
	}
	return status;
}

enum pg_status
pg_answer(struct pg *pg, const char *what, int sent, PGresult **result)
{
	bool whole = sent != 0;
	PGresult *next;

	*result = NULL;
	while (whole) {
		whole = pg_await(pg);
		next = whole ? PQgetResult(pg->conn) : NULL;
		if (next == NULL)
			break;
		if (*result == NULL || pg_is_good(*result)) {
			PQclear(*result);
			*result = next;
		} else {
			PQclear(next);
		}
	}
	if (whole && *result != NULL && pg_is_good(*result))
		return PG_OK;
	return pg_judge(pg, what, *result, whole);
}

enum pg_status
pg_exec(struct pg *pg, const char *what, const char *sql, PGresult **result)
{
	return pg_answer(pg, what, PQsendQuery(pg->conn, sql), result);
}

static void
pg_notice(void *unused, const char *message)
{
	(void)unused;
	(void)message;
}

/*
 * Drops a connection that the server has closed since the last call, as it
 * does when it restarts. Nothing has been sent on it yet, so a new one can
 * take its place unseen.
 */
static void
pg_drop_closed(struct pg *pg)
{
	struct pollfd ready = {.fd = PQsocket(pg->conn), .events = POLLIN};

	/* Its last words come before its end. */
	while (poll(&ready, 1, 0) > 0) {
		if (PQconsumeInput(pg->conn) == 0) {
			log_info("the database closed the connection");
			pg_drop(pg);
			return;
		}
	}
}

/* Why there is no connection. libpq repeats an address that it cannot read, in
 * parts or whole, and with it the password. */
static const char *
pg_connect_error(const struct pg *pg)
{
	const char *url = pg->options.url;
	PQconninfoOption *parts = PQconninfoParse(url, NULL);
	/* A name alone is one, too. */
	bool read = parts != NULL || strpbrk(url, "=:") == NULL;

	PQconninfoFree(parts);
	return read ? PQerrorMessage(pg->conn)
		    : "database.url is no connection string";
}

/* A new connection with all that it needs. */
static enum pg_status
pg_connect_now(struct pg *pg)
{
	const char *const names[] = {"dbname", "user", "application_name",
	    "client_encoding", "connect_timeout", "target_session_attrs", NULL};
	const char *const values[] = {pg->options.url, pg->options.role,
	    pg->options.process, "UTF8", CONNECT_TIMEOUT_S, "read-write", NULL};
	enum pg_status status;

	pg->conn = PQconnectdbParams(names, values, 1);
	/* What the server says by itself is told by the call that meets it. */
	PQsetNoticeProcessor(pg->conn, pg_notice, NULL);
	if (PQstatus(pg->conn) != CONNECTION_OK ||
	    PQsetnonblocking(pg->conn, 1) != 0) {
		pg_fail(pg, "", pg_connect_error(pg));
		return PG_DOWN;
	}
	status = pg_session_open(pg);
	/* Nothing of a caller's has been sent. */
	return status == PG_OK || status == PG_BUG ? status : PG_DOWN;
}

enum pg_status
pg_connect(struct pg *pg)
{
	bool again = pg->failed_at != 0;
	enum pg_status status;

	if (pg->conn != NULL)
		pg_drop_closed(pg);
	if (pg->conn != NULL)
		return PG_OK;
	if (again && clock_monotonic_ms() - pg->failed_at < CONNECT_PAUSE_MS)
		return PG_DOWN;
	status = pg_connect_now(pg);
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
	pg->until_ms = pg_call_end(pg);
	status = pg_answer(pg, name,
	    PQsendQueryPrepared(pg->conn, name, (int)count, values, NULL, NULL,
		0),
	    &result);
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
pg_affected(struct pg *pg, const char *sql, bool *any)
{
	PGresult *result;
	enum pg_status status = pg_connect(pg);

	if (status != PG_OK)
		return status;
	pg->until_ms = pg_call_end(pg);
	status = pg_exec(pg, "", sql, &result);
	*any = status == PG_OK && strcmp(PQcmdTuples(result), "0") != 0;
	PQclear(result);
	return status;
}

enum pg_status
pg_script(struct pg *pg, const char *sql)
{
	bool any;

	return pg_affected(pg, sql, &any);
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
	pg->until_ms = pg_call_end(pg);
	if (pg->conn != NULL && pg_session_set(pg) != PG_OK)
		log_warn("could not listen: %s", pg->error);
}

/* Whether a notification is among what has been read. */
static bool
pg_notices(struct pg *pg)
{
	PGnotify *notice;
	bool any = false;

	while ((notice = PQnotifies(pg->conn)) != NULL) {
		PQfreemem(notice);
		any = true;
	}
	return any;
}

/* Reads what has come; false when the connection is lost. */
static bool
pg_read(struct pg *pg)
{
	if (PQconsumeInput(pg->conn) != 0)
		return true;
	pg_fail(pg, "", PQerrorMessage(pg->conn));
	log_warn("lost the database: %s", pg->error);
	pg_drop(pg);
	return false;
}

bool
pg_wait(struct pg *pg, int ms)
{
	struct pollfd ready = {.events = POLLIN};

	if (pg->conn == NULL) {
		clock_sleep_ms(ms);
		return false;
	}
	/* A notice may have come along with an earlier answer. */
	if (pg_notices(pg))
		return true;
	ready.fd = PQsocket(pg->conn);
	if (poll(&ready, 1, ms) <= 0)
		return false;
	return pg_read(pg) && pg_notices(pg);
}

int
pg_fd(const struct pg *pg)
{
	return pg->conn == NULL ? -1 : PQsocket(pg->conn);
}

bool
pg_noticed(struct pg *pg)
{
	bool any = pg->conn != NULL && pg_read(pg) && pg_notices(pg);

	any |= pg->unheard;
	pg->unheard = false;
	return any;
}
