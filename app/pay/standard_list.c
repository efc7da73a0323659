/*
 * Looking through the connected process's books: one event by its id, and
 * lists page by page.
 */
#include "pay/standard.h"

#define LIST_LIMIT 100 /* items of a page, to stay below HTTP_ANSWER_MAX */

static bool
event_ask(struct work *work)
{
	struct question question = {
	    .type = "event.show",
	    .endpoint = ENDPOINT_LOOK,
	    .looks = true,
	};

	standard_text(&question, "event", work->call->event_id);
	return standard_ask(work, &question);
}

static bool
event_tell(struct work *work)
{
	struct json_doc *doc = standard_answer(work);
	struct buf *body = &work->outcome.body;

	if (!doc)
		return false;
	if (str_equal(json_text(json_get(json_root(doc), "id")),
		work->call->event_id)) {
		buf_reset(body);
		buf_add(body, work->http.answer.body.data,
		    work->http.answer.body.len);
		standard_done(work);
	} else {
		standard_lacks(work, "the event that was asked for");
	}
	json_free(doc);
	return false;
}

static bool
list_ask(struct work *work)
{
	static const char *const lists[] = {
	    [LIST_EVENTS] = "events",
	    [LIST_SESSIONS] = "sessions",
	    [LIST_REFUNDS] = "refunds",
	};
	struct question question = {
	    .type = "list",
	    .endpoint = ENDPOINT_LOOK,
	    .looks = true,
	};

	standard_text(&question, "list", str_of(lists[work->call->list]));
	standard_number(&question, "since", work->call->since);
	standard_number(&question, "limit", LIST_LIMIT);
	standard_text(&question, "cursor", work->call->cursor);
	return standard_ask(work, &question);
}

/* Where the next page begins, which is not where this one did; or null. */
static bool
is_cursor(const struct work *work, const struct json *cursor)
{
	if (!cursor || cursor->type == JSON_NULL)
		return true;
	return standard_is_name(json_text(cursor)) &&
	    !str_equal(cursor->text, work->call->cursor);
}

static bool
list_take(struct work *work)
{
	struct json_doc *doc = standard_answer(work);
	const struct json *items;
	const struct json *cursor;

	if (!doc)
		return false;
	items = json_get(json_root(doc), "items");
	cursor = json_get(json_root(doc), "cursor");
	if (!items || items->type != JSON_ARRAY || !is_cursor(work, cursor)) {
		json_free(doc);
		return standard_lacks(work, "a list of items and its cursor");
	}
	if (json_text(cursor).len)
		buf_add(&work->outcome.cursor, cursor->text.text,
		    cursor->text.len);
	work->outcome.reader = standard_read_list(doc, work->call->list);
	return standard_done(work);
}

bool
standard_event_look(struct work *work)
{
	return work->stage == STAGE_START ? event_ask(work) : event_tell(work);
}

bool
standard_list(struct work *work)
{
	return work->stage == STAGE_START ? list_ask(work) : list_take(work);
}
