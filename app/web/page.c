/*
 * Templates: read and checked once, filled often. A template stays the text
 * that it is in the file; a placeholder is found when it is filled.
 */
#include "web/page.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A page that a phone must load in a second is far smaller. */
#define PAGE_BYTES_MAX ((size_t)256 * 1024)

static const struct {
	const char *file;
	const char *placeholders; /* each with a blank on both sides */
} templates[PAGE_COUNT] = {
    [PAGE_INDEX] = {"index.html", " items "},
    [PAGE_ITEM] = {"item.html",
	" sku title price amount currency per_buyer hold_minutes opens_at"
	" hold_link "},
    [PAGE_OPENING] = {"opening.html", " hold left "},
    [PAGE_ORDER] = {"order.html",
	" hold order state expires_at expires_in_ms left price lines item"
	" item_link now refresh refund_reason "},
    [PAGE_PROBLEM] = {"problem.html", " name title advice item item_link "},
    [PAGE_SANDBOX_BANK] = {"sandbox/bank.html", " action name price link "},
    [PAGE_SANDBOX_DONE] = {"sandbox/done.html", " title advice link "},
    [PAGE_SANDBOX_HELD] = {"sandbox/held.html", " name price wait link "},
    [PAGE_SANDBOX_INDEX] = {"sandbox/index.html", " sessions deliveries "},
    [PAGE_SANDBOX_PAY] = {"sandbox/pay.html", " action name price left error "},
    [PAGE_SANDBOX_STYLE] = {"sandbox/style.css", " "},
};

/*
 * Takes the text up to the next placeholder off text, and its name. False
 * when there is none: then before is all that was left. A template holds no
 * NUL, and text is its tail, so it can be searched as a C string.
 */
static bool
placeholder_next(struct str *text, struct str *before, struct str *name)
{
	const char *open = strstr(text->text, "{{");
	const char *close = open ? strstr(open, "}}") : NULL;

	*before = *text;
	if (!close)
		return false;
	before->len = (size_t)(open - text->text);
	*name = (struct str){open + 2, (size_t)(close - open) - 2};
	text->len -= (size_t)(close + 2 - text->text);
	text->text = close + 2;
	return true;
}

static bool
placeholder_is_known(enum page page, struct str name)
{
	struct buf word = {0};
	bool known;

	buf_printf(&word, " %.*s ", (int)name.len, name.text);
	known = name.len && !memchr(name.text, ' ', name.len) &&
	    strstr(templates[page].placeholders, buf_text(&word));
	buf_release(&word);
	return known;
}

static const char *
template_check(struct pages *pages, enum page page)
{
	struct buf *page_text = &pages->text[page];
	struct str text = {buf_text(page_text), page_text->len};
	struct str before;
	struct str name;

	while (placeholder_next(&text, &before, &name)) {
		if (placeholder_is_known(page, name))
			continue;
		buf_printf(&pages->complaint,
		    "%s has a placeholder {{%.*s}} that nothing fills",
		    templates[page].file, (int)name.len, name.text);
		return buf_text(&pages->complaint);
	}
	if (strstr(before.text, "{{")) {
		buf_printf(&pages->complaint,
		    "%s has a placeholder that does not end",
		    templates[page].file);
		return buf_text(&pages->complaint);
	}
	return NULL;
}

static const char *
template_read(struct pages *pages, enum page page, const char *share)
{
	struct buf *text = &pages->text[page];
	struct buf path = {0};
	const char *why = NULL;
	char part[4096];
	size_t n;
	FILE *file;

	buf_printf(&path, "%s/static/%s", share, templates[page].file);
	errno = 0;
	file = fopen(buf_text(&path), "re");
	while (file && text->len < PAGE_BYTES_MAX &&
	    (n = fread(part, 1, sizeof(part), file)) > 0)
		buf_add(text, part, n);
	if (!file || ferror(file) || text->len >= PAGE_BYTES_MAX ||
	    strlen(buf_text(text)) != text->len) {
		buf_printf(&pages->complaint, "cannot read the page %s: %s",
		    buf_text(&path), errno ? strerror(errno) : "no HTML");
		why = buf_text(&pages->complaint);
	}
	if (file)
		fclose(file);
	buf_release(&path);
	return why;
}

const char *
pages_load(struct pages *pages, const char *share)
{
	const char *why = NULL;

	*pages = (struct pages){0};
	for (enum page page = 0; page < PAGE_COUNT && !why; page++) {
		why = template_read(pages, page, share);
		if (!why)
			why = template_check(pages, page);
	}
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

static void
value_add(struct buf *out, enum page page, struct str name,
    const struct page_value *value)
{
	/* Lists made by page_add_item and the sandbox, which escape. */
	if ((page == PAGE_INDEX && str_is(name, "items")) ||
	    page == PAGE_SANDBOX_INDEX)
		buf_add(out, value->text.text, value->text.len);
	else
		str_html(out, value->text);
}

void
page_render(struct buf *out, const struct pages *pages, enum page page,
    const struct page_value *values, size_t count)
{
	const struct buf *page_text = &pages->text[page];
	struct str text = {buf_text(page_text), page_text->len};
	struct str before;
	struct str name;

	while (placeholder_next(&text, &before, &name)) {
		size_t i = 0;

		buf_add(out, before.text, before.len);
		while (i < count && !str_is(name, values[i].name))
			i++;
		if (i == count)
			log_bug("nothing fills {{%.*s}} of %s", (int)name.len,
			    name.text, templates[page].file);
		value_add(out, page, name, &values[i]);
	}
	buf_add(out, before.text, before.len);
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
