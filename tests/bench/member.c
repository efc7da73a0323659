/* One walk over the bytes; a text is skipped as a whole, so that no brace in
 * it counts. */
#include "member.h"

#include <string.h>

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static size_t
skip_blanks(struct str s, size_t at)
{
	while (at < s.len && is_blank(s.text[at]))
		at++;
	return at;
}

/* Behind the text that begins with the quote at `at`. */
static size_t
skip_text(struct str s, size_t at)
{
	for (at++; at < s.len && s.text[at] != '"'; at++) {
		if (s.text[at] == '\\')
			at++;
	}
	return at < s.len ? at + 1 : s.len;
}

/* Behind the object or array that begins at `at`. */
static size_t
skip_nested(struct str s, size_t at)
{
	int depth = 0;

	while (at < s.len) {
		char c = s.text[at];

		if (c == '"') {
			at = skip_text(s, at);
			continue;
		}
		at++;
		if (c == '{' || c == '[')
			depth++;
		else if ((c == '}' || c == ']') && --depth == 0)
			break;
	}
	return at;
}

/* The value that begins at *at; moves *at behind it. */
static struct str
value_at(struct str s, size_t *at)
{
	size_t from = *at;

	if (from < s.len && s.text[from] == '"') {
		*at = skip_text(s, from);
		if (*at - from < 2)
			return (struct str){0};
		return (struct str){s.text + from + 1, *at - from - 2};
	}
	if (from < s.len && (s.text[from] == '{' || s.text[from] == '[')) {
		*at = skip_nested(s, from);
	} else {
		while (*at < s.len && !is_blank(s.text[*at]) &&
		    !strchr(",}]", s.text[*at]))
			++*at;
	}
	return (struct str){s.text + from, *at - from};
}

struct str
member_of(struct str object, const char *name)
{
	size_t at = skip_blanks(object, 0);

	if (at >= object.len || object.text[at] != '{')
		return (struct str){0};
	for (at = skip_blanks(object, at + 1);
	     at < object.len && object.text[at] == '"';
	     at = skip_blanks(object, at + 1)) {
		struct str found = value_at(object, &at);
		struct str value;

		at = skip_blanks(object, at);
		if (at >= object.len || object.text[at] != ':')
			break;
		at = skip_blanks(object, at + 1);
		value = value_at(object, &at);
		if (str_is(found, name))
			return value;
		at = skip_blanks(object, at);
		if (at >= object.len || object.text[at] != ',')
			break;
	}
	return (struct str){0};
}

int64_t
member_int(struct str object, const char *name, int64_t fallback)
{
	struct str text = member_of(object, name);
	int64_t number;

	return text.text && str_int(text, &number) ? number : fallback;
}

struct str
member_first(struct str object, const char *name)
{
	struct str array = member_of(object, name);
	size_t at = array.len ? skip_blanks(array, 1) : 0;

	if (!array.len || array.text[0] != '[' || at >= array.len ||
	    array.text[at] != '{')
		return (struct str){0};
	return value_at(array, &at);
}
