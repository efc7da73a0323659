/* Values as PostgreSQL reads them: array literals, bytea. */
#include "io/pg.h"

void
pg_array_add(struct buf *array, const char *value, size_t len)
{
	size_t i;

	buf_char(array, array->len == 0 ? '{' : ',');
	if (value == NULL) {
		buf_str(array, "NULL");
		return;
	}
	buf_char(array, '"');
	for (i = 0; i < len; i++) {
		if (value[i] == '"' || value[i] == '\\')
			buf_char(array, '\\');
		buf_char(array, value[i]);
	}
	buf_char(array, '"');
}

const char *
pg_array_end(struct buf *array)
{
	buf_str(array, array->len == 0 ? "{}" : "}");
	return buf_text(array);
}

void
pg_bytea(struct buf *b, struct str bytes)
{
	buf_str(b, "\\x");
	str_hex(b, bytes.text, bytes.len);
}
