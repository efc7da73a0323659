/*
 * The parts of the standard adapter, for its own files alone: any provider
 * that a process of the operator's connects, over Standard Webhooks 1.0.0
 * both ways. The protocol is in STANDARD.md.
 */
#ifndef PAY_STANDARD_H
#define PAY_STANDARD_H

#include "base/json.h"
#include "base/sign.h"
#include "pay/provider.h"

/* Of its names for sessions, payments and refunds; ours fit, too. */
#define STANDARD_NAME_MAX 200

extern const struct provider standard_provider;

/* standard_sign.c */
enum verdict
standard_verify(const struct conf *conf, const struct hook *hook);
/* Appends the header's value; false when no secret of the settings signs. */
bool
standard_sign(struct buf *header, const struct conf *conf,
    const struct hook *hook);

/* standard_event.c */
struct event_reader *
standard_read(const struct conf *conf, const struct hook *hook,
    struct str body);
/* A page of items as events. The document becomes the reader's. */
struct event_reader *
standard_read_list(struct json_doc *doc, enum list list);
bool
standard_next(struct event_reader *reader, struct event *event);
void
standard_read_free(struct event_reader *reader);
/* 1 to STANDARD_NAME_MAX visible characters of ASCII. */
bool
standard_is_name(struct str s);
/* Type of the event that a session's state amounts to; NULL: none does. */
const char *
standard_session_type(struct str state);
bool
standard_is_refund_state(struct str state);
/* The name of the event that tells of something that was looked up. */
void
standard_look_id(struct buf *id, struct str name, struct str state);

/* standard_call.c */

/* What the answer at hand answers. */
enum { STAGE_START, STAGE_LOOK, STAGE_SENT };

/* A question under way: its type and data; zeroed is empty. */
struct question {
	const char *type; /* "session.open" */
	enum endpoint endpoint;
	bool looks; /* changes nothing, so that each one has an id of its own */
	struct buf data; /* members of a JSON object; released when asked */
};

/* Adds a member, unless it is empty. */
void
standard_text(struct question *question, const char *name, struct str value);
void
standard_number(struct question *question, const char *name, int64_t value);
/* What our side calls the thing: key, hold, order. */
void
standard_ours(struct question *question, const struct call *call,
    struct str key);
/* Writes the request; false, with the work refused, when it cannot be. */
bool
standard_ask(struct work *work, struct question *question);
/*
 * The answer, an object; the caller's. NULL, with result and error set, when
 * it is none or says no.
 */
struct json_doc *
standard_answer(struct work *work);
/* Each ends the work and answers false, as step does. */
bool
standard_done(struct work *work);
bool
standard_lacks(struct work *work, const char *what); /* again later */
bool
standard_refuse(struct work *work, const char *why);

/*
 * Fills outcome->body with the event that tells what the answer says. False,
 * with the error filled, when it would be one that cannot be used.
 */
bool
standard_news(struct work *work, const char *type, struct str name,
    struct str state);

/* standard_session.c, standard_refund.c, standard_list.c: steps */
bool
standard_open(struct work *work);
bool
standard_end(struct work *work);
bool
standard_session_look(struct work *work);
bool
standard_refund(struct work *work);
bool
standard_refund_look(struct work *work);
bool
standard_event_look(struct work *work);
bool
standard_list(struct work *work);

#endif
