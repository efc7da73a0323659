/*
 * The pages of share/static that are filled in here. A template is plain HTML
 * with {{name}} where a value goes; every value is escaped. One table in
 * page.c names the placeholders of each, and a template that asks for another
 * is refused at the start, not in front of a buyer.
 */
#ifndef WEB_PAGE_H
#define WEB_PAGE_H

#include "base/buf.h"
#include "base/str.h"
#include "web/template.h"

#include <stdbool.h>

enum page {
	PAGE_INDEX,
	PAGE_ITEM,
	PAGE_OPENING,
	PAGE_ORDER,
	PAGE_PROBLEM,
	PAGE_SANDBOX_BANK,
	PAGE_SANDBOX_DONE,
	PAGE_SANDBOX_FAULTS,
	PAGE_SANDBOX_HELD,
	PAGE_SANDBOX_INDEX,
	PAGE_SANDBOX_PAY,
	PAGE_SANDBOX_STYLE,
	PAGE_COUNT,
};

struct pages {
	struct buf text[PAGE_COUNT];
	struct buf complaint;
};

/* A line of the shop front. */
struct page_item {
	struct str sku;
	struct str title;
	struct str price; /* "129.00 EUR" */
};

/*
 * Reads the templates below share. NULL when all are good, else one sentence,
 * owned by pages. Call pages_release in either case.
 */
const char *
pages_load(struct pages *pages, const char *share);
void
pages_release(struct pages *pages);
/* Whether they all are good; if not, why is in the log. */
bool
pages_check(const char *share);
/*
 * Appends the page. values must name all placeholders that it uses: a missing
 * one is a bug.
 */
void
page_render(struct buf *out, const struct pages *pages, enum page page,
    const struct page_value *values, size_t count);
/* Appends an <li> for the index's items, the one value that is markup. */
void
page_add_item(struct buf *items, const struct page_item *item);

#endif
