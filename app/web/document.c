/*
 * Reads a hold's document, and says its parts in words.
 */
#include "web/document.h"
#include "base/money.h"
#include "io/db.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool
document_read(struct document *document, struct str text)
{
	const char *why;

	*document = (struct document){0};
	if (text.len == 0)
		return false;
	document->json = json_parse(text, &why);
	if (document->json)
		document->root = json_root(document->json);
	return document->root != NULL;
}

void
document_release(struct document *document)
{
	json_free(document->json);
	*document = (struct document){0};
}

struct str
document_text(const struct document *document, const char *path)
{
	const struct json *node = json_path(document->root, path);

	if (node && node->type == JSON_NUMBER)
		return node->text;
	return json_text(node);
}

int64_t
document_int(const struct document *document, const char *path)
{
	int64_t n = 0;

	return json_int(json_path(document->root, path), &n) ? n : 0;
}

static const struct json *
document_first(const struct document *document)
{
	const struct json *lines = json_get(document->root, "lines");

	return lines && lines->type == JSON_ARRAY ? lines->first : NULL;
}

struct str
document_item(const struct document *document)
{
	return json_text(json_get(document_first(document), "item"));
}

void
document_lines(struct buf *out, const struct document *document)
{
	const struct json *line = document_first(document);

	for (; line; line = line->next) {
		struct str title = json_text(json_get(line, "title"));
		int64_t qty = 0;

		(void)json_int(json_get(line, "qty"), &qty);
		buf_printf(out, "%" PRId64 " x ", qty);
		buf_add(out, title.text, title.len);
		if (line->next)
			buf_str(out, ", ");
	}
}

/* An amount of the document in its one currency. */
static void
document_money(struct buf *out, const struct document *document,
    const char *path)
{
	struct str currency = document_text(document, "price.currency");
	struct money money = {.amount = document_int(document, path)};

	if (currency.len != sizeof(money.currency) - 1)
		return;
	memcpy(money.currency, currency.text, currency.len);
	money_format(out, &money);
}

void
document_price(struct buf *out, const struct document *document)
{
	document_money(out, document, "price.amount");
}

void
document_refunded(struct buf *out, const struct document *document)
{
	if (document_int(document, "refund.amount") > 0)
		document_money(out, document, "refund.amount");
}

/* The larger unit, and the smaller one when there is some of it. */
static void
left_add(struct buf *out, int64_t n, const char *unit)
{
	if (n > 0)
		buf_printf(out, "%s%" PRId64 " %s", out->len ? " " : "", n,
		    unit);
}

void
document_left(struct buf *out, int64_t ms)
{
	struct buf text = {0};
	int64_t s = ms > 0 ? ms / 1000 + (ms % 1000 > 0) : 0;

	if (s >= 86400) {
		left_add(&text, s / 86400, s < 172800 ? "day" : "days");
		left_add(&text, s % 86400 / 3600, "h");
	} else if (s >= 3600) {
		left_add(&text, s / 3600, "h");
		left_add(&text, s % 3600 / 60, "min");
	} else {
		left_add(&text, s / 60, "min");
		left_add(&text, s % 60, "s");
	}
	buf_str(out, text.len ? buf_text(&text) : "0 s");
	buf_release(&text);
}

bool
document_is_id(struct str id)
{
	return token_is_id(id, "hld_");
}
