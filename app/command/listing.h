/* What every list and show does around its one call to the database. */
#ifndef COMMAND_LISTING_H
#define COMMAND_LISTING_H

#include "command/command.h"
#include "command/table.h"

/* Of a task, for task list and for audit. */
extern const struct table_column task_columns[];

struct listing {
	const struct table_column *columns; /* NULL: one object, not a list */
	const char *none; /* of a list: what to say when it is empty */
	const char *what; /* of an object: "item", for "no item X" */
	const char *name; /* of an object: X */
	const char *process;
	bool json; /* print the document as it is */
	struct db *db;
	struct buf document;
	enum db_status status; /* of the call */
};

void
listing_open(struct listing *listing, const struct conf *conf);
/* Prints the document, or the failure; the exit status. */
int
listing_close(struct listing *listing);

#endif
