/* Opens the database as the operator; prints for people, or the JSON. */
#include "command/listing.h"

#include <stdio.h>

void
listing_open(struct listing *listing, const struct conf *conf)
{
	buf_init(&listing->document);
	listing->db = db_open(conf, DB_OPERATOR, listing->process);
}

int
listing_close(struct listing *listing)
{
	int result = EXIT_DONE;

	if (listing->status != DB_OK)
		result = command_db_fail(listing->db, listing->status);
	else if (listing->document.len == 0)
		result = command_fail(EXIT_REFUSED, "no %s %s", listing->what,
		    listing->name);
	else if (listing->json)
		puts(buf_text(&listing->document));
	else if (listing->columns == NULL)
		table_print_object(&listing->document);
	else
		table_print(&listing->document, listing->columns,
		    listing->none);
	db_close(listing->db);
	buf_release(&listing->document);
	return result;
}
