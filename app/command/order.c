/* hold list, order show, event list: looking at what happened. */
#include "command/command.h"
#include "command/listing.h"

#include <string.h>

#define LIMIT_DEFAULT "50"
#define LIMIT_MAX 100000

int
command_hold_list(const struct conf *conf, int argc, char **argv)
{
	static const struct table_column columns[] = {{"HOLD", "id"},
	    {"ORDER", "order"}, {"STATE", "state"}, {"REASON", "reason"},
	    {"AMOUNT", "price.amount"}, {"CURRENCY", "price.currency"},
	    {"EXPIRES", "expires_at"}, {NULL, NULL}};
	struct listing listing = {.columns = columns,
	    .none = "no holds",
	    .process = "lastpair hold list"};
	const char *state = NULL, *sku = NULL, *limit = NULL;
	const struct option_spec specs[] = {{"--json", NULL, &listing.json},
	    {"--state", &state, NULL}, {"--item", &sku, NULL},
	    {"--limit", &limit, NULL}, {NULL, NULL, NULL}};
	int64_t most;

	if (!command_options(specs, NULL, argc, argv) ||
	    !command_number("--limit", limit == NULL ? LIMIT_DEFAULT : limit, 1,
		LIMIT_MAX, &most))
		return EXIT_USAGE;
	if (state != NULL && strcmp(state, "held") != 0 &&
	    strcmp(state, "paid") != 0 && strcmp(state, "released") != 0)
		return command_fail(EXIT_USAGE,
		    "--state is held, paid or released, not %s", state);
	listing_open(&listing, conf);
	listing.status =
	    db_hold_list(listing.db, state, sku, (int)most, &listing.document);
	return listing_close(&listing);
}

int
command_event_list(const struct conf *conf, int argc, char **argv)
{
	static const struct table_column columns[] = {{"SEQ", "seq"},
	    {"RECEIVED", "received_at"}, {"TYPE", "type"},
	    {"OUTCOME", "outcome"}, {"TIMES", "deliveries"}, {"HOLD", "hold"},
	    {"EVENT", "event_id"}, {"DETAIL", "detail"}, {NULL, NULL}};
	struct listing listing = {.columns = columns,
	    .none = "no events yet",
	    .process = "lastpair event list"};
	const char *outcome = NULL, *limit = NULL;
	const struct option_spec specs[] = {{"--json", NULL, &listing.json},
	    {"--outcome", &outcome, NULL}, {"--limit", &limit, NULL},
	    {NULL, NULL, NULL}};
	int64_t most;

	if (!command_options(specs, NULL, argc, argv) ||
	    !command_number("--limit", limit == NULL ? LIMIT_DEFAULT : limit, 1,
		LIMIT_MAX, &most))
		return EXIT_USAGE;
	listing_open(&listing, conf);
	listing.status =
	    db_event_list(listing.db, outcome, (int)most, &listing.document);
	return listing_close(&listing);
}

int
command_order_show(const struct conf *conf, int argc, char **argv)
{
	struct listing listing = {.what = "order",
	    .process = "lastpair order show"};
	const struct option_spec specs[] = {{"--json", NULL, &listing.json},
	    {NULL, NULL, NULL}};

	if (!command_options(specs, &listing.name, argc, argv))
		return EXIT_USAGE;
	if (listing.name == NULL)
		return command_fail(EXIT_USAGE,
		    "order show needs an order's number or its hold's id");
	listing_open(&listing, conf);
	listing.status =
	    db_order_show(listing.db, listing.name, &listing.document);
	return listing_close(&listing);
}
