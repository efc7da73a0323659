/* Rows of the two tables, from the lists that SQL makes. */
#include "sandbox/index.h"

#include "base/json.h"
#include "base/money.h"
#include "io/db_sandbox.h"
#include "sandbox/page.h"

#include <string.h>

/* What a person looks through. */
#define ROWS 50

static struct str
member(const struct json *row, const char *name)
{
	const struct json *node = json_get(row, name);

	if (!node || node->type == JSON_NULL)
		return (struct str){NULL, 0};
	return node->text;
}

static void
cell(struct buf *out, const char *tag, struct str text)
{
	buf_printf(out, "<%s>", tag);
	str_html(out, text);
	buf_printf(out, "</%s>", tag);
}

/* "49.99 EUR"; nothing for zero. */
static void
cell_money(struct buf *out, const struct json *row, const char *name)
{
	struct str currency = member(row, "currency");
	struct money money = {.amount = 0};
	struct buf text = {0};

	if (currency.len == 3)
		memcpy(money.currency, currency.text, 3);
	if (json_int(json_get(row, name), &money.amount) && money.amount > 0)
		money_format(&text, &money);
	cell(out, "td", (struct str){buf_text(&text), text.len});
	buf_release(&text);
}

static void
session_row(struct buf *out, const struct json *row)
{
	static const struct {
		const char *view;
		const char *words;
	} words[] = {
	    {"open", "open"},
	    {"held", "payment under way"},
	    {"bank", "bank debit under way"},
	    {"paid", "paid"},
	    {"failed", "debit failed"},
	    {"expired", "expired"},
	};
	struct str view = member(row, "view");

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (str_is(view, words[i].view))
			view = str_of(words[i].words);
	}
	buf_str(out, "<tr>");
	cell(out, "td", member(row, "created"));
	buf_str(out, "<th scope=\"row\"><a href=\"/c/pay/");
	str_url(out, member(row, "id"));
	buf_str(out, "\">");
	str_html(out, member(row, "name"));
	buf_str(out, "</a></th>");
	cell(out, "td", member(row, "reference"));
	cell_money(out, row, "amount");
	cell(out, "td", view);
	cell_money(out, row, "refunded");
	buf_str(out, "</tr>\n");
}

static void
delivery_row(struct buf *out, const struct json *row)
{
	struct str error = member(row, "error");

	buf_str(out, "<tr>");
	cell(out, "td", member(row, "created"));
	buf_str(out, "<th scope=\"row\">");
	str_html(out, member(row, "type"));
	buf_str(out, "</th>");
	cell(out, "td", member(row, "event"));
	cell(out, "td", member(row, "state"));
	cell(out, "td", member(row, "tries"));
	cell(out, "td", error.len ? error : member(row, "status"));
	buf_str(out, "</tr>\n");
}

/* All rows of a list, or one that says that there are none. */
static void
rows_add(struct buf *out, const struct buf *list,
    void (*add)(struct buf *out, const struct json *row))
{
	const char *why;
	struct json_doc *doc =
	    json_parse((struct str){buf_text(list), list->len}, &why);
	const struct json *row = doc ? json_root(doc)->first : NULL;

	if (!row)
		buf_str(out, "<tr><td colspan=\"6\">None so far.</td></tr>\n");
	for (; row; row = row->next)
		add(out, row);
	if (doc)
		json_free(doc);
}

void
sandbox_index(struct exchange *x)
{
	struct buf lists[2] = {{0}, {0}};
	struct buf rows[2] = {{0}, {0}};
	struct page_value values[] = {
	    {"sessions", {NULL, 0}},
	    {"deliveries", {NULL, 0}},
	};

	if (db_sandbox_session_list(x->web->db, ROWS, &lists[0]) != DB_OK ||
	    db_sandbox_delivery_list(x->web->db, (struct str){NULL, 0}, ROWS,
		&lists[1]) != DB_OK) {
		sandbox_page_say(x, 503, "The sandbox is busy",
		    "Its database is away. Please try again in a moment.");
	} else {
		rows_add(&rows[0], &lists[0], session_row);
		rows_add(&rows[1], &lists[1], delivery_row);
		for (int i = 0; i < 2; i++)
			values[i].text =
			    (struct str){buf_text(&rows[i]), rows[i].len};
		sandbox_page_policy(x, "");
		exchange_page(x, 200, PAGE_SANDBOX_INDEX, values, 2);
	}
	for (int i = 0; i < 2; i++) {
		buf_release(&lists[i]);
		buf_release(&rows[i]);
	}
}
