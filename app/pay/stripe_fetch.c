/*
 * Going and looking: a session, a refund or an event by its id. What is found
 * becomes the body of an event, as if its webhook had come; the same state
 * has the same name however often it is looked up.
 */
#include "pay/stripe.h"

/* "fetch-<id>-<state>[-<more>]" */
static void
name_make(struct buf *name, struct str id, struct str state, struct str more)
{
	buf_str(name, "fetch-");
	buf_add(name, id.text, id.len);
	buf_char(name, '-');
	buf_add(name, state.text, state.len);
	if (!more.len)
		return;
	buf_char(name, '-');
	buf_add(name, more.text, more.len);
}

void
stripe_session_name(struct buf *name, const struct json *session)
{
	bool expired = stripe_session_news(session) == STRIPE_EXPIRED;

	name_make(name, json_text(json_get(session, "id")),
	    str_of(expired ? "expired" : "complete"),
	    json_text(json_get(session, "payment_status")));
}

void
stripe_refund_name(struct buf *name, const struct json *refund)
{
	name_make(name, json_text(json_get(refund, "id")),
	    json_text(json_get(refund, "status")), (struct str){NULL, 0});
}

enum stripe_news
stripe_session_news(const struct json *session)
{
	struct str status = json_text(json_get(session, "status"));

	if (str_is(status, "complete"))
		return STRIPE_COMPLETE;
	/* Whatever else it says: there is money. */
	if (str_is(json_text(json_get(session, "payment_status")), "paid"))
		return STRIPE_COMPLETE;
	if (str_is(status, "expired"))
		return STRIPE_EXPIRED;
	return str_is(status, "open") ? STRIPE_OPEN : STRIPE_UNKNOWN;
}

/* Puts the answer into an event of that name and type. */
static void
event_tell(struct work *work, struct str name, const char *type,
    const struct json *mode)
{
	const struct buf *answer = &work->http.answer.body;
	struct buf *body = &work->outcome.body;

	buf_reset(body);
	buf_str(body, "{\"id\":");
	str_json(body, name);
	buf_printf(body, ",\"object\":\"event\",\"type\":\"%s\"", type);
	/* A refund does not say whether it is one of test; what says something
	 * else is not taken for one. */
	if (mode && mode->type == JSON_BOOL)
		buf_printf(body, ",\"livemode\":%s",
		    mode->truth ? "true" : "false");
	buf_str(body, ",\"data\":{\"object\":");
	buf_add(body, answer->data, answer->len);
	buf_str(body, "}}");
}

void
stripe_session_tell(struct work *work, const struct json *session)
{
	bool expired = stripe_session_news(session) == STRIPE_EXPIRED;
	struct buf name = {0};

	stripe_session_name(&name, session);
	event_tell(work, str_view(&name),
	    expired ? "checkout.session.expired" : "checkout.session.completed",
	    json_get(session, "livemode"));
	buf_release(&name);
}

/* GET path<id>, which the call names. */
static bool
object_ask(struct work *work, const char *path, struct str id)
{
	struct buf whole = {0};

	buf_str(&whole, path);
	str_url(&whole, id);
	stripe_get(work,
	    work->stage == STRIPE_START ? STRIPE_LOOK : STRIPE_LOOK_AFTER,
	    buf_text(&whole));
	buf_release(&whole);
	return true;
}

bool
stripe_session_ask(struct work *work)
{
	return object_ask(work, "/v1/checkout/sessions/",
	    work->call->session_id);
}

/* The object in the answer, if it is the one of that id. */
static struct json_doc *
object_parse(struct work *work, struct str id, const char *what)
{
	struct json_doc *doc = stripe_answer(work);

	if (!doc)
		return NULL;
	if (str_equal(json_text(json_get(json_root(doc), "id")), id))
		return doc;
	stripe_lacks(work, what);
	json_free(doc);
	return NULL;
}

struct json_doc *
stripe_session_parse(struct work *work)
{
	static const char what[] = "the session that was asked for";
	struct json_doc *doc = object_parse(work, work->call->session_id, what);

	if (!doc || stripe_session_news(json_root(doc)) != STRIPE_UNKNOWN)
		return doc;
	stripe_lacks(work, what);
	json_free(doc);
	return NULL;
}

static enum call_result
session_take(struct work *work)
{
	struct json_doc *doc = stripe_session_parse(work);

	if (!doc)
		return CALL_RETRY;
	if (stripe_session_news(json_root(doc)) != STRIPE_OPEN)
		stripe_session_tell(work, json_root(doc));
	json_free(doc);
	return CALL_DONE;
}

static enum call_result
refund_take(struct work *work)
{
	struct json_doc *doc = object_parse(work, work->call->refund_ref,
	    "the refund that was asked for");
	struct buf name = {0};

	if (!doc)
		return CALL_RETRY;
	stripe_refund_name(&name, json_root(doc));
	event_tell(work, str_view(&name), "refund.updated",
	    json_get(json_root(doc), "livemode"));
	buf_release(&name);
	json_free(doc);
	return CALL_DONE;
}

static enum call_result
event_take(struct work *work)
{
	const struct buf *answer = &work->http.answer.body;
	struct json_doc *doc = object_parse(work, work->call->event_id,
	    "the event that was asked for");

	if (!doc)
		return CALL_RETRY;
	buf_reset(&work->outcome.body);
	buf_add(&work->outcome.body, answer->data, answer->len);
	json_free(doc);
	return CALL_DONE;
}

bool
stripe_fetch(struct work *work)
{
	const struct call *call = work->call;
	enum call_result result;

	if (work->stage == STRIPE_START) {
		if (call->event_id.len)
			return object_ask(work, "/v1/events/", call->event_id);
		if (call->refund_ref.len)
			return object_ask(work, "/v1/refunds/",
			    call->refund_ref);
		if (call->session_id.len)
			return stripe_session_ask(work);
		return stripe_refuse(work, "there is nothing to look up");
	}
	result = stripe_judge(work);
	if (result != CALL_DONE)
		return stripe_over(work, result);
	if (call->event_id.len)
		result = event_take(work);
	else if (call->refund_ref.len)
		result = refund_take(work);
	else
		result = session_take(work);
	return stripe_over(work, result);
}
