/*
 * Refunds. Money goes back once: the key sees to it for a day, after that the
 * look at what exists, and in the end Stripe, which never gives back more
 * than was paid. A refund that failed is not sent again: the money is back in
 * the shop's balance, and a person pays the buyer another way.
 */
#include "pay/stripe.h"

/* How well a refund that exists fits what we were to send. */
enum fit { FIT_NONE, FIT_OURS_FAILED, FIT_OTHER, FIT_AMOUNT, FIT_OURS };

static enum fit
refund_fit(const struct json *refund, const struct call *call)
{
	struct str hold = json_text(json_path(refund, "metadata.hold_id"));
	struct str status = json_text(json_get(refund, "status"));
	struct str id = json_text(json_get(refund, "id"));
	const char *state = stripe_refund_state(status);
	bool ours = hold.len && str_equal(hold, call->hold);
	int64_t amount = -1;

	if (!state || id.len == 0 || id.len > STRIPE_ID_MAX)
		return FIT_NONE;
	if (str_is(str_of(state), "failed"))
		return ours ? FIT_OURS_FAILED : FIT_NONE;
	if (ours)
		return FIT_OURS;
	(void)json_int(json_get(refund, "amount"), &amount);
	return amount == call->amount ? FIT_AMOUNT : FIT_OTHER;
}

static void
refund_take(struct call_outcome *outcome, const struct json *refund)
{
	struct str id = json_text(json_get(refund, "id"));
	struct str status = json_text(json_get(refund, "status"));

	buf_reset(&outcome->error);
	buf_reset(&outcome->id);
	buf_add(&outcome->id, id.text, id.len);
	buf_reset(&outcome->state);
	buf_str(&outcome->state, stripe_refund_state(status));
}

/*
 * Looks for a refund. CALL_DONE when the list came; *found says whether one
 * was taken. spent: all the money has gone back, so any of them is it.
 */
static enum call_result
refund_look(struct stripe_work *x, bool spent, bool *found)
{
	struct json_doc *doc;
	struct buf path;
	const struct json *list;
	const struct json *best = NULL;
	enum fit best_fit = FIT_NONE;
	enum call_result result;

	*found = false;
	buf_init(&path);
	buf_str(&path, "/v1/refunds?payment_intent=");
	str_url(&path, x->call->payment_ref);
	buf_str(&path, "&limit=10");
	result = stripe_get(x, path.data);
	buf_release(&path);
	if (result != CALL_DONE)
		return result;
	doc = stripe_answer(x);
	list = doc ? json_get(json_root(doc), "data") : NULL;
	if (!list || list->type != JSON_ARRAY) {
		json_free(doc);
		return stripe_lacks(x, "a list of refunds");
	}
	for (const struct json *r = list->first; r; r = r->next) {
		enum fit fit = refund_fit(r, x->call);

		/* A part that somebody gave back is not what we owe. */
		if (fit > best_fit && (spent || fit != FIT_OTHER)) {
			best = r;
			best_fit = fit;
		}
	}
	if (best)
		refund_take(x->outcome, best);
	*found = best != NULL;
	json_free(doc);
	return CALL_DONE;
}

static enum call_result
refund_accept(struct stripe_work *x)
{
	struct json_doc *doc = stripe_answer(x);
	enum call_result result = CALL_DONE;

	if (!doc)
		return CALL_RETRY;
	if (!stripe_refund_state(
		json_text(json_get(json_root(doc), "status"))) ||
	    json_text(json_get(json_root(doc), "id")).len == 0 ||
	    json_text(json_get(json_root(doc), "id")).len > STRIPE_ID_MAX)
		result = stripe_lacks(x, "a refund");
	else
		refund_take(x->outcome, json_root(doc));
	json_free(doc);
	return result;
}

static enum call_result
refund_send(struct stripe_work *x)
{
	struct buf form;
	enum call_result result;
	enum call_result look;
	bool found;

	buf_init(&form);
	stripe_field(&form, "payment_intent", x->call->payment_ref);
	stripe_field_int(&form, "amount", x->call->amount);
	/* Never "fraudulent": that blocks the buyer's card and address. */
	stripe_field(&form, "reason", str_of("requested_by_customer"));
	stripe_field_metadata(&form, "metadata", x->call);
	result = stripe_post(x, "/v1/refunds", str_view(&form));
	buf_release(&form);
	if (result == CALL_DONE)
		return refund_accept(x);
	if (!stripe_code_is(x, "charge_already_refunded"))
		return result;
	look = refund_look(x, true, &found);
	if (look == CALL_DONE && !found) {
		buf_reset(&x->outcome->error);
		buf_str(&x->outcome->error,
		    "already refunded, but no refund is listed");
		return CALL_REFUSED;
	}
	return look;
}

enum call_result
stripe_refund(const struct conf *conf, struct http *http,
    const struct call *call, struct call_outcome *outcome)
{
	struct stripe_work x = {
	    .conf = conf,
	    .http = http,
	    .call = call,
	    .outcome = outcome,
	    .secret = conf->stripe.refund_key,
	};
	enum call_result result = CALL_DONE;
	bool found = false;

	if (call->payment_ref.len == 0) {
		buf_reset(&outcome->error);
		buf_str(&outcome->error, "there is no payment to refund");
		return CALL_REFUSED;
	}
	http_answer_init(&x.answer);
	if (call->try > 1)
		result = refund_look(&x, false, &found);
	if (result == CALL_DONE && !found)
		result = refund_send(&x);
	http_answer_release(&x.answer);
	return result;
}
