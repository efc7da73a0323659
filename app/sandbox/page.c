/*
 * Each POST changes at most one thing in the database and answers with a
 * redirect, so that a reload or a double click never pays twice.
 */
#include "sandbox/page.h"

#include "base/money.h"
#include "io/db_sandbox.h"
#include "sandbox/link.h"
#include "sandbox/press.h"
#include "sandbox/route.h"
#include "web/document.h"

#include <string.h>

/* A payment that is carried out later: a day at most, as long as a session. */
#define LATE_SECONDS_MAX 86400
/* What a bank needs at most: the shop's own clock knows no later. */
#define DAYS_MAX 365
#define DAY_MS 86400000

/* One visit to a session's page. */
struct visit {
	struct exchange *x;
	struct str id;
	struct sandbox_session session;
	struct buf name; /* "2 x Lamp" */
	struct buf price; /* "49.99 EUR" */
	struct buf left; /* "29 min 3 s", to the payment under way or the end */
	struct buf link; /* back to the shop */
};

void
sandbox_page_policy(struct exchange *x, const char *origins)
{
	struct buf policy = {0};

	buf_printf(&policy,
	    "default-src 'none'; style-src 'self'; img-src data:; "
	    "form-action 'self'%s%s; base-uri 'none'; frame-ancestors 'none'",
	    *origins ? " " : "", origins);
	exchange_header(x, "Content-Security-Policy", buf_text(&policy));
	buf_release(&policy);
}

void
sandbox_style(struct exchange *x)
{
	x->reply->status = 200;
	x->cacheable = true;
	exchange_header(x, "Content-Type", "text/css; charset=utf-8");
	exchange_header(x, "Cache-Control", "public, max-age=300");
	page_render(&x->reply->body, x->web->pages, PAGE_SANDBOX_STYLE, NULL,
	    0);
}

void
sandbox_page_note(struct exchange *x, const struct page_note *note)
{
	const struct page_value values[] = {
	    {"title", str_of(note->title)},
	    {"advice", str_of(note->advice)},
	    {"link", str_of(note->link)},
	    {"back", str_of(note->back)},
	};

	sandbox_page_policy(x, "");
	exchange_page(x, note->status, PAGE_SANDBOX_DONE, values, 4);
}

void
sandbox_page_say(struct exchange *x, int status, const char *title,
    const char *advice)
{
	const struct page_note note = {
	    .status = status,
	    .title = title,
	    .advice = advice,
	    .link = x->web->conf->server.public_url,
	    .back = "Back to the shop",
	};

	sandbox_page_note(x, &note);
}

void
sandbox_page_busy(struct exchange *x)
{
	sandbox_page_say(x, 503, "The sandbox is busy",
	    "Its database is away. Please try again in a moment.");
}

static void
visit_busy(const struct visit *visit, enum db_status status)
{
	if (status == DB_REFUSED)
		sandbox_page_say(visit->x, 404, "There is no such pay page",
		    "Go back to the shop and start again.");
	else
		sandbox_page_say(visit->x, 503, "The pay page is busy",
		    "Nothing was paid just now. Please load this page again "
		    "in a moment.");
}

/* Looks the session up. False when the visitor has been told why not. */
static bool
visit_load(struct visit *visit)
{
	struct sandbox_session *session = &visit->session;
	enum db_status status =
	    db_sandbox_session_page(visit->x->web->db, visit->id, session);
	struct money money;

	if (status == DB_OK && !session->view.text[0])
		status = DB_REFUSED;
	if (status != DB_OK) {
		visit_busy(visit, status);
		return false;
	}
	if (session->quantity > 1)
		buf_printf(&visit->name, "%lld x ",
		    (long long)session->quantity);
	buf_add(&visit->name, session->name.data, session->name.len);
	money.amount = session->amount;
	memcpy(money.currency, session->currency, sizeof(money.currency));
	money_format(&visit->price, &money);
	document_left(&visit->left,
	    session->pay_in_ms >= 0 ? session->pay_in_ms : session->left_ms);
	return true;
}

/* Where the shopper goes from here: with the order paid, or without. */
static void
visit_link(struct visit *visit)
{
	const char *view = visit->session.view.text;
	bool without =
	    strcmp(view, "expired") == 0 || strcmp(view, "open") == 0;

	link_return(&visit->link,
	    buf_text(without ? &visit->session.back_url
			     : &visit->session.success_url),
	    visit->id);
}

static void
visit_policy(struct visit *visit)
{
	struct buf origins = {0};

	link_origin(&origins, buf_text(&visit->session.success_url));
	buf_char(&origins, ' ');
	link_origin(&origins, buf_text(&visit->session.back_url));
	sandbox_page_policy(visit->x, buf_text(&origins));
	buf_release(&origins);
}

static void
show_open(struct visit *visit)
{
	const char *error = visit->session.error.len
	    ? "The card was declined. Nothing was paid. You can try again."
	    : "";
	const struct page_value values[] = {
	    {"action", visit->x->request->path},
	    {"name", str_view(&visit->name)},
	    {"price", str_view(&visit->price)},
	    {"left", str_view(&visit->left)},
	    {"error", str_of(error)},
	};

	exchange_page(visit->x, 200, PAGE_SANDBOX_PAY, values, 5);
}

static void
show_bank(struct visit *visit)
{
	const struct page_value values[] = {
	    {"action", visit->x->request->path},
	    {"name", str_view(&visit->name)},
	    {"price", str_view(&visit->price)},
	    {"link", str_view(&visit->link)},
	};

	exchange_page(visit->x, 200, PAGE_SANDBOX_BANK, values, 4);
}

static void
show_held(struct visit *visit)
{
	const struct page_value values[] = {
	    {"name", str_view(&visit->name)},
	    {"price", str_view(&visit->price)},
	    {"wait", str_view(&visit->left)},
	    {"link", str_view(&visit->link)},
	};

	exchange_page(visit->x, 200, PAGE_SANDBOX_HELD, values, 4);
}

static void
show_done(struct visit *visit, const char *title, const char *advice)
{
	const struct page_value values[] = {
	    {"title", str_of(title)},
	    {"advice", str_of(advice)},
	    {"link", str_view(&visit->link)},
	    {"back", str_of("Back to the shop")},
	};

	exchange_page(visit->x, 200, PAGE_SANDBOX_DONE, values, 4);
}

static void
visit_show(struct visit *visit)
{
	const char *view = visit->session.view.text;

	visit_link(visit);
	visit_policy(visit);
	if (strcmp(view, "open") == 0)
		show_open(visit);
	else if (strcmp(view, "bank") == 0)
		show_bank(visit);
	else if (strcmp(view, "held") == 0)
		show_held(visit);
	else if (visit->session.refunded)
		show_done(visit, "This was paid and sent back",
		    "The shop has refunded the payment.");
	else if (strcmp(view, "paid") == 0)
		show_done(visit, "This is paid",
		    "It was paid once, and cannot be paid again here.");
	else if (strcmp(view, "failed") == 0)
		show_done(visit, "The bank refused the debit",
		    "Nothing was paid.");
	else
		show_done(visit, "This pay page is closed",
		    "Its time was over, or the shop has closed it. Nothing "
		    "was paid.");
}

static enum db_status
do_late(struct visit *visit, struct press *press)
{
	static const struct press_number number = {
	    .name = "seconds",
	    .label = "Seconds",
	    .most = LATE_SECONDS_MAX,
	    .needed = true,
	};
	struct sandbox_pay pay = {.even_if_expired = true};
	int64_t seconds = 0;

	if (!press_number(press, &number, &seconds))
		return DB_OK;
	pay.delay_ms = seconds * 1000;
	return db_sandbox_session_pay(visit->x->web->db, visit->id, &pay,
	    &visit->session.view);
}

/* One of these words, which end with NULL; NULL when it is none. */
static const char *
what_read(struct press *press, const char *const *words)
{
	for (; *words; words++) {
		if (press_is(press, "what", *words))
			return *words;
	}
	press_refuse(press, 400, "That was not understood",
	    "Choose from the list what is to come of it.");
	return NULL;
}

static bool
days_read(struct press *press, int64_t *ms)
{
	static const struct press_number number = {.name = "days",
	    .label = "Days",
	    .most = DAYS_MAX,
	    .needed = true};
	int64_t days = 0;

	if (!press_number(press, &number, &days))
		return false;
	*ms = days * DAY_MS;
	return true;
}

static enum db_status
do_then(struct visit *visit, struct press *press)
{
	static const char *const words[] = {"dispute", "refund_pending",
	    "refund_fails", "refund_pending_fails", NULL};
	struct sandbox_then then = {.what = what_read(press, words)};

	if (!then.what || !days_read(press, &then.after_ms))
		return DB_OK;
	return db_sandbox_session_pay_then(visit->x->web->db, visit->id, &then,
	    &visit->session.view);
}

static enum db_status
do_debit(struct visit *visit, struct press *press)
{
	static const char *const words[] = {"succeeded", "failed", NULL};
	struct sandbox_bank bank = {.outcome = what_read(press, words)};

	if (!bank.outcome || !days_read(press, &bank.delay_ms))
		return DB_OK;
	return db_sandbox_session_bank(visit->x->web->db, visit->id, &bank,
	    &visit->session.view);
}

/* Does what the shopper wants; refused when it is nothing that we know. */
static enum db_status
visit_do(struct visit *visit, struct press *press)
{
	struct db *db = visit->x->web->db;
	struct sandbox_view *view = &visit->session.view;
	const struct sandbox_pay pay = {0};
	struct sandbox_bank bank = {0};

	if (press_is(press, "do", "pay"))
		return db_sandbox_session_pay(db, visit->id, &pay, view);
	if (press_is(press, "do", "late"))
		return do_late(visit, press);
	if (press_is(press, "do", "then"))
		return do_then(visit, press);
	if (press_is(press, "do", "debit"))
		return do_debit(visit, press);
	if (press_is(press, "do", "decline"))
		return db_sandbox_session_decline(db, visit->id, view);
	if (press_is(press, "do", "settle"))
		bank.outcome = "succeeded";
	else if (press_is(press, "do", "fail"))
		bank.outcome = "failed";
	if (bank.outcome || press_is(press, "do", "later"))
		return db_sandbox_session_bank(db, visit->id, &bank, view);
	if (!press_is(press, "do", "leave"))
		press_unknown(press);
	return DB_OK;
}

/* Where to after a POST: the shop when that was it, else this page again. */
static void
visit_redirect(struct visit *visit, bool leave)
{
	bool paid = strcmp(visit->session.view.text, "paid") == 0;

	visit_policy(visit);
	if (leave)
		link_return(&visit->link, buf_text(&visit->session.back_url),
		    visit->id);
	else if (paid)
		link_return(&visit->link, buf_text(&visit->session.success_url),
		    visit->id);
	else
		buf_add(&visit->link, visit->x->request->path.text,
		    visit->x->request->path.len);
	exchange_redirect(visit->x, buf_text(&visit->link));
}

static void
visit_post(struct visit *visit)
{
	struct press press;
	struct buf home = {0};
	enum db_status status = DB_OK;

	buf_add(&home, visit->x->request->path.text,
	    visit->x->request->path.len);
	if (press_open(&press, visit->x, buf_text(&home)))
		status = visit_do(visit, &press);
	if (status != DB_OK)
		visit_busy(visit, status);
	else if (!press.refused && visit_load(visit))
		visit_redirect(visit, press_is(&press, "do", "leave"));
	press_close(&press);
	buf_release(&home);
}

void
sandbox_page(struct exchange *x)
{
	struct visit visit = {.x = x};

	if (!route_match(x->request->path, "/c/pay/*", &visit.id))
		visit_busy(&visit, DB_REFUSED);
	else if (str_is(x->request->method, "POST"))
		visit_post(&visit);
	else if (visit_load(&visit))
		visit_show(&visit);
	sandbox_session_release(&visit.session);
	buf_release(&visit.name);
	buf_release(&visit.price);
	buf_release(&visit.left);
	buf_release(&visit.link);
}
