/*
 * Form fields. Decoding never makes text longer, so the bytes are reserved
 * once and the fields may point into them while they fill.
 */
#include "base/form.h"

#include <string.h>

/* Appends the decoded part; why it is refused, or NULL. */
static const char *
part_decode(struct buf *bytes, struct str part, struct str *out)
{
	size_t start = bytes->len;

	for (size_t i = 0; i < part.len; i++) {
		char c = part.text[i];

		if (c == '+') {
			buf_char(bytes, ' ');
		} else if (c != '%') {
			buf_char(bytes, c);
		} else {
			struct str digits = {part.text + i + 1, 2};

			if (part.len - i < 3 || !str_unhex(bytes, digits))
				return "bad percent-encoding";
			i += 2;
		}
	}
	*out = (struct str){bytes->data + start, bytes->len - start};
	if (str_has_nul(*out))
		return "a field holds a NUL";
	if (!str_is_utf8(*out))
		return "a field is not UTF-8";
	return NULL;
}

static const char *
field_add(struct form *form, struct str pair)
{
	const char *equals = memchr(pair.text, '=', pair.len);
	struct str name = pair;
	struct str value = {pair.text, 0};
	struct form_field *field;
	const char *why;

	if (form->count == FORM_FIELDS_MAX)
		return "too many fields";
	if (equals) {
		name.len = (size_t)(equals - pair.text);
		value.text = equals + 1;
		value.len = pair.len - name.len - 1;
	}
	field = &form->fields[form->count];
	why = part_decode(&form->bytes, name, &field->name);
	if (!why)
		why = part_decode(&form->bytes, value, &field->value);
	if (!why)
		form->count++;
	return why;
}

const char *
form_parse(struct form *form, struct str text)
{
	const char *why = NULL;

	form->count = 0;
	buf_init(&form->bytes);
	buf_reserve(&form->bytes, text.len);
	while (text.len && !why) {
		const char *end = memchr(text.text, '&', text.len);
		struct str pair = text;

		if (end)
			pair.len = (size_t)(end - text.text);
		if (pair.len)
			why = field_add(form, pair);
		text.len -= pair.len + (end ? 1 : 0);
		text.text += pair.len + (end ? 1 : 0);
	}
	return why;
}

void
form_release(struct form *form)
{
	buf_release(&form->bytes);
	form->count = 0;
}

size_t
form_get(const struct form *form, const char *name, struct str *value)
{
	size_t times = 0;

	for (size_t i = 0; i < form->count; i++) {
		if (!str_is(form->fields[i].name, name))
			continue;
		if (times++ == 0)
			*value = form->fields[i].value;
	}
	return times;
}
