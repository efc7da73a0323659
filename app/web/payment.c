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

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A session takes the provider about that long. */
#define CALL_MS 1000
/* Who waits long asks seldom: at a quarter of the time, between these. */
#define RETRY_LEAST_MS 500
#define RETRY_MOST_MS 5000
/* So many pages are counted, not more. */
#define AHEAD_MOST 10000

/* When a pay page may be open that waits for its turn. */
struct opening {
	int64_t ahead; /* pages that are opened before it */
	int64_t ready_in_ms;
	int64_t retry_in_ms;
};

/* Sessions that the cashier opens in a second, if the provider keeps up. */
static int
opening_pace(const struct conf *conf)
{
	struct provider_pace pace;

	provider_current(conf)->pace(conf, &pace);
	return pace.per_second[ENDPOINT_OPEN] < pace.calls_per_second
	    ? pace.per_second[ENDPOINT_OPEN]
	    : pace.calls_per_second;
}

static struct opening
opening_of(const struct exchange *x, const struct answer *answer)
{
	struct opening o = {.ahead = answer->ahead};

	o.ready_in_ms = o.ahead * 1000 / opening_pace(x->web->conf) + CALL_MS;
	o.retry_in_ms = o.ready_in_ms / 4;
	if (o.retry_in_ms < RETRY_LEAST_MS)
		o.retry_in_ms = RETRY_LEAST_MS;
	if (o.retry_in_ms > RETRY_MOST_MS)
		o.retry_in_ms = RETRY_MOST_MS;
	return o;
}

/* "About 12 seconds: 240 pages are opened before yours." */
static void
opening_words(struct buf *out, const struct opening *o)
{
	int64_t s = o->ready_in_ms / 1000;

	if (o->ahead == 0) {
		buf_str(out, "A second or two: yours is next.");
		return;
	}
	if (s < 120)
		buf_printf(out, "About %" PRId64 " second%s: ", s,
		    s == 1 ? "" : "s");
	else
		buf_printf(out, "About %" PRId64 " minutes: ", (s + 30) / 60);
	if (o->ahead >= AHEAD_MOST)
		buf_printf(out, "more than %d pages are", AHEAD_MOST);
	else if (o->ahead == 1)
		buf_str(out, "1 page is");
	else
		buf_printf(out, "%" PRId64 " pages are", o->ahead);
	buf_str(out, " opened before yours.");
}

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
    const struct answer *answer, const struct opening *o)
{
	struct document document;
	struct buf left = {0}, words = {0}, ms = {0}, refresh = {0};
	int64_t left_ms;

	(void)document_read(&document, str_view(&answer->document));
	left_ms = document_int(&document, "expires_in_ms");
	document_left(&left, left_ms);
	opening_words(&words, o);
	buf_printf(&ms, "%" PRId64, o->retry_in_ms);
	buf_printf(&refresh, "%" PRId64, (o->retry_in_ms + 999) / 1000);
	exchange_page(x, 200, PAGE_OPENING,
	    (struct page_value[]){
		{"hold", id},
		{"left", str_view(&left)},
		{"expires_in_ms", document_text(&document, "expires_in_ms")},
		{"wait", str_view(&words)},
		{"in_time", str_of(o->ready_in_ms < left_ms ? "yes" : "no")},
		{"retry_in_ms", str_view(&ms)},
		{"refresh", str_view(&refresh)},
	    },
	    7);
	document_release(&document);
	buf_release(&left);
	buf_release(&words);
	buf_release(&ms);
	buf_release(&refresh);
}

static void
payment_opening(struct exchange *x, struct str id, const struct answer *answer)
{
	const struct opening o = opening_of(x, answer);
	struct buf json = {0};

	if (x->audience == FOR_READER) {
		payment_opening_page(x, id, answer, &o);
		return;
	}
	if (x->audience == FOR_FORM) {
		exchange_see(x, "/pay?id=", id);
		return;
	}
	buf_printf(&json,
	    "{\"state\":\"opening\",\"retry_in_ms\":%" PRId64
	    ",\"ready_in_ms\":%" PRId64 ",\"ahead\":%" PRId64 "}",
	    o.retry_in_ms, o.ready_in_ms, o.ahead);
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
	const struct provider *provider = provider_current(x->web->conf);
	const struct payment_start start = {
	    .hold = id,
	    .buyer = &x->buyer.id,
	    .provider = provider->name,
	    .return_base = x->web->conf->server.public_url,
	    .min_expiry_s = provider->caps.min_expiry_s,
	    .max_expiry_s = provider->caps.max_expiry_s,
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
