/*
 * The way to the pay page. Asking stores the wish and wakes the cashier; the
 * provider is never waited for here, so the buyer's side asks again.
 */
#include "web/payment.h"
#include "pay/provider.h"
#include "web/buyer.h"
#include "web/document.h"
#include "web/input.h"
#include "web/problem.h"

#include <stdio.h>
#include <string.h>

/* A session takes the provider about that long; the page waits a second. */
#define RETRY_MS 500
#define RETRY_PAGE "1"

static void
payment_ready(struct exchange *x, const struct answer *answer)
{
	struct buf json = {0};

	if (x->audience != FOR_SCRIPT) {
		exchange_redirect(x, buf_text(&answer->url));
		return;
	}
	buf_str(&json, "{\"state\":\"ready\",\"url\":");
	str_json(&json, str_view(&answer->url));
	buf_char(&json, '}');
	exchange_json(x, 200, str_view(&json));
	buf_release(&json);
}

static void
payment_opening_page(struct exchange *x, struct str id,
    const struct answer *answer)
{
	struct document document;
	struct buf left = {0};

	(void)document_read(&document, str_view(&answer->document));
	document_left(&left, document_int(&document, "expires_in_ms"));
	exchange_header(x, "Refresh", RETRY_PAGE);
	exchange_page(x, 200, PAGE_OPENING,
	    (struct page_value[]){
		{"hold", id},
		{"left", str_of(buf_text(&left))},
	    },
	    2);
	document_release(&document);
	buf_release(&left);
}

static void
payment_opening(struct exchange *x, struct str id, const struct answer *answer)
{
	struct buf json = {0};

	if (x->audience == FOR_READER) {
		payment_opening_page(x, id, answer);
		return;
	}
	if (x->audience == FOR_FORM) {
		exchange_see(x, "/pay?id=", id);
		return;
	}
	buf_printf(&json, "{\"state\":\"opening\",\"retry_in_ms\":%d}",
	    RETRY_MS);
	exchange_json(x, 202, str_view(&json));
	buf_release(&json);
}

/* Money is on its way or here: no pay page, lest it is paid twice. */
static void
payment_settled(struct exchange *x, struct str id, const char *state)
{
	struct buf json = {0};

	if (x->audience != FOR_SCRIPT) {
		exchange_see(x, "/order/", id);
		return;
	}
	buf_printf(&json, "{\"state\":\"%s\"}", state);
	exchange_json(x, 200, str_view(&json));
	buf_release(&json);
}

static void
payment_answer(struct exchange *x, struct str id, const struct answer *answer)
{
	struct str text = {answer->document.data, answer->document.len};
	const char *outcome = answer->outcome;

	if (strcmp(outcome, "ready") == 0) {
		payment_ready(x, answer);
	} else if (strcmp(outcome, "opening") == 0) {
		payment_opening(x, id, answer);
	} else if (strcmp(outcome, "checking") == 0 ||
	    strcmp(outcome, "paid") == 0) {
		payment_settled(x, id, outcome);
	} else if (strcmp(outcome, "refused") == 0) {
		problem_answer(x,
		    &(struct refusal){
			.name = "provider",
			.detail = "The payment provider would not open a pay "
				  "page. Nothing was charged.",
			.hold = id,
		    });
	} else {
		problem_hold(x, outcome, text);
	}
}

static void
payment_start(struct exchange *x, struct str id)
{
	const struct payment_start start = {
	    .hold = id,
	    .buyer = &x->buyer.id,
	    .provider = provider_default()->name,
	    .return_base = x->web->conf->server.public_url,
	};
	enum db_status status = DB_OK;
	struct answer answer;

	answer_init(&answer);
	if (document_is_id(id))
		status = db_payment_start(x->web->db, &start, &answer);
	else
		snprintf(answer.outcome, sizeof(answer.outcome),
		    "no-such-hold");
	if (status != DB_OK)
		problem_database(x, status, (struct str){NULL, 0});
	else
		payment_answer(x, id, &answer);
	answer_release(&answer);
}

void
payment_ask(struct exchange *x)
{
	input_with_id(x, payment_start);
}

void
payment_page(struct exchange *x)
{
	struct form form;
	struct str id;
	const char *why = input_query_id(&form, x->request->query, &id);

	/*
	 * A link can be followed from anywhere, so here only the cookie counts
	 * that we signed.
	 */
	if (why)
		problem_say(x, "malformed", why);
	else if (!x->buyer.is_signed)
		problem_hold(x, "not-yours", (struct str){NULL, 0});
	else
		payment_start(x, id);
	form_release(&form);
}
