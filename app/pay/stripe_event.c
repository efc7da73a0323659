/*
 * Stripe's events in our words: one in a webhook, or many in the pages of
 * lists. A reader of one type of object answers NULL when it understood it,
 * else why the event cannot be used.
 */
#include "base/log.h"
#include "pay/stripe.h"

#include <stdlib.h>
#include <string.h>

struct event_reader {
	struct json_doc *doc; /* NULL when the body is no JSON */
	const char *why; /* then */
	bool livemode; /* ours */
	bool is_page;
	bool done;
	enum list list; /* of a page */
	const struct json *item; /* the next one */
	struct buf names; /* of a page's items that have none, each with NUL */
	const char *name; /* the next one */
};

/* Of which kind an object is, by what happened to it. */
static const char *
type_read(struct event *event, const struct json *object)
{
	static const struct {
		const char *type;
		const char *(*read)(struct event *, const struct json *);
	} types[] = {
	    {"checkout.session.completed", stripe_session_completed},
	    {"checkout.session.async_payment_succeeded",
		stripe_session_late_paid},
	    {"checkout.session.async_payment_failed",
		stripe_session_late_failed},
	    {"checkout.session.expired", stripe_session_expired},
	    {"payment_intent.succeeded", stripe_intent_succeeded},
	    {"payment_intent.payment_failed", stripe_intent_failed},
	    {"charge.refunded", stripe_charge_refunded},
	    {"refund.created", stripe_refund_read},
	    {"refund.updated", stripe_refund_read},
	    {"refund.failed", stripe_refund_read},
	    {"charge.dispute.created", stripe_dispute_opened},
	    {"charge.dispute.updated", stripe_dispute_changed},
	    {"charge.dispute.funds_withdrawn", stripe_dispute_changed},
	    {"charge.dispute.funds_reinstated", stripe_dispute_changed},
	    {"charge.dispute.closed", stripe_dispute_closed},
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		if (!str_is(event->type, types[i].type))
			continue;
		if (!object || object->type != JSON_OBJECT)
			return "the event has no data.object";
		return types[i].read(event, object);
	}
	return stripe_ignore(event, "a type that is not needed");
}

static bool
is_absent(const struct json *node)
{
	return !node || node->type == JSON_NULL;
}

/* Reads the object, unless it is of the mode that our keys are not for. */
static const char *
mode_read(const struct event_reader *reader, struct event *event,
    const struct json *mode, const struct json *object)
{
	if (is_absent(mode))
		return type_read(event, object);
	if (mode->type != JSON_BOOL)
		return "the livemode is neither true nor false";
	if (mode->truth != reader->livemode)
		return stripe_ignore(event, "other mode");
	return type_read(event, object);
}

static const char *
event_read(const struct event_reader *reader, struct event *event,
    const struct json *root)
{
	const struct json *object = json_get(root, "object");
	const char *why = stripe_name_read(&event->id, json_get(root, "id"));

	if (!why)
		why = stripe_name_read(&event->type, json_get(root, "type"));
	if (!why && (event->id.len == 0 || event->type.len == 0))
		why = "the event has no id or no type";
	if (!why && str_is(json_text(object), "v2.core.event"))
		why = "a thin event; the endpoint must send snapshots";
	if (!why && !is_absent(object) && !str_is(json_text(object), "event"))
		why = "not an event";
	if (why)
		return why;
	return mode_read(reader, event, json_get(root, "livemode"),
	    json_path(root, "data.object"));
}

/* The event that Stripe would send about an object of a list. */
static const char *
object_read(const struct event_reader *reader, struct event *event,
    const struct json *object)
{
	const char *type = "refund.updated";

	if (object->type != JSON_OBJECT)
		return "the list holds something else than objects";
	if (reader->list == LIST_SESSIONS) {
		switch (stripe_session_news(object)) {
		case STRIPE_COMPLETE:
			type = "checkout.session.completed";
			break;
		case STRIPE_EXPIRED:
			type = "checkout.session.expired";
			break;
		case STRIPE_OPEN:
			return stripe_ignore(event, "the session is open");
		default:
			return "the session's status is unknown";
		}
	}
	event->type = str_of(type);
	return mode_read(reader, event, json_get(object, "livemode"), object);
}

static struct event_reader *
reader_new(const struct conf *conf)
{
	struct event_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		log_bug("out of memory");
	reader->livemode = conf->stripe.livemode;
	return reader;
}

struct event_reader *
stripe_read(const struct conf *conf, const struct hook *hook, struct str body)
{
	struct event_reader *reader = reader_new(conf);

	(void)hook;
	reader->doc = json_parse(body, &reader->why);
	if (reader->doc)
		reader->item = json_root(reader->doc);
	return reader;
}

/* Before the first is read, because later ones would move them. */
static void
names_fill(struct event_reader *reader)
{
	const struct json *item = reader->item;

	for (; item; item = item->next) {
		if (reader->list == LIST_SESSIONS)
			stripe_session_name(&reader->names, item);
		else
			stripe_refund_name(&reader->names, item);
		buf_char(&reader->names, '\0');
	}
	reader->name = reader->names.data;
}

struct event_reader *
stripe_read_page(const struct conf *conf, enum list list, struct json_doc *doc)
{
	struct event_reader *reader = reader_new(conf);

	reader->is_page = true;
	reader->doc = doc;
	reader->list = list;
	reader->item = json_get(json_root(doc), "data")->first;
	if (list != LIST_EVENTS)
		names_fill(reader);
	return reader;
}

bool
stripe_next(struct event_reader *reader, struct event *event)
{
	const struct json *item = reader->item;
	const char *why = reader->why;

	if (reader->done || (reader->is_page && !item))
		return false;
	*event = (struct event){.amount = -1};
	if (reader->name) {
		event->id = str_of(reader->name);
		reader->name += event->id.len + 1;
		why = object_read(reader, event, item);
	} else if (!why) {
		why = event_read(reader, event, item);
	}
	if (why) {
		event->kind = EVENT_UNUSABLE;
		event->detail = str_of(why);
	}
	if (reader->is_page)
		reader->item = item->next;
	else
		reader->done = true;
	return true;
}

void
stripe_read_free(struct event_reader *reader)
{
	if (!reader)
		return;
	json_free(reader->doc);
	buf_release(&reader->names);
	free(reader);
}
