/*
 * application/x-www-form-urlencoded: a query string or an HTML form (WHATWG
 * URL, section 5.1). Names and values are decoded copies owned by the form.
 */
#ifndef BASE_FORM_H
#define BASE_FORM_H

#include "buf.h"
#include "str.h"

/* /availability asks for up to 50 items; a session's creation has ~25. */
#define FORM_FIELDS_MAX 128

struct form_field {
	struct str name;
	struct str value;
};

struct form {
	struct form_field fields[FORM_FIELDS_MAX];
	size_t count;
	struct buf bytes; /* what the fields point into */
};

/*
 * Why it is refused: bad percent-encoding, a NUL, not UTF-8, too many fields;
 * NULL when form is filled. Release the form in either case.
 */
const char *
form_parse(struct form *form, struct str text);
void
form_release(struct form *form);
/* How often name occurs; *value is set to its first value if at all. */
size_t
form_get(const struct form *form, const char *name, struct str *value);

#endif
