/*
 * Taking, showing and giving up a hold. One call down each; what it decided is
 * in the answer's outcome, and its document goes out as it came. Taking is cut
 * in two: what is asked for goes to the lane, and the answer is made when that
 * has brought it to the database. It never waits itself.
 */
#include "web/hold.h"
#include "base/clock.h"
#include "web/buyer.h"
#include "web/document.h"
#include "web/hold_words.h"
#include "web/input.h"
#include "web/problem.h"

#include <stdio.h>
#include <string.h>

/* The hold's document to a script, its page to a person. */
static void
hold_answer(struct exchange *x, int status, const struct buf *text)
{
	struct document document;

	if (x->audience == FOR_SCRIPT) {
		exchange_json(x, status, str_view(text));
		return;
	}
	if (document_read(&document, str_view(text)))
		exchange_see(x, "/order/", document_text(&document, "id"));
	else
		problem_database(x, DB_DOWN, (struct str){NULL, 0});
	document_release(&document);
}

static void
hold_refuse(struct exchange *x, const struct hold_request *request,
    const struct answer *answer)
{
	struct document members;
	struct buf detail = {0};
	struct refusal refusal = {
	    .name = answer->outcome,
	    .members = str_view(&answer->document),
	    .item = request->lines[0].sku,
	};
	struct str own;

	(void)document_read(&members, refusal.members);
	own = document_text(&members, "hold");
	if (!problem_exists(str_of(answer->outcome)))
		refusal.name = "malformed";
	hold_words(&detail, answer->outcome, request, &members);
	refusal.detail = buf_text(&detail);
	/* They have it already: that is the page that helps. */
	if (x->audience == FOR_FORM && own.len)
		exchange_see(x, "/order/", own);
	else
		problem_answer(x, &refusal);
	document_release(&members);
	buf_release(&detail);
}

static struct gate_ask
hold_gate_ask(const struct hold_request *request, size_t line)
{
	return (struct gate_ask){.sku = request->lines[line].sku,
	    .qty = request->lines[line].qty,
	    .buyer = &request->buyer,
	    .key = request->key};
}

/* What the gate may say to others for a moment, if the answer is of that kind. */
static void
hold_tell_gate(struct exchange *x)
{
	const struct lane_call *call = &x->call;
	struct gate_refusal refusal = {0};
	struct document members;
	struct gate_ask ask;

	if (call->request.count != 1)
		return;
	snprintf(refusal.outcome, sizeof(refusal.outcome), "%.15s",
	    call->answer.outcome);
	if (document_read(&members, str_view(&call->answer.document))) {
		refusal.free = document_int(&members, "free");
		refusal.held = document_int(&members, "held");
		refusal.opens_in_ms = document_int(&members, "opens_in_ms");
	}
	ask = hold_gate_ask(&call->request, 0);
	gate_tell(x->web->gate, &ask, &refusal, call->asked_ms);
	document_release(&members);
}

static void
hold_taken(struct exchange *x)
{
	const struct lane_call *call = &x->call;

	if (call->status != DB_OK) {
		problem_database(x, call->status, call->request.lines[0].sku);
		return;
	}
	buyer_remember(x, &call->answer.buyer);
	if (strcmp(call->answer.outcome, "created") == 0) {
		hold_answer(x, 201, &call->answer.document);
	} else if (strcmp(call->answer.outcome, "existing") == 0) {
		hold_answer(x, 200, &call->answer.document);
	} else {
		hold_tell_gate(x);
		hold_refuse(x, &call->request, &call->answer);
	}
}

/* True when the gate has refused it in the database's stead. */
static bool
hold_stopped(struct exchange *x)
{
	const struct hold_request *request = &x->call.request;
	struct answer *answer = &x->call.answer;
	const struct gate_ask ask = hold_gate_ask(request, 0);
	struct gate_refusal refusal;

	if (request->count != 1 ||
	    !gate_refuses(x->web->gate, &ask, clock_monotonic_ms(), &refusal))
		return false;
	snprintf(answer->outcome, sizeof(answer->outcome), "%s",
	    refusal.outcome);
	if (strcmp(refusal.outcome, "sold-out") == 0)
		buf_printf(&answer->document,
		    "{\"free\" : %lld, \"held\" : %lld}",
		    (long long)refusal.free, (long long)refusal.held);
	else if (strcmp(refusal.outcome, "not-open") == 0)
		buf_printf(&answer->document, "{\"opens_in_ms\" : %lld}",
		    (long long)refusal.opens_in_ms);
	hold_refuse(x, request, answer);
	return true;
}

static void
hold_ask(struct exchange *x)
{
	struct hold_request *request = &x->call.request;
	struct token_id id;

	/* Before the gate hears of it, which counts on a request's end. */
	x->call.until_ms =
	    clock_monotonic_ms() + x->web->conf->server.hold_wait_ms;
	for (size_t i = 0; i < request->count; i++) {
		const struct gate_ask ask = hold_gate_ask(request, i);

		gate_pass(x->web->gate, &ask);
	}
	token_id(&id);
	snprintf(request->id, sizeof(request->id), "hld_%s", id.text);
	x->resume = hold_taken;
}

void
hold_take(struct exchange *x)
{
	struct hold_request *request = &x->call.request;
	const char *why;

	if (!input_read(x, &x->input))
		return;
	request->key = fcgi_param(x->fcgi, "HTTP_IDEMPOTENCY_KEY");
	why = input_hold(&x->input, request);
	if (!why && request->key.text && !input_is_key(request->key))
		why = "Idempotency-Key must have 16 to 255 visible ASCII "
		      "characters";
	if (why) {
		problem_say(x, "malformed", why);
		return;
	}
	request->buyer = x->buyer.id;
	request->known = x->buyer.known;
	if (!hold_stopped(x))
		hold_ask(x);
}

void
hold_show(struct exchange *x)
{
	const struct uuid *viewer = x->buyer.known ? &x->buyer.id : NULL;
	enum db_status status = DB_OK;
	struct buf document = {0};
	struct form form;
	struct str id;
	const char *why = input_query_id(&form, x->request->query, &id);

	if (why) {
		problem_say(x, "malformed", why);
		goto out;
	}
	if (document_is_id(id))
		status = db_hold_show(x->web->db, id, viewer, &document);
	if (status != DB_OK)
		problem_database(x, status, (struct str){NULL, 0});
	else if (document.len == 0)
		problem_say(x, "no-such-hold", "There is no hold of that id.");
	else
		exchange_json(x, 200, str_view(&document));
out:
	form_release(&form);
	buf_release(&document);
}

/* Units have come back: the gate need not wait to hear of it. */
static void
hold_open_gate(struct exchange *x, struct str hold)
{
	struct document document;
	const struct json *lines;

	if (document_read(&document, hold)) {
		lines = json_get(document.root, "lines");
		for (const struct json *line = lines ? lines->first : NULL;
		     line; line = line->next)
			gate_open(x->web->gate,
			    json_text(json_get(line, "item")));
	}
	document_release(&document);
}

static void
hold_drop_id(struct exchange *x, struct str id)
{
	struct answer answer;
	enum db_status status = DB_OK;

	answer_init(&answer);
	if (document_is_id(id))
		status = db_hold_drop(x->web->db, id, &x->buyer.id, &answer);
	else
		snprintf(answer.outcome, sizeof(answer.outcome),
		    "no-such-hold");
	if (status != DB_OK) {
		problem_database(x, status, (struct str){NULL, 0});
	} else if (strcmp(answer.outcome, "done") == 0) {
		hold_open_gate(x, str_view(&answer.document));
		hold_answer(x, 200, &answer.document);
	} else {
		problem_hold(x, answer.outcome, str_view(&answer.document));
	}
	answer_release(&answer);
}

void
hold_drop(struct exchange *x)
{
	input_with_id(x, hold_drop_id);
}
