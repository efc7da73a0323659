/*
 * What the db_sandbox*.c files share. Not for anybody else.
 */
#ifndef IO_DB_SANDBOX_OWN_H
#define IO_DB_SANDBOX_OWN_H

#include "io/db_call.h"
#include "io/db_sandbox.h"

/* b becomes the first row's value; empty for NULL. */
void
sandbox_text(struct buf *b, const struct pg_rows *rows, size_t column);

#endif
