/*
 * Checkout sessions: open one for a hold, end it when the hold ends. What is
 * sent is made of the stored call alone, so that each retry says the same
 * under the same key.
 */
#include "pay/stripe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ADDRESS_MAX 4000 /* of a pay page; browsers take more */
/* From this version on, sessions name their methods otherwise. */
#define ALLOWED_METHODS_SINCE "2026-09-30"

static void
currency_add(struct buf *form, const char *name, struct str currency)
{
	char lower[4] = "";

	for (size_t i = 0; i < currency.len && i < 3; i++) {
		char c = currency.text[i];

		lower[i] = c;
		if (c >= 'A' && c <= 'Z')
			lower[i] = (char)(c - 'A' + 'a');
	}
	stripe_field(form, name, str_of(lower));
}

static void
session_form(struct buf *form, const char *version, const struct call *call)
{
	bool allowed = strcmp(version, ALLOWED_METHODS_SINCE) >= 0;
	struct str key = call->payment_key.len ? call->payment_key : call->key;
	char order[32];

	snprintf(order, sizeof(order), "ord_%" PRId64, call->number);
	stripe_field(form, "mode", str_of("payment"));
	/* The basket is one line: its price was fixed with the hold. */
	stripe_field(form, "line_items[0][quantity]", str_of("1"));
	currency_add(form, "line_items[0][price_data][currency]",
	    call->currency);
	stripe_field_int(form, "line_items[0][price_data][unit_amount]",
	    call->amount);
	stripe_field(form, "line_items[0][price_data][product_data][name]",
	    call->title);
	stripe_field(form, "client_reference_id", str_of(order));
	stripe_field_metadata(form, "metadata", call, key);
	/* A session's metadata is not copied to its payment. */
	stripe_field_metadata(form, "payment_intent_data[metadata]", call, key);
	stripe_field(form,
	    allowed ? "allowed_payment_method_types[0]"
		    : "payment_method_types[0]",
	    str_of("card"));
	/* The buyer pays the price that we compare with. */
	stripe_field(form, "adaptive_pricing[enabled]", str_of("false"));
	stripe_field_int(form, "expires_at", call->session_expires_at);
	stripe_field(form, "success_url", call->return_url);
	stripe_field(form, "cancel_url", call->return_url);
}

static bool
session_create(struct work *work)
{
	struct buf form = {0};

	session_form(&form, work->conf->stripe.version, work->call);
	stripe_post(work, ENDPOINT_OPEN, "/v1/checkout/sessions",
	    str_view(&form));
	buf_release(&form);
	return true;
}

static bool
is_address(struct str s)
{
	bool http = s.len > 7 && memcmp(s.text, "http://", 7) == 0;
	bool https = s.len > 8 && memcmp(s.text, "https://", 8) == 0;

	for (size_t i = 0; i < s.len; i++) {
		/* It becomes a header of ours. */
		if (s.text[i] <= ' ' || s.text[i] > '~')
			return false;
	}
	return (http || https) && s.len <= ADDRESS_MAX;
}

static enum call_result
session_take(struct work *work)
{
	struct json_doc *doc = stripe_answer(work);
	enum call_result result = CALL_DONE;
	struct str id;
	struct str url;

	if (!doc)
		return CALL_RETRY;
	id = json_text(json_get(json_root(doc), "id"));
	url = json_text(json_get(json_root(doc), "url"));
	if (id.len == 0 || id.len > STRIPE_ID_MAX) {
		result = stripe_lacks(work, "a session's id");
	} else if (!is_address(url)) {
		result = stripe_lacks(work, "the address of a pay page");
	} else {
		buf_add(&work->outcome.id, id.text, id.len);
		buf_add(&work->outcome.url, url.text, url.len);
	}
	json_free(doc);
	return result;
}

bool
stripe_open(struct work *work)
{
	enum call_result result;

	if (work->stage == STRIPE_START || stripe_is_stuck(work))
		return session_create(work);
	result = stripe_judge(work);
	if (result == CALL_DONE)
		result = session_take(work);
	return stripe_over(work, result);
}

static bool
session_expire(struct work *work)
{
	struct buf path = {0};

	buf_str(&path, "/v1/checkout/sessions/");
	str_url(&path, work->call->session_id);
	buf_str(&path, "/expire");
	stripe_post(work, ENDPOINT_END, buf_text(&path), (struct str){NULL, 0});
	buf_release(&path);
	return true;
}

/* What the session in the answer says about ending it. */
static enum call_result
session_decide(struct work *work)
{
	struct json_doc *doc = stripe_session_parse(work);
	enum call_result result = CALL_RETRY;

	if (!doc)
		return CALL_RETRY;
	switch (stripe_session_news(json_root(doc))) {
	case STRIPE_EXPIRED:
		result = CALL_DONE;
		break;
	case STRIPE_COMPLETE:
		stripe_session_tell(work, json_root(doc));
		result = CALL_COMPLETE;
		break;
	default:
		buf_reset(&work->outcome.error);
		buf_str(&work->outcome.error, "the session has not ended");
	}
	json_free(doc);
	return result;
}

/*
 * It can only be ended while it is open, and the refusal's text is not for
 * machines. After a second try without an outcome: the same.
 */
static bool
end_must_look(const struct work *work, enum call_result result)
{
	int status = work->http.answer.status;

	return work->stage != STRIPE_LOOK_AFTER &&
	    (status == 400 || status == 404 ||
		(result == CALL_RETRY && work->call->try > 1));
}

bool
stripe_end(struct work *work)
{
	enum call_result result;

	if (work->call->session_id.len == 0)
		return stripe_refuse(work, "there is no session to end");
	if (work->stage == STRIPE_START || stripe_is_stuck(work))
		return session_expire(work);
	result = stripe_judge(work);
	if (result == CALL_DONE)
		return stripe_over(work, session_decide(work));
	if (end_must_look(work, result))
		return stripe_session_ask(work);
	return stripe_over(work, result);
}
