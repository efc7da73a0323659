/*
 * The table of pages, and the shop front's list.
 */
#include "web/page.h"
#include "base/log.h"

static const struct template templates[PAGE_COUNT] = {
    [PAGE_INDEX] = {"index.html", " items "},
    [PAGE_ITEM] = {"item.html",
	" sku title price amount currency per_buyer hold_minutes opens_at"
	" hold_link "},
    [PAGE_OPENING] = {"opening.html",
	" hold left expires_in_ms wait in_time retry_in_ms refresh "},
    [PAGE_ORDER] = {"order.html",
	" hold order state expires_at expires_in_ms left price lines item"
	" item_link now refresh late refund_state refund_reason refund_part"
	" refunded "},
    [PAGE_PROBLEM] = {"problem.html", " name title advice item item_link "},
    [PAGE_SANDBOX_BANK] = {"sandbox/bank.html", " action name price link "},
    [PAGE_SANDBOX_DONE] = {"sandbox/done.html", " title advice link back "},
    [PAGE_SANDBOX_FAULTS] = {"sandbox/faults.html",
	" clock ahead seed active calls webhooks money "},
    [PAGE_SANDBOX_HELD] = {"sandbox/held.html", " name price wait link "},
    [PAGE_SANDBOX_INDEX] = {"sandbox/index.html",
	" now faults sessions deliveries books waiting unsent "},
    [PAGE_SANDBOX_PAY] = {"sandbox/pay.html", " action name price left error "},
    [PAGE_SANDBOX_STYLE] = {"sandbox/style.css", " "},
};

const char *
pages_load(struct pages *pages, const char *share)
{
	const char *why = NULL;

	*pages = (struct pages){0};
	for (enum page page = 0; page < PAGE_COUNT && !why; page++)
		why = template_load(&pages->text[page], &templates[page], share,
		    &pages->complaint);
	return why;
}

void
pages_release(struct pages *pages)
{
	for (enum page page = 0; page < PAGE_COUNT; page++)
		buf_release(&pages->text[page]);
	buf_release(&pages->complaint);
}

bool
pages_check(const char *share)
{
	struct pages pages;
	const char *why = pages_load(&pages, share);

	if (why)
		log_error("%s", why);
	pages_release(&pages);
	return !why;
}

void
page_render(struct buf *out, const struct pages *pages, enum page page,
    const struct page_value *values, size_t count)
{
	struct template_fill fill = {&templates[page], &pages->text[page],
	    values, count};

	/* Lists made by page_add_item and the sandbox, which escape. */
	if (page == PAGE_INDEX || page == PAGE_SANDBOX_INDEX ||
	    page == PAGE_SANDBOX_FAULTS)
		template_fill(out, &fill);
	else
		template_fill_html(out, &fill);
}

void
page_add_item(struct buf *items, const struct page_item *item)
{
	buf_str(items, "<li data-sku=\"");
	str_html(items, item->sku);
	buf_str(items, "\"><a href=\"/item/");
	str_url(items, item->sku);
	buf_str(items, "\"><strong>");
	str_html(items, item->title);
	buf_str(items, "</strong> <span>");
	str_html(items, item->price);
	buf_str(items, "</span></a></li>\n");
}
