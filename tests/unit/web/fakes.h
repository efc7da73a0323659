/*
 * What a test of a handler puts in place of the FastCGI connection, the
 * database and the provider: the same functions, defined in the test itself,
 * so that the archive's own stay out of it. Include it once in a test.
 */
#ifndef WEB_FAKES_H
#define WEB_FAKES_H

#include "pay/provider.h"
#include "web/event.h"
#include "web/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define FAKE_SECRET "0123456789abcdef0123456789abcdef"
#define FAKE_HOLD "hld_0123456789abcdefghijkl"
#define FAKE_BUYER "6ba7b810-9dad-81d1-80b4-00c04fd430c8"
#define FAKE_EVENTS 4

struct fake_settled {
	/* What each of the first calls comes to; DB_OK: fake.status. */
	enum db_status statuses[FAKE_EVENTS];
	struct settlement last;
	char trail[512]; /* "kind id" of each call, a line each */
	char event_id[512];
	char kind[16];
	char type[64];
	char detail[256];
	int calls;
	int batches;
	bool there; /* the connection */
	int waits[FAKE_EVENTS]; /* for locks, one after the other */
	int waited;
};

struct fake_gate {
	struct gate_refusal refusal; /* what it answers; no outcome: nothing */
	struct gate_refusal told;
	int passed;
	int tells;
	char opened[64];
};

static struct fake {
	struct conf conf;
	struct pages pages;
	struct web web;
	struct request request;
	struct reply reply;
	struct exchange x;
	const char *params[8][2]; /* headers, up to NULL */
	enum fcgi_body body; /* what fcgi_read_body answers */
	size_t body_max; /* what it was asked for */
	/* The database's next answer. */
	enum db_status status;
	const char *outcome;
	const char *document;
	const char *url;
	int64_t ahead; /* payment_start */
	const char *buyer; /* NULL: whoever asked */
	/* What it was asked. */
	int calls;
	struct hold_request taken;
	char text[HOLD_LINES_MAX + 2][512]; /* SKUs, key, e-mail */
	int64_t until_ms;
	struct fake_gate gate;
	struct uuid asked;
	bool has_viewer;
	size_t items;
	struct fake_settled settled;
	/* The provider's. */
	enum verdict verdict;
	struct hook hook; /* what was verified */
	struct event events[FAKE_EVENTS]; /* in a body */
	size_t event_count;
	size_t event_next;
	int reads;
	int reads_freed;
} fake;

struct str
fcgi_param(const struct fcgi *fcgi, const char *name)
{
	(void)fcgi;
	for (size_t i = 0; i < 8 && fake.params[i][0]; i++) {
		if (strcmp(fake.params[i][0], name) == 0)
			return str_of(fake.params[i][1]);
	}
	return (struct str){NULL, 0};
}

enum fcgi_body
fcgi_read_body(struct fcgi *fcgi, struct request *request, size_t max)
{
	(void)fcgi;
	fake.body_max = max;
	if (fake.body != FCGI_BODY_OK)
		request->body = (struct str){NULL, 0};
	return fake.body;
}

const char *
db_error(const struct db *db)
{
	(void)db;
	return "the database's reason";
}

void
answer_init(struct answer *answer)
{
	memset(answer, 0, sizeof(*answer));
}

void
answer_release(struct answer *answer)
{
	buf_release(&answer->document);
	buf_release(&answer->url);
}

static enum db_status
fake_answer(struct answer *answer, const struct uuid *buyer)
{
	fake.calls++;
	if (buyer)
		fake.asked = *buyer;
	if (fake.status != DB_OK)
		return fake.status;
	snprintf(answer->outcome, sizeof(answer->outcome), "%s", fake.outcome);
	if (buyer)
		answer->buyer = *buyer;
	if (fake.buyer)
		(void)uuid_parse(&answer->buyer, str_of(fake.buyer));
	if (fake.document)
		buf_str(&answer->document, fake.document);
	if (fake.url)
		buf_str(&answer->url, fake.url);
	answer->ahead = fake.ahead;
	return DB_OK;
}

static struct str
fake_keep(size_t slot, struct str s)
{
	snprintf(fake.text[slot], sizeof(fake.text[slot]), "%.*s", (int)s.len,
	    s.len ? s.text : "");
	return (struct str){s.text ? fake.text[slot] : NULL, s.len};
}

/* The lane: what a request's call comes back with. */
static void
fake_lane(struct lane_call *call)
{
	const struct hold_request *request = &call->request;

	fake.taken = *request;
	for (size_t i = 0; i < request->count; i++)
		fake.taken.lines[i].sku = fake_keep(i, request->lines[i].sku);
	fake.taken.key = fake_keep(HOLD_LINES_MAX, request->key);
	fake.taken.email = fake_keep(HOLD_LINES_MAX + 1, request->email);
	fake.until_ms = call->until_ms;
	call->asked_ms = 4711;
	call->status = fake_answer(&call->answer, &request->buyer);
}

bool
gate_refuses(struct gate *gate, const struct gate_ask *ask, int64_t now_ms,
    struct gate_refusal *refusal)
{
	(void)gate;
	(void)ask;
	(void)now_ms;
	*refusal = fake.gate.refusal;
	return fake.gate.refusal.outcome[0] != '\0';
}

void
gate_pass(struct gate *gate, const struct gate_ask *ask)
{
	(void)gate;
	(void)ask;
	fake.gate.passed++;
}

void
gate_tell(struct gate *gate, const struct gate_ask *ask,
    const struct gate_refusal *refusal, int64_t asked_ms)
{
	(void)gate;
	(void)ask;
	assert_int_equal(asked_ms, 4711);
	fake.gate.told = *refusal;
	fake.gate.tells++;
}

void
gate_open(struct gate *gate, struct str sku)
{
	(void)gate;
	snprintf(fake.gate.opened, sizeof(fake.gate.opened), "%.*s",
	    (int)sku.len, sku.text);
}

static enum db_status
fake_document(struct buf *document)
{
	fake.calls++;
	if (fake.status == DB_OK && fake.document)
		buf_str(document, fake.document);
	return fake.status;
}

enum db_status
db_hold_show(struct db *db, struct str id, const struct uuid *buyer,
    struct buf *document)
{
	(void)db;
	assert_true(str_is(id, FAKE_HOLD));
	fake.has_viewer = buyer != NULL;
	if (buyer)
		fake.asked = *buyer;
	return fake_document(document);
}

enum db_status
db_hold_drop(struct db *db, struct str id, const struct uuid *buyer,
    struct answer *answer)
{
	(void)db;
	assert_true(str_is(id, FAKE_HOLD));
	return fake_answer(answer, buyer);
}

enum db_status
db_availability(struct db *db, const struct str *skus, size_t n,
    struct buf *document)
{
	(void)db;
	(void)skus;
	fake.items = n;
	return fake_document(document);
}

enum db_status
db_payment_start(struct db *db, const struct payment_start *start,
    struct answer *answer)
{
	(void)db;
	assert_true(str_is(start->hold, FAKE_HOLD));
	assert_string_equal(start->provider, "fake");
	assert_string_equal(start->return_base, "https://shop.example");
	return fake_answer(answer, start->buyer);
}

static enum db_status
fake_settle(const struct settlement *settlement, struct answer *answer)
{
	struct fake_settled *settled = &fake.settled;
	size_t used = strlen(settled->trail);
	size_t call = (size_t)settled->calls++;

	settled->last = *settlement;
	snprintf(settled->trail + used, sizeof(settled->trail) - used,
	    "%s %.*s\n", settlement->kind, (int)settlement->event_id.len,
	    settlement->event_id.text);
	snprintf(settled->event_id, sizeof(settled->event_id), "%.*s",
	    (int)settlement->event_id.len, settlement->event_id.text);
	snprintf(settled->kind, sizeof(settled->kind), "%s", settlement->kind);
	snprintf(settled->type, sizeof(settled->type), "%.*s",
	    (int)settlement->type.len, settlement->type.text);
	snprintf(settled->detail, sizeof(settled->detail), "%.*s",
	    (int)settlement->detail.len,
	    settlement->detail.len ? settlement->detail.text : "");
	if (call < FAKE_EVENTS && settled->statuses[call] != DB_OK)
		return settled->statuses[call];
	return fake_answer(answer, NULL);
}

bool
db_is_there(const struct db *db)
{
	(void)db;
	return fake.settled.there;
}

void
db_lock_wait(struct db *db, int ms)
{
	(void)db;
	fake.settled.waits[fake.settled.waited++ % FAKE_EVENTS] = ms;
}

/* Several fail together when one does. */
enum db_status
db_payment_settle_all(struct db *db,
    const struct settlement *const *settlements, struct answer *const *answers,
    size_t n)
{
	enum db_status status = DB_OK;

	(void)db;
	fake.settled.batches++;
	for (size_t i = 0; i < n && status == DB_OK; i++)
		status = fake_settle(settlements[i], answers[i]);
	return status;
}

#include "web/fake_provider.h"

/* Tests' own ------------------------------------------------------------- */

static inline int
fake_setup(void **state)
{
	static char secret[] = FAKE_SECRET;
	static char none[] = "";
	static char url[] = "https://shop.example";
	static const char *const templates[PAGE_COUNT] = {
	    [PAGE_ORDER] = "order {{hold}} {{state}} {{left}} {{price}} "
			   "{{lines}} {{item_link}} {{refresh}} "
			   "{{refund_reason}}.",
	    [PAGE_OPENING] = "opening {{hold}} {{left}} {{wait}} "
			     "{{in_time}} {{refresh}} {{retry_in_ms}}",
	    [PAGE_PROBLEM] = "problem {{name}}|{{title}}|{{advice}}|{{item}}|"
			     "{{item_link}}",
	};

	(void)state;
	memset(&fake, 0, sizeof(fake));
	fake.conf.buyer.secret = secret;
	fake.conf.buyer.old_secret = none;
	fake.conf.server.public_url = url;
	fake.conf.stripe.opens_per_second = 20;
	fake.conf.stripe.calls_per_second = 80;
	fake.conf.stripe.webhook_secret = none;
	fake_provider.name = "fake";
	fake_provider.ack = NULL;
	for (size_t i = 0; i < PAGE_COUNT; i++)
		buf_str(&fake.pages.text[i], templates[i] ? templates[i] : "");
	fake.web = (struct web){.conf = &fake.conf, .pages = &fake.pages};
	return 0;
}

static inline int
fake_teardown(void **state)
{
	(void)state;
	pages_release(&fake.pages);
	buf_release(&fake.reply.headers);
	buf_release(&fake.reply.body);
	return 0;
}

static inline void
fake_param(const char *name, const char *value)
{
	for (size_t i = 0; i < 8; i++) {
		if (fake.params[i][0] && strcmp(fake.params[i][0], name) != 0)
			continue;
		fake.params[i][0] = name;
		fake.params[i][1] = value;
		return;
	}
	fail();
}

/* Whatever stands between a request and its answer. */
static inline void
fake_go_on(struct exchange *x)
{
	while (x->resume && x->delivery.provider)
		event_record(&x, 1);
	if (x->resume) {
		fake_lane(&x->call);
		x->resume(x);
	}
}

/* Sends a request; its answer is in fake.reply. */
static inline int
fake_send(const char *method, const char *path, const char *query)
{
	fake.request.method = str_of(method);
	fake.request.path = str_of(path);
	fake.request.query = str_of(query);
	exchange_init(&fake.x);
	fake.x.web = &fake.web;
	fake.x.request = &fake.request;
	fake.x.reply = &fake.reply;
	fake.reply.status = 0;
	buf_reset(&fake.reply.headers);
	buf_reset(&fake.reply.body);
	route(&fake.x);
	fake_go_on(&fake.x);
	exchange_release(&fake.x);
	return fake.reply.status;
}

static inline int
fake_get(const char *path, const char *query)
{
	fake.request.content_type = (struct str){NULL, 0};
	fake.request.body = (struct str){NULL, 0};
	return fake_send("GET", path, query);
}

static inline int
fake_post(const char *path, const char *type, const char *body)
{
	fake.request.content_type = str_of(type);
	fake.request.body = str_of(body);
	return fake_send("POST", path, "");
}

static inline int
fake_json(const char *path, const char *body)
{
	return fake_post(path, "application/json", body);
}

static inline int
fake_form(const char *path, const char *body)
{
	return fake_post(path, "application/x-www-form-urlencoded", body);
}

/* The request comes with a cookie that we signed for FAKE_BUYER. */
static inline void
fake_sign_in(struct buf *cookie)
{
	const struct token_secrets secrets = {.now = str_of(FAKE_SECRET)};

	buf_reset(cookie);
	buf_str(cookie, "a=b; lp_buyer=");
	token_sign(cookie, &secrets, "buyer",
	    str_of("6ba7b8109dad81d180b400c04fd430c8"));
	fake.request.cookie = (struct str){cookie->data, cookie->len};
}

static inline void
assert_has(const struct buf *text, const char *part)
{
	if (!strstr(buf_text(text), part))
		fail_msg("no %s in: %s", part, buf_text(text));
}

static inline void
assert_lacks(const struct buf *text, const char *part)
{
	if (strstr(buf_text(text), part))
		fail_msg("%s in: %s", part, buf_text(text));
}

#define assert_header(part) assert_has(&fake.reply.headers, part)
#define assert_body(part) assert_has(&fake.reply.body, part)

#endif
