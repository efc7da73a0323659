/* item set, show, list. */
#include "command/command.h"
#include "command/item_price.h"
#include "command/listing.h"

#include "base/json.h"
#include "base/log.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

/* What a new price depends on. */
struct set_terms {
	char currency[4];
	int64_t per_buyer;
};

/* The item's version and terms as they stand. */
static bool
set_look(struct db *db, struct item_edit *edit, struct set_terms *terms,
    int *result)
{
	struct buf document;
	struct json_doc *doc = NULL;
	enum db_status status;
	const char *why = "";
	struct str text;

	buf_init(&document);
	status = db_item_show(db, edit->sku, &document);
	*result = EXIT_DONE;
	if (status != DB_OK)
		*result = command_db_fail(db, status);
	else if (document.len == 0)
		*result = command_fail(EXIT_REFUSED, "no item %s", edit->sku);
	if (*result != EXIT_DONE)
		goto out;
	text.text = document.data;
	text.len = document.len;
	doc = json_parse(text, &why);
	if (doc == NULL)
		log_bug("the database's JSON is %s", why);
	if (edit->version < 0)
		json_int(json_get(json_root(doc), "version"), &edit->version);
	text = json_text(json_path(json_root(doc), "price.currency"));
	snprintf(terms->currency, sizeof(terms->currency), "%.*s",
	    (int)text.len, text.text);
	if (!json_int(json_get(json_root(doc), "per_buyer"), &terms->per_buyer))
		log_bug("the database's item lacks a number");
out:
	json_free(doc);
	buf_release(&document);
	return *result == EXIT_DONE;
}

static int
set_result(const struct answer *answer, const char *sku)
{
	if (strcmp(answer->outcome, "done") == 0) {
		printf("changed %s\n", sku);
		return EXIT_DONE;
	}
	if (strcmp(answer->outcome, "changed") == 0)
		return command_fail(EXIT_REFUSED,
		    "%s was changed by somebody else meanwhile; look at it "
		    "with item show and try again",
		    sku);
	if (strcmp(answer->outcome, "short") == 0)
		return command_fail(EXIT_REFUSED,
		    "more than that total is held or sold already; look at "
		    "%s with item show",
		    sku);
	return command_fail(EXIT_REFUSED, "no item %s", sku);
}

int
command_item_set(const struct conf *conf, int argc, char **argv)
{
	struct item_edit edit = {.version = -1,
	    .price = -1,
	    .total = -1,
	    .by = command_operator()};
	const char *price = NULL, *total = NULL, *version = NULL;
	const struct option_spec specs[] = {{"--title", &edit.title, NULL},
	    {"--price", &price, NULL}, {"--total", &total, NULL},
	    {"--version", &version, NULL}, {NULL, NULL, NULL}};
	struct answer answer;
	struct set_terms terms;
	enum db_status status;
	struct db *db;
	int result;

	if (!command_options(specs, &edit.sku, argc, argv))
		return EXIT_USAGE;
	if (edit.sku == NULL)
		return command_fail(EXIT_USAGE, "item set needs an SKU");
	if ((total != NULL &&
		!command_number("--total", total, 0, UNITS_MAX, &edit.total)) ||
	    (version != NULL &&
		!command_number("--version", version, 1, INT64_MAX,
		    &edit.version)))
		return EXIT_USAGE;
	answer_init(&answer);
	db = db_open(conf, DB_OPERATOR, "lastpair item set");
	if (!set_look(db, &edit, &terms, &result))
		goto out;
	if (price != NULL &&
	    !item_price(price, terms.currency, terms.per_buyer, &edit.price)) {
		result = EXIT_USAGE;
		goto out;
	}
	status = db_item_set(db, &edit, &answer);
	result = status != DB_OK ? command_db_fail(db, status)
				 : set_result(&answer, edit.sku);
out:
	db_close(db);
	answer_release(&answer);
	return result;
}

int
command_item_show(const struct conf *conf, int argc, char **argv)
{
	struct listing listing = {.what = "item",
	    .process = "lastpair item show"};
	const struct option_spec specs[] = {{"--json", NULL, &listing.json},
	    {NULL, NULL, NULL}};

	if (!command_options(specs, &listing.name, argc, argv))
		return EXIT_USAGE;
	if (listing.name == NULL)
		return command_fail(EXIT_USAGE, "item show needs an SKU");
	listing_open(&listing, conf);
	listing.status =
	    db_item_show(listing.db, listing.name, &listing.document);
	return listing_close(&listing);
}

int
command_item_list(const struct conf *conf, int argc, char **argv)
{
	static const struct table_column columns[] = {{"ITEM", "item"},
	    {"STATUS", "status"}, {"TOTAL", "total"}, {"FREE", "free"},
	    {"HELD", "held"}, {"SOLD", "sold"}, {"TITLE", "title"},
	    {NULL, NULL}};
	struct listing listing = {.columns = columns,
	    .none = "no items yet: lastpair item add",
	    .process = "lastpair item list"};
	const struct option_spec specs[] = {{"--json", NULL, &listing.json},
	    {NULL, NULL, NULL}};

	if (!command_options(specs, NULL, argc, argv))
		return EXIT_USAGE;
	listing_open(&listing, conf);
	listing.status = db_item_list(listing.db, &listing.document);
	return listing_close(&listing);
}
