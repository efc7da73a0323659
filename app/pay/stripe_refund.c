/*
 * Refunds. Money goes back once: the key sees to it for a day, after that the
 * look at what exists, and in the end Stripe, which never gives back more
 * than was paid. A refund that failed is not sent again: the money is back in
 * the shop's balance, and a person pays the buyer another way.
 */
#include "pay/stripe.h"

#include <strings.h>

static const char other_amount[] =
    "its refund of this key is of another amount; look at the provider before "
    "asking again";

/*
 * How well a refund that exists fits what we were to send. A payment may have
 * several of ours; each carries its key. One without a key is of a version
 * that sent none, or was made by hand.
 */
enum fit {
	FIT_NONE,
	FIT_FAILED, /* ours, and it failed */
	FIT_AMOUNT, /* somebody's; of another amount it is not ours */
	FIT_HOLD,
	FIT_STRANGE, /* ours, and not to be read */
	FIT_KEY,
};

/* Without a key of ours: by the hold, by the amount. */
static enum fit
refund_fit_old(const struct json *refund, const struct call *call, bool failed)
{
	struct str hold = json_text(json_path(refund, "metadata.hold_id"));
	int64_t amount = -1;
	bool ours;

	(void)json_int(json_get(refund, "amount"), &amount);
	ours =
	    hold.len && str_equal(hold, call->hold) && amount == call->amount;
	if (failed)
		return ours ? FIT_FAILED : FIT_NONE;
	if (ours)
		return FIT_HOLD;
	return amount == call->amount ? FIT_AMOUNT : FIT_NONE;
}

static bool
refund_has_id(const struct json *refund)
{
	struct str id = json_text(json_get(refund, "id"));

	return id.len > 0 && id.len <= STRIPE_ID_MAX;
}

static enum fit
refund_fit(const struct json *refund, const struct call *call)
{
	struct str key = json_text(json_path(refund, "metadata.key"));
	struct str payment = json_text(json_get(refund, "payment_intent"));
	const char *state =
	    stripe_refund_state(json_text(json_get(refund, "status")));
	bool failed = state && str_is(str_of(state), "failed");
	enum fit fit = failed ? FIT_FAILED : FIT_KEY;

	if (payment.len && !str_equal(payment, call->payment_ref))
		return FIT_NONE;
	if (key.len == 0)
		fit = refund_fit_old(refund, call, failed);
	else if (!str_equal(key, call_refund_key(call)))
		return FIT_NONE;
	if (state && refund_has_id(refund))
		return fit;
	/* What is ours, but not to be read, must not be sent once more. */
	return fit == FIT_AMOUNT || fit == FIT_NONE ? FIT_NONE : FIT_STRANGE;
}

/* Whether it says that it is of another amount than ours. */
static bool
refund_differs(const struct json *refund, const struct call *call)
{
	const struct json *amount = json_get(refund, "amount");
	struct str currency = json_text(json_get(refund, "currency"));
	int64_t n;

	if (amount && (!json_int(amount, &n) || n != call->amount))
		return true;
	return currency.len > 0 &&
	    (currency.len != call->currency.len ||
		strncasecmp(currency.text, call->currency.text, currency.len) !=
		    0);
}

/* Takes one that was found, unless it is ours and cannot be. */
static enum call_result
refund_take(struct work *work, const struct json *refund)
{
	struct call_outcome *outcome = &work->outcome;
	struct str id = json_text(json_get(refund, "id"));
	struct str key = json_text(json_path(refund, "metadata.key"));
	struct str status = json_text(json_get(refund, "status"));

	if (refund_fit(refund, work->call) == FIT_STRANGE)
		return stripe_lacks(work, "the state of the refund");
	if (str_equal(key, call_refund_key(work->call)) &&
	    refund_differs(refund, work->call)) {
		stripe_refuse(work, other_amount);
		return CALL_REFUSED;
	}
	buf_reset(&outcome->error);
	buf_reset(&outcome->id);
	buf_add(&outcome->id, id.text, id.len);
	buf_reset(&outcome->state);
	buf_str(&outcome->state, stripe_refund_state(status));
	return CALL_DONE;
}

static bool
refund_look(struct work *work, enum stripe_stage stage)
{
	struct buf path = {0};

	buf_str(&path, "/v1/refunds?payment_intent=");
	str_url(&path, work->call->payment_ref);
	buf_str(&path, "&limit=100");
	stripe_get(work, stage, buf_text(&path));
	buf_release(&path);
	return true;
}

/*
 * The one that fits best; other: also what somebody gave back by hand. Before
 * ours is sent that is no reason not to: the same amount, of what was left, may
 * have gone back by hand earlier.
 */
static const struct json *
refund_choose(const struct json *list, const struct call *call, bool other)
{
	const struct json *best = NULL;
	enum fit best_fit = FIT_NONE;

	for (const struct json *r = list->first; r; r = r->next) {
		enum fit fit = refund_fit(r, call);

		if (fit > best_fit && (other || fit != FIT_AMOUNT)) {
			best = r;
			best_fit = fit;
		}
	}
	return best;
}

/* In the list that came. *found says whether one was taken. */
static enum call_result
refund_find(struct work *work, bool other, bool *found)
{
	struct json_doc *doc = stripe_answer(work);
	const struct json *list = doc ? json_get(json_root(doc), "data") : NULL;
	const struct json *more =
	    doc ? json_get(json_root(doc), "has_more") : NULL;
	const struct json *refund;
	enum call_result result = CALL_DONE;

	*found = false;
	if (!list || list->type != JSON_ARRAY) {
		json_free(doc);
		return stripe_lacks(work, "a list of refunds");
	}
	refund = refund_choose(list, work->call, other);
	if (refund) {
		result = refund_take(work, refund);
		*found = true;
	} else if (more && more->truth) {
		/* Nobody has so many; but then none is sent on a guess. */
		stripe_refuse(work,
		    "the payment has more than 100 refunds; find out at the "
		    "provider whether this one is among them");
		result = CALL_REFUSED;
	}
	json_free(doc);
	return result;
}

static bool
refund_send(struct work *work)
{
	const struct call *call = work->call;
	struct buf form = {0};

	stripe_field(&form, "payment_intent", call->payment_ref);
	stripe_field_int(&form, "amount", call->amount);
	/* Never "fraudulent": that blocks the buyer's card and address. */
	stripe_field(&form, "reason", str_of("requested_by_customer"));
	stripe_field_metadata(&form, "metadata", call, call_refund_key(call));
	stripe_post(work, ENDPOINT_REFUND, "/v1/refunds", str_view(&form));
	buf_release(&form);
	return true;
}

static bool
refund_is_named(const struct json *refund, const struct call *call)
{
	struct str payment = json_text(json_get(refund, "payment_intent"));

	return refund_has_id(refund) &&
	    stripe_refund_state(json_text(json_get(refund, "status"))) &&
	    (payment.len == 0 || str_equal(payment, call->payment_ref));
}

static enum call_result
refund_accept(struct work *work)
{
	struct json_doc *doc = stripe_answer(work);
	enum call_result result;

	if (!doc)
		return CALL_RETRY;
	if (refund_is_named(json_root(doc), work->call))
		result = refund_take(work, json_root(doc));
	else
		result = stripe_lacks(work, "the refund that was asked for");
	json_free(doc);
	return result;
}

/* The answer to the refund itself. */
static bool
refund_answered(struct work *work)
{
	enum call_result result = stripe_judge(work);

	if (result == CALL_DONE)
		return stripe_over(work, refund_accept(work));
	if (stripe_code_is(work, "charge_already_refunded"))
		return refund_look(work, STRIPE_LOOK_AFTER);
	return stripe_over(work, result);
}

/* The list that was asked for because all the money has gone back. */
static bool
refund_looked_after(struct work *work)
{
	enum call_result result = stripe_judge(work);
	bool found = false;

	if (result == CALL_DONE)
		result = refund_find(work, true, &found);
	if (result == CALL_DONE && !found)
		return stripe_refuse(work,
		    "all has gone back already, but by no refund that could "
		    "be this one; compare with the provider's books");
	return stripe_over(work, result);
}

static bool
refund_looked(struct work *work)
{
	enum call_result result = stripe_judge(work);
	bool found = false;

	if (result == CALL_DONE)
		result = refund_find(work, false, &found);
	if (result == CALL_DONE && !found)
		return refund_send(work);
	return stripe_over(work, result);
}

bool
stripe_refund(struct work *work)
{
	switch ((enum stripe_stage)work->stage) {
	case STRIPE_START:
		if (work->call->payment_ref.len == 0)
			return stripe_refuse(work,
			    "there is no payment to refund");
		/* Or the answer to its key is a stored 500. */
		return work_may_be_done(work) ? refund_look(work, STRIPE_LOOK)
					      : refund_send(work);
	case STRIPE_LOOK:
	case STRIPE_LOOK_STUCK:
		return refund_looked(work);
	case STRIPE_LOOK_AFTER:
		return refund_looked_after(work);
	default:
		return stripe_is_stuck(work)
		    ? refund_look(work, STRIPE_LOOK_STUCK)
		    : refund_answered(work);
	}
}
