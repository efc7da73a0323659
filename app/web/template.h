/*
 * A text with {{name}} where a value goes, as it lies in a file of the
 * operator's: read and checked once, filled often. A text that asks for what
 * nothing fills is refused when it is read, not in front of a buyer.
 */
#ifndef WEB_TEMPLATE_H
#define WEB_TEMPLATE_H

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

/* What a file is called below static/, and the names that it may use, each
 * with a blank on both sides. */
struct template
{
	const char *file;
	const char *placeholders;
};

struct page_value {
	const char *name;
	struct str text;
};

/* values must name all that the text uses: a missing one is a bug. */
struct template_fill {
	const struct template *template;
	const struct buf *text; /* as it was loaded */
	const struct page_value *values;
	size_t count;
};

/*
 * Reads the file below share/static. NULL when it is good, else one sentence,
 * which complaint owns.
 */
const char *
template_load(struct buf *text, const struct template *template,
    const char *share, struct buf *complaint);
/* Appends the text with its values, as they are or escaped for HTML. */
void
template_fill(struct buf *out, const struct template_fill *fill);
void
template_fill_html(struct buf *out, const struct template_fill *fill);

#endif
