/*
 * Refunds. Money goes back once: the key sees to it for a day, and from the
 * second try on a refund is looked for before it is asked for.
 */
#include "pay/standard.h"

static bool
refund_ask(struct work *work)
{
	const struct call *call = work->call;
	struct question question = {
	    .type = "refund.show",
	    .endpoint = ENDPOINT_LOOK,
	    .looks = true,
	};

	if (call->refund_ref.len) {
		standard_text(&question, "refund", call->refund_ref);
	} else {
		standard_text(&question, "payment", call->payment_ref);
		standard_text(&question, "key", call_refund_key(call));
	}
	return standard_ask(work, &question);
}

static bool
refund_send(struct work *work)
{
	const struct call *call = work->call;
	struct question question = {
	    .type = "refund.send",
	    .endpoint = ENDPOINT_REFUND,
	};

	standard_ours(&question, call, call_refund_key(call));
	standard_text(&question, "payment", call->payment_ref);
	standard_number(&question, "amount", call->amount);
	standard_text(&question, "currency", call->currency);
	return standard_ask(work, &question);
}

/* NULL when it says nothing of this; null is nothing, too. */
static const struct json *
refund_says(const struct json *refund, const char *name)
{
	const struct json *said = json_get(refund, name);

	return said && said->type != JSON_NULL ? said : NULL;
}

/* Whether this refund is the one that the call asks for. */
static const char *
refund_strange(const struct call *call, const struct json *refund)
{
	const struct json *payment = refund_says(refund, "payment");
	const struct json *amount = refund_says(refund, "amount");
	const struct json *currency = refund_says(refund, "currency");
	/* Null says that it has none: somebody made it by hand. */
	const struct json *key = json_get(refund, "key");
	int64_t n;

	if (key && !str_equal(json_text(key), call_refund_key(call)))
		return "it answers with a refund of another key; look at the "
		       "provider before asking again";
	if (payment && !str_equal(json_text(payment), call->payment_ref))
		return "its refund of this key is of another payment; look at "
		       "the provider before asking again";
	if ((amount && (!json_int(amount, &n) || n != call->amount)) ||
	    (currency && !str_equal(json_text(currency), call->currency)))
		return "its refund of this key is of another amount; look at "
		       "the provider before asking again";
	return NULL;
}

static bool
refund_take(struct work *work, const struct json *refund)
{
	struct str id = json_text(json_get(refund, "refund"));
	struct str state = json_text(json_get(refund, "state"));
	const char *strange = refund_strange(work->call, refund);

	if (!standard_is_name(id) || !standard_is_refund_state(state))
		return standard_lacks(work, "a refund and its state");
	if (strange)
		return standard_refuse(work, strange);
	buf_add(&work->outcome.id, id.text, id.len);
	buf_add(&work->outcome.state, state.text, state.len);
	return standard_done(work);
}

/* None is said in so many words: a 404 may come from anybody. */
static bool
is_none(const struct json *refund)
{
	const struct json *id = json_get(refund, "refund");

	return id && id->type == JSON_NULL;
}

static bool
refund_answer(struct work *work)
{
	struct json_doc *doc = standard_answer(work);
	bool more = false;

	if (!doc)
		return false;
	if (work->stage == STAGE_LOOK && is_none(json_root(doc)))
		more = refund_send(work);
	else
		more = refund_take(work, json_root(doc));
	json_free(doc);
	return more;
}

static bool
refund_start(struct work *work)
{
	const struct call *call = work->call;

	if (call->payment_ref.len == 0)
		return standard_refuse(work, "there is no payment to refund");
	return work_may_be_done(work) ? refund_ask(work) : refund_send(work);
}

static bool
refund_tell(struct work *work)
{
	struct json_doc *doc = standard_answer(work);
	struct str id;
	struct str state;

	if (!doc)
		return false;
	id = json_text(json_get(json_root(doc), "refund"));
	state = json_text(json_get(json_root(doc), "state"));
	if (is_none(json_root(doc)))
		standard_refuse(work, "the provider has no such refund");
	else if (!str_equal(id, work->call->refund_ref))
		standard_lacks(work, "the refund that was asked for");
	else if (standard_news(work, "refund.updated", id, state))
		standard_done(work);
	json_free(doc);
	return false;
}

bool
standard_refund(struct work *work)
{
	return work->stage == STAGE_START ? refund_start(work)
					  : refund_answer(work);
}

bool
standard_refund_look(struct work *work)
{
	return work->stage == STAGE_START ? refund_ask(work)
					  : refund_tell(work);
}
