/*
 * Bodies into structs. Both parsers below refuse doubled JSON members, NULs
 * and bytes that are not UTF-8, so that only meaning is checked here.
 */
#include "web/input.h"
#include "web/problem.h"

#include <string.h>
#include <strings.h>

bool
input_is_key(struct str key)
{
	for (size_t i = 0; i < key.len; i++) {
		if (key.text[i] < 0x21 || key.text[i] > 0x7e)
			return false;
	}
	return key.len >= 16 && key.len <= HOLD_KEY_MAX;
}

bool
input_is_sku(struct str sku)
{
	return sku.len > 0 && sku.len <= INPUT_SKU_MAX;
}

/* The type itself, without parameters and blanks (RFC 9110, section 8.3). */
static bool
type_is(struct str type, const char *wanted)
{
	const char *end = type.len ? memchr(type.text, ';', type.len) : NULL;

	if (end)
		type.len = (size_t)(end - type.text);
	while (type.len && strchr(" \t", type.text[type.len - 1]))
		type.len--;
	return type.len == strlen(wanted) &&
	    strncasecmp(type.text, wanted, type.len) == 0;
}

static bool
body_read(struct exchange *x)
{
	switch (fcgi_read_body(x->fcgi, x->request, INPUT_BYTES_MAX)) {
	case FCGI_BODY_OK:
		return true;
	case FCGI_BODY_TOO_LONG:
		problem_say(x, "too-large",
		    "The body is longer than 16384 bytes.");
		break;
	case FCGI_BODY_NO_LENGTH:
		problem_say(x, "length-required",
		    "The request has a body but no Content-Length.");
		break;
	case FCGI_BODY_BAD:
		problem_say(x, "malformed",
		    "The body does not have the length that Content-Length "
		    "says");
		break;
	}
	return false;
}

static const char *
body_parse(struct input *input, struct str body)
{
	const char *why = NULL;

	if (input->is_form)
		return form_parse(&input->form, body);
	input->json = json_parse(body, &why);
	if (input->json && json_root(input->json)->type != JSON_OBJECT)
		why = "the body is no object";
	return why;
}

bool
input_read(struct exchange *x, struct input *input)
{
	const char *why;

	input->is_form = type_is(x->request->content_type,
	    "application/x-www-form-urlencoded");
	input->json = NULL;
	input->form.count = 0;
	buf_init(&input->form.bytes);
	if (!input->is_form &&
	    !type_is(x->request->content_type, "application/json")) {
		problem_say(x, "content-type",
		    "Content-Type must be application/json or "
		    "application/x-www-form-urlencoded.");
		return false;
	}
	if (!body_read(x))
		return false;
	why = body_parse(input, x->request->body);
	if (why) {
		struct buf detail = {0};

		buf_printf(&detail, "The body is not a valid %s: %s",
		    input->is_form ? "form" : "JSON object", why);
		problem_say(x, "malformed", buf_text(&detail));
		buf_release(&detail);
	}
	return !why;
}

void
input_release(struct input *input)
{
	form_release(&input->form);
	json_free(input->json);
	input->json = NULL;
}

static const char *
check_id(struct str id, size_t times)
{
	if (times > 1)
		return "id is there more than once";
	return id.len ? NULL : "id, the name of a hold, is missing";
}

/* The one id of a POST that names a hold; NULL, or what is wrong. */
static const char *
input_id(const struct input *input, struct str *id)
{
	const struct json *node;

	*id = (struct str){NULL, 0};
	if (input->is_form) {
		size_t times = form_get(&input->form, "id", id);

		return check_id(*id, times);
	}
	node = json_get(json_root(input->json), "id");
	if (node && node->type != JSON_STRING)
		return "id must be a string";
	*id = json_text(node);
	return check_id(*id, 1);
}

const char *
input_query_id(struct form *form, struct str query, struct str *id)
{
	const char *why = form_parse(form, query);
	size_t times;

	*id = (struct str){NULL, 0};
	if (why)
		return "The query cannot be read";
	times = form_get(form, "id", id);
	return check_id(*id, times);
}

void
input_with_id(struct exchange *x,
    void (*act)(struct exchange *x, struct str id))
{
	struct input input;
	const char *why;
	struct str id;

	if (!input_read(x, &input))
		goto out;
	why = input_id(&input, &id);
	if (why)
		problem_say(x, "malformed", why);
	else
		act(x, id);
out:
	input_release(&input);
}
