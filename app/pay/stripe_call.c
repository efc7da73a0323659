/*
 * One request to Stripe and what its answer's status means. No key, no
 * address of a pay page and no text of the answer's reaches the log or
 * outcome->error: only words made of a few harmless characters do, and none
 * that holds a key of ours.
 */
#include "base/log.h"
#include "pay/stripe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define WORD_MAX 64

/* Refunds move money by a key of their own, which reads them, too. */
static bool
is_about_refunds(const struct call *call)
{
	switch (call->act) {
	case ACT_REFUND:
		return true;
	case ACT_FETCH:
		return call->event_id.len == 0 && call->refund_ref.len > 0;
	case ACT_LIST:
		return call->list == LIST_REFUNDS;
	default:
		return false;
	}
}

static void
work_prepare(struct work *work, enum endpoint endpoint, const char *method,
    const char *path)
{
	struct http_request *request = &work->http.request;
	struct buf secret = {0};

	http_call_reset(&work->http);
	work->endpoint = endpoint;
	request->method = method;
	request->timeout_ms = work->conf->stripe.timeout_ms;
	buf_printf(&request->url, "%s%s", work->conf->stripe.api_base, path);
	buf_printf(&secret, "Bearer %s",
	    is_about_refunds(work->call) ? work->conf->stripe.refund_key
					 : work->conf->stripe.open_key);
	http_header(&work->http, "Authorization", str_view(&secret));
	http_header(&work->http, "Stripe-Version",
	    str_of(work->conf->stripe.version));
	buf_release(&secret);
}

bool
stripe_get(struct work *work, enum stripe_stage stage, const char *path)
{
	work_prepare(work, ENDPOINT_LOOK, "GET", path);
	work->stage = (int)stage;
	return true;
}

bool
stripe_post(struct work *work, enum endpoint endpoint, const char *path,
    struct str form)
{
	bool again =
	    work->stage == STRIPE_SENT || work->stage == STRIPE_LOOK_STUCK;
	struct buf key = {0};

	work_prepare(work, endpoint, "POST", path);
	work->stage = again ? STRIPE_SENT_AGAIN : STRIPE_SENT;
	buf_add(&key, work->call->key.text, work->call->key.len);
	/* A person may have it called again, so that its tries come twice. */
	if (again)
		buf_printf(&key, "-try%d-%" PRId64, work->call->try,
		    work->call->age_s);
	http_header(&work->http, "Content-Type",
	    str_of("application/x-www-form-urlencoded"));
	http_header(&work->http, "Idempotency-Key", str_view(&key));
	buf_add(&work->http.request.body, form.text, form.len);
	buf_release(&key);
	return true;
}

bool
stripe_is_stuck(const struct work *work)
{
	return work->stage == STRIPE_SENT && work->call->try > 1 &&
	    work->http.answer.status == 500;
}

/* What the provider asks for in Stripe-Should-Retry. */
static bool
should_retry_is(const struct http_answer *answer, const char *word)
{
	return strcasecmp(buf_text(&answer->should_retry), word) == 0;
}

static enum call_result
answer_judge(const struct http_answer *answer)
{
	int status = answer->status;

	if (status >= 200 && status <= 299)
		return CALL_DONE;
	/*
	 * No answer, or a 500, which tells nothing of what happened. Whatever
	 * the header says of the same request, our next try is another one:
	 * it looks first and may take a new key.
	 */
	if (status == 0 || status == 500)
		return CALL_RETRY;
	if (should_retry_is(answer, "true"))
		return CALL_RETRY;
	if (should_retry_is(answer, "false"))
		return CALL_REFUSED;
	if (status == 409 || status == 424 || status == 429)
		return CALL_RETRY;
	return status >= 400 && status <= 499 ? CALL_REFUSED : CALL_RETRY;
}

static bool
holds(const char *word, const char *secret)
{
	return *secret && strstr(word, secret);
}

/* Short, of characters that do no harm, and no key of ours sent back. */
static bool
is_harmless(const struct conf *conf, struct str word)
{
	static const char harmless[] = "abcdefghijklmnopqrstuvwxyz"
				       "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789_-.[]";

	char text[WORD_MAX + 1] = "";

	if (word.len == 0 || word.len > WORD_MAX)
		return false;
	memcpy(text, word.text, word.len);
	return strspn(text, harmless) == word.len &&
	    !holds(text, conf->stripe.open_key) &&
	    !holds(text, conf->stripe.refund_key) &&
	    !holds(text, conf->stripe.webhook_secret) &&
	    !holds(text, conf->stripe.old_webhook_secret);
}

static void
word_add(struct work *work, const char *prefix, struct str word)
{
	if (is_harmless(work->conf, word))
		buf_printf(&work->outcome.error, "%s%.*s", prefix,
		    (int)word.len, word.text);
}

static struct json_doc *
answer_parse(const struct http_answer *answer)
{
	const char *why;

	return json_parse(str_view(&answer->body), &why);
}

/* What a person can do about a refusal; NULL when nothing is known. */
static const char *
advice_find(int status, struct str code)
{
	static const struct {
		const char *code;
		const char *advice;
	} codes[] = {
	    {"charge_disputed",
		"the payment is disputed, so nothing goes back; answer the "
		"bank"},
	    {"refund_disputed_payment",
		"the payment is disputed, so nothing goes back; answer the "
		"bank"},
	    {"charge_not_refundable", "pay the buyer another way"},
	    {"balance_insufficient", "top up the balance at the provider"},
	    {"idempotency_error",
		"its key was used for something else; look at the provider "
		"before asking again"},
	};

	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		if (str_is(code, codes[i].code))
			return codes[i].advice;
	}
	switch (status) {
	case 401:
		return "the key is wrong or was rolled, set it anew";
	case 403:
		return "the key lacks a permission, give it what the shop does";
	case 404:
		return "the key is of another account or mode, or the thing "
		       "is gone";
	default:
		return NULL;
	}
}

/* "status 402 card_error code=card_declined request req_…: what to do" */
static void
error_describe(struct work *work)
{
	const struct http_answer *answer = &work->http.answer;
	struct buf *error = &work->outcome.error;
	struct json_doc *doc;
	const struct json *root;
	const char *advice;

	buf_reset(error);
	if (answer->status == 0) {
		buf_printf(error, "no answer: %s", answer->error);
		return;
	}
	buf_printf(error, "status %d", answer->status);
	doc = answer_parse(answer);
	root = doc ? json_root(doc) : NULL;
	word_add(work, " ", json_text(json_path(root, "error.type")));
	word_add(work, " code=", json_text(json_path(root, "error.code")));
	word_add(work, " param=", json_text(json_path(root, "error.param")));
	word_add(work, " request ", str_view(&answer->request_id));
	advice = advice_find(answer->status,
	    json_text(json_path(root, "error.code")));
	if (advice)
		buf_printf(error, ": %s", advice);
	json_free(doc);
}

/* All calls fare alike then: said apart from what becomes of this one. */
static void
answer_alarm(const struct work *work)
{
	const char *key = is_about_refunds(work->call) ? "stripe.refund_key"
						       : "stripe.open_key";

	switch (work->http.answer.status) {
	case 401:
		log_error("the provider refuses our key, %s", key);
		break;
	case 403:
		log_error("the provider does not let our key do this, %s", key);
		break;
	case 404:
		log_error("the provider does not know what we ask for, as if "
			  "of another account or mode, %s",
		    key);
		break;
	default:
		break;
	}
}

/*
 * Whether this no is kept for the key that was asked under. None is of a key of
 * ours that is not taken, nor of one that is in use; looks have no key.
 */
static bool
answer_is_kept(const struct work *work, enum call_result result)
{
	int status = work->http.answer.status;

	return result == CALL_REFUSED && status >= 400 && status <= 499 &&
	    status != 401 && status != 409 && status != 424 && status != 429 &&
	    (work->stage == STRIPE_SENT || work->stage == STRIPE_SENT_AGAIN);
}

enum call_result
stripe_judge(struct work *work)
{
	enum call_result result = answer_judge(&work->http.answer);

	buf_reset(&work->outcome.error);
	if (result == CALL_DONE)
		return result;
	work->outcome.key_is_used |= answer_is_kept(work, result);
	error_describe(work);
	answer_alarm(work);
	return result;
}

bool
stripe_over(struct work *work, enum call_result result)
{
	work->result = result;
	return false;
}

bool
stripe_refuse(struct work *work, const char *why)
{
	buf_reset(&work->outcome.error);
	buf_str(&work->outcome.error, why);
	return stripe_over(work, CALL_REFUSED);
}

struct json_doc *
stripe_answer(struct work *work)
{
	struct json_doc *doc = answer_parse(&work->http.answer);

	if (!doc)
		stripe_lacks(work, "JSON");
	return doc;
}

enum call_result
stripe_lacks(struct work *work, const char *what)
{
	struct buf *error = &work->outcome.error;

	buf_reset(error);
	buf_printf(error, "status %d without %s", work->http.answer.status,
	    what);
	word_add(work, " request ", str_view(&work->http.answer.request_id));
	return CALL_RETRY;
}

bool
stripe_code_is(const struct work *work, const char *code)
{
	struct json_doc *doc = answer_parse(&work->http.answer);
	bool is = doc &&
	    str_is(json_text(json_path(json_root(doc), "error.code")), code);

	json_free(doc);
	return is;
}

void
stripe_field(struct buf *form, const char *name, struct str value)
{
	if (form->len)
		buf_char(form, '&');
	buf_printf(form, "%s=", name);
	str_url(form, value);
}

void
stripe_field_int(struct buf *form, const char *name, int64_t value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRId64, value);
	stripe_field(form, name, str_of(digits));
}

void
stripe_field_metadata(struct buf *form, const char *prefix,
    const struct call *call, struct str key)
{
	char name[64];
	char order[32];

	snprintf(order, sizeof(order), "ord_%" PRId64, call->number);
	snprintf(name, sizeof(name), "%s[hold_id]", prefix);
	stripe_field(form, name, call->hold);
	snprintf(name, sizeof(name), "%s[order_id]", prefix);
	stripe_field(form, name, str_of(order));
	snprintf(name, sizeof(name), "%s[key]", prefix);
	stripe_field(form, name, key);
}
