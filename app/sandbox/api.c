/*
 * Key, route, parameters to JSON, one call down; the rules are in SQL.
 */
#include "sandbox/api.h"

#include "base/log.h"
#include "base/money.h"
#include "base/sign.h"
#include "sandbox/call.h"
#include "sandbox/params.h"
#include "sandbox/route.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum key { KEY_OPEN, KEY_REFUND, KEY_EITHER };

static enum db_status
session_create(struct api_call *call)
{
	static const char name[] = "line_items[0][price_data][currency]";
	char currency[4] = "";
	struct str sent;

	/* Whether there is such a currency, only the table in C knows. */
	if (form_get(&call->form, name, &sent) && sent.len == 3) {
		for (int i = 0; i < 3; i++)
			currency[i] =
			    (char)toupper((unsigned char)sent.text[i]);
		if (money_decimals(currency) < 0) {
			call_invalid(call, 400, name, "Invalid currency");
			return DB_OK;
		}
	}
	return db_sandbox_session_create(call->x->web->db, &call->post,
	    call->x->web->conf->sandbox.pay_url, &call->answer);
}

static enum db_status
session_get(struct api_call *call)
{
	return db_sandbox_session_get(call->x->web->db, call->id,
	    &call->answer);
}

static enum db_status
session_search(struct api_call *call)
{
	return db_sandbox_session_search(call->x->web->db, call->post.params,
	    &call->answer);
}

static enum db_status
session_expire(struct api_call *call)
{
	return db_sandbox_session_expire(call->x->web->db, call->id,
	    &call->post, &call->answer);
}

static enum db_status
refund_create(struct api_call *call)
{
	return db_sandbox_refund_create(call->x->web->db, &call->post,
	    &call->answer);
}

static enum db_status
refund_get(struct api_call *call)
{
	return db_sandbox_refund_get(call->x->web->db, call->id, &call->answer);
}

static enum db_status
refund_list(struct api_call *call)
{
	return db_sandbox_refund_list(call->x->web->db, call->post.params,
	    &call->answer);
}

static enum db_status
payment_get(struct api_call *call)
{
	return db_sandbox_payment_get(call->x->web->db, call->id,
	    &call->answer);
}

static enum db_status
dispute_get(struct api_call *call)
{
	return db_sandbox_dispute_get(call->x->web->db, call->id,
	    &call->answer);
}

static enum db_status
dispute_list(struct api_call *call)
{
	return db_sandbox_dispute_list(call->x->web->db, call->post.params,
	    &call->answer);
}

static enum db_status
event_get(struct api_call *call)
{
	return db_sandbox_event_get(call->x->web->db, call->id, &call->answer);
}

static enum db_status
event_list(struct api_call *call)
{
	return db_sandbox_event_list(call->x->web->db, call->post.params,
	    &call->answer);
}

/* target: what faults call it. */
static const struct route {
	const char *method;
	const char *path;
	const char *target;
	enum key key;
	enum db_status (*handle)(struct api_call *call);
} routes[] = {
    {"POST", "/v1/checkout/sessions", "open", KEY_OPEN, session_create},
    {"GET", "/v1/checkout/sessions", "look", KEY_EITHER, session_search},
    {"GET", "/v1/checkout/sessions/*", "look", KEY_EITHER, session_get},
    {"POST", "/v1/checkout/sessions/*/expire", "end", KEY_OPEN, session_expire},
    {"POST", "/v1/refunds", "refund", KEY_REFUND, refund_create},
    {"GET", "/v1/refunds", "look", KEY_EITHER, refund_list},
    {"GET", "/v1/refunds/*", "look", KEY_EITHER, refund_get},
    {"GET", "/v1/payment_intents/*", "look", KEY_EITHER, payment_get},
    {"GET", "/v1/disputes", "look", KEY_EITHER, dispute_list},
    {"GET", "/v1/disputes/*", "look", KEY_EITHER, dispute_get},
    {"GET", "/v1/events", "look", KEY_EITHER, event_list},
    {"GET", "/v1/events/*", "look", KEY_EITHER, event_get},
};

static const struct route *
route_find(struct api_call *call)
{
	const struct request *request = call->x->request;

	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		if (str_is(request->method, routes[i].method) &&
		    route_match(request->path, routes[i].path, &call->id))
			return &routes[i];
	}
	return NULL;
}

static bool
key_is(struct str sent, const char *key)
{
	return sent.len == strlen(key) && sign_equal(sent.text, key, sent.len);
}

/* 0, or the status of the refusal: 401 for no key of ours, 403 for the wrong
 * one of the two. */
static int
key_check(struct api_call *call, enum key wanted)
{
	const struct conf *conf = call->x->web->conf;
	struct str sent = fcgi_param(call->x->fcgi, "HTTP_AUTHORIZATION");
	bool open;
	bool refund;

	if (sent.len < 7 || memcmp(sent.text, "Bearer ", 7) != 0)
		return 401;
	sent.text += 7;
	sent.len -= 7;
	open = key_is(sent, conf->stripe.open_key);
	refund = key_is(sent, conf->stripe.refund_key);
	if (!open && !refund)
		return 401;
	if ((wanted == KEY_OPEN && !open) || (wanted == KEY_REFUND && !refund))
		return 403;
	return 0;
}

/* Parameters and headers into the call; false when it has been refused. */
static bool
call_read(struct api_call *call)
{
	struct request *request = call->x->request;
	bool get = str_is(request->method, "GET");
	const char *why =
	    form_parse(&call->form, get ? request->query : request->body);
	struct str version = fcgi_param(call->x->fcgi, "HTTP_STRIPE_VERSION");

	if (why) {
		call_invalid(call, 400, NULL, why);
		return false;
	}
	if (version.len == 0)
		version = str_of(call->x->web->conf->stripe.version);
	buf_add(&call->version, version.text, version.len);
	params_json(&call->params, &call->form);
	buf_printf(&call->path, "%.*s %.*s", (int)request->method.len,
	    request->method.text, (int)request->path.len, request->path.text);
	call->post.key = fcgi_param(call->x->fcgi, "HTTP_IDEMPOTENCY_KEY");
	call->post.params = buf_text(&call->params);
	call->post.request = buf_text(&call->request);
	call->post.version = buf_text(&call->version);
	return true;
}

static void
call_answer(struct api_call *call)
{
	const struct route *route = route_find(call);
	enum db_status status;
	int refused;

	if (!route) {
		call_invalid(call, 404, NULL,
		    "Unrecognized request URL, or one that this sandbox does "
		    "not have.");
		return;
	}
	refused = key_check(call, route->key);
	if (refused) {
		call_invalid(call, refused, NULL,
		    refused == 401 ? "Invalid API Key provided"
				   : "The provided key does not have the "
				     "required permissions");
		return;
	}
	if (!call_read(call))
		return;
	if (call_begin(call, route->target, &status)) {
		status = route->handle(call);
		if (status == DB_OK)
			status = call_end(call);
	}
	if (status == DB_REFUSED) {
		call_invalid(call, 400, NULL, "Invalid characters");
	} else if (status != DB_OK) {
		const struct api_error error = {
		    .type = "api_error",
		    .message = "The sandbox's database is away.",
		};

		call_refuse(call, 503, &error);
	}
}

void
sandbox_api(struct exchange *x, struct fault *fault)
{
	struct api_call call = {.x = x, .fault = fault};
	unsigned char dice[12];

	sign_random(dice, sizeof(dice));
	buf_str(&call.request, "req_");
	str_hex(&call.request, dice, sizeof(dice));
	call_answer(&call);
	if (!fault->unanswered)
		call_send(&call);
	call_release(&call);
}
