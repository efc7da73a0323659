/* hold list, order list, order show: what was taken and paid. */
#include "command/command.h"
#include "command/listing.h"

#include <string.h>

/* --state is one that a hold can have. */
static bool
state_check(const char *state)
{
	if (state == NULL || strcmp(state, "held") == 0 ||
	    strcmp(state, "paid") == 0 || strcmp(state, "released") == 0)
		return true;
	command_fail(EXIT_USAGE, "--state is held, paid or released, not %s",
	    state);
	return false;
}

int
command_hold_list(const struct conf *conf, int argc, char **argv)
{
	static const struct table_column columns[] = {{"HOLD", "id"},
	    {"ORDER", "order"}, {"STATE", "state"}, {"REASON", "reason"},
	    {"AMOUNT", "price.amount price.currency"},
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
	    !command_limit(limit, &most) || !state_check(state))
		return EXIT_USAGE;
	listing_open(&listing, conf);
	listing.status =
	    db_hold_list(listing.db, state, sku, (int)most, &listing.document);
	return listing_close(&listing);
}

int
command_order_list(const struct conf *conf, int argc, char **argv)
{
	static const struct table_column columns[] = {{"ORDER", "order"},
	    {"HOLD", "hold"}, {"STATE", "state"}, {"REASON", "reason"},
	    {"ASKED", "amount currency"}, {"PAID", "captured currency"},
	    {"BACK", "refunded currency"}, {"PAID AT", "paid_at"},
	    {NULL, NULL}};
	struct listing listing = {.columns = columns,
	    .none = "no order that money came for",
	    .process = "lastpair order list"};
	const char *state = NULL, *sku = NULL, *limit = NULL;
	const struct option_spec specs[] = {{"--json", NULL, &listing.json},
	    {"--state", &state, NULL}, {"--item", &sku, NULL},
	    {"--limit", &limit, NULL}, {NULL, NULL, NULL}};
	int64_t most;

	if (!command_options(specs, NULL, argc, argv) ||
	    !command_limit(limit, &most) || !state_check(state))
		return EXIT_USAGE;
	listing_open(&listing, conf);
	listing.status =
	    db_order_list(listing.db, state, sku, (int)most, &listing.document);
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
