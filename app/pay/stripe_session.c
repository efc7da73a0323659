/*
 * Checkout sessions: open one for a hold, end it when the hold ends, look it
 * up. What is sent is made of the stored call alone, so that each retry says
 * the same under the same key.
 */
#include "pay/stripe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* From this version on, sessions name their methods otherwise. */
#define ALLOWED_METHODS_SINCE "2026-09-30"

static void
work_open(struct stripe_work *x, const struct conf *conf, struct http *http,
    const struct call *call)
{
	*x = (struct stripe_work){
	    .conf = conf,
	    .http = http,
	    .call = call,
	    .secret = conf->stripe.open_key,
	};
	http_answer_init(&x->answer);
}

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
	stripe_field_metadata(form, "metadata", call);
	/* A session's metadata is not copied to its payment. */
	stripe_field_metadata(form, "payment_intent_data[metadata]", call);
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
is_address(struct str s)
{
	bool http = s.len > 7 && memcmp(s.text, "http://", 7) == 0;
	bool https = s.len > 8 && memcmp(s.text, "https://", 8) == 0;

	for (size_t i = 0; i < s.len; i++) {
		/* It becomes a header of ours. */
		if ((unsigned char)s.text[i] <= ' ' || s.text[i] == 127)
			return false;
	}
	return http || https;
}

static enum call_result
session_take(struct stripe_work *x)
{
	struct json_doc *doc = stripe_answer(x);
	enum call_result result = CALL_DONE;
	struct str id;
	struct str url;

	if (!doc)
		return CALL_RETRY;
	id = json_text(json_get(json_root(doc), "id"));
	url = json_text(json_get(json_root(doc), "url"));
	if (id.len == 0 || id.len > STRIPE_ID_MAX) {
		result = stripe_lacks(x, "a session's id");
	} else if (!is_address(url)) {
		result = stripe_lacks(x, "the address of a pay page");
	} else {
		buf_add(&x->outcome->id, id.text, id.len);
		buf_add(&x->outcome->url, url.text, url.len);
	}
	json_free(doc);
	return result;
}

enum call_result
stripe_open(const struct conf *conf, struct http *http, const struct call *call,
    struct call_outcome *outcome)
{
	struct stripe_work x;
	struct buf form;
	enum call_result result;

	work_open(&x, conf, http, call);
	x.outcome = outcome;
	buf_init(&form);
	session_form(&form, conf->stripe.version, call);
	result = stripe_post(&x, "/v1/checkout/sessions", str_view(&form));
	if (result == CALL_DONE)
		result = session_take(&x);
	buf_release(&form);
	http_answer_release(&x.answer);
	return result;
}

static void
session_path(struct buf *path, const struct call *call)
{
	buf_reset(path);
	buf_str(path, "/v1/checkout/sessions/");
	str_url(path, call->session_id);
}

/* The session in the answer; NULL, with the error filled, when it is not. */
static struct json_doc *
session_parse(struct stripe_work *x)
{
	struct json_doc *doc = stripe_answer(x);
	const struct json *root;

	if (!doc)
		return NULL;
	root = json_root(doc);
	if (str_equal(json_text(json_get(root, "id")), x->call->session_id) &&
	    json_text(json_get(root, "status")).len > 0)
		return doc;
	stripe_lacks(x, "the session that was asked for");
	json_free(doc);
	return NULL;
}

/* CALL_DONE with the session, which is the caller's to free. */
static enum call_result
session_get(struct stripe_work *x, struct json_doc **doc)
{
	struct buf path;
	enum call_result result;

	*doc = NULL;
	buf_init(&path);
	session_path(&path, x->call);
	result = stripe_get(x, path.data);
	if (result == CALL_DONE) {
		*doc = session_parse(x);
		if (!*doc)
			result = CALL_RETRY;
	}
	buf_release(&path);
	return result;
}

/* What a session's status says about ending it. */
static enum call_result
session_judge(struct stripe_work *x, const struct json_doc *doc)
{
	struct str status = json_text(json_get(json_root(doc), "status"));

	if (str_is(status, "expired"))
		return CALL_DONE;
	if (str_is(status, "complete"))
		return CALL_COMPLETE;
	buf_reset(&x->outcome->error);
	buf_str(&x->outcome->error, "the session has not ended");
	return CALL_RETRY;
}

static enum call_result
session_look(struct stripe_work *x)
{
	struct json_doc *doc;
	enum call_result result = session_get(x, &doc);

	if (result == CALL_DONE)
		result = session_judge(x, doc);
	json_free(doc);
	return result;
}

static enum call_result
session_end(struct stripe_work *x)
{
	struct json_doc *doc;
	struct buf path;
	enum call_result result;

	buf_init(&path);
	session_path(&path, x->call);
	buf_str(&path, "/expire");
	result = stripe_post(x, path.data, (struct str){NULL, 0});
	buf_release(&path);
	if (result == CALL_DONE) {
		doc = session_parse(x);
		result = doc ? session_judge(x, doc) : CALL_RETRY;
		json_free(doc);
		return result;
	}
	/*
	 * It can only be ended while it is open, and the refusal's text is
	 * not for machines. After a second try without an outcome: the same.
	 */
	if (x->answer.status == 400 || x->answer.status == 404 ||
	    (result == CALL_RETRY && x->call->try > 1))
		result = session_look(x);
	return result;
}

static bool
session_is_named(const struct call *call, struct call_outcome *outcome)
{
	if (call->session_id.len)
		return true;
	buf_reset(&outcome->error);
	buf_str(&outcome->error, "there is no session to speak of");
	return false;
}

enum call_result
stripe_end(const struct conf *conf, struct http *http, const struct call *call,
    struct call_outcome *outcome)
{
	struct stripe_work x;
	enum call_result result;

	if (!session_is_named(call, outcome))
		return CALL_REFUSED;
	work_open(&x, conf, http, call);
	x.outcome = outcome;
	result = session_end(&x);
	http_answer_release(&x.answer);
	return result;
}

/* The event that Stripe would send about the session in the answer. */
static enum call_result
session_event(struct stripe_work *x, const struct json_doc *doc)
{
	const struct json *root = json_root(doc);
	const struct json *mode = json_get(root, "livemode");
	struct str id = json_text(json_get(root, "id"));
	struct str status = json_text(json_get(root, "status"));
	struct str paid = json_text(json_get(root, "payment_status"));
	bool expired = str_is(status, "expired");
	struct buf *body = &x->outcome->body;
	struct buf name;

	if (!expired && !str_is(status, "complete"))
		return session_judge(x, doc);
	buf_init(&name);
	buf_str(&name, "fetch-");
	buf_add(&name, id.text, id.len);
	buf_printf(&name, "-%s-", expired ? "expired" : "complete");
	buf_add(&name, paid.text, paid.len);
	buf_reset(body);
	buf_str(body, "{\"id\":");
	str_json(body, str_view(&name));
	buf_printf(body,
	    ",\"object\":\"event\",\"type\":\"checkout.session.%s\"",
	    expired ? "expired" : "completed");
	buf_printf(body, ",\"livemode\":%s,\"data\":{\"object\":",
	    mode && mode->truth ? "true" : "false");
	buf_add(body, x->answer.body.data, x->answer.body.len);
	buf_str(body, "}}");
	buf_release(&name);
	return CALL_DONE;
}

enum call_result
stripe_fetch(const struct conf *conf, struct http *http,
    const struct call *call, struct call_outcome *outcome)
{
	struct stripe_work x;
	struct json_doc *doc = NULL;
	enum call_result result;

	if (!session_is_named(call, outcome))
		return CALL_REFUSED;
	work_open(&x, conf, http, call);
	x.outcome = outcome;
	result = session_get(&x, &doc);
	if (result == CALL_DONE)
		result = session_event(&x, doc);
	json_free(doc);
	http_answer_release(&x.answer);
	return result;
}
