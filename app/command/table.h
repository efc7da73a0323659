/* Prints JSON that the database made, for people: tables and lists. */
#ifndef COMMAND_TABLE_H
#define COMMAND_TABLE_H

#include "base/buf.h"

#define TABLE_COLUMNS_MAX 10

struct table_column {
	const char *heading;
	const char *path; /* of the value in each element: "price.amount" */
};

/*
 * One row per element of the array in document, columns up to one without a
 * heading; `none` when it is empty.
 */
void
table_print(const struct buf *document, const struct table_column *columns,
    const char *none);
/* "path: value" for every value of the object in document, in its order. */
void
table_print_object(const struct buf *document);

#endif
