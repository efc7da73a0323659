/* Pure: HTML, from what SQL says in JSON. */
#include "sandbox/markup.h"

#include "base/money.h"

#include <string.h>

struct str
markup_member(const struct json *row, const char *name)
{
	const struct json *node = json_get(row, name);

	if (!node || (node->type != JSON_STRING && node->type != JSON_NUMBER))
		return (struct str){NULL, 0};
	return node->text;
}

int64_t
markup_number(const struct json *row, const char *name, int64_t fallback)
{
	int64_t number = fallback;

	return json_int(json_get(row, name), &number) ? number : fallback;
}

void
markup_element(struct buf *out, const char *tag, struct str text)
{
	buf_printf(out, "<%s>", tag);
	str_html(out, text);
	buf_printf(out, "</%s>", tag);
}

void
markup_money(struct buf *out, int64_t amount, struct str currency)
{
	struct money money = {.amount = amount};

	if (currency.len != sizeof(money.currency) - 1)
		return;
	memcpy(money.currency, currency.text, currency.len);
	money_format(out, &money);
}

void
markup_time(struct buf *out, struct str time)
{
	const char *day = memchr(time.text ? time.text : "", 'T', time.len);
	const char *dot = memchr(time.text ? time.text : "", '.', time.len);

	if (!day || !dot || dot < day) {
		str_html(out, time);
		return;
	}
	str_html(out, (struct str){time.text, (size_t)(day - time.text)});
	buf_char(out, ' ');
	str_html(out, (struct str){day + 1, (size_t)(dot - day - 1)});
	buf_str(out, " UTC");
}

void
markup_form(struct buf *out, const char *action)
{
	buf_str(out, "<form method=\"post\" action=\"");
	str_html(out, str_of(action));
	buf_str(out, "\">");
}

void
markup_hidden(struct buf *out, const char *name, struct str value)
{
	buf_printf(out, "<input type=\"hidden\" name=\"%s\" value=\"", name);
	str_html(out, value);
	buf_str(out, "\">");
}

void
markup_button(struct buf *out, const struct markup_button *button)
{
	buf_printf(out, "<button class=\"button\" name=\"do\" value=\"%s\">%s",
	    button->act, button->label);
	if (button->about.len) {
		buf_str(out, "<span class=\"unseen\"> ");
		str_html(out, button->about);
		buf_str(out, "</span>");
	}
	buf_str(out, "</button>");
}

void
markup_act(struct buf *out, const struct markup_act *act)
{
	markup_form(out, act->action);
	markup_hidden(out, act->name, act->value);
	markup_button(out, &act->button);
	buf_str(out, "</form>\n");
}
