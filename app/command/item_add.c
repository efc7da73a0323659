/* item add: the words of a new item, checked before the database sees them. */
#include "base/str.h"
#include "command/command.h"
#include "command/item_price.h"
#include "web/input.h"

#include <stdio.h>
#include <string.h>

#define HOLD_SECONDS 600
/* What the item's constraints allow. */
#define HOLD_SECONDS_MAX 86400
#define PER_BUYER_MAX 1000
#define LATE_DEFAULT "retake,allowance,refund"

/*
 * The rule for SKUs, as the table's constraint has it, in words; and no longer
 * than what a request may name.
 */
static bool
item_sku(const char *sku)
{
	struct str s = str_of(sku);

	if (str_is_utf8(s) && input_is_sku(s) && strpbrk(sku, "/\\") == NULL &&
	    sku[0] != '.' && sku[0] != ' ' && sku[s.len - 1] != ' ')
		return true;
	command_fail(EXIT_USAGE,
	    "an SKU is 1 to 100 characters, at most %d bytes, without / or \\, "
	    "not beginning with a dot and without blanks around it",
	    INPUT_SKU_MAX);
	return false;
}

/*
 * The ladder for money that comes after the hold has ended; in the table's
 * constraint, too. Its steps are tried in this order and no other.
 */
static bool
item_late(const char *text)
{
	static const char *const ladders[] = {LATE_DEFAULT, "retake,refund",
	    "allowance,refund", "refund"};

	for (size_t i = 0; i < sizeof(ladders) / sizeof(ladders[0]); i++) {
		if (strcmp(text, ladders[i]) == 0)
			return true;
	}
	command_fail(EXIT_USAGE,
	    "--late is the steps for late money in their order, refund the "
	    "last: " LATE_DEFAULT ", retake,refund, allowance,refund or "
	    "refund, not %s",
	    text);
	return false;
}

/* The options of item add, as typed. */
struct add_words {
	const char *title, *price, *currency, *total, *allowance, *hold,
	    *per_buyer, *buckets, *opens, *closes, *late, *kind;
};

static bool
add_numbers(const struct add_words *w, struct item_new *item)
{
	int64_t per_buyer = 1, buckets = 1, hold = HOLD_SECONDS;

	item->allowance = 0;
	if (!command_number("--total", w->total, 0, UNITS_MAX, &item->total) ||
	    (w->allowance != NULL && w->allowance[0] != '\0' &&
		!command_number("--allowance", w->allowance, 0, UNITS_MAX,
		    &item->allowance)) ||
	    (w->per_buyer != NULL &&
		!command_number("--per-buyer", w->per_buyer, 1, PER_BUYER_MAX,
		    &per_buyer)) ||
	    (w->buckets != NULL &&
		!command_number("--buckets", w->buckets, 1, BUCKETS_MAX,
		    &buckets)) ||
	    (w->hold != NULL &&
		!command_duration("--hold", w->hold, 1, HOLD_SECONDS_MAX,
		    &hold)))
		return false;
	item->hold_seconds = (int)hold;
	item->per_buyer = (int)per_buyer;
	item->buckets = (int)buckets;
	return true;
}

static bool
add_read(const struct add_words *w, struct item_new *item)
{
	if (w->kind != NULL && strcmp(w->kind, "count") != 0) {
		command_fail(EXIT_USAGE,
		    "--kind %s cannot be sold by this version, only count",
		    w->kind);
		return false;
	}
	item->currency = w->currency;
	item->title = w->title;
	item->opens_at = w->opens;
	item->closes_at = w->closes;
	item->late = w->late == NULL ? LATE_DEFAULT : w->late;
	return add_numbers(w, item) &&
	    item_price(w->price, w->currency, item->per_buyer, &item->price) &&
	    item_late(item->late) &&
	    (!w->opens || command_moment("--opens", w->opens)) &&
	    (!w->closes || command_moment("--closes", w->closes));
}

int
command_item_add(const struct conf *conf, int argc, char **argv)
{
	struct add_words w = {0};
	struct item_new item = {0};
	const struct option_spec specs[] = {{"--title", &w.title, NULL},
	    {"--price", &w.price, NULL}, {"--currency", &w.currency, NULL},
	    {"--total", &w.total, NULL}, {"--allowance", &w.allowance, NULL},
	    {"--hold", &w.hold, NULL}, {"--per-buyer", &w.per_buyer, NULL},
	    {"--buckets", &w.buckets, NULL}, {"--opens", &w.opens, NULL},
	    {"--closes", &w.closes, NULL}, {"--late", &w.late, NULL},
	    {"--kind", &w.kind, NULL}, {NULL, NULL, NULL}};
	struct answer answer;
	struct db *db;
	enum db_status status;
	int result = EXIT_DONE;

	if (!command_options(specs, &item.sku, argc, argv))
		return EXIT_USAGE;
	if (item.sku == NULL || w.title == NULL || w.price == NULL ||
	    w.currency == NULL || w.total == NULL)
		return command_fail(EXIT_USAGE,
		    "item add needs an SKU, --title, --price, --currency and "
		    "--total");
	if (!item_sku(item.sku) || !add_read(&w, &item))
		return EXIT_USAGE;
	answer_init(&answer);
	db = db_open(conf, DB_OPERATOR, "lastpair item add");
	status = db_item_add(db, &item, &answer);
	if (status != DB_OK)
		result = command_db_fail(db, status);
	else if (strcmp(answer.outcome, "added") != 0)
		result = command_fail(EXIT_REFUSED,
		    "there is an item %s already; nothing was changed",
		    item.sku);
	else
		printf("added %s\n", item.sku);
	db_close(db);
	answer_release(&answer);
	return result;
}
