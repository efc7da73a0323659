/*
 * Webhooks. The bytes are verified before anything looks into them; then each
 * event in them is recorded and acted on; only then they are acknowledged. When one is not recorded there is no 2xx, so that all are sent
 * again: those that were find themselves.
 */
#include "web/event.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/sign.h"
#include "pay/provider.h"
#include "web/problem.h"
#include "web/settlement.h"

#include <stdatomic.h>
#include <string.h>

/* Genuine events reach some 140 KB. */
#define EVENT_BYTES_MAX ((size_t)FCGI_BODY_MAX)
/* Ids are about 30 bytes; what is longer is not worth repeating. */
#define EVENT_ID_MAX 255
/* Whoever sends junk does not get to fill the log. */
#define COMPLAINT_MS 1000
/* So long those that came together are tried alone: none is answered before
 * the last, and nginx waits 15 s. */
#define ALONE_MS 8000

/* Of all threads together. */
struct complaint {
	const char *text;
	_Atomic unsigned long count; /* since the process began */
	_Atomic int64_t told_ms;
};

static void
complaint_log(struct complaint *complaint)
{
	unsigned long count = atomic_fetch_add(&complaint->count, 1) + 1;
	int64_t now = clock_monotonic_ms();
	int64_t told = complaint->told_ms;

	if (told && now - told < COMPLAINT_MS)
		return;
	/* One of those who find it due tells it. */
	if (atomic_compare_exchange_strong(&complaint->told_ms, &told, now))
		log_warn("%s: %lu so far", complaint->text, count);
}

/* The provider of an address; one that is not named is the one in use. */
static const struct provider *
event_provider(const struct conf *conf, struct str name)
{
	if (name.len)
		return provider_find(name);
	if (*conf->stripe.webhook_secret)
		return provider_find(str_of("stripe"));
	return provider_current(conf);
}

/* Takes the headers that the provider signs, under the name it uses. */
static void
hook_fill(struct hook *hook, const struct exchange *x,
    const struct provider *provider)
{
	static const struct {
		const char *provider;
		const char *signature;
		const char *id;
		const char *timestamp;
	} schemes[] = {
	    {"stripe", "HTTP_STRIPE_SIGNATURE", NULL, NULL},
	    {"standard", "HTTP_WEBHOOK_SIGNATURE", "HTTP_WEBHOOK_ID",
		"HTTP_WEBHOOK_TIMESTAMP"},
	    {"standard", "HTTP_SVIX_SIGNATURE", "HTTP_SVIX_ID",
		"HTTP_SVIX_TIMESTAMP"},
	};

	*hook = (struct hook){
	    .body = x->request->body,
	    .now = clock_unix(),
	    .tolerance_s = HOOK_TOLERANCE_S,
	};
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		if (strcmp(schemes[i].provider, provider->name) != 0)
			continue;
		hook->signature = fcgi_param(x->fcgi, schemes[i].signature);
		if (schemes[i].id)
			hook->id = fcgi_param(x->fcgi, schemes[i].id);
		if (schemes[i].timestamp)
			hook->timestamp =
			    fcgi_param(x->fcgi, schemes[i].timestamp);
		/* Never parts of one and parts of the other. */
		if (hook->signature.len)
			return;
	}
}

/* Whether the provider sent this. Says no more than no: it may be a probe. */
static bool
event_verify(struct exchange *x, const struct provider *provider,
    const struct hook *hook)
{
	/* A clock that is wrong looks like forgery: two words for two cases. */
	static struct complaint bad = {
	    .text = "refused a webhook with a wrong signature"};
	static struct complaint old = {
	    .text = "refused a webhook that was signed more than 300 s from "
		    "now by this machine's clock"};
	enum verdict verdict = provider->verify(x->web->conf, hook);

	if (verdict == VERDICT_OK)
		return true;
	complaint_log(verdict == VERDICT_OLD ? &old : &bad);
	problem_say(x, "malformed", NULL);
	return false;
}

void
delivery_release(struct delivery *delivery)
{
	if (delivery->provider)
		delivery->provider->read_free(delivery->reader);
	answer_release(&delivery->answer);
	buf_release(&delivery->name);
	buf_release(&delivery->error);
	buf_release(&delivery->outcomes);
}

/* A body that holds something usable is taken: it was read as a whole. */
static void
event_answer(struct exchange *x)
{
	const struct delivery *delivery = &x->delivery;
	bool several = delivery->taken + delivery->unusable > 1;
	struct buf json = {0};

	if (delivery->failure != DB_OK) {
		problem_database(x, delivery->failure, (struct str){NULL, 0});
	} else if (delivery->unusable && !delivery->taken) {
		problem_say(x, "malformed", NULL);
	} else if (delivery->provider->ack) {
		x->reply->status = 200;
		exchange_header(x, "Content-Type", "text/plain; charset=utf-8");
		buf_str(&x->reply->body, delivery->provider->ack);
	} else {
		buf_printf(&json,
		    several ? "{\"outcomes\":[%s]}" : "{\"outcome\":%s}",
		    buf_text(&delivery->outcomes));
		exchange_json(x, 200, str_view(&json));
	}
	buf_release(&json);
}

static void
event_recorded(struct exchange *x);

/*
 * Has a signed event recorded that cannot be used, for a person to look at. It
 * gets a name of its own, so that a good event of the same id still counts.
 */
static void
event_keep(struct exchange *x, struct str why)
{
	struct delivery *delivery = &x->delivery;
	struct buf *name = &delivery->name;
	unsigned char digest[SIGN_SHA256_LEN];
	struct event kept = {
	    .kind = EVENT_UNUSABLE,
	    .detail = why,
	    .amount = -1,
	};

	buf_reset(name);
	buf_str(name, "unusable:");
	if (delivery->event.id.len && delivery->event.id.len <= EVENT_ID_MAX) {
		buf_add(name, delivery->event.id.text, delivery->event.id.len);
		buf_char(name, ':');
	}
	sign_sha256(digest, x->request->body);
	str_hex(name, digest, sizeof(digest));
	kept.id = str_view(name);
	log_error("cannot use a signed event, kept as %s: %.*s", buf_text(name),
	    (int)why.len, why.text);
	settlement_fill(&delivery->settlement, delivery->provider, &kept,
	    x->request->body);
	delivery->keeping = true;
	x->resume = event_recorded;
}

/*
 * The next event of the delivery, or the answer. One that cannot be recorded
 * does not stand in the way of the next, but without a database none can.
 */
static void
event_next(struct exchange *x)
{
	struct delivery *delivery = &x->delivery;
	struct event *event = &delivery->event;

	delivery->keeping = false;
	*event = (struct event){.amount = -1};
	if (delivery->failure == DB_DOWN ||
	    !delivery->provider->next(delivery->reader, event)) {
		event_answer(x);
	} else if (event->kind == EVENT_UNUSABLE) {
		event_keep(x, event->detail);
	} else if (event->id.len == 0) {
		event_keep(x, str_of("it has no id"));
	} else {
		settlement_fill(&delivery->settlement, delivery->provider,
		    event, x->request->body);
		x->resume = event_recorded;
	}
}

/* What came of the event that was to be recorded. */
static void
event_recorded(struct exchange *x)
{
	struct delivery *delivery = &x->delivery;
	const char *outcome = delivery->answer.outcome;

	if (delivery->keeping) {
		if (delivery->status == DB_OK || delivery->status == DB_REFUSED)
			delivery->unusable++;
		else
			delivery->failure = delivery->status;
	} else if (delivery->status == DB_REFUSED) {
		event_keep(x, str_view(&delivery->error));
		return;
	} else if (delivery->status != DB_OK) {
		delivery->failure = delivery->status;
	} else {
		if (strcmp(outcome, "person") == 0)
			log_error("event %.*s needs a person",
			    (int)delivery->event.id.len,
			    delivery->event.id.text);
		if (delivery->taken++)
			buf_char(&delivery->outcomes, ',');
		str_json(&delivery->outcomes, str_of(outcome));
	}
	event_next(x);
}

/* Whether one of several may be what the others failed for: its stock may be
 * locked by somebody who takes too long. */
static bool
event_may_spoil(const struct db *db, enum db_status status)
{
	switch (status) {
	case DB_OK:
	case DB_LOST:
		return false;
	case DB_DOWN:
		return db_is_there(db);
	default:
		return true;
	}
}

static enum db_status
event_settle(struct exchange *const *xs, size_t count)
{
	const struct settlement *settlements[EVENT_GATHER_MAX] = {NULL};
	struct answer *answers[EVENT_GATHER_MAX] = {NULL};

	for (size_t i = 0; i < count; i++) {
		settlements[i] = &xs[i]->delivery.settlement;
		answers[i] = &xs[i]->delivery.answer;
	}
	return db_payment_settle_all(xs[0]->web->db, settlements, answers,
	    count);
}

static void
event_settled(struct exchange *const *xs, size_t count, enum db_status status)
{
	for (size_t i = 0; i < count; i++) {
		struct delivery *delivery = &xs[i]->delivery;

		delivery->status = status;
		buf_reset(&delivery->error);
		if (status == DB_REFUSED)
			buf_str(&delivery->error, db_error(xs[i]->web->db));
	}
}

/* Whether one of the same order has waited for its lock before, in vain. */
static bool
event_is_barred(struct exchange *const *xs, size_t i)
{
	struct str hold = xs[i]->delivery.settlement.hold;

	for (size_t j = 0; j < i && hold.len > 0; j++) {
		if (xs[j]->delivery.status == DB_DOWN &&
		    str_equal(xs[j]->delivery.settlement.hold, hold))
			return true;
	}
	return false;
}

/* So long each waits for a lock then: a part of the usual, as others are behind
 * it; but twice as long as those that are tried together do
 * (api.payment_settle_all), which may have locked what this needs. */
static int
event_lock_ms(const struct web *web)
{
	return web->conf->server.lock_timeout_ms * 3 / 10;
}

/* What came of all together was status. */
static void
event_record_alone(struct exchange *const *xs, size_t count,
    enum db_status status)
{
	const struct web *web = xs[0]->web;
	int64_t end_ms = clock_monotonic_ms() + ALONE_MS;

	log_warn("could not record %zu events at once, taking each alone: %s",
	    count, db_error(web->db));
	if (status == DB_DOWN)
		db_lock_wait(web->db, event_lock_ms(web));
	for (size_t i = 0; i < count; i++)
		event_settled(&xs[i], 1,
		    clock_monotonic_ms() < end_ms && !event_is_barred(xs, i)
			? event_settle(&xs[i], 1)
			: DB_DOWN);
	if (status == DB_DOWN)
		db_lock_wait(web->db, web->conf->server.lock_timeout_ms);
}

void
event_record(struct exchange *const *xs, size_t count)
{
	enum db_status status = event_settle(xs, count);

	if (count > 1 && event_may_spoil(xs[0]->web->db, status))
		event_record_alone(xs, count, status);
	else
		event_settled(xs, count, status);
	for (size_t i = 0; i < count; i++) {
		void (*resume)(struct exchange *) = xs[i]->resume;

		xs[i]->resume = NULL;
		resume(xs[i]);
	}
}

static void
event_take(struct exchange *x, const struct provider *provider)
{
	struct hook hook;

	hook_fill(&hook, x, provider);
	if (!event_verify(x, provider, &hook))
		return;
	x->delivery.provider = provider;
	x->delivery.reader =
	    provider->read(x->web->conf, &hook, x->request->body);
	event_next(x);
}

void
event_receive(struct exchange *x, struct str name)
{
	const struct provider *provider = event_provider(x->web->conf, name);

	if (!provider) {
		problem_say(x, "not-found", NULL);
		return;
	}
	switch (fcgi_read_body(x->fcgi, x->request, EVENT_BYTES_MAX)) {
	case FCGI_BODY_OK:
		event_take(x, provider);
		break;
	case FCGI_BODY_TOO_LONG:
		problem_say(x, "too-large", NULL);
		break;
	case FCGI_BODY_NO_LENGTH:
		problem_say(x, "length-required", NULL);
		break;
	case FCGI_BODY_BAD:
		problem_say(x, "malformed", NULL);
		break;
	}
}
