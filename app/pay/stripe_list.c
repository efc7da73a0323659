/*
 * Pages of what there is at Stripe: events that did not reach us, sessions
 * that are complete, refunds. A page that cannot be gone on from is no page:
 * whoever reads the books must not take a part for the whole.
 */
#include "pay/stripe.h"

#include <inttypes.h>

/* Objects are about 3 KB, but one may have 25 KB of somebody's metadata, and an
 * event reach 140 KB: a page that was too long to be read comes as ten, and at
 * last item by item. */
#define PAGE_ITEMS 100
#define PAGE_ITEMS_LATER 10
#define PAGE_ITEMS_LAST 1
#define TRY_LAST 4

static const char *
list_path(enum list list)
{
	switch (list) {
	case LIST_EVENTS:
		return "/v1/events?delivery_success=false&";
	case LIST_SESSIONS:
		return "/v1/checkout/sessions?status=complete&";
	default:
		return "/v1/refunds?";
	}
}

static int
page_items(int try)
{
	if (try == 1)
		return PAGE_ITEMS;
	return try < TRY_LAST ? PAGE_ITEMS_LATER : PAGE_ITEMS_LAST;
}

static bool
list_ask(struct work *work)
{
	const struct call *call = work->call;
	struct buf path = {0};

	buf_str(&path, list_path(call->list));
	buf_printf(&path, "created%%5Bgte%%5D=%" PRId64 "&limit=%d",
	    call->since, page_items(call->try));
	if (call->cursor.len) {
		buf_str(&path, "&starting_after=");
		str_url(&path, call->cursor);
	}
	stripe_get(work, STRIPE_LOOK, buf_text(&path));
	buf_release(&path);
	return true;
}

/* The id of the page's last item; empty when there is none to go on from. */
static struct str
page_end(const struct json *data)
{
	const struct json *last = data->first;
	struct str id;

	while (last && last->next)
		last = last->next;
	id = json_text(json_get(last, "id"));
	return id.len <= STRIPE_ID_MAX ? id : (struct str){NULL, 0};
}

/* What the page lacks; NULL when it is whole, *more: there is another. */
static const char *
page_check(const struct json *root, const struct call *call, bool *more)
{
	const struct json *data = json_get(root, "data");
	const struct json *has_more = json_get(root, "has_more");
	struct str end;

	*more = false;
	if (!data || data->type != JSON_ARRAY)
		return "a list";
	if (!has_more || has_more->type != JSON_BOOL)
		return "has_more";
	if (!has_more->truth)
		return NULL;
	end = page_end(data);
	if (end.len == 0)
		return "the id where the next page begins";
	/* Else we would go round in circles. */
	if (str_equal(end, call->cursor))
		return "a page after the one before";
	*more = true;
	return NULL;
}

static enum call_result
list_take(struct work *work)
{
	struct json_doc *doc = stripe_answer(work);
	const char *lack;
	struct str end;
	bool more;

	if (!doc)
		return CALL_RETRY;
	lack = page_check(json_root(doc), work->call, &more);
	if (lack) {
		json_free(doc);
		return stripe_lacks(work, lack);
	}
	if (more) {
		end = page_end(json_get(json_root(doc), "data"));
		buf_add(&work->outcome.cursor, end.text, end.len);
	}
	work->outcome.reader =
	    stripe_read_page(work->conf, work->call->list, doc);
	return CALL_DONE;
}

bool
stripe_list(struct work *work)
{
	enum call_result result;

	if (work->stage == STRIPE_START)
		return list_ask(work);
	result = stripe_judge(work);
	if (result == CALL_DONE)
		result = list_take(work);
	return stripe_over(work, result);
}
