/*
 * One request to the connected process and what its answer's status means.
 * No secret, no address of a pay page and no text of the answer's reaches the
 * log or outcome->error, but for one short word that cannot hold a secret.
 */
#include "base/log.h"
#include "base/token.h"
#include "pay/standard.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* The shortest secret is 32 characters. */
#define WORD_MAX 31

void
standard_text(struct question *question, const char *name, struct str value)
{
	if (value.len == 0)
		return;
	if (question->data.len)
		buf_char(&question->data, ',');
	buf_printf(&question->data, "\"%s\":", name);
	str_json(&question->data, value);
}

void
standard_number(struct question *question, const char *name, int64_t value)
{
	if (question->data.len)
		buf_char(&question->data, ',');
	buf_printf(&question->data, "\"%s\":%" PRId64, name, value);
}

void
standard_ours(struct question *question, const struct call *call,
    struct str key)
{
	char order[32];

	standard_text(question, "key", key);
	standard_text(question, "hold", call->hold);
	if (call->number > 0) {
		snprintf(order, sizeof(order), "ord_%" PRId64, call->number);
		standard_text(question, "order", str_of(order));
	}
}

/* As RFC 3339 writes it. */
static void
moment_add(struct buf *out, int64_t seconds)
{
	time_t when = (time_t)seconds;
	char text[32] = "";
	struct tm tm;

	if (gmtime_r(&when, &tm))
		(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	buf_str(out, text);
}

static void
body_fill(struct buf *body, const struct question *question, int64_t now)
{
	buf_str(body, "{\"type\":");
	str_json(body, str_of(question->type));
	buf_str(body, ",\"timestamp\":\"");
	moment_add(body, now);
	buf_str(body, "\",\"data\":{");
	buf_add(body, question->data.data, question->data.len);
	buf_str(body, "}}");
}

/* The call's key, or, for what only looks, a name that comes once. */
static void
id_fill(struct buf *id, const struct work *work, bool looks)
{
	struct token_id once;

	if (!looks) {
		buf_add(id, work->call->key.text, work->call->key.len);
		return;
	}
	token_id(&once);
	buf_printf(id, "ask_%s", once.text);
}

bool
standard_ask(struct work *work, struct question *question)
{
	struct http_request *request = &work->http.request;
	struct buf signature = {0};
	struct buf id = {0};
	struct hook hook;
	char now[24];
	bool signs;

	http_call_reset(&work->http);
	work->stage = question->looks ? STAGE_LOOK : STAGE_SENT;
	work->endpoint = question->endpoint;
	request->method = "POST";
	request->timeout_ms = work->conf->standard.timeout_ms;
	buf_str(&request->url, work->conf->standard.url);
	body_fill(&request->body, question, work->now);
	id_fill(&id, work, question->looks);
	snprintf(now, sizeof(now), "%" PRId64, work->now);
	hook = (struct hook){
	    .id = str_view(&id),
	    .timestamp = str_of(now),
	    .body = str_view(&request->body),
	};
	signs = standard_sign(&signature, work->conf, &hook);
	if (signs) {
		http_header(&work->http, "Content-Type",
		    str_of("application/json"));
		http_header(&work->http, "webhook-id", hook.id);
		http_header(&work->http, "webhook-timestamp", hook.timestamp);
		http_header(&work->http, "webhook-signature",
		    str_view(&signature));
	}
	buf_release(&question->data);
	buf_release(&signature);
	buf_release(&id);
	return signs ||
	    standard_refuse(work,
		"the call cannot be signed: set standard.call_secret");
}

static enum call_result
status_judge(int status)
{
	if (status >= 200 && status <= 299)
		return CALL_DONE;
	switch (status) {
	case 408: /* it did not get all of the request */
	case 409: /* the same is under way */
	case 425:
	case 429:
		return CALL_RETRY;
	default:
		return status >= 400 && status <= 499 ? CALL_REFUSED
						      : CALL_RETRY;
	}
}

/* The one word of an answer's that is repeated. */
static void
word_add(struct buf *error, struct str word)
{
	static const char harmless[] = "abcdefghijklmnopqrstuvwxyz"
				       "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789_-";
	char text[WORD_MAX + 1] = "";

	if (word.len == 0 || word.len > WORD_MAX)
		return;
	memcpy(text, word.text, word.len);
	if (strspn(text, harmless) == word.len)
		buf_printf(error, " %s", text);
}

static void
error_describe(struct work *work, const struct json_doc *doc)
{
	const struct http_answer *answer = &work->http.answer;
	struct buf *error = &work->outcome.error;

	if (answer->status == 0) {
		buf_printf(error, "no answer: %s", answer->error);
		return;
	}
	buf_printf(error, "status %d", answer->status);
	if (doc)
		word_add(error, json_text(json_get(json_root(doc), "error")));
	if (answer->status == 401 || answer->status == 403)
		buf_str(error,
		    ": compare standard.call_secret, and the clocks, with the "
		    "connected process");
	if (answer->status == 404)
		buf_str(error,
		    ": look at standard.url, and whether the "
		    "provider knows the thing");
}

struct json_doc *
standard_answer(struct work *work)
{
	const struct http_answer *answer = &work->http.answer;
	const char *why;
	struct json_doc *doc = json_parse(str_view(&answer->body), &why);

	buf_reset(&work->outcome.error);
	work->result = status_judge(answer->status);
	/* A signature that is not taken is no answer to what was asked. */
	work->outcome.key_is_used |= work->result == CALL_REFUSED &&
	    work->stage == STAGE_SENT && answer->status != 401;
	if (work->result == CALL_DONE && doc &&
	    json_root(doc)->type == JSON_OBJECT)
		return doc;
	if (work->result == CALL_DONE)
		standard_lacks(work, "a JSON object");
	else
		error_describe(work, doc);
	/* All calls fare alike then: said apart from what becomes of this. */
	if (answer->status == 401 || answer->status == 403)
		log_error("the connected process does not take our calls: %s",
		    buf_text(&work->outcome.error));
	json_free(doc);
	return NULL;
}

bool
standard_done(struct work *work)
{
	buf_reset(&work->outcome.error);
	work->result = CALL_DONE;
	return false;
}

bool
standard_lacks(struct work *work, const char *what)
{
	buf_reset(&work->outcome.error);
	buf_printf(&work->outcome.error, "status %d without %s",
	    work->http.answer.status, what);
	work->result = CALL_RETRY;
	return false;
}

bool
standard_refuse(struct work *work, const char *why)
{
	buf_reset(&work->outcome.error);
	buf_str(&work->outcome.error, why);
	work->result = CALL_REFUSED;
	return false;
}

bool
standard_news(struct work *work, const char *type, struct str name,
    struct str state)
{
	struct buf *body = &work->outcome.body;
	struct event_reader *reader;
	struct event event;
	struct buf id = {0};
	bool fits;

	standard_look_id(&id, name, state);
	buf_reset(body);
	buf_str(body, "{\"id\":");
	str_json(body, str_view(&id));
	buf_printf(body, ",\"type\":\"%s\",\"data\":", type);
	buf_add(body, work->http.answer.body.data, work->http.answer.body.len);
	buf_char(body, '}');
	reader = standard_read(work->conf, NULL, str_view(body));
	fits = standard_next(reader, &event) && event.kind != EVENT_UNUSABLE;
	if (!fits) {
		buf_reset(body);
		standard_lacks(work, "what it should tell");
		buf_printf(&work->outcome.error, ": %.*s",
		    (int)event.detail.len, event.detail.text);
	}
	standard_read_free(reader);
	buf_release(&id);
	return fits;
}
