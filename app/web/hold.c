/*
 * Taking, showing and giving up a hold. One call down each; what it decided is
 * in the answer's outcome, and its document goes out as it came.
 */
#include "web/hold.h"
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

static void
hold_request_take(struct exchange *x, struct hold_request *request)
{
	struct answer answer;
	enum db_status status;
	struct token_id id;

	token_id(&id);
	snprintf(request->id, sizeof(request->id), "hld_%s", id.text);
	request->buyer = x->buyer.id;
	request->known = x->buyer.known;
	answer_init(&answer);
	status = db_hold_take(x->web->db, request, &answer, 1);
	if (status != DB_OK) {
		problem_database(x, status, request->lines[0].sku);
		goto out;
	}
	buyer_remember(x, &answer.buyer);
	if (strcmp(answer.outcome, "created") == 0)
		hold_answer(x, 201, &answer.document);
	else if (strcmp(answer.outcome, "existing") == 0)
		hold_answer(x, 200, &answer.document);
	else
		hold_refuse(x, request, &answer);
out:
	answer_release(&answer);
}

void
hold_take(struct exchange *x)
{
	struct hold_request request = {0};
	struct input input;
	const char *why;

	if (!input_read(x, &input))
		goto out;
	request.key = fcgi_param(x->fcgi, "HTTP_IDEMPOTENCY_KEY");
	why = input_hold(&input, &request);
	if (!why && request.key.text && !input_is_key(request.key))
		why = "Idempotency-Key must have 16 to 255 visible ASCII "
		      "characters";
	if (why)
		problem_say(x, "malformed", why);
	else
		hold_request_take(x, &request);
out:
	input_release(&input);
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
	if (status != DB_OK)
		problem_database(x, status, (struct str){NULL, 0});
	else if (strcmp(answer.outcome, "done") == 0)
		hold_answer(x, 200, &answer.document);
	else
		problem_hold(x, answer.outcome, str_view(&answer.document));
	answer_release(&answer);
}

void
hold_drop(struct exchange *x)
{
	input_with_id(x, hold_drop_id);
}
