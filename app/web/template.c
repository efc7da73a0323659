/*
 * A template stays the text that it is in the file; a placeholder is found
 * when it is filled.
 */
#include "web/template.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A page that a phone must load in a second is far smaller. */
#define TEMPLATE_BYTES_MAX ((size_t)256 * 1024)

/*
 * Takes the text up to the next placeholder off text, and its name. False
 * when there is none: then before is all that was left. A template holds no
 * NUL, and text is its tail, so it can be searched as a C string.
 */
static bool
placeholder_next(struct str *text, struct str *before, struct str *name)
{
	const char *open = strstr(text->text, "{{");
	const char *close = open ? strstr(open, "}}") : NULL;

	*before = *text;
	if (!close)
		return false;
	before->len = (size_t)(open - text->text);
	*name = (struct str){open + 2, (size_t)(close - open) - 2};
	text->len -= (size_t)(close + 2 - text->text);
	text->text = close + 2;
	return true;
}

static bool
placeholder_is_known(const char *placeholders, struct str name)
{
	struct buf word = {0};
	bool known;

	buf_printf(&word, " %.*s ", (int)name.len, name.text);
	known = name.len && !memchr(name.text, ' ', name.len) &&
	    strstr(placeholders, buf_text(&word));
	buf_release(&word);
	return known;
}

static const char *
template_check(const struct buf *page, const struct template *template,
    struct buf *complaint)
{
	struct str text = str_view(page);
	struct str before;
	struct str name;

	while (placeholder_next(&text, &before, &name)) {
		if (placeholder_is_known(template->placeholders, name))
			continue;
		buf_printf(complaint,
		    "%s has a placeholder {{%.*s}} that nothing fills",
		    template->file, (int)name.len, name.text);
		return buf_text(complaint);
	}
	if (strstr(before.text, "{{")) {
		buf_printf(complaint, "%s has a placeholder that does not end",
		    template->file);
		return buf_text(complaint);
	}
	return NULL;
}

static const char *
template_read(struct buf *text, const char *path, struct buf *complaint)
{
	const char *why = NULL;
	char part[4096];
	size_t n;
	FILE *file;

	errno = 0;
	file = fopen(path, "re");
	while (file && text->len < TEMPLATE_BYTES_MAX &&
	    (n = fread(part, 1, sizeof(part), file)) > 0)
		buf_add(text, part, n);
	if (!file || ferror(file) || text->len >= TEMPLATE_BYTES_MAX ||
	    strlen(buf_text(text)) != text->len) {
		buf_printf(complaint, "cannot read the page %s: %s", path,
		    errno ? strerror(errno) : "no text");
		why = buf_text(complaint);
	}
	if (file)
		fclose(file);
	return why;
}

const char *
template_load(struct buf *text, const struct template *template,
    const char *share, struct buf *complaint)
{
	struct buf path = {0};
	const char *why;

	buf_printf(&path, "%s/static/%s", share, template->file);
	why = template_read(text, buf_text(&path), complaint);
	buf_release(&path);
	return why ? why : template_check(text, template, complaint);
}

static struct str
fill_value(const struct template_fill *fill, struct str name)
{
	for (size_t i = 0; i < fill->count; i++) {
		if (str_is(name, fill->values[i].name))
			return fill->values[i].text;
	}
	log_bug("nothing fills {{%.*s}} of %s", (int)name.len, name.text,
	    fill->template->file);
}

void
template_fill(struct buf *out, const struct template_fill *fill)
{
	struct str text = str_view(fill->text);
	struct str before;
	struct str name;

	while (placeholder_next(&text, &before, &name)) {
		struct str value = fill_value(fill, name);

		buf_add(out, before.text, before.len);
		buf_add(out, value.text, value.len);
	}
	buf_add(out, before.text, before.len);
}

void
template_fill_html(struct buf *out, const struct template_fill *fill)
{
	struct str text = str_view(fill->text);
	struct str before;
	struct str name;

	while (placeholder_next(&text, &before, &name)) {
		buf_add(out, before.text, before.len);
		str_html(out, fill_value(fill, name));
	}
	buf_add(out, before.text, before.len);
}
