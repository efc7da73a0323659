/* page: a ready product page, or the shop front, on standard output. */
#include "command/command.h"

#include "base/json.h"
#include "base/log.h"
#include "base/money.h"
#include "web/page.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* An item as the pages want it; the views live as long as the document. */
struct shown {
	struct str sku, title, opens_at;
	struct money money;
	int64_t hold_seconds;
	int64_t per_buyer;
};

static struct json_doc *
page_parse(const struct buf *document)
{
	struct str text = str_view(document);
	const char *why;
	struct json_doc *doc = json_parse(text, &why);

	if (doc == NULL)
		log_bug("the database's JSON is %s", why);
	return doc;
}

static void
page_read(const struct json *item, struct shown *shown)
{
	struct str currency = json_text(json_path(item, "price.currency"));

	shown->sku = json_text(json_get(item, "item"));
	shown->title = json_text(json_get(item, "title"));
	shown->opens_at = json_text(json_get(item, "opens_at"));
	snprintf(shown->money.currency, sizeof(shown->money.currency), "%.*s",
	    (int)currency.len, currency.text);
	if (!json_int(json_path(item, "price.amount"), &shown->money.amount) ||
	    !json_int(json_get(item, "hold_seconds"), &shown->hold_seconds) ||
	    !json_int(json_get(item, "per_buyer"), &shown->per_buyer))
		log_bug("the database's item lacks a number");
}

static void
page_item(struct buf *out, const struct pages *pages, const struct json *item)
{
	struct shown shown;
	struct buf price, amount, per_buyer, minutes, link;

	page_read(item, &shown);
	buf_init(&price);
	buf_init(&amount);
	buf_init(&per_buyer);
	buf_init(&minutes);
	buf_init(&link);
	money_format(&price, &shown.money);
	money_decimal(&amount, &shown.money);
	buf_printf(&per_buyer, "%" PRId64, shown.per_buyer);
	/* Rounded down; a hold of less than a minute is for trying things. */
	buf_printf(&minutes, "%" PRId64,
	    shown.hold_seconds < 60 ? 1 : shown.hold_seconds / 60);
	/* The worker reads the form; nginx picks it by the address. */
	buf_str(&link, "/hold?item=");
	str_url(&link, shown.sku);
	{
		const struct page_value values[] = {
		    {"sku", shown.sku},
		    {"title", shown.title},
		    {"price", str_view(&price)},
		    {"amount", str_view(&amount)},
		    {"currency", str_of(shown.money.currency)},
		    {"per_buyer", str_view(&per_buyer)},
		    {"hold_minutes", str_view(&minutes)},
		    {"opens_at", shown.opens_at},
		    {"hold_link", str_view(&link)},
		};

		page_render(out, pages, PAGE_ITEM, values,
		    sizeof(values) / sizeof(values[0]));
	}
	buf_release(&price);
	buf_release(&amount);
	buf_release(&per_buyer);
	buf_release(&minutes);
	buf_release(&link);
}

static void
page_index(struct buf *out, const struct pages *pages, const struct json *list)
{
	const struct json *item;
	struct buf items, price;

	buf_init(&items);
	buf_init(&price);
	for (item = list->first; item != NULL; item = item->next) {
		struct shown shown;

		page_read(item, &shown);
		buf_reset(&price);
		money_format(&price, &shown.money);
		page_add_item(&items,
		    &(struct page_item){
			.sku = shown.sku,
			.title = shown.title,
			.price = str_view(&price),
		    });
	}
	{
		const struct page_value values[] = {
		    {"items", str_view(&items)},
		};

		page_render(out, pages, PAGE_INDEX, values, 1);
	}
	buf_release(&items);
	buf_release(&price);
}

/* The question to the database, and the page made of its answer. */
static int
page_print(const struct conf *conf, const struct pages *pages, const char *sku)
{
	struct db *db = db_open(conf, DB_OPERATOR, "lastpair page");
	struct buf document, out;
	struct json_doc *doc;
	enum db_status status;
	int result = EXIT_DONE;

	buf_init(&document);
	buf_init(&out);
	status = sku == NULL ? db_item_list(db, &document)
			     : db_item_show(db, sku, &document);
	if (status != DB_OK) {
		result = command_db_fail(db, status);
	} else if (document.len == 0) {
		result = command_fail(EXIT_REFUSED, "no item %s", sku);
	} else {
		doc = page_parse(&document);
		if (sku == NULL)
			page_index(&out, pages, json_root(doc));
		else
			page_item(&out, pages, json_root(doc));
		fwrite(buf_text(&out), 1, out.len, stdout);
		json_free(doc);
	}
	db_close(db);
	buf_release(&document);
	buf_release(&out);
	return result;
}

int
command_page(const struct conf *conf, int argc, char **argv)
{
	const char *sku = NULL;
	bool index = false;
	const struct option_spec specs[] = {{"--index", NULL, &index},
	    {NULL, NULL, NULL}};
	struct pages pages;
	const char *why;
	int result;

	if (!command_options(specs, &sku, argc, argv))
		return EXIT_USAGE;
	if ((sku == NULL) != index)
		return command_fail(EXIT_USAGE, "page takes an SKU or --index");
	why = pages_load(&pages, conf->server.share);
	result = why != NULL ? command_fail(EXIT_REFUSED, "%s", why)
			     : page_print(conf, &pages, sku);
	pages_release(&pages);
	return result;
}
