/*
 * The table of problems and the three shapes in which one is answered.
 */
#include "web/problem.h"
#include "base/form.h"
#include "base/log.h"
#include "web/document.h"

#include <string.h>

struct problem {
	const char *name;
	int status;
	/* After a form: whether a page of its own tells, by way of a 303. */
	bool elsewhere;
	const char *retry_after; /* seconds, or NULL */
	const char *title;
	const char *advice;
};

static const struct problem problems[] = {
    {"malformed", 400, false, NULL, "We did not understand that",
	"Go back to the page that you came from and try again from there."},
    {"cross-site", 403, false, NULL, "That came from another site",
	"Open the shop in this browser and use the buttons that you find "
	"there."},
    {"not-yours", 403, true, NULL, "This order belongs to somebody else",
	"Only the browser that made an order can pay for it or give it up. "
	"Use that browser, with cookies switched on."},
    {"not-admitted", 403, true, NULL, "There is a line",
	"Many people want this. Go to its page and wait in the line first."},
    {"not-found", 404, false, NULL, "There is no such page",
	"The address may be mistyped, or the sale is over and its page is "
	"gone."},
    {"no-such-item", 404, true, NULL, "We do not sell that",
	"There is nothing of that name in this shop. The sale may be long "
	"over."},
    {"no-such-hold", 404, true, NULL, "There is no such order",
	"The address may be mistyped or cut off. Use the whole address of "
	"your order page."},
    {"method", 405, false, NULL, "That is not how to ask",
	"Go back to the page that you came from and try again from there."},
    {"length-required", 411, false, NULL, "The length is missing",
	"A request with a body must say how long it is."},
    {"too-large", 413, false, NULL, "That is too long",
	"The request is longer than an order can be. Send less."},
    {"content-type", 415, false, NULL, "We do not read that kind of content",
	"Send JSON or an HTML form."},
    {"sold-out", 409, true, NULL, "None left for you at the moment",
	"Somebody else was faster. What others hold but do not pay for comes "
	"back: the page of the item shows at once when one is free again."},
    {"taken", 409, true, NULL, "Somebody else has that one",
	"Others were faster with some of what you chose. Nothing was taken. "
	"Choose again."},
    {"limit", 409, true, NULL, "That is more than one person can have",
	"So that many people get one, there is a limit for each. What you "
	"hold or have bought already counts."},
    {"not-open", 409, true, NULL, "The sale has not begun",
	"The page of the item shows how long it still takes. The shop's "
	"clock decides."},
    {"paused", 409, true, NULL, "The sale is paused",
	"Nothing was taken. What you hold stays yours until its time is "
	"over. Try again in some minutes."},
    {"closed", 410, true, NULL, "The sale is over",
	"This is no longer for sale."},
    {"ended", 410, true, NULL, "Your time is over",
	"This hold has ended, so it can no longer be paid or changed. If one "
	"is still free, you can start again. If you have paid already, do "
	"not pay again: your order page shows what came of it."},
    {"key-reused", 422, true, NULL, "That was another request",
	"Go back to the page of the item, load it again, and press Buy once "
	"more."},
    {"slow-down", 429, true, "1", "Too many requests",
	"Many requests came from your network. Wait some seconds and try "
	"again."},
    {"busy", 503, true, "1", "The shop is very busy",
	"We could not answer in time. Wait a few seconds, go back, and press "
	"the button again. You will not get two: if your first try worked, "
	"the second one finds it."},
    {"provider", 503, true, "5", "The pay page would not open",
	"Our payment provider did not open a pay page. You have not been "
	"charged. Go back to your order and press Pay again."},
};

static const struct problem *
problem_find(struct str name)
{
	for (size_t i = 0; i < sizeof(problems) / sizeof(problems[0]); i++) {
		if (str_is(name, problems[i].name))
			return &problems[i];
	}
	return NULL;
}

bool
problem_exists(struct str name)
{
	return problem_find(name) != NULL;
}

static void
problem_json(struct exchange *x, const struct problem *problem,
    const struct refusal *refusal)
{
	struct buf *body = &x->reply->body;
	struct str members = refusal->members;

	x->reply->status = problem->status;
	exchange_header(x, "Content-Type", "application/problem+json");
	buf_printf(body,
	    "{\"type\":\"/problems/%s\",\"title\":", problem->name);
	str_json(body, str_of(problem->title));
	buf_printf(body, ",\"status\":%d", problem->status);
	if (refusal->detail) {
		buf_str(body, ",\"detail\":");
		str_json(body, str_of(refusal->detail));
	}
	/* "{}" has none to add. */
	if (members.len > 2) {
		buf_char(body, ',');
		buf_add(body, members.text + 1, members.len - 2);
	}
	buf_char(body, '}');
}

static void
problem_page(struct exchange *x, int status, const struct problem *problem,
    const struct refusal *refusal)
{
	struct buf advice = {0};
	struct buf link = {0};

	/* Only there the table cannot know what was wrong. */
	if (problem->status == 400 && refusal->detail)
		buf_printf(&advice, "%s. ", refusal->detail);
	buf_str(&advice, problem->advice);
	buf_char(&link, '/');
	if (refusal->hold.len) {
		buf_str(&link, "order/");
		str_url(&link, refusal->hold);
	} else if (refusal->item.len) {
		buf_str(&link, "item/");
		str_url(&link, refusal->item);
	}
	exchange_page(x, status, PAGE_PROBLEM,
	    (struct page_value[]){
		{"name", str_of(problem->name)},
		{"title", str_of(problem->title)},
		{"advice", str_of(buf_text(&advice))},
		{"item", refusal->item},
		{"item_link", str_of(buf_text(&link))},
	    },
	    5);
	buf_release(&advice);
	buf_release(&link);
}

static void
problem_redirect(struct exchange *x, const struct problem *problem,
    const struct refusal *refusal)
{
	struct buf location = {0};

	buf_printf(&location, "/problems/%s", problem->name);
	if (refusal->hold.len) {
		buf_str(&location, "?hold=");
		str_url(&location, refusal->hold);
	} else if (refusal->item.len) {
		buf_str(&location, "?item=");
		str_url(&location, refusal->item);
	}
	exchange_redirect(x, buf_text(&location));
	buf_release(&location);
}

void
problem_answer(struct exchange *x, const struct refusal *refusal)
{
	const struct problem *problem = problem_find(str_of(refusal->name));

	if (!problem)
		log_bug("there is no problem %s", refusal->name);
	if (problem->retry_after)
		exchange_header(x, "Retry-After", problem->retry_after);
	if (x->audience == FOR_SCRIPT)
		problem_json(x, problem, refusal);
	else if (x->audience == FOR_FORM && problem->elsewhere)
		problem_redirect(x, problem, refusal);
	else
		problem_page(x, problem->status, problem, refusal);
}

void
problem_say(struct exchange *x, const char *name, const char *detail)
{
	const struct refusal refusal = {.name = name, .detail = detail};

	problem_answer(x, &refusal);
}

void
problem_database(struct exchange *x, enum db_status status, struct str item)
{
	struct refusal refusal = {
	    .name = "busy",
	    .detail = "The shop could not answer in time. Try again in a "
		      "moment, with the same Idempotency-Key if there was one.",
	    .item = item,
	};

	if (status == DB_REFUSED) {
		/* What came through the lane has been logged there. */
		if (x->web->db)
			log_warn("the database refused a value: %s",
			    db_error(x->web->db));
		refusal.name = "malformed";
		refusal.detail = "A value cannot be stored";
	}
	problem_answer(x, &refusal);
}

void
problem_hold(struct exchange *x, const char *outcome, struct str document)
{
	struct refusal refusal = {.name = outcome};
	struct document hold;
	struct buf members = {0};

	if (strcmp(outcome, "ended") == 0)
		refusal.detail = "This hold is over.";
	else if (strcmp(outcome, "not-yours") == 0)
		refusal.detail = "This hold belongs to another buyer.";
	else
		refusal.detail = "There is no hold of that id.";
	if (document_read(&hold, document)) {
		refusal.item = document_item(&hold);
		buf_str(&members, "{\"hold\":");
		buf_add(&members, document.text, document.len);
		buf_char(&members, '}');
		refusal.members = str_view(&members);
	}
	problem_answer(x, &refusal);
	document_release(&hold);
	buf_release(&members);
}

void
problem_show(struct exchange *x, struct str name)
{
	const struct problem *problem = problem_find(name);
	struct refusal refusal = {0};
	struct form form;

	x->audience = FOR_READER;
	if (!problem) {
		problem_say(x, "not-found", NULL);
		return;
	}
	/* A query that cannot be read only costs the link. */
	if (!form_parse(&form, x->request->query)) {
		(void)form_get(&form, "item", &refusal.item);
		(void)form_get(&form, "hold", &refusal.hold);
		if (!document_is_id(refusal.hold))
			refusal.hold.len = 0;
	}
	problem_page(x, 200, problem, &refusal);
	form_release(&form);
}
