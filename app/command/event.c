/* event list, show: the inbox. Reading it again: replay.c. */
#include "command/command.h"
#include "command/listing.h"

#include "base/json.h"
#include "base/log.h"

#include <stdio.h>

/* "12 applied, 3 repeat" */
static void
counts_print(const struct buf *document)
{
	const char *why = "";
	struct json_doc *doc = json_parse(str_view(document), &why);
	const struct json *count;

	if (doc == NULL)
		log_bug("the database's JSON is %s", why);
	for (count = json_root(doc)->first; count != NULL; count = count->next)
		printf("%s%.*s %.*s",
		    count == json_root(doc)->first ? "" : ", ",
		    (int)count->text.len, count->text.text, (int)count->key.len,
		    count->key.text);
	if (json_root(doc)->first != NULL)
		puts(" in all");
	json_free(doc);
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
	struct buf counts = {0};
	int64_t most;
	int result;

	if (!command_options(specs, NULL, argc, argv) ||
	    !command_outcome(outcome) || !command_limit(limit, &most))
		return EXIT_USAGE;
	listing_open(&listing, conf);
	listing.status =
	    db_event_list(listing.db, outcome, (int)most, &listing.document);
	if (listing.status == DB_OK && !listing.json)
		listing.status = db_event_counts(listing.db, &counts);
	result = listing_close(&listing);
	if (result == EXIT_DONE && counts.len > 0)
		counts_print(&counts);
	buf_release(&counts);
	return result;
}

int
command_event_show(const struct conf *conf, int argc, char **argv)
{
	struct listing listing = {.what = "event",
	    .process = "lastpair event show"};
	const struct option_spec specs[] = {{"--json", NULL, &listing.json},
	    {NULL, NULL, NULL}};

	if (!command_options(specs, &listing.name, argc, argv))
		return EXIT_USAGE;
	if (listing.name == NULL)
		return command_fail(EXIT_USAGE,
		    "event show needs an event's id or its number");
	listing_open(&listing, conf);
	listing.status =
	    db_event_show(listing.db, listing.name, &listing.document);
	return listing_close(&listing);
}
