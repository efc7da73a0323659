/*
 * Stripe's events in our words. A reader of one type of event answers NULL
 * when it understood it, else why the event cannot be used. Whose event it
 * is, the database decides: by session, by our hold's id in the metadata, or
 * by the provider's payment.
 */
#include "base/log.h"
#include "base/token.h"
#include "pay/stripe.h"

#include <stdlib.h>
#include <string.h>

#define HOLD_PREFIX "hld_"

struct event_reader {
	struct json_doc *doc; /* NULL when the body is no JSON */
};

static bool
is_absent(const struct json *node)
{
	return !node || node->type == JSON_NULL;
}

/* A name of one of the provider's objects; none is fine, a long one not. */
static const char *
name_read(struct str *out, const struct json *node)
{
	if (is_absent(node))
		return NULL;
	if (node->type != JSON_STRING || node->text.len == 0 ||
	    node->text.len > STRIPE_ID_MAX)
		return "an id is not a text of 1 to 255 bytes";
	*out = node->text;
	return NULL;
}

static const char *
amount_read(struct event *event, const struct json *node)
{
	int64_t amount;

	if (is_absent(node))
		return NULL;
	if (!json_int(node, &amount) || amount < 0)
		return "the amount is not a whole number in range";
	event->amount = amount;
	return NULL;
}

static const char *
currency_read(struct event *event, const struct json *node)
{
	struct str s = json_text(node);
	char upper[4] = "";

	if (is_absent(node))
		return NULL;
	for (size_t i = 0; i < s.len && i < 3; i++) {
		char c = s.text[i];

		if (c >= 'a' && c <= 'z')
			c = (char)(c - 'a' + 'A');
		if (c >= 'A' && c <= 'Z')
			upper[i] = c;
	}
	if (s.len != 3 || strlen(upper) != 3)
		return "the currency is not three letters";
	memcpy(event->currency, upper, sizeof(upper));
	return NULL;
}

/* What all of the objects have, under their own names. */
static const char *
object_read(struct event *event, const struct json *object,
    const char *payment_ref, const char *amount)
{
	struct str hold = json_text(json_path(object, "metadata.hold_id"));
	const char *why;

	if (token_is_id(hold, HOLD_PREFIX))
		event->hold = hold;
	why = name_read(&event->payment_ref, json_get(object, payment_ref));
	if (!why)
		why = amount_read(event, json_get(object, amount));
	if (!why)
		why = currency_read(event, json_get(object, "currency"));
	return why;
}

static const char *
ignore(struct event *event, const char *detail)
{
	event->kind = EVENT_IGNORE;
	event->detail = str_of(detail);
	return NULL;
}

static const char *
paid(struct event *event)
{
	if (event->amount < 0 || !*event->currency)
		return "paid, but no amount or no currency is said";
	if (event->amount == 0)
		return ignore(event, "nothing was paid");
	event->kind = EVENT_PAID;
	return NULL;
}

static const char *
session_read(struct event *event, const struct json *object)
{
	const char *why = name_read(&event->session_id, json_get(object, "id"));

	if (!why && event->session_id.len == 0)
		why = "the session has no id";
	if (!why)
		why = object_read(event, object, "payment_intent",
		    "amount_total");
	return why;
}

/* Another use of the same account: subscriptions, cards kept for later. */
static bool
is_foreign_session(const struct json *object)
{
	struct str mode = json_text(json_get(object, "mode"));

	return mode.len && !str_is(mode, "payment");
}

static const char *
session_completed(struct event *event, const struct json *object)
{
	struct str status = json_text(json_get(object, "payment_status"));
	const char *why = session_read(event, object);

	if (why)
		return why;
	if (is_foreign_session(object))
		return ignore(event, "not a session of ours");
	if (str_is(status, "paid") || str_is(status, "no_payment_required"))
		return paid(event);
	if (!str_is(status, "unpaid"))
		return "the payment_status is unknown";
	event->kind = EVENT_PENDING;
	return NULL;
}

static const char *
session_late_paid(struct event *event, const struct json *object)
{
	const char *why = session_read(event, object);

	return why ? why : paid(event);
}

static const char *
session_late_failed(struct event *event, const struct json *object)
{
	event->kind = EVENT_FAILED;
	return session_read(event, object);
}

static const char *
session_expired(struct event *event, const struct json *object)
{
	event->kind = EVENT_EXPIRED;
	return session_read(event, object);
}

static const char *
intent_succeeded(struct event *event, const struct json *object)
{
	bool received = !is_absent(json_get(object, "amount_received"));
	const char *why = object_read(event, object, "id",
	    received ? "amount_received" : "amount");

	if (!why && event->payment_ref.len == 0)
		why = "the payment has no id";
	return why ? why : paid(event);
}

static const char *
intent_failed(struct event *event, const struct json *object)
{
	const char *why = object_read(event, object, "id", "amount");

	return why ? why
		   : ignore(event, "a failed attempt; the buyer may try again");
}

static const char *
charge_refunded(struct event *event, const struct json *object)
{
	const char *why =
	    object_read(event, object, "payment_intent", "amount_refunded");

	return why ? why : ignore(event, "details come in refund events");
}

static const char *
charge_disputed(struct event *event, const struct json *object)
{
	event->kind = EVENT_DISPUTE;
	return object_read(event, object, "payment_intent", "amount");
}

const char *
stripe_refund_state(struct str status)
{
	static const struct {
		const char *theirs;
		const char *ours;
	} states[] = {
	    {"pending", "pending"},
	    {"requires_action", "pending"},
	    {"succeeded", "succeeded"},
	    {"failed", "failed"},
	    {"canceled", "failed"},
	};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		if (str_is(status, states[i].theirs))
			return states[i].ours;
	}
	return NULL;
}

static const char *
refund_read(struct event *event, const struct json *object)
{
	const char *why = name_read(&event->refund_ref, json_get(object, "id"));
	const char *state =
	    stripe_refund_state(json_text(json_get(object, "status")));

	event->kind = EVENT_REFUND;
	if (!why && event->refund_ref.len == 0)
		why = "the refund has no id";
	if (!why && !state)
		why = "the refund's status is unknown";
	if (!why) {
		event->refund_state = str_of(state);
		why = object_read(event, object, "payment_intent", "amount");
	}
	return why;
}

static const char *
event_read(struct event *event, const struct json *root)
{
	static const struct {
		const char *type;
		const char *(*read)(struct event *, const struct json *);
	} types[] = {
	    {"checkout.session.completed", session_completed},
	    {"checkout.session.async_payment_succeeded", session_late_paid},
	    {"checkout.session.async_payment_failed", session_late_failed},
	    {"checkout.session.expired", session_expired},
	    {"payment_intent.succeeded", intent_succeeded},
	    {"payment_intent.payment_failed", intent_failed},
	    {"charge.refunded", charge_refunded},
	    {"refund.created", refund_read},
	    {"refund.updated", refund_read},
	    {"refund.failed", refund_read},
	    {"charge.dispute.created", charge_disputed},
	};
	const struct json *object = json_path(root, "data.object");

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (!str_is(event->type, types[i].type))
			continue;
		if (!object || object->type != JSON_OBJECT)
			return "the event has no data.object";
		return types[i].read(event, object);
	}
	return ignore(event, "a type that is not needed");
}

static const char *
root_read(const struct conf *conf, struct event *event, const struct json *root)
{
	const struct json *mode = json_get(root, "livemode");
	const struct json *object = json_get(root, "object");
	const char *why = name_read(&event->id, json_get(root, "id"));

	if (!why)
		why = name_read(&event->type, json_get(root, "type"));
	if (!why && (event->id.len == 0 || event->type.len == 0))
		why = "the event has no id or no type";
	if (!why && str_is(json_text(object), "v2.core.event"))
		why = "a thin event; the endpoint must send snapshots";
	if (!why && !is_absent(object) && !str_is(json_text(object), "event"))
		why = "not an event";
	if (!why && !is_absent(mode) && mode->type != JSON_BOOL)
		why = "the livemode is neither true nor false";
	if (why)
		return why;
	if (!is_absent(mode) && mode->truth != conf->stripe.livemode)
		return ignore(event, "other mode");
	return event_read(event, root);
}

struct event_reader *
stripe_read(const struct conf *conf, struct str body, struct event *event)
{
	struct event_reader *reader = calloc(1, sizeof(*reader));
	const char *why = NULL;

	if (!reader)
		log_bug("out of memory");
	*event = (struct event){.kind = EVENT_UNUSABLE, .amount = -1};
	reader->doc = json_parse(body, &why);
	if (reader->doc)
		why = root_read(conf, event, json_root(reader->doc));
	if (why) {
		event->kind = EVENT_UNUSABLE;
		event->detail = str_of(why);
	}
	return reader;
}

void
stripe_read_free(struct event_reader *reader)
{
	if (!reader)
		return;
	json_free(reader->doc);
	free(reader);
}
