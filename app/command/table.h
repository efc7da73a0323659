/* Prints JSON that the database made, for people: tables and lists. */
#ifndef COMMAND_TABLE_H
#define COMMAND_TABLE_H

#include "base/buf.h"
#include "base/json.h"

#define TABLE_COLUMNS_MAX 10

struct table_column {
	const char *heading;
	/*
	 * Of the value in each element: "price.amount". Two, parted by a blank,
	 * are money: its amount and its currency.
	 */
	const char *path;
};

/*
 * One row per element of the array in document, columns up to one without a
 * heading; `none` when it is empty.
 */
void
table_print(const struct buf *document, const struct table_column *columns,
    const char *none);
/* The same for an array in a document that was read. */
void
table_print_at(const struct json *array, const struct table_column *columns,
    const char *none);
/* "path: value" for every value of the object in document, in its order. */
void
table_print_object(const struct buf *document);

#endif
