/*
 * A provider, a database and a clock for reconcile.c alone: pages, answers and
 * differences go by a script, what is asked and stored is written down, and
 * sleeping takes no time. Defines the functions of db_reconcile.h, http.h and
 * clock.h that it calls, and the log, in place of the real ones.
 */
#ifndef UNIT_RECONCILE_FAKE_H
#define UNIT_RECONCILE_FAKE_H

#include "base/clock.h"
#include "base/log.h"
#include "io/http.h"
#include "reconcile.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct buf trace; /* what happened, a word or two each */

/* Appends "word;" to what happened. */
static void
note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	buf_vprintf(&trace, format, args);
	va_end(args);
	buf_char(&trace, ';');
}

/* the clock and the log --------------------------------------------------- */

static int64_t fake_ms;
static atomic_bool stopping;
static int64_t stop_at_ms; /* 0: never */
static char last_line[512];

int64_t
clock_monotonic_ms(void)
{
	return fake_ms;
}

int64_t
clock_unix(void)
{
	return 1796050800;
}

void
clock_sleep_ms(int64_t ms)
{
	fake_ms += ms;
	if (stop_at_ms > 0 && fake_ms >= stop_at_ms)
		atomic_store(&stopping, true);
}

void
log_write(enum log_level level, const char *format, ...)
{
	va_list args;

	(void)level;
	va_start(args, format);
	vsnprintf(last_line, sizeof(last_line), format, args);
	va_end(args);
}

/* http: every request has its answer at once ------------------------------ */

static struct http_call *sent;
static bool silent; /* no answer comes */

struct http *
http_open(const char *user_agent)
{
	(void)user_agent;
	return NULL;
}

void
http_close(struct http *http)
{
	(void)http;
}

void
http_start(struct http *http, struct http_call *call)
{
	(void)http;
	sent = call;
}

struct http_call *
http_next(struct http *http)
{
	struct http_call *call = silent ? NULL : sent;

	(void)http;
	return call;
}

void
http_cancel(struct http *http, struct http_call *call)
{
	(void)http;
	(void)call;
	note("cancel");
}

void
http_wait(struct http *http, int fd, int ms)
{
	(void)http;
	(void)fd;
	clock_sleep_ms(ms);
}

/* the provider ------------------------------------------------------------ */

struct event_reader {
	const struct event *events;
	size_t count;
};

/* What it says to a call: the nth is for the nth call, the last for more. */
struct reply {
	enum call_result result;
	const char *cursor; /* of a page */
	const char *body; /* of a thing */
	const struct event *events;
	size_t count;
};

static const struct reply *replies;
static size_t reply_count;
static size_t replied;
static struct reply body_reply; /* what body's reader reads */

static struct event_reader *
reader_new(const struct reply *reply)
{
	struct event_reader *reader = calloc(1, sizeof(*reader));

	reader->events = reply->events;
	reader->count = reply->count;
	return reader;
}

static bool
fake_step(struct work *work)
{
	static const char *const lists[] = {"events", "sessions", "refunds"};
	const struct call *call = work->call;
	const struct reply *reply;

	if (work->stage++ == 0) {
		work->endpoint = ENDPOINT_LOOK;
		return true;
	}
	if (call->act == ACT_LIST && call->since != 1795000000)
		note("since is lost");
	if (call->act == ACT_LIST)
		note("list %s%s%.*s", lists[call->list],
		    call->cursor.len ? " " : "", (int)call->cursor.len,
		    call->cursor.len ? call->cursor.text : "");
	else
		note("fetch %.*s%.*s%.*s", (int)call->event_id.len,
		    call->event_id.len ? call->event_id.text : "",
		    (int)call->refund_ref.len,
		    call->refund_ref.len ? call->refund_ref.text : "",
		    (int)call->session_id.len,
		    call->session_id.len ? call->session_id.text : "");
	reply = &replies[replied < reply_count ? replied : reply_count - 1];
	replied++;
	work->result = reply->result;
	if (reply->result != CALL_DONE)
		buf_str(&work->outcome.error, "why");
	if (reply->cursor != NULL)
		buf_str(&work->outcome.cursor, reply->cursor);
	if (reply->body != NULL) {
		buf_str(&work->outcome.body, reply->body);
		body_reply = *reply;
	}
	if (call->act == ACT_LIST && reply->result == CALL_DONE)
		work->outcome.reader = reader_new(reply);
	return false;
}

static struct event_reader *
fake_read(const struct conf *conf, const struct hook *hook, struct str body)
{
	(void)conf;
	(void)hook;
	note("read %.*s", (int)body.len, body.text);
	return reader_new(&body_reply);
}

static bool
fake_next(struct event_reader *reader, struct event *event)
{
	if (reader->count == 0)
		return false;
	reader->count--;
	*event = *reader->events++;
	return true;
}

static void
fake_read_free(struct event_reader *reader)
{
	free(reader);
}

static void
fake_pace(const struct conf *conf, struct provider_pace *pace)
{
	(void)conf;
	*pace = (struct provider_pace){
	    .per_second = {1000, 1000, 1000, 1000},
	    .calls_per_second = 1000,
	    .at_once = 1,
	    .timeout_ms = 20000,
	    .tries = 20,
	};
}

static const struct provider fake_provider = {
    .name = "fake",
    .pace = fake_pace,
    .read = fake_read,
    .next = fake_next,
    .read_free = fake_read_free,
    .step = fake_step,
};

const struct provider *
provider_find(struct str name)
{
	return str_is(name, "stripe") ? &fake_provider : NULL;
}

bool
provider_is_set_up(const struct conf *conf, const struct provider *provider)
{
	(void)conf;
	(void)provider;
	return true;
}

/* the database ------------------------------------------------------------ */

#define SCRIPT_MAX 16

/* What it answers, in order; the last again for more. */
static const char *begins[SCRIPT_MAX]; /* outcomes */
static struct reconcile_place begin_place; /* of "resumed" */
static struct reconcile_compared compares[SCRIPT_MAX];
static const char *asks[SCRIPT_MAX]; /* "session cs_1", NULL: none */
static int64_t left; /* that differ at the end */
static enum db_status failure; /* of the page, once */
static int failures; /* how often */
static int lose_at_page; /* the lease is lost there; 0: never */
static size_t begun_count, compared_count, asked_count, page_count;
static struct reconcile_start last_start;
static const char *settle_outcome;

static const void *
script_at(const void *script, size_t size, size_t count, size_t *at)
{
	size_t i = *at < count ? *at : count - 1;

	++*at;
	return (const char *)script + i * size;
}

struct db *
db_open(const struct conf *conf, enum db_role role, const char *process)
{
	(void)conf;
	(void)process;
	note(role == DB_RECONCILE ? "open" : "open as somebody else");
	return NULL;
}

void
db_close(struct db *db)
{
	(void)db;
	note("close");
}

const char *
db_error(const struct db *db)
{
	(void)db;
	return "no database";
}

void
reconcile_things_add(struct reconcile_things *things,
    const struct settlement *thing)
{
	(void)thing;
	things->count++;
}

void
reconcile_things_release(struct reconcile_things *things)
{
	things->count = 0;
}

enum db_status
db_reconcile_begin(struct db *db, const struct reconcile_start *start,
    struct reconcile_lease *lease, struct reconcile_begun *begun)
{
	const char *const *outcome =
	    script_at(begins, sizeof(begins[0]), SCRIPT_MAX, &begun_count);

	(void)db;
	last_start = *start;
	note("begin");
	if (*outcome == NULL)
		return DB_DOWN;
	snprintf(begun->outcome, sizeof(begun->outcome), "%s", *outcome);
	begun->busy_ms = 5000;
	begun->since = 1795000000;
	/* A request and what it is stored by are within it. */
	if (lease->lease_ms != 30000)
		note("lease of %d", lease->lease_ms);
	lease->kept =
	    strcmp(*outcome, "begun") == 0 || strcmp(*outcome, "resumed") == 0;
	lease->run = lease->kept ? 7 : 0;
	snprintf(begun->place.list, sizeof(begun->place.list), "sessions");
	if (strcmp(*outcome, "resumed") == 0) {
		snprintf(begun->place.list, sizeof(begun->place.list), "%s",
		    begin_place.list);
		buf_reset(&begun->place.cursor);
		buf_str(&begun->place.cursor, buf_text(&begin_place.cursor));
	}
	return DB_OK;
}

enum db_status
db_reconcile_page(struct db *db, struct reconcile_lease *lease,
    struct reconcile_things *things, struct str next,
    struct reconcile_place *place)
{
	const char *list = place->list;

	(void)db;
	if (failures > 0) {
		failures--;
		note("page fails");
		return failure;
	}
	note("store %zu", things->count);
	lease->kept = (int)++page_count != lose_at_page;
	buf_reset(&place->cursor);
	buf_add(&place->cursor, next.text, next.len);
	if (next.len == 0)
		snprintf(place->list, sizeof(place->list), "%s",
		    strcmp(list, "sessions") == 0      ? "refunds"
			: strcmp(list, "refunds") == 0 ? "events"
						       : "");
	return DB_OK;
}

enum db_status
db_reconcile_compare(struct db *db, struct reconcile_lease *lease,
    int64_t grace_ms, struct reconcile_compared *compared)
{
	(void)db;
	(void)lease;
	(void)grace_ms;
	note("compare");
	*compared = *(const struct reconcile_compared *)script_at(compares,
	    sizeof(compares[0]), SCRIPT_MAX, &compared_count);
	return DB_OK;
}

enum db_status
db_reconcile_next(struct db *db, struct reconcile_lease *lease,
    int64_t grace_ms, struct reconcile_question *question)
{
	const char *const *ask =
	    script_at(asks, sizeof(asks[0]), SCRIPT_MAX, &asked_count);

	(void)db;
	(void)lease;
	(void)grace_ms;
	buf_reset(&question->event_id);
	buf_reset(&question->session_id);
	question->id = *ask == NULL ? 0 : 11;
	if (*ask != NULL)
		buf_str(strncmp(*ask, "evt", 3) == 0 ? &question->event_id
						     : &question->session_id,
		    *ask);
	return DB_OK;
}

enum db_status
db_reconcile_heard(struct db *db, struct reconcile_lease *lease,
    int64_t question, const char *outcome, struct reconcile_things *things)
{
	(void)db;
	(void)lease;
	note("heard %" PRId64 " %s %zu", question,
	    outcome == NULL ? "-" : outcome, things->count);
	return DB_OK;
}

enum db_status
db_reconcile_finish(struct db *db, struct reconcile_lease *lease,
    struct reconcile_end *end)
{
	(void)db;
	(void)lease;
	note("finish");
	end->differ = left;
	return DB_OK;
}

enum db_status
db_reconcile_release(struct db *db, const struct reconcile_lease *lease)
{
	(void)db;
	(void)lease;
	note("release");
	return DB_OK;
}

enum db_status
db_payment_settle(struct db *db, const struct settlement *settlement,
    struct answer *answer)
{
	(void)db;
	note("settle %s %.*s", settlement->kind, (int)settlement->body.len,
	    settlement->body.text);
	if (settle_outcome == NULL)
		return DB_REFUSED;
	snprintf(answer->outcome, sizeof(answer->outcome), "%s",
	    settle_outcome);
	return DB_OK;
}

#endif
