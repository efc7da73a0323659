/* What the levers share: reading a body, answering. */
#include "sandbox/lever.h"

bool
lever_int(const struct lever *lever, const char *name, int64_t least,
    int64_t most, int64_t *value)
{
	const struct json *node = json_get(lever->body, name);

	if (!node || node->type == JSON_NULL)
		return true;
	return json_int(node, value) && *value >= least && *value <= most;
}

bool
lever_flag(const struct lever *lever, const char *name)
{
	const struct json *node = json_get(lever->body, name);

	return node && node->type == JSON_BOOL && node->truth;
}

struct str
lever_text(const struct lever *lever, const char *name)
{
	return json_text(json_get(lever->body, name));
}

void
lever_say(const struct lever *lever, int status, const char *json)
{
	exchange_json(lever->x, status, str_of(json));
}

void
lever_refuse(const struct lever *lever, int status, const char *why)
{
	struct buf out = {0};

	buf_str(&out, "{\"error\": ");
	str_json(&out, str_of(why));
	buf_char(&out, '}');
	lever_say(lever, status, buf_text(&out));
	buf_release(&out);
}

void
lever_fail(const struct lever *lever, enum db_status status)
{
	if (status == DB_REFUSED)
		lever_refuse(lever, 400, "malformed");
	else
		lever_refuse(lever, 503, "busy");
}

void
lever_document(const struct lever *lever, enum db_status status,
    const struct buf *document)
{
	if (status == DB_OK)
		lever_say(lever, 200, buf_text(document));
	else
		lever_fail(lever, status);
}

void
lever_found(const struct lever *lever, enum db_status status, bool found)
{
	if (status != DB_OK)
		lever_fail(lever, status);
	else if (found)
		lever_say(lever, 200, "{}");
	else
		lever_refuse(lever, 404, "no such thing");
}
