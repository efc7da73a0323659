/*
 * Sessions: open one for a hold, end it when the hold ends, look it up. What
 * is sent is made of the stored call alone, so that each try says the same
 * under the same key.
 */
#include "pay/standard.h"

#include <string.h>

#define ADDRESS_MAX 4000 /* of a pay page; browsers take more */

static bool
is_address(struct str s)
{
	bool http = s.len > 7 && memcmp(s.text, "http://", 7) == 0;
	bool https = s.len > 8 && memcmp(s.text, "https://", 8) == 0;

	for (size_t i = 0; i < s.len; i++) {
		if (s.text[i] <= ' ' || s.text[i] > '~')
			return false;
	}
	return (http || https) && s.len <= ADDRESS_MAX;
}

static struct str
payment_key(const struct call *call)
{
	return call->payment_key.len ? call->payment_key : call->key;
}

static bool
open_ask(struct work *work)
{
	const struct call *call = work->call;
	struct question question = {
	    .type = "session.open",
	    .endpoint = ENDPOINT_OPEN,
	};

	standard_ours(&question, call, payment_key(call));
	standard_number(&question, "amount", call->amount);
	standard_text(&question, "currency", call->currency);
	standard_text(&question, "title", call->title);
	standard_text(&question, "return_url", call->return_url);
	standard_number(&question, "expires_at", call->session_expires_at);
	return standard_ask(work, &question);
}

static bool
open_take(struct work *work)
{
	struct json_doc *doc = standard_answer(work);
	struct str session;
	struct str url;

	if (!doc)
		return false;
	session = json_text(json_get(json_root(doc), "session"));
	url = json_text(json_get(json_root(doc), "url"));
	if (!standard_is_name(session)) {
		standard_lacks(work, "a session");
	} else if (!is_address(url)) {
		standard_lacks(work, "the address of a pay page");
	} else {
		buf_add(&work->outcome.id, session.text, session.len);
		buf_add(&work->outcome.url, url.text, url.len);
		standard_done(work);
	}
	json_free(doc);
	return false;
}

static bool
session_ask(struct work *work, const char *type, enum endpoint endpoint)
{
	struct question question = {
	    .type = type,
	    .endpoint = endpoint,
	    .looks = endpoint == ENDPOINT_LOOK,
	};

	if (work->call->session_id.len == 0)
		return standard_refuse(work, "there is no session to speak of");
	standard_ours(&question, work->call, work->call->payment_key);
	standard_text(&question, "session", work->call->session_id);
	return standard_ask(work, &question);
}

static struct str
session_state(const struct json_doc *doc)
{
	return json_text(json_get(json_root(doc), "state"));
}

/* The session of the call, as the answer shows it; NULL with the error. */
static struct json_doc *
session_parse(struct work *work)
{
	struct json_doc *doc = standard_answer(work);
	struct str session;
	struct str state;

	if (!doc)
		return NULL;
	session = json_text(json_get(json_root(doc), "session"));
	state = session_state(doc);
	if (str_equal(session, work->call->session_id) &&
	    (str_is(state, "open") || standard_session_type(state)))
		return doc;
	standard_lacks(work, "the state of the session that was asked for");
	json_free(doc);
	return NULL;
}

static bool
session_news(struct work *work, struct str state)
{
	return standard_news(work, standard_session_type(state),
	    work->call->session_id, state);
}

static bool
end_take(struct work *work)
{
	struct json_doc *doc = session_parse(work);
	struct str state;

	if (!doc)
		return false;
	state = session_state(doc);
	if (str_is(state, "open")) {
		standard_lacks(work, "an end of the session");
	} else if (str_is(state, "expired") || str_is(state, "failed")) {
		standard_done(work);
	} else if (session_news(work, state)) {
		standard_done(work);
		work->result = CALL_COMPLETE;
	}
	json_free(doc);
	return false;
}

static bool
session_tell(struct work *work)
{
	struct json_doc *doc = session_parse(work);
	struct str state;

	if (!doc)
		return false;
	state = session_state(doc);
	/* Open: no news. */
	if (str_is(state, "open") || session_news(work, state))
		standard_done(work);
	json_free(doc);
	return false;
}

bool
standard_open(struct work *work)
{
	return work->stage == STAGE_START ? open_ask(work) : open_take(work);
}

bool
standard_end(struct work *work)
{
	if (work->stage == STAGE_START)
		return session_ask(work, "session.end", ENDPOINT_END);
	return end_take(work);
}

bool
standard_session_look(struct work *work)
{
	if (work->stage == STAGE_START)
		return session_ask(work, "session.show", ENDPOINT_LOOK);
	return session_tell(work);
}
