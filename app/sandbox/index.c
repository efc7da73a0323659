/* The page, from one document of SQL's. */
#include "sandbox/index.h"

#include "io/db_sandbox.h"
#include "sandbox/desk.h"
#include "sandbox/markup.h"
#include "sandbox/page.h"

#include <inttypes.h>

/* What a person looks through. */
#define ROWS 30

/* What fills the page. */
struct view {
	struct buf now;
	struct buf faults;
	struct buf sessions;
	struct buf deliveries;
	struct buf books;
	struct buf waiting;
	struct buf unsent;
};

static void
sessions_add(struct buf *out, const struct json *list, struct str show)
{
	const struct json *row = list ? list->first : NULL;

	if (!row)
		buf_str(out, "<p>None so far.</p>\n");
	for (; row; row = row->next)
		desk_session_add(out, row, show);
}

static void
deliveries_add(struct buf *out, const struct json *list)
{
	const struct json *row = list ? list->first : NULL;

	if (!row) {
		buf_str(out, "<p>None so far.</p>\n");
		return;
	}
	buf_str(out, "<ul class=\"list\">\n");
	for (; row; row = row->next)
		desk_delivery_add(out, row);
	buf_str(out, "</ul>\n");
}

static void
view_fill(struct view *view, const struct json *root, struct str show)
{
	const struct json *books = json_get(root, "books");
	int64_t faults = markup_number(root, "faults", 0);

	markup_time(&view->now, markup_member(json_get(root, "clock"), "now"));
	if (faults == 0)
		buf_str(&view->faults, "Nothing goes wrong on purpose.");
	else
		buf_printf(&view->faults,
		    "<strong>%" PRId64 " %s switched on.</strong>", faults,
		    faults == 1 ? "fault is" : "faults are");
	sessions_add(&view->sessions, json_get(root, "sessions"), show);
	deliveries_add(&view->deliveries, json_get(root, "deliveries"));
	desk_books_add(&view->books, books);
	buf_printf(&view->waiting, "%" PRId64,
	    markup_number(books, "deliveries_waiting", 0));
	buf_printf(&view->unsent, "%" PRId64, markup_number(root, "unsent", 0));
}

static void
view_release(struct view *view)
{
	buf_release(&view->now);
	buf_release(&view->faults);
	buf_release(&view->sessions);
	buf_release(&view->deliveries);
	buf_release(&view->books);
	buf_release(&view->waiting);
	buf_release(&view->unsent);
}

static void
index_page(struct exchange *x, const struct json *root)
{
	struct view view = {{0}, {0}, {0}, {0}, {0}, {0}, {0}};
	struct form query;
	struct str show = {NULL, 0};

	if (!form_parse(&query, x->request->query))
		(void)form_get(&query, "show", &show);
	view_fill(&view, root, show);
	const struct page_value values[] = {
	    {"now", str_view(&view.now)},
	    {"faults", str_view(&view.faults)},
	    {"sessions", str_view(&view.sessions)},
	    {"deliveries", str_view(&view.deliveries)},
	    {"books", str_view(&view.books)},
	    {"waiting", str_view(&view.waiting)},
	    {"unsent", str_view(&view.unsent)},
	};

	sandbox_page_policy(x, "");
	exchange_page(x, 200, PAGE_SANDBOX_INDEX, values, 7);
	view_release(&view);
	form_release(&query);
}

static void
index_show(struct exchange *x)
{
	struct buf document = {0};
	struct json_doc *doc = NULL;
	const char *why;

	if (db_sandbox_desk(x->web->db, ROWS, &document) == DB_OK)
		doc = json_parse(str_view(&document), &why);
	if (doc)
		index_page(x, json_root(doc));
	else
		sandbox_page_busy(x);
	json_free(doc);
	buf_release(&document);
}

void
sandbox_index(struct exchange *x)
{
	if (str_is(x->request->method, "POST"))
		desk_act(x);
	else
		index_show(x);
}
