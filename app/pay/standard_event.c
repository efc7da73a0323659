/*
 * The connected process's messages in our words: one event of a webhook, or
 * the items of a list that it was asked for. Reading is strict, because its
 * author is the operator: what is not as STANDARD.md says is a fault to be
 * seen, not to be guessed at.
 */
#include "base/log.h"
#include "base/token.h"
#include "pay/standard.h"

#include <stdlib.h>
#include <string.h>

#define HOLD_PREFIX "hld_"
#define EVENT_ID_MAX 255

struct event_reader {
	struct json_doc *doc; /* NULL when the body is no JSON */
	const char *why; /* it cannot be read, or NULL */
	struct buf ids; /* of the events, each with its NUL, in their order */
	size_t id_at;
	bool is_list;
	enum list list;
	const struct json *item; /* the next; not a list's: the root */
	bool ended;
};

/* What an event must have beside its type. */
enum {
	NEEDS_SESSION = 1,
	NEEDS_PAYMENT = 2,
	NEEDS_REFUND = 4,
	NEEDS_MONEY = 8,
	NEEDS_REFUND_STATE = 16,
	NEEDS_DISPUTE_STATE = 32,
};

struct type {
	const char *name;
	enum event_kind kind;
	unsigned needs;
};

static const struct type types[] = {
    {"payment.paid", EVENT_PAID, NEEDS_SESSION | NEEDS_PAYMENT | NEEDS_MONEY},
    {"payment.pending", EVENT_PENDING, NEEDS_SESSION},
    {"payment.failed", EVENT_FAILED, NEEDS_SESSION},
    {"payment.expired", EVENT_EXPIRED, NEEDS_SESSION},
    {"refund.updated", EVENT_REFUND,
	NEEDS_REFUND | NEEDS_PAYMENT | NEEDS_MONEY | NEEDS_REFUND_STATE},
    {"payment.disputed", EVENT_DISPUTE, NEEDS_PAYMENT | NEEDS_DISPUTE_STATE},
    {"payment.changed", EVENT_LOOK, NEEDS_SESSION},
};

static bool
is_absent(const struct json *node)
{
	return !node || node->type == JSON_NULL;
}

static bool
is_one_of(struct str s, const char *const *words)
{
	for (; *words; words++) {
		if (str_is(s, *words))
			return true;
	}
	return false;
}

static bool
is_visible(struct str s, size_t most)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.text[i] <= ' ' || s.text[i] > '~')
			return false;
	}
	return s.len > 0 && s.len <= most;
}

bool
standard_is_name(struct str s)
{
	return is_visible(s, STANDARD_NAME_MAX);
}

const char *
standard_session_type(struct str state)
{
	static const struct {
		const char *state;
		const char *type;
	} states[] = {
	    {"paid", "payment.paid"},
	    {"pending", "payment.pending"},
	    {"failed", "payment.failed"},
	    {"expired", "payment.expired"},
	};

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		if (str_is(state, states[i].state))
			return states[i].type;
	}
	return NULL;
}

bool
standard_is_refund_state(struct str state)
{
	static const char *const states[] = {
	    "pending",
	    "succeeded",
	    "failed",
	    NULL,
	};

	return is_one_of(state, states);
}

static bool
is_dispute_state(struct str state)
{
	static const char *const states[] = {"open", "won", "lost", NULL};

	return is_one_of(state, states);
}

void
standard_look_id(struct buf *id, struct str name, struct str state)
{
	/* A webhook's id has no dot: none can be mistaken for this one. */
	buf_str(id, "look.");
	buf_add(id, name.text, name.len);
	buf_char(id, '.');
	buf_add(id, state.text, state.len);
}

static const char *
names_read(struct event *event, const struct json *data, enum event_kind kind)
{
	struct str hold = {NULL, 0};
	const char *subject = kind == EVENT_DISPUTE ? "dispute" : "refund";
	const struct {
		const char *name;
		struct str *out;
	} names[] = {
	    {"session", &event->session_id},
	    {"payment", &event->payment_ref},
	    {subject, &event->refund_ref},
	    {"key", &event->key},
	    {"hold", &hold},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct json *node = json_get(data, names[i].name);

		if (is_absent(node))
			continue;
		if (!standard_is_name(json_text(node)))
			return "a name is not a text of 1 to 200 visible "
			       "characters";
		*names[i].out = node->text;
	}
	/* Another shop's, or none: the other names say whose it is. */
	if (token_is_id(hold, HOLD_PREFIX))
		event->hold = hold;
	return NULL;
}

static const char *
money_read(struct event *event, const struct json *data)
{
	const struct json *amount = json_get(data, "amount");
	const struct json *currency = json_get(data, "currency");
	struct str letters = json_text(currency);

	if (!is_absent(amount) &&
	    (!json_int(amount, &event->amount) || event->amount < 1))
		return "the amount is not a whole number of at least 1";
	if (is_absent(currency))
		return NULL;
	if (letters.len != 3)
		return "the currency is not three capital letters";
	for (size_t i = 0; i < 3; i++) {
		if (letters.text[i] < 'A' || letters.text[i] > 'Z')
			return "the currency is not three capital letters";
	}
	memcpy(event->currency, letters.text, 3);
	return NULL;
}

static const char *
needs_check(struct event *event, unsigned needs, struct str state)
{
	if ((needs & NEEDS_SESSION) && event->session_id.len == 0)
		return "the data has no session";
	if ((needs & NEEDS_PAYMENT) && event->payment_ref.len == 0)
		return "the data has no payment";
	if ((needs & NEEDS_REFUND) && event->refund_ref.len == 0)
		return "the data has no refund";
	if ((needs & NEEDS_MONEY) && (event->amount < 1 || !*event->currency))
		return "the data has no amount or no currency";
	if ((needs & NEEDS_REFUND_STATE) && !standard_is_refund_state(state))
		return "the state is not pending, succeeded or failed";
	if ((needs & NEEDS_DISPUTE_STATE) && !is_dispute_state(state))
		return "the state is not open, won or lost";
	if (needs & (NEEDS_REFUND_STATE | NEEDS_DISPUTE_STATE))
		event->state = state;
	return NULL;
}

static const char *
data_read(struct event *event, const struct json *data, const struct type *type)
{
	const struct json *mode = json_get(data, "livemode");
	const char *why;

	if (!data || data->type != JSON_OBJECT)
		return "the event has no data";
	if (!is_absent(mode) && mode->type != JSON_BOOL)
		return "the livemode is neither true nor false";
	why = names_read(event, data, type->kind);
	if (!why)
		why = money_read(event, data);
	if (!why)
		why = needs_check(event, type->needs,
		    json_text(json_get(data, "state")));
	if (why)
		return why;
	event->kind = type->kind;
	if (!is_absent(mode) && !mode->truth) {
		event->kind = EVENT_IGNORE;
		event->detail = str_of("only a test: livemode is false");
	}
	return NULL;
}

static const char *
event_read(struct event *event, struct str type, const struct json *data)
{
	if (!standard_is_name(type))
		return "the event has no type";
	event->type = type;
	if (!is_visible(event->id, EVENT_ID_MAX))
		return "the event has no id";
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (str_is(type, types[i].name))
			return data_read(event, data, &types[i]);
	}
	event->kind = EVENT_IGNORE;
	event->detail = str_of("a type that is not needed");
	return NULL;
}

static struct event_reader *
reader_new(struct json_doc *doc)
{
	struct event_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		log_bug("out of memory");
	reader->doc = doc;
	if (doc)
		reader->item = json_root(doc);
	return reader;
}

static void
id_add(struct event_reader *reader, struct str id)
{
	buf_add(&reader->ids, id.text, id.len);
	buf_char(&reader->ids, '\0');
}

struct event_reader *
standard_read(const struct conf *conf, const struct hook *hook, struct str body)
{
	const char *why = NULL;
	struct event_reader *reader = reader_new(json_parse(body, &why));

	(void)conf;
	reader->why = why;
	/* What was looked up names itself; a webhook is named by its header. */
	if (hook && hook->id.len)
		id_add(reader, hook->id);
	else
		id_add(reader, json_text(json_get(reader->item, "id")));
	return reader;
}

static bool
is_news(const struct event_reader *reader, const struct json *item)
{
	return reader->list != LIST_SESSIONS ||
	    !str_is(json_text(json_get(item, "state")), "open");
}

static void
item_id_add(struct event_reader *reader, const struct json *item)
{
	bool session = reader->list == LIST_SESSIONS;
	struct str name =
	    json_text(json_get(item, session ? "session" : "refund"));
	struct buf id = {0};

	if (reader->list == LIST_EVENTS) {
		id_add(reader, json_text(json_get(item, "id")));
		return;
	}
	standard_look_id(&id, name, json_text(json_get(item, "state")));
	id_add(reader, str_view(&id));
	buf_release(&id);
}

struct event_reader *
standard_read_list(struct json_doc *doc, enum list list)
{
	struct event_reader *reader = reader_new(doc);

	reader->is_list = true;
	reader->list = list;
	reader->item = json_get(reader->item, "items")->first;
	/* All beforehand, so that they stay where they are. */
	for (const struct json *i = reader->item; i; i = i->next) {
		if (is_news(reader, i))
			item_id_add(reader, i);
	}
	return reader;
}

static const char *
item_read(const struct event_reader *reader, struct event *event)
{
	const struct json *item = reader->item;
	const char *type = "refund.updated";

	if (!reader->is_list || reader->list == LIST_EVENTS)
		return event_read(event, json_text(json_get(item, "type")),
		    json_get(item, "data"));
	if (reader->list == LIST_SESSIONS)
		type =
		    standard_session_type(json_text(json_get(item, "state")));
	return type ? event_read(event, str_of(type), item)
		    : "the session's state is unknown";
}

/* To the next that says something. */
static void
item_skip(struct event_reader *reader)
{
	while (reader->item && !is_news(reader, reader->item))
		reader->item = reader->item->next;
}

bool
standard_next(struct event_reader *reader, struct event *event)
{
	const char *why = reader->why;

	if (reader->is_list)
		item_skip(reader);
	if (reader->ended || (reader->is_list && !reader->item))
		return false;
	*event = (struct event){.kind = EVENT_UNUSABLE, .amount = -1};
	event->id = str_of(reader->ids.data + reader->id_at);
	reader->id_at += event->id.len + 1;
	if (!why)
		why = item_read(reader, event);
	if (why) {
		event->kind = EVENT_UNUSABLE;
		event->detail = str_of(why);
	}
	if (reader->is_list)
		reader->item = reader->item->next;
	else
		reader->ended = true;
	return true;
}

void
standard_read_free(struct event_reader *reader)
{
	if (!reader)
		return;
	json_free(reader->doc);
	buf_release(&reader->ids);
	free(reader);
}
