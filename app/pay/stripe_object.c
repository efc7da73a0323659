/*
 * Stripe's objects in our words: a session, a payment, a charge, a refund, a
 * dispute. Whose it is, the database decides: by session, by our hold's id or
 * our key in the metadata, or by the provider's payment.
 */
#include "base/token.h"
#include "pay/stripe.h"

#include <string.h>

#define HOLD_PREFIX "hld_"

static bool
is_absent(const struct json *node)
{
	return !node || node->type == JSON_NULL;
}

const char *
stripe_name_read(struct str *out, const struct json *node)
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

/* Ours have a few dozen plain characters; what is otherwise is not ours. */
static bool
is_key(struct str s)
{
	if (s.len == 0 || s.len > STRIPE_ID_MAX)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (s.text[i] <= ' ' || s.text[i] > '~')
			return false;
	}
	return true;
}

static void
metadata_read(struct event *event, const struct json *object)
{
	struct str hold = json_text(json_path(object, "metadata.hold_id"));
	struct str key = json_text(json_path(object, "metadata.key"));

	if (token_is_id(hold, HOLD_PREFIX))
		event->hold = hold;
	if (is_key(key))
		event->key = key;
}

/* What all of the objects have, under their own names. */
static const char *
object_read(struct event *event, const struct json *object,
    const char *payment_ref, const char *amount)
{
	const char *why;

	metadata_read(event, object);
	why = stripe_name_read(&event->payment_ref,
	    json_get(object, payment_ref));
	if (!why)
		why = amount_read(event, json_get(object, amount));
	if (!why)
		why = currency_read(event, json_get(object, "currency"));
	return why;
}

const char *
stripe_ignore(struct event *event, const char *detail)
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
		return stripe_ignore(event, "nothing was paid");
	event->kind = EVENT_PAID;
	return NULL;
}

static const char *
session_read(struct event *event, const struct json *object)
{
	const char *why =
	    stripe_name_read(&event->session_id, json_get(object, "id"));

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

const char *
stripe_session_completed(struct event *event, const struct json *object)
{
	struct str status = json_text(json_get(object, "payment_status"));
	const char *why = session_read(event, object);

	if (why)
		return why;
	if (is_foreign_session(object))
		return stripe_ignore(event, "not a session of ours");
	if (str_is(status, "paid") || str_is(status, "no_payment_required"))
		return paid(event);
	if (!str_is(status, "unpaid"))
		return "the payment_status is unknown";
	event->kind = EVENT_PENDING;
	return NULL;
}

const char *
stripe_session_late_paid(struct event *event, const struct json *object)
{
	const char *why = session_read(event, object);

	return why ? why : paid(event);
}

const char *
stripe_session_late_failed(struct event *event, const struct json *object)
{
	event->kind = EVENT_FAILED;
	return session_read(event, object);
}

const char *
stripe_session_expired(struct event *event, const struct json *object)
{
	event->kind = EVENT_EXPIRED;
	return session_read(event, object);
}

const char *
stripe_intent_succeeded(struct event *event, const struct json *object)
{
	bool received = !is_absent(json_get(object, "amount_received"));
	const char *why = object_read(event, object, "id",
	    received ? "amount_received" : "amount");

	if (!why && event->payment_ref.len == 0)
		why = "the payment has no id";
	return why ? why : paid(event);
}

const char *
stripe_intent_failed(struct event *event, const struct json *object)
{
	const char *why = object_read(event, object, "id", "amount");

	return why
	    ? why
	    : stripe_ignore(event, "a failed attempt; the buyer may try again");
}

const char *
stripe_charge_refunded(struct event *event, const struct json *object)
{
	const char *why =
	    object_read(event, object, "payment_intent", "amount_refunded");

	return why ? why
		   : stripe_ignore(event, "details come in refund events");
}

/*
 * Where a dispute stands; NULL when its status is not known. An inquiry
 * (warning_) has taken no money yet, and may become a dispute of the same name
 * without another event than charge.dispute.updated or .funds_withdrawn: so
 * the status counts, whatever the event is called. Money that was withdrawn is
 * reinstated in part after a dispute that is lost, too.
 */
static const char *
dispute_state(const struct json *object)
{
	static const struct {
		const char *theirs;
		const char *ours;
	} states[] = {
	    {"warning_needs_response", "inquiry"},
	    {"warning_under_review", "inquiry"},
	    {"warning_closed", "inquiry_closed"},
	    {"needs_response", "open"},
	    {"under_review", "open"},
	    {"won", "won"},
	    {"lost", "lost"},
	};
	struct str status = json_text(json_get(object, "status"));
	struct str type = json_text(
	    json_path(object, "payment_method_details.card.case_type"));

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		if (str_is(status, states[i].theirs))
			return states[i].ours;
	}
	/* It was kept from being raised: for nothing, or for the money. */
	if (str_is(status, "prevented"))
		return str_is(type, "block") ? "won" : "lost";
	return NULL;
}

static const char *
dispute_read(struct event *event, const struct json *object, const char *state)
{
	const char *why =
	    stripe_name_read(&event->refund_ref, json_get(object, "id"));

	if (!why && event->refund_ref.len == 0)
		why = "the dispute has no id";
	if (why)
		return why;
	event->kind = EVENT_DISPUTE;
	event->state = str_of(state);
	return object_read(event, object, "payment_intent", "amount");
}

const char *
stripe_dispute_opened(struct event *event, const struct json *object)
{
	const char *state = dispute_state(object);

	/* One that the bank does not discuss is lost from the beginning. */
	return dispute_read(event, object, state ? state : "open");
}

const char *
stripe_dispute_changed(struct event *event, const struct json *object)
{
	const char *state = dispute_state(object);

	return state ? dispute_read(event, object, state)
		     : "the dispute's status is unknown";
}

const char *
stripe_dispute_closed(struct event *event, const struct json *object)
{
	const char *state = dispute_state(object);

	if (!state || strcmp(state, "inquiry") == 0 ||
	    strcmp(state, "open") == 0)
		return "the dispute is closed, but its status is unknown";
	return dispute_read(event, object, state);
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

const char *
stripe_refund_read(struct event *event, const struct json *object)
{
	const char *why =
	    stripe_name_read(&event->refund_ref, json_get(object, "id"));
	const char *state =
	    stripe_refund_state(json_text(json_get(object, "status")));

	event->kind = EVENT_REFUND;
	if (!why && event->refund_ref.len == 0)
		why = "the refund has no id";
	if (!why && !state)
		why = "the refund's status is unknown";
	if (!why) {
		event->state = str_of(state);
		why = object_read(event, object, "payment_intent", "amount");
	}
	return why;
}
