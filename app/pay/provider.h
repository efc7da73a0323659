/*
 * A payment provider as the shop sees it: verify and read what it sends, ask
 * it to open, end, look up, refund and list. An adapter is one struct provider
 * and knows nothing of holds, tables, sockets or clocks: it writes requests
 * and reads answers, and whoever runs it sends them, at the provider's pace.
 */
#ifndef PAY_PROVIDER_H
#define PAY_PROVIDER_H

#include "base/buf.h"
#include "base/conf.h"
#include "base/str.h"
#include "io/http.h"

#include <stdbool.h>
#include <stdint.h>

/* What an event means to us; the names are those of data.event.kind. */
enum event_kind {
	EVENT_PAID,
	EVENT_PENDING, /* a delayed method: the money is on its way */
	EVENT_FAILED, /* it will not come */
	EVENT_EXPIRED,
	EVENT_REFUND,
	EVENT_DISPUTE,
	EVENT_LOOK, /* something changed, and the event does not say what */
	EVENT_IGNORE, /* foreign, unknown type, other mode, no news for us */
	EVENT_UNUSABLE, /* signed, but not to be read */
};

/* "paid", as in data.event.kind. */
const char *
event_kind_name(enum event_kind kind);

/* One event in our words. Views point into the buffers of the reader. */
struct event {
	enum event_kind kind;
	struct str id;
	struct str type; /* the provider's word */
	struct str key; /* our payment's or refund's, from the metadata */
	struct str hold; /* our hold's id, from the metadata; may be empty */
	struct str session_id;
	struct str payment_ref;
	struct str refund_ref; /* the refund's name there, or the dispute's */
	/*
	 * Of a refund: pending, succeeded, failed. Of a dispute: inquiry,
	 * inquiry_closed, open, won, lost. Else empty.
	 */
	struct str state;
	struct str detail; /* why ignored or unusable; or empty */
	int64_t amount; /* minor units; -1 when none is said */
	char currency[4]; /* upper case; "" when none */
};

enum verdict {
	VERDICT_OK,
	VERDICT_BAD, /* signature missing, malformed or wrong */
	VERDICT_OLD, /* signature right, too far from now, either way */
};

/* How far from now a signature may be: what every provider's library uses. */
#define HOOK_TOLERANCE_S 300
/* For a recorded event: its age is not looked at. Never for a webhook. */
#define HOOK_ANY_AGE (-1)

/* The headers that any of the adapters signs or reads. */
struct hook {
	struct str signature; /* Stripe-Signature, or webhook-signature */
	struct str id; /* webhook-id */
	struct str timestamp; /* webhook-timestamp */
	struct str body; /* the bytes as received */
	int64_t now; /* seconds since 1970 */
	int tolerance_s; /* HOOK_TOLERANCE_S; 0 accepts no age at all */
};

struct event_reader; /* owns what its events point into */

/* What came of a call. */
enum call_result {
	CALL_DONE,
	CALL_RETRY, /* no outcome: again, same key, same parameters */
	CALL_REFUSED, /* a definite no: needs a person or a new key */
	CALL_COMPLETE, /* end: paid or being paid; outcome->body is the news */
};

enum act {
	ACT_OPEN,
	ACT_END,
	/*
	 * Refunds. Looks first for one that exists when it is not the first
	 * try, when the key may have been forgotten (caps.idem_ttl_s), and
	 * when it is not the refund's first.
	 */
	ACT_REFUND,
	/*
	 * Looks up the session, refund or event that the call names (the first
	 * of event_id, refund_ref, session_id that is set) and gives the news
	 * as a body that read() takes; an empty body: no news.
	 */
	ACT_FETCH,
	ACT_LIST, /* a page of what there is, newest first */
};

enum list {
	LIST_EVENTS, /* those that did not reach us */
	LIST_SESSIONS, /* those that are complete */
	LIST_REFUNDS,
};

/* What to ask for. The texts are the outbox row's. */
struct call {
	enum act act;
	struct str key; /* Idempotency-Key, stored before */
	struct str payment_key; /* of the payment that the call is about */
	/*
	 * Of the refund that it is about: its name in the metadata. Another
	 * than key when the provider has said no under that; "": key.
	 */
	struct str refund_key;
	struct str hold;
	int64_t number; /* the order's number */
	struct str session_id;
	struct str payment_ref;
	struct str refund_ref;
	struct str event_id;
	int64_t amount; /* minor units */
	struct str currency; /* upper case */
	struct str title;
	struct str return_url;
	int64_t session_expires_at; /* seconds since 1970 */
	int try; /* 1 for the first */
	int64_t age_s; /* since the call was written down */
	enum list list;
	int64_t since; /* list: not older than, seconds since 1970 */
	struct str cursor; /* list: where the page before ended, or empty */
};

struct call_outcome {
	struct buf id; /* of the session or the refund */
	struct buf url; /* of the pay page; never logged */
	struct buf state; /* of a refund: pending, succeeded, failed */
	struct buf error; /* one line for the operator; no secret in it */
	/*
	 * The provider has said no, and keeps that as its answer to the key:
	 * whoever asks again, when the reason is gone, needs a new one.
	 */
	bool key_is_used;
	struct buf body; /* the news, as an event's body */
	struct event_reader *reader; /* list: the page's items, as events */
	struct buf cursor; /* list: where the next page begins; empty: none */
};

/* What requests count against: each has a pace of its own. */
enum endpoint {
	ENDPOINT_OPEN,
	ENDPOINT_END,
	ENDPOINT_REFUND,
	ENDPOINT_LOOK, /* all that only reads */
	ENDPOINTS,
};

/*
 * A call under way: one request after the other, as many as it takes. The
 * owner sets conf, provider and call and lets step() fill the rest.
 */
struct work {
	const struct conf *conf;
	const struct provider *provider;
	const struct call *call; /* outlives the work */
	int64_t now; /* seconds since 1970, when step is called */
	int stage; /* the adapter's; 0 before the first step */
	enum endpoint endpoint; /* of http.request */
	struct http_call http; /* the request to send; then its answer */
	enum call_result result;
	struct call_outcome outcome;
};

/* The refund's name: refund_key, or else key. */
struct str
call_refund_key(const struct call *call);
/* Whether the call's key is another than its refund had at first. */
bool
call_has_new_key(const struct call *call);

/* How fast it may be asked; from the settings. */
struct provider_pace {
	int per_second[ENDPOINTS];
	int calls_per_second; /* of all together */
	int at_once; /* calls under way */
	int timeout_ms; /* of one request */
	int tries; /* of a call, before somebody is told */
};

struct provider_caps {
	int min_expiry_s; /* of a session, counted from its opening */
	int max_expiry_s;
	bool can_end; /* a session can be ended before that */
	bool needs_fetch; /* its events only say what changed */
	bool needs_capture; /* a payment must be captured by us */
	int batch; /* events in one callback, at most */
	int idem_len; /* characters of a key, at most */
	int idem_ttl_s; /* how long it remembers a key, at least */
};

/* A call that was claimed may be sent so much later, at most. */
#define CALL_LATE_S 3600

struct provider {
	const char *name; /* in data.event.provider and /pay-callback/<name> */
	struct provider_caps caps;
	/* What a callback that was taken is answered; NULL: our own JSON. */
	const char *ack;
	void (*pace)(const struct conf *conf, struct provider_pace *pace);
	/* Over the raw bytes, before anything is parsed. */
	enum verdict (
	    *verify)(const struct conf *conf, const struct hook *hook);
	/*
	 * Reads a verified body, which stays the caller's and must stay. Never
	 * NULL: a body that cannot be read has one event, EVENT_UNUSABLE with
	 * a detail. hook may be NULL (a body that was looked up or recorded).
	 */
	struct event_reader *(*read)(const struct conf *conf,
	    const struct hook *hook, struct str body);
	/* Fills *event with the next one; false after the last. */
	bool (*next)(struct event_reader *reader, struct event *event);
	void (*read_free)(struct event_reader *reader); /* NULL is harmless */
	/*
	 * True: send work->http and call again with its answer. False: the
	 * call is over, result and outcome are set.
	 */
	bool (*step)(struct work *work);
};

/* "stripe", "standard", or NULL. */
const struct provider *
provider_find(struct str name);
/* The one that new payments go to: payment.provider. Never NULL. */
const struct provider *
provider_current(const struct conf *conf);
/* Whether it can be asked: also one that new payments do not go to any more. */
bool
provider_is_set_up(const struct conf *conf, const struct provider *provider);

/* Whether what the call asks for may have been done, and its key be forgotten:
 * then it is to be looked for first. */
bool
work_may_be_done(const struct work *work);

void
work_init(struct work *work, const struct conf *conf,
    const struct provider *provider, const struct call *call);
/* Frees all that it has; a request under way must have been cancelled. */
void
work_release(struct work *work);

#endif
