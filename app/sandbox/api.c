/*
 * Key, route, parameters to JSON, one call down; the rules are in SQL.
 */
#include "sandbox/api.h"

#include "base/form.h"
#include "base/log.h"
#include "base/money.h"
#include "base/sign.h"
#include "io/db_sandbox.h"
#include "sandbox/params.h"
#include "sandbox/route.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum key { KEY_OPEN, KEY_REFUND, KEY_EITHER };

/* One call of the API. */
struct api_call {
	struct exchange *x;
	struct str id; /* the path's */
	struct form form;
	struct buf params; /* form as JSON */
	struct buf request; /* this request's id */
	struct buf version;
	struct sandbox_post post;
	struct sandbox_answer answer;
};

/* NULL members are left out. */
struct api_error {
	const char *type;
	const char *code;
	const char *param;
	const char *message;
};

static void
error_member(struct buf *out, const char *name, const char *value)
{
	if (!value)
		return;
	buf_printf(out,
	    "%s\"%s\": ", out->data[out->len - 1] == '{' ? "" : ", ", name);
	str_json(out, str_of(value));
}

static void
call_refuse(struct api_call *call, int status, const struct api_error *error)
{
	struct buf *out = &call->answer.body;

	call->answer.status = status;
	buf_reset(out);
	buf_str(out, "{\"error\": {");
	error_member(out, "type", error->type);
	error_member(out, "code", error->code);
	error_member(out, "param", error->param);
	error_member(out, "message", error->message);
	buf_str(out, "}}");
}

/* A request that cannot be taken as it is. */
static void
call_invalid(struct api_call *call, int status, const char *param,
    const char *message)
{
	const struct api_error error = {
	    .type = "invalid_request_error",
	    .param = param,
	    .message = message,
	};

	call_refuse(call, status, &error);
}

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
event_list(struct api_call *call)
{
	return db_sandbox_event_list(call->x->web->db, call->post.params,
	    &call->answer);
}

static const struct route {
	const char *method;
	const char *path;
	enum key key;
	enum db_status (*handle)(struct api_call *call);
} routes[] = {
    {"POST", "/v1/checkout/sessions", KEY_OPEN, session_create},
    {"GET", "/v1/checkout/sessions/*", KEY_EITHER, session_get},
    {"POST", "/v1/checkout/sessions/*/expire", KEY_OPEN, session_expire},
    {"POST", "/v1/refunds", KEY_REFUND, refund_create},
    {"GET", "/v1/refunds", KEY_EITHER, refund_list},
    {"GET", "/v1/payment_intents/*", KEY_EITHER, payment_get},
    {"GET", "/v1/events", KEY_EITHER, event_list},
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
	status = route->handle(call);
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

static void
call_headers(struct api_call *call)
{
	struct exchange *x = call->x;

	exchange_header(x, "Request-Id", buf_text(&call->request));
	if (call->version.len)
		exchange_header(x, "Stripe-Version", buf_text(&call->version));
	if (call->post.key.len)
		exchange_header(x, "Idempotency-Key", call->post.key.text);
	if (call->answer.original.len) {
		exchange_header(x, "Original-Request",
		    buf_text(&call->answer.original));
		exchange_header(x, "Idempotent-Replayed", "true");
	}
	if (call->answer.status == 409)
		exchange_header(x, "Stripe-Should-Retry", "true");
}

void
sandbox_api(struct exchange *x)
{
	struct api_call call = {.x = x};
	unsigned char dice[12];

	sign_random(dice, sizeof(dice));
	buf_str(&call.request, "req_");
	str_hex(&call.request, dice, sizeof(dice));
	call_answer(&call);
	call_headers(&call);
	exchange_json(x, call.answer.status,
	    (struct str){buf_text(&call.answer.body), call.answer.body.len});
	form_release(&call.form);
	buf_release(&call.params);
	buf_release(&call.request);
	buf_release(&call.version);
	sandbox_answer_release(&call.answer);
}
