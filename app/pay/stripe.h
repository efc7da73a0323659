/*
 * The parts of the Stripe adapter, for its own files alone. Facts are from
 * https://docs.stripe.com/webhooks, /api/checkout/sessions, /api/refunds,
 * /api/idempotent_requests and /error-low-level.
 */
#ifndef PAY_STRIPE_H
#define PAY_STRIPE_H

#include "base/json.h"
#include "pay/provider.h"

/* The longest id that the provider makes, and that we store. */
#define STRIPE_ID_MAX 255

extern const struct provider stripe_provider;

/* stripe_event.c */
struct event_reader *
stripe_read(const struct conf *conf, struct str body, struct event *event);
void
stripe_read_free(struct event_reader *reader);
/* A refund's status in our words; NULL when it is none that we know. */
const char *
stripe_refund_state(struct str status);

/* stripe_session.c, stripe_refund.c */
enum call_result
stripe_open(const struct conf *conf, struct http *http, const struct call *call,
    struct call_outcome *outcome);
enum call_result
stripe_end(const struct conf *conf, struct http *http, const struct call *call,
    struct call_outcome *outcome);
enum call_result
stripe_fetch(const struct conf *conf, struct http *http,
    const struct call *call, struct call_outcome *outcome);
enum call_result
stripe_refund(const struct conf *conf, struct http *http,
    const struct call *call, struct call_outcome *outcome);

/* stripe_call.c */

/* One piece of work: who asks whom, with which key, and the last answer. */
struct stripe_work {
	const struct conf *conf;
	struct http *http;
	const struct call *call;
	struct call_outcome *outcome;
	const char *secret; /* the API key */
	struct http_answer answer;
};

/*
 * Each sends one request and judges the answer's status; outcome->error says
 * what was wrong when it is not CALL_DONE. path starts with "/v1/".
 */
enum call_result
stripe_get(struct stripe_work *x, const char *path);
/*
 * Under the call's key. On a later try, a 500 that is stored under that key
 * is left behind by asking once more under a key of this try; so whoever
 * posts something that must not happen twice looks for it first.
 */
enum call_result
stripe_post(struct stripe_work *x, const char *path, struct str form);
/* The answer as JSON; NULL, with outcome->error filled, when it is none. */
struct json_doc *
stripe_answer(struct stripe_work *x);
/* Fills outcome->error: an answer of 200 that lacks what it should have. */
enum call_result
stripe_lacks(struct stripe_work *x, const char *what);
/* Whether the answer is an error with this code. */
bool
stripe_code_is(const struct stripe_work *x, const char *code);

/* Appends name=value to a form under way; value is percent-encoded. */
void
stripe_field(struct buf *form, const char *name, struct str value);
void
stripe_field_int(struct buf *form, const char *name, int64_t value);
/* The order's name and the hold's id under <prefix>[order_id], [hold_id]. */
void
stripe_field_metadata(struct buf *form, const char *prefix,
    const struct call *call);

#endif
