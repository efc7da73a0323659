/*
 * The shapes that an answer can have.
 */
#include "web/exchange.h"
#include "base/log.h"

#include <string.h>

void
exchange_init(struct exchange *x)
{
	memset(x, 0, sizeof(*x));
	answer_init(&x->call.answer);
	answer_init(&x->delivery.answer);
}

void
exchange_release(struct exchange *x)
{
	answer_release(&x->call.answer);
	delivery_release(&x->delivery);
	form_release(&x->input.form);
	json_free(x->input.json);
	memset(x, 0, sizeof(*x));
}

/* Whether text can stand in a header: RFC 9110, section 5.5. */
static bool
is_header_text(const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || c == 0x7f)
			return false;
	}
	return true;
}

void
exchange_header(struct exchange *x, const char *name, const char *value)
{
	if (!is_header_text(value)) {
		log_error("cannot send header %s: it has a line end", name);
		return;
	}
	buf_printf(&x->reply->headers, "%s: %s\r\n", name, value);
}

void
exchange_json(struct exchange *x, int status, struct str json)
{
	x->reply->status = status;
	exchange_header(x, "Content-Type", "application/json");
	buf_add(&x->reply->body, json.text, json.len);
}

void
exchange_page(struct exchange *x, int status, enum page page,
    const struct page_value *values, size_t count)
{
	x->reply->status = status;
	exchange_header(x, "Content-Type", "text/html; charset=utf-8");
	page_render(&x->reply->body, x->web->pages, page, values, count);
}

void
exchange_see(struct exchange *x, const char *path, struct str id)
{
	struct buf location = {0};

	buf_str(&location, path);
	str_url(&location, id);
	exchange_redirect(x, buf_text(&location));
	buf_release(&location);
}

void
exchange_redirect(struct exchange *x, const char *location)
{
	x->reply->status = 303;
	exchange_header(x, "Location", location);
}
