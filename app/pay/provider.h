/*
 * A payment provider as the shop sees it: verify and read what it sends, ask
 * it to open, end, look up and refund. An adapter is one struct provider and
 * knows nothing of holds, tables or HTTP servers.
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
	struct str hold; /* our hold's id, from the metadata; may be empty */
	struct str session_id;
	struct str payment_ref;
	struct str refund_ref;
	struct str
	    refund_state; /* owed, pending, succeeded, failed; or empty */
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
	struct str signature; /* Stripe-Signature */
	struct str body; /* the bytes as received */
	int64_t now; /* seconds since 1970 */
	int tolerance_s; /* HOOK_TOLERANCE_S; 0 accepts no age at all */
};

struct event_reader; /* owns what an event points into */

/* What came of a call. */
enum call_result {
	CALL_DONE,
	CALL_RETRY, /* no outcome: again, same key, same parameters */
	CALL_REFUSED, /* a definite no: needs a person or a new key */
	CALL_COMPLETE, /* end: the session has been paid or is being paid */
};

/* What to ask for, and what came back. The texts are the outbox row's. */
struct call {
	struct str key; /* Idempotency-Key, stored before */
	struct str hold;
	int64_t number; /* the order's number */
	struct str session_id;
	struct str payment_ref;
	int64_t amount; /* minor units */
	struct str currency; /* upper case */
	struct str title;
	struct str return_url;
	int64_t session_expires_at; /* seconds since 1970 */
	int try; /* 1 for the first */
};

struct call_outcome {
	struct buf id; /* of the session or the refund */
	struct buf url; /* of the pay page; never logged */
	struct buf state; /* of a refund: pending, succeeded, failed */
	struct buf error; /* one line for the operator; no secret in it */
	struct buf body; /* fetch: the session, as an event's body */
};

struct provider {
	const char *name; /* in data.event.provider and /pay-callback/<name> */
	/* Over the raw bytes, before anything is parsed. */
	enum verdict (
	    *verify)(const struct conf *conf, const struct hook *hook);
	/*
	 * Reads a verified body. Always fills event (EVENT_UNUSABLE with a
	 * detail when it cannot be read). Free the reader afterwards.
	 */
	struct event_reader *(*read)(const struct conf *conf, struct str body,
	    struct event *event);
	void (*read_free)(struct event_reader *reader);
	enum call_result (*open)(const struct conf *conf, struct http *http,
	    const struct call *call, struct call_outcome *outcome);
	enum call_result (*end)(const struct conf *conf, struct http *http,
	    const struct call *call, struct call_outcome *outcome);
	/*
	 * Looks a session up and gives the news as an event that read() takes,
	 * in outcome->body.
	 */
	enum call_result (*fetch)(const struct conf *conf, struct http *http,
	    const struct call *call, struct call_outcome *outcome);
	/*
	 * Refunds, looking first for one that exists when it is not the first
	 * try.
	 */
	enum call_result (*refund)(const struct conf *conf, struct http *http,
	    const struct call *call, struct call_outcome *outcome);
};

/* "stripe", or NULL. */
const struct provider *
provider_find(struct str name);
/* The one that new payments go to. */
const struct provider *
provider_default(void);

void
call_outcome_init(struct call_outcome *outcome);
void
call_outcome_release(struct call_outcome *outcome);

#endif
