/*
 * The parts of the Stripe adapter, for its own files alone. Facts are from
 * https://docs.stripe.com/webhooks, /api/checkout/sessions, /api/refunds,
 * /api/events, /api/pagination, /api/idempotent_requests and /error-low-level.
 */
#ifndef PAY_STRIPE_H
#define PAY_STRIPE_H

#include "base/json.h"
#include "pay/provider.h"

/* The longest id that the provider makes, and that we store. */
#define STRIPE_ID_MAX 255

extern const struct provider stripe_provider;

/* stripe_object.c */

/*
 * Each reads one of the provider's objects into an event: kind, state, names,
 * amount. NULL when it was understood, else why it cannot be used.
 */
const char *
stripe_session_completed(struct event *event, const struct json *object);
const char *
stripe_session_late_paid(struct event *event, const struct json *object);
const char *
stripe_session_late_failed(struct event *event, const struct json *object);
const char *
stripe_session_expired(struct event *event, const struct json *object);
const char *
stripe_intent_succeeded(struct event *event, const struct json *object);
const char *
stripe_intent_failed(struct event *event, const struct json *object);
const char *
stripe_charge_refunded(struct event *event, const struct json *object);
const char *
stripe_refund_read(struct event *event, const struct json *object);
const char *
stripe_dispute_opened(struct event *event, const struct json *object);
const char *
stripe_dispute_changed(struct event *event, const struct json *object);
const char *
stripe_dispute_closed(struct event *event, const struct json *object);
/* What is no news for us, and why. Always NULL. */
const char *
stripe_ignore(struct event *event, const char *detail);
/* The id or type of an event; as above. */
const char *
stripe_name_read(struct str *out, const struct json *node);
/* A refund's status in our words; NULL when it is none that we know. */
const char *
stripe_refund_state(struct str status);

/* stripe_event.c */
struct event_reader *
stripe_read(const struct conf *conf, const struct hook *hook, struct str body);
/* Over the items of a page, which is the reader's from then on. */
struct event_reader *
stripe_read_page(const struct conf *conf, enum list list, struct json_doc *doc);
bool
stripe_next(struct event_reader *reader, struct event *event);
void
stripe_read_free(struct event_reader *reader);

/* stripe_session.c, stripe_refund.c, stripe_fetch.c, stripe_list.c: steps */
bool
stripe_open(struct work *work);
bool
stripe_end(struct work *work);
bool
stripe_refund(struct work *work);
bool
stripe_fetch(struct work *work);
bool
stripe_list(struct work *work);

/* stripe_fetch.c */

/* What a session looks like to somebody who asks for it. */
enum stripe_news {
	STRIPE_OPEN, /* no news */
	STRIPE_EXPIRED,
	STRIPE_COMPLETE, /* paid, or being paid */
	STRIPE_UNKNOWN,
};

enum stripe_news
stripe_session_news(const struct json *session);
/*
 * Appends the name of the news of a session or a refund: the same for each
 * look that finds the same.
 */
void
stripe_session_name(struct buf *name, const struct json *session);
void
stripe_refund_name(struct buf *name, const struct json *refund);
/* Fills outcome->body with the event about the session in the answer. */
void
stripe_session_tell(struct work *work, const struct json *session);
/* Asks for the session of the call. */
bool
stripe_session_ask(struct work *work);
/*
 * The session in the answer, if it is the call's; else NULL, with the error
 * filled.
 */
struct json_doc *
stripe_session_parse(struct work *work);

/* stripe_call.c */

/* Where a call stands: what the answer at hand, if any, answers. */
enum stripe_stage {
	STRIPE_START,
	STRIPE_LOOK, /* before anything was sent */
	STRIPE_SENT,
	STRIPE_LOOK_STUCK, /* after a 500, before another key is taken */
	STRIPE_SENT_AGAIN, /* under a key of this try */
	STRIPE_LOOK_AFTER,
};

/*
 * Each writes the next request and answers true. path starts with "/v1/". A
 * GET leaves the stage to the caller; a POST moves it on to STRIPE_SENT, or,
 * when it has been there, to STRIPE_SENT_AGAIN.
 */
bool
stripe_get(struct work *work, enum stripe_stage stage, const char *path);
bool
stripe_post(struct work *work, enum endpoint endpoint, const char *path,
    struct str form);
/*
 * Whether a 500 is stored under the call's key, so that the same has to be
 * asked under a key of this try. Only on a later try. It may be this try's own
 * 500: whoever posts something that must not happen twice looks for it first.
 */
bool
stripe_is_stuck(const struct work *work);
/* Judges the answer's status; fills outcome->error unless it is CALL_DONE. */
enum call_result
stripe_judge(struct work *work);
/* Ends the call; answers false. */
bool
stripe_over(struct work *work, enum call_result result);
/* Ends the call with a no of our own: CALL_REFUSED; answers false. */
bool
stripe_refuse(struct work *work, const char *why);
/* The answer as JSON; NULL, with outcome->error filled, when it is none. */
struct json_doc *
stripe_answer(struct work *work);
/* Fills outcome->error: an answer of 200 that lacks what it should have. */
enum call_result
stripe_lacks(struct work *work, const char *what);
/* Whether the answer is an error with this code. */
bool
stripe_code_is(const struct work *work, const char *code);

/* Appends name=value to a form under way; value is percent-encoded. */
void
stripe_field(struct buf *form, const char *name, struct str value);
void
stripe_field_int(struct buf *form, const char *name, int64_t value);
/* The order's name, the hold's id and our key, under <prefix>[...]. */
void
stripe_field_metadata(struct buf *form, const char *prefix,
    const struct call *call, struct str key);

#endif
