/* Pure: a form to JSON. */
#include "sandbox/params.h"

#include <string.h>

static bool
is_list(struct str name)
{
	return name.len > 2 && memcmp(name.text + name.len - 2, "[]", 2) == 0;
}

void
params_json(struct buf *out, const struct form *form)
{
	struct buf name = {0};

	buf_char(out, '{');
	for (size_t i = 0; i < form->count; i++) {
		struct str field = form->fields[i].name;
		size_t before = 0;

		for (size_t k = 0; k < i; k++)
			before += str_equal(form->fields[k].name, field);
		buf_reset(&name);
		if (is_list(field)) {
			buf_add(&name, field.text, field.len - 1);
			buf_printf(&name, "%zu]", before);
		} else {
			buf_add(&name, field.text, field.len);
		}
		if (i)
			buf_char(out, ',');
		str_json(out, (struct str){buf_text(&name), name.len});
		buf_char(out, ':');
		str_json(out, form->fields[i].value);
	}
	buf_char(out, '}');
	buf_release(&name);
}
