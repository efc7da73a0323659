/*
 * Webhooks. The bytes are verified before anything looks into them; then one
 * call records the event and acts on it; only then it is acknowledged. What
 * is not recorded gets no 2xx, so that it is sent again.
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

/* Whether the provider sent this. Says no more than no: it may be a probe. */
static bool
event_verify(struct exchange *x, const struct provider *provider)
{
	/* A clock that is wrong looks like forgery: two words for two cases. */
	static struct complaint bad = {
	    .text = "refused a webhook with a wrong signature"};
	static struct complaint old = {
	    .text = "refused a webhook that was signed more than 300 s from "
		    "now by this machine's clock"};
	const struct hook hook = {
	    .signature = fcgi_param(x->fcgi, "HTTP_STRIPE_SIGNATURE"),
	    .body = x->request->body,
	    .now = clock_unix(),
	    .tolerance_s = HOOK_TOLERANCE_S,
	};
	enum verdict verdict = provider->verify(x->web->conf, &hook);

	if (verdict == VERDICT_OK)
		return true;
	complaint_log(verdict == VERDICT_OLD ? &old : &bad);
	problem_say(x, "malformed", NULL);
	return false;
}

static enum db_status
event_settle(struct exchange *x, const struct provider *provider,
    const struct event *event, struct answer *answer)
{
	struct settlement settlement;

	settlement_fill(&settlement, provider, event, x->request->body);
	return db_payment_settle(x->web->db, &settlement, answer);
}

/*
 * Keeps a signed event that cannot be read, for a person to look at. It gets a
 * name of its own, so that a good event of the same id still counts.
 */
static void
event_keep(struct exchange *x, const struct provider *provider,
    const struct event *event)
{
	unsigned char digest[SIGN_SHA256_LEN];
	struct event kept = {
	    .kind = EVENT_UNUSABLE,
	    .detail = event->detail,
	    .amount = -1,
	};
	enum db_status status;
	struct answer answer;
	struct buf id = {0};

	buf_str(&id, "unusable:");
	if (event->id.len && event->id.len <= EVENT_ID_MAX) {
		buf_add(&id, event->id.text, event->id.len);
		buf_char(&id, ':');
	}
	sign_sha256(digest, x->request->body);
	str_hex(&id, digest, sizeof(digest));
	kept.id = str_view(&id);
	log_error("cannot use a signed event, kept as %s: %.*s", buf_text(&id),
	    (int)event->detail.len, event->detail.text);
	answer_init(&answer);
	status = event_settle(x, provider, &kept, &answer);
	if (status != DB_OK && status != DB_REFUSED)
		problem_database(x, status, (struct str){NULL, 0});
	else
		problem_say(x, "malformed", NULL);
	answer_release(&answer);
	buf_release(&id);
}

static void
event_act(struct exchange *x, const struct provider *provider,
    struct event *event)
{
	struct buf json = {0};
	enum db_status status;
	struct answer answer;

	answer_init(&answer);
	status = event_settle(x, provider, event, &answer);
	if (status == DB_REFUSED) {
		event->detail = str_of(db_error(x->web->db));
		event_keep(x, provider, event);
		goto out;
	}
	if (status != DB_OK) {
		problem_database(x, status, (struct str){NULL, 0});
		goto out;
	}
	if (strcmp(answer.outcome, "person") == 0)
		log_error("event %.*s needs a person", (int)event->id.len,
		    event->id.text);
	buf_str(&json, "{\"outcome\":");
	str_json(&json, str_of(answer.outcome));
	buf_char(&json, '}');
	exchange_json(x, 200, str_view(&json));
out:
	answer_release(&answer);
	buf_release(&json);
}

static void
event_read(struct exchange *x, const struct provider *provider)
{
	struct event event = {.amount = -1};
	struct event_reader *reader =
	    provider->read(x->web->conf, x->request->body, &event);

	if (event.kind != EVENT_UNUSABLE && event.id.len == 0) {
		event.kind = EVENT_UNUSABLE;
		event.detail = str_of("it has no id");
	}
	if (event.kind == EVENT_UNUSABLE)
		event_keep(x, provider, &event);
	else
		event_act(x, provider, &event);
	provider->read_free(reader);
}

void
event_receive(struct exchange *x, struct str name)
{
	const struct provider *provider =
	    name.len ? provider_find(name) : provider_default();

	if (!provider) {
		problem_say(x, "not-found", NULL);
		return;
	}
	switch (fcgi_read_body(x->fcgi, x->request, EVENT_BYTES_MAX)) {
	case FCGI_BODY_OK:
		if (event_verify(x, provider))
			event_read(x, provider);
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
