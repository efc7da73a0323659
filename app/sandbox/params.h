/*
 * A form's fields as the API's rules in SQL want them.
 */
#ifndef SANDBOX_PARAMS_H
#define SANDBOX_PARAMS_H

#include "base/buf.h"
#include "base/form.h"

/*
 * Appends a flat JSON object of the fields. A name that ends in "[]" gets its
 * number instead: types[] twice becomes types[0] and types[1].
 */
void
params_json(struct buf *out, const struct form *form);

#endif
