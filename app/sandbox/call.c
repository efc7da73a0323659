/* Errors as the API writes them, and the answers of faults. */
#include "sandbox/call.h"

#include <string.h>

static void
error_member(struct buf *out, const char *name, const char *value)
{
	if (!value)
		return;
	buf_printf(out,
	    "%s\"%s\": ", out->data[out->len - 1] == '{' ? "" : ", ", name);
	str_json(out, str_of(value));
}

void
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

void
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

static void
call_conflict(struct api_call *call)
{
	const struct api_error error = {
	    .type = "idempotency_error",
	    .code = "idempotency_key_in_use",
	    .message = "There is currently another in-progress request using "
		       "this Idempotent Key",
	};

	call_refuse(call, 409, &error);
}

static void
call_rate(struct api_call *call)
{
	const struct api_error error = {
	    .type = "invalid_request_error",
	    .code = "rate_limit",
	    .message = "Request rate limit exceeded",
	};

	call_refuse(call, 429, &error);
}

/* 500: fault_kind says whether the call has been carried out. */
static enum db_status
call_fail(struct api_call *call)
{
	const struct sandbox_fail fail = {
	    .post = &call->post,
	    .path = buf_text(&call->path),
	    .after = call->fault->kind == FAULT_ERROR_AFTER,
	};

	return db_sandbox_call_fail(call->x->web->db, &fail, &call->answer);
}

static enum db_status
call_decide(struct api_call *call, const char *target)
{
	const struct sandbox_ask ask = {
	    .target = target,
	    .key = call->post.key,
	    .path = buf_text(&call->path),
	    .id = call->id,
	    .params = call->post.params,
	};
	struct sandbox_fault found;
	enum db_status status =
	    db_sandbox_call_fault(call->x->web->db, &ask, &found);

	if (status == DB_OK)
		fault_begin(call->fault, fault_kind_of(found.kind), found.ms);
	return status;
}

bool
call_begin(struct api_call *call, const char *target, enum db_status *status)
{
	*status = DB_OK;
	if (!call->fault->decided)
		*status = call_decide(call, target);
	if (*status != DB_OK || call->fault->unanswered)
		return false;
	switch (call->fault->kind) {
	case FAULT_CONFLICT:
		call_conflict(call);
		return false;
	case FAULT_RATE:
		call_rate(call);
		return false;
	case FAULT_UNAVAILABLE:
		/* No answer of the API: nothing behind it could be reached. */
		call->answer.status = 503;
		buf_str(&call->answer.body, "<html>503</html>");
		return false;
	case FAULT_ERROR:
		*status = call_fail(call);
		return false;
	default:
		return true;
	}
}

enum db_status
call_end(struct api_call *call)
{
	if (call->fault->kind == FAULT_ERROR_AFTER &&
	    call->answer.original.len == 0)
		return call_fail(call);
	return DB_OK;
}

static void
call_headers(struct api_call *call)
{
	struct exchange *x = call->x;
	int status = call->answer.status;

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
	if (status == 409)
		exchange_header(x, "Stripe-Should-Retry", "true");
	else if (status == 500)
		exchange_header(x, "Stripe-Should-Retry", "false");
	else if (status == 429)
		exchange_header(x, "Stripe-Rate-Limited-Reason",
		    "endpoint-rate");
}

void
call_send(struct api_call *call)
{
	struct exchange *x = call->x;

	call_headers(call);
	if (call->fault->kind != FAULT_UNAVAILABLE) {
		exchange_json(x, call->answer.status,
		    str_view(&call->answer.body));
		return;
	}
	x->reply->status = call->answer.status;
	exchange_header(x, "Content-Type", "text/html");
	buf_add(&x->reply->body, call->answer.body.data, call->answer.body.len);
}

void
call_release(struct api_call *call)
{
	form_release(&call->form);
	buf_release(&call->params);
	buf_release(&call->path);
	buf_release(&call->request);
	buf_release(&call->version);
	sandbox_answer_release(&call->answer);
}
