/*
 * The order page: one page for all states of an order. The document's `view`
 * names the section that is shown.
 */
#include "web/order.h"
#include "web/document.h"
#include "web/problem.h"

/*
 * Seconds until a browser without scripts asks again: soon while the buyer
 * waits for something, at leisure where only late news can come.
 */
static const char *
order_refresh(struct str state)
{
	static const struct {
		const char *state;
		const char *seconds;
	} paces[] = {
	    {"held", "10"},
	    {"opening", "10"},
	    {"checking", "10"},
	    {"pending", "300"},
	    {"expired", "30"},
	    {"refund_owed", "60"},
	};

	for (size_t i = 0; i < sizeof(paces) / sizeof(paces[0]); i++) {
		if (str_is(state, paces[i].state))
			return paces[i].seconds;
	}
	return "3600";
}

/* Whether all of the money goes back, or a part; "" when none does. */
static const char *
order_part(const struct document *document)
{
	int64_t amount = document_int(document, "refund.amount");

	if (amount == 0)
		return "";
	return amount < document_int(document, "price.amount") ? "some" : "all";
}

static void
order_page(struct exchange *x, const struct document *document)
{
	struct str state = document_text(document, "view");
	struct str item = document_item(document);
	struct buf refunded = {0};
	struct buf left = {0};
	struct buf price = {0};
	struct buf lines = {0};
	struct buf link = {0};

	document_left(&left, document_int(document, "expires_in_ms"));
	document_price(&price, document);
	document_lines(&lines, document);
	document_refunded(&refunded, document);
	buf_str(&link, "/item/");
	str_url(&link, item);
	exchange_page(x, 200, PAGE_ORDER,
	    (struct page_value[]){
		{"hold", document_text(document, "id")},
		{"order", document_text(document, "order")},
		{"state", state},
		{"expires_at", document_text(document, "expires_at")},
		{"expires_in_ms", document_text(document, "expires_in_ms")},
		{"left", str_of(buf_text(&left))},
		{"price", str_of(buf_text(&price))},
		{"lines", {buf_text(&lines), lines.len}},
		{"item", item},
		{"item_link", str_of(buf_text(&link))},
		{"now", document_text(document, "now")},
		{"refresh", str_of(order_refresh(state))},
		{"late", document_text(document, "late")},
		{"refund_state", document_text(document, "refund.state")},
		{"refund_reason", document_text(document, "refund.reason")},
		{"refund_part", str_of(order_part(document))},
		{"refunded", str_view(&refunded)},
	    },
	    17);
	buf_release(&refunded);
	buf_release(&left);
	buf_release(&price);
	buf_release(&lines);
	buf_release(&link);
}

void
order_show(struct exchange *x, struct str id)
{
	const struct uuid *viewer = x->buyer.known ? &x->buyer.id : NULL;
	enum db_status status = DB_OK;
	struct document document = {0};
	struct buf text = {0};

	if (document_is_id(id))
		status = db_hold_show(x->web->db, id, viewer, &text);
	if (status != DB_OK)
		problem_database(x, status, (struct str){NULL, 0});
	else if (document_read(&document, str_view(&text)))
		order_page(x, &document);
	else
		problem_say(x, "no-such-hold", NULL);
	document_release(&document);
	buf_release(&text);
}
