/*
 * Sentences for the outcomes of api.hold_take that take nothing. The items'
 * page shows them to people as they are.
 */
#include "web/hold_words.h"

#include <inttypes.h>
#include <string.h>

static void
words_sold_out(struct buf *out, const struct document *members)
{
	int64_t free_now = document_int(members, "free");
	int64_t held = document_int(members, "held");

	if (free_now == 1)
		buf_str(out, "Only 1 is left.");
	else if (free_now > 1)
		buf_printf(out, "Only %" PRId64 " are left.", free_now);
	else if (held == 1)
		buf_str(out,
		    "All are taken at the moment; 1 is in another person's "
		    "basket and may come back.");
	else if (held > 1)
		buf_printf(out,
		    "All are taken at the moment; %" PRId64 " are in other "
		    "people's baskets and may come back.",
		    held);
	else
		buf_str(out, "Sold out.");
}

static void
words_limit(struct buf *out, const struct document *members)
{
	int64_t limit = document_int(members, "limit");
	int64_t have = document_int(members, "have");

	if (limit == 0) {
		buf_str(out, "That comes to more than one order can cost.");
		return;
	}
	buf_printf(out, "One person can have at most %" PRId64, limit);
	if (have > 0)
		buf_printf(out, ", and you have %" PRId64 " already", have);
	buf_char(out, '.');
}

static void
words_no_such_item(struct buf *out, const struct hold_request *request)
{
	struct str sku = request->lines[0].sku;

	if (request->count > 1) {
		buf_str(out, "At least one of these items is not sold here.");
		return;
	}
	buf_str(out, "There is no item ");
	buf_add(out, sku.text, sku.len);
	buf_str(out, " here.");
}

void
hold_words(struct buf *out, const char *outcome,
    const struct hold_request *request, const struct document *members)
{
	if (strcmp(outcome, "sold-out") == 0) {
		words_sold_out(out, members);
	} else if (strcmp(outcome, "limit") == 0) {
		words_limit(out, members);
	} else if (strcmp(outcome, "not-open") == 0) {
		buf_str(out, "The sale opens in ");
		document_left(out, document_int(members, "opens_in_ms"));
		buf_char(out, '.');
	} else if (strcmp(outcome, "no-such-item") == 0) {
		words_no_such_item(out, request);
	} else if (strcmp(outcome, "paused") == 0) {
		buf_str(out,
		    "The sale is paused at the moment. Nothing was "
		    "taken.");
	} else if (strcmp(outcome, "closed") == 0) {
		buf_str(out, "The sale is over.");
	} else if (strcmp(outcome, "key-reused") == 0) {
		buf_str(out,
		    "This Idempotency-Key belongs to a request for "
		    "something else. Use a new one.");
	} else if (strcmp(outcome, "mixed-currencies") == 0) {
		buf_str(out,
		    "lines are in different currencies, which one "
		    "order cannot mix");
	} else {
		buf_printf(out, "The answer was %s.", outcome);
	}
}
