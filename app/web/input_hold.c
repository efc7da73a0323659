/*
 * The body of POST /hold: `item` and `qty`, or `lines` of them; `email`.
 */
#include "web/input.h"

#include <string.h>

#define NOT_UNITS \
	"units and best are not for these items: they are sold by number, " \
	"with qty"

static const char *
check_sku(struct str sku)
{
	if (sku.len == 0)
		return "item, the SKU, is missing";
	return input_is_sku(sku) ? NULL : "item is longer than 200 bytes";
}

static const char *
check_qty(struct str digits, int64_t *qty)
{
	return str_qty(digits, qty)
	    ? NULL
	    : "qty must be a whole number from 1, in plain digits";
}

static const char *
check_email(struct str email)
{
	size_t ats = 0;

	if (email.len == 0)
		return NULL;
	if (email.len > INPUT_EMAIL_MAX)
		return "email is longer than 254 bytes";
	for (size_t i = 0; i < email.len; i++) {
		unsigned char c = (unsigned char)email.text[i];

		if (c <= ' ' || c == 0x7f)
			return "email has a blank or a control character";
		ats += c == '@';
	}
	if (ats != 1 || email.text[0] == '@' ||
	    email.text[email.len - 1] == '@')
		return "email is no mail address";
	return NULL;
}

static const char *
hold_from_form(const struct form *form, struct hold_request *request)
{
	struct hold_line *line = &request->lines[0];
	struct str qty = {NULL, 0};
	struct str other;
	const char *why;

	if (form_get(form, "units", &other) || form_get(form, "best", &other))
		return NOT_UNITS;
	if (form_get(form, "lines", &other))
		return "lines cannot be sent in a form: send JSON";
	if (form_get(form, "item", &line->sku) > 1)
		return "item is there more than once";
	if (form_get(form, "qty", &qty) > 1)
		return "qty is there more than once";
	if (form_get(form, "email", &request->email) > 1)
		return "email is there more than once";
	request->count = 1;
	why = check_sku(line->sku);
	if (!why)
		why = check_qty(qty, &line->qty);
	return why;
}

/* A line of a basket, or the request itself when it is for one item. */
static const char *
line_from_json(const struct json *node, struct hold_line *line)
{
	const struct json *sku = json_get(node, "item");
	const struct json *qty = json_get(node, "qty");
	const char *why;

	if (json_get(node, "units") || json_get(node, "best"))
		return NOT_UNITS;
	if (sku && sku->type != JSON_STRING)
		return "item must be a string";
	line->sku = json_text(sku);
	why = check_sku(line->sku);
	if (why)
		return why;
	if (!qty)
		return "qty is missing";
	if (qty->type != JSON_NUMBER)
		return "qty must be a number";
	return check_qty(qty->text, &line->qty);
}

static bool
line_is_new(const struct hold_request *request, struct str sku)
{
	for (size_t i = 0; i < request->count; i++) {
		if (str_equal(request->lines[i].sku, sku))
			return false;
	}
	return true;
}

static const char *
lines_from_json(const struct json *lines, struct hold_request *request)
{
	if (lines->type != JSON_ARRAY || !lines->first)
		return "lines must be a list of one line or more";
	for (const struct json *node = lines->first; node; node = node->next) {
		struct hold_line line;
		const char *why;

		if (node->type != JSON_OBJECT)
			return "each of lines must be an object";
		why = line_from_json(node, &line);
		if (why)
			return why;
		if (!line_is_new(request, line.sku))
			return "an item is in lines more than once";
		if (request->count == HOLD_LINES_MAX)
			return "lines has more than 20 lines";
		request->lines[request->count++] = line;
	}
	return NULL;
}

static const char *
hold_from_json(const struct json *root, struct hold_request *request)
{
	const struct json *lines = json_get(root, "lines");
	const struct json *email = json_get(root, "email");

	if (email && email->type != JSON_STRING && email->type != JSON_NULL)
		return "email must be a string";
	request->email = json_text(email);
	if (!lines) {
		request->count = 1;
		return line_from_json(root, &request->lines[0]);
	}
	if (json_get(root, "item") || json_get(root, "qty"))
		return "lines goes without item and qty beside it";
	if (json_get(root, "units") || json_get(root, "best"))
		return NOT_UNITS;
	return lines_from_json(lines, request);
}

const char *
input_hold(const struct input *input, struct hold_request *request)
{
	const char *why;

	request->count = 0;
	request->email = (struct str){NULL, 0};
	memset(request->lines, 0, sizeof(request->lines));
	if (input->is_form)
		why = hold_from_form(&input->form, request);
	else
		why = hold_from_json(json_root(input->json), request);
	return why ? why : check_email(request->email);
}
