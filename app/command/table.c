/* Tables with columns as wide as their widest value, by code points. */
#include "command/table.h"

#include "base/json.h"
#include "base/log.h"
#include "base/money.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>

/* A value that is to be printed: text of a string or number, or a word. */
static struct str
table_text(const struct json *node)
{
	if (node == NULL || node->type == JSON_NULL)
		return str_of("-");
	if (node->type == JSON_BOOL)
		return str_of(node->truth ? "yes" : "no");
	return node->text;
}

/* Money in the unit that people count in. */
static void
table_money(const struct json *row, const char *path, const char *blank,
    struct buf *cell)
{
	struct str code = json_text(json_path(row, blank + 1));
	struct buf name = {0};
	struct money money;

	buf_add(&name, path, (size_t)(blank - path));
	if (json_int(json_path(row, buf_text(&name)), &money.amount) &&
	    code.len == 3) {
		memcpy(money.currency, code.text, 3);
		money.currency[3] = '\0';
		money_format(cell, &money);
	} else {
		buf_char(cell, '-');
	}
	buf_release(&name);
}

/* What a column says of a row; cell may hold it until it is used again. */
static struct str
table_value(const struct json *row, const char *path, struct buf *cell)
{
	const char *blank = strchr(path, ' ');

	if (blank == NULL)
		return table_text(json_path(row, path));
	buf_reset(cell);
	table_money(row, path, blank, cell);
	return str_view(cell);
}

/* Code points, which is close enough to columns for what we print. */
static int
table_width(struct str s)
{
	int width = 0;
	size_t i;

	for (i = 0; i < s.len; i++)
		if (((unsigned char)s.text[i] & 0xC0) != 0x80)
			width++;
	return width;
}

static void
table_cell(struct str s, int width)
{
	int pad = width - table_width(s);

	printf("%.*s%*s", (int)s.len, s.text, pad > 0 ? pad : 0, "");
}

static struct json_doc *
table_parse(const struct buf *document)
{
	struct str text = str_view(document);
	const char *why;
	struct json_doc *doc = json_parse(text, &why);

	if (doc == NULL)
		log_bug("the database's JSON is %s", why);
	return doc;
}

static void
table_row(const struct json *row, const struct table_column *columns,
    const int *widths)
{
	struct buf cell = {0};
	int i;

	for (i = 0; columns[i].heading != NULL; i++) {
		struct str value = row == NULL
		    ? str_of(columns[i].heading)
		    : table_value(row, columns[i].path, &cell);
		bool last = columns[i + 1].heading == NULL;

		table_cell(value, last ? 0 : widths[i] + 2);
	}
	putchar('\n');
	buf_release(&cell);
}

void
table_print_at(const struct json *array, const struct table_column *columns,
    const char *none)
{
	const struct json *row;
	int widths[TABLE_COLUMNS_MAX] = {0};
	struct buf cell = {0};
	int i, width;

	if (array->first == NULL) {
		puts(none);
		return;
	}
	for (i = 0; columns[i].heading != NULL; i++) {
		widths[i] = table_width(str_of(columns[i].heading));
		for (row = array->first; row != NULL; row = row->next) {
			width = table_width(
			    table_value(row, columns[i].path, &cell));
			if (width > widths[i])
				widths[i] = width;
		}
	}
	table_row(NULL, columns, widths);
	for (row = array->first; row != NULL; row = row->next)
		table_row(row, columns, widths);
	buf_release(&cell);
}

void
table_print(const struct buf *document, const struct table_column *columns,
    const char *none)
{
	struct json_doc *doc = table_parse(document);

	table_print_at(json_root(doc), columns, none);
	json_free(doc);
}

static void
table_object(const struct json *node, const char *prefix)
{
	const struct json *member;
	struct buf name;
	int nr = 0;

	buf_init(&name);
	for (member = node->first; member != NULL; member = member->next) {
		buf_reset(&name);
		buf_str(&name, prefix);
		if (node->type == JSON_ARRAY)
			buf_printf(&name, "%d", ++nr);
		else
			buf_add(&name, member->key.text, member->key.len);
		if (member->first != NULL) {
			buf_char(&name, '.');
			table_object(member, buf_text(&name));
		} else if (member->type != JSON_ARRAY &&
		    member->type != JSON_OBJECT) {
			struct str value = table_text(member);

			printf("%-24s %.*s\n", buf_text(&name), (int)value.len,
			    value.text);
		}
	}
	buf_release(&name);
}

void
table_print_object(const struct buf *document)
{
	struct json_doc *doc = table_parse(document);

	table_object(json_root(doc), "");
	json_free(doc);
}
