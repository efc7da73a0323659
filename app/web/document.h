/*
 * A hold's document, as SQL made it, read again for what pages show of it.
 */
#ifndef WEB_DOCUMENT_H
#define WEB_DOCUMENT_H

#include "base/json.h"
#include "base/str.h"

#include <stdint.h>

/* Owns what its nodes and texts point into. */
struct document {
	struct json_doc *json;
	const struct json *root; /* NULL when there is none */
};

/* Whether text is a document; release it in either case. */
bool
document_read(struct document *document, struct str text);
void
document_release(struct document *document);
/* A text or number of it by its path, as written; empty when there is none. */
struct str
document_text(const struct document *document, const char *path);
int64_t
document_int(const struct document *document, const char *path);
/* The first line's SKU. */
struct str
document_item(const struct document *document);
/* "1 x Runner, size 42" */
void
document_lines(struct buf *out, const struct document *document);
/* "129.00 EUR" */
void
document_price(struct buf *out, const struct document *document);
/* "25.00 EUR", what has gone or goes back; nothing when nothing does */
void
document_refunded(struct buf *out, const struct document *document);
/* "9 min 58 s", "1 h 5 min", "3 days 2 h", rounded up. */
void
document_left(struct buf *out, int64_t ms);
/* Whether text has the shape of a hold's id; no other is looked up. */
bool
document_is_id(struct str id);

#endif
