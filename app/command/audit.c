/* audit: the promises, checked; and what waits for a person. */
#include "command/command.h"
#include "command/listing.h"

#include "base/json.h"

#include <stdio.h>
#include <string.h>

static bool
audit_is_empty(const struct buf *document)
{
	return strcmp(buf_text(document), "[]") == 0;
}

int
command_audit(const struct conf *conf, int argc, char **argv)
{
	static const struct table_column columns[] = {{"PROMISE", "promise"},
	    {"BROKEN", "what"}, {"WHERE", "which"}, {NULL, NULL}};
	struct listing listing = {.columns = columns,
	    .none = "every promise holds",
	    .process = "lastpair audit"};
	const struct option_spec specs[] = {{"--json", NULL, &listing.json},
	    {NULL, NULL, NULL}};
	struct buf tasks = {0};
	bool broken;
	int result;

	if (!command_options(specs, NULL, argc, argv))
		return EXIT_USAGE;
	listing_open(&listing, conf);
	listing.status = db_audit(listing.db, &listing.document);
	if (listing.status == DB_OK && !listing.json)
		listing.status = db_task_list(listing.db, false, &tasks);
	broken = !audit_is_empty(&listing.document);
	result = listing_close(&listing);
	if (result == EXIT_DONE && tasks.len > 0 && !audit_is_empty(&tasks))
		table_print(&tasks, task_columns, "");
	buf_release(&tasks);
	if (result == EXIT_DONE && broken)
		return command_fail(EXIT_REFUSED,
		    "the audit found broken promises");
	return result;
}
