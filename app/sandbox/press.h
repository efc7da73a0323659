/*
 * A form of these pages that was sent. It is refused when another site's page
 * sent it, or when a field is not what it should be, and the answer says
 * which; whatever works is answered with a redirect, so that a reload repeats
 * nothing.
 */
#ifndef SANDBOX_PRESS_H
#define SANDBOX_PRESS_H

#include "base/form.h"
#include "io/db.h"
#include "web/exchange.h"

struct press {
	struct exchange *x;
	const char *home; /* the page that the form is on */
	struct form form;
	bool refused; /* it has its answer */
};

/* A field that is a whole number. */
struct press_number {
	const char *name;
	const char *label; /* as the page calls it */
	int64_t least;
	int64_t most;
	bool needed; /* else it may be left empty */
};

/* Reads the form that x has brought. False: it has been refused. Close it in
 * either case. */
bool
press_open(struct press *press, struct exchange *x, const char *home);
void
press_close(struct press *press);
/* A field's text; empty when there is none. */
struct str
press_text(const struct press *press, const char *name);
bool
press_is(const struct press *press, const char *name, const char *value);
/* *value stays when the field is left empty. False: the press has been
 * refused. */
bool
press_number(struct press *press, const struct press_number *number,
    int64_t *value);
/* The form asks for nothing that we know. */
void
press_unknown(struct press *press);
void
press_refuse(struct press *press, int status, const char *title,
    const char *advice);
/* What came of it: on to the address, or why not. */
void
press_answer(struct press *press, enum db_status status, const char *location);

#endif
