/*
 * One request to Stripe and what its answer's status means. No key, no
 * address of a pay page and no text of the answer's reaches the log or
 * outcome->error: only words made of a few harmless characters do.
 */
#include "base/log.h"
#include "pay/stripe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define WORD_MAX 64

enum { AUTHORIZATION, VERSION, CONTENT_TYPE, KEY, HEADERS };

static void
work_send(struct stripe_work *x, struct http_call *call, const char *path,
    struct str key)
{
	struct buf url;
	struct buf text[HEADERS];
	const char *headers[HEADERS + 1] = {NULL};

	buf_init(&url);
	buf_printf(&url, "%s%s", x->conf->stripe.api_base, path);
	for (size_t i = 0; i < HEADERS; i++)
		buf_init(&text[i]);
	buf_printf(&text[AUTHORIZATION], "Authorization: Bearer %s", x->secret);
	buf_printf(&text[VERSION], "Stripe-Version: %s",
	    x->conf->stripe.version);
	buf_str(&text[CONTENT_TYPE],
	    "Content-Type: application/x-www-form-urlencoded");
	buf_printf(&text[KEY], "Idempotency-Key: %.*s", (int)key.len,
	    key.len ? key.text : "");
	for (size_t i = 0; i < HEADERS; i++)
		headers[i] = text[i].data;
	/* On a GET neither type nor key has a meaning. */
	if (key.len == 0)
		headers[CONTENT_TYPE] = NULL;
	call->url = url.data;
	call->headers = headers;
	call->timeout_ms = x->conf->stripe.timeout_ms;
	http_call(x->http, call, &x->answer);
	buf_release(&url);
	for (size_t i = 0; i < HEADERS; i++)
		buf_release(&text[i]);
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

/* Appends prefix and word, unless the word is none or not harmless. */
static void
word_add(struct buf *b, const char *prefix, struct str word)
{
	static const char harmless[] = "abcdefghijklmnopqrstuvwxyz"
				       "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789_-.[]";

	if (word.len == 0 || word.len > WORD_MAX)
		return;
	for (size_t i = 0; i < word.len; i++) {
		if (!word.text[i] || !strchr(harmless, word.text[i]))
			return;
	}
	buf_printf(b, "%s%.*s", prefix, (int)word.len, word.text);
}

static struct json_doc *
answer_parse(const struct http_answer *answer)
{
	const char *why;

	return json_parse(str_view(&answer->body), &why);
}

/* "status 402 card_error code=card_declined request req_…" */
static void
error_describe(struct stripe_work *x)
{
	struct buf *error = &x->outcome->error;
	struct json_doc *doc;
	const struct json *root;

	buf_reset(error);
	if (x->answer.status == 0) {
		buf_printf(error, "no answer: %s", x->answer.error);
		return;
	}
	buf_printf(error, "status %d", x->answer.status);
	doc = answer_parse(&x->answer);
	root = doc ? json_root(doc) : NULL;
	word_add(error, " ", json_text(json_path(root, "error.type")));
	word_add(error, " code=", json_text(json_path(root, "error.code")));
	word_add(error, " param=", json_text(json_path(root, "error.param")));
	word_add(error, " request ", str_view(&x->answer.request_id));
	json_free(doc);
}

static enum call_result
work_judge(struct stripe_work *x)
{
	enum call_result result = answer_judge(&x->answer);

	buf_reset(&x->outcome->error);
	if (result == CALL_DONE)
		return result;
	error_describe(x);
	if (x->answer.status == 401)
		log_error("the provider refuses our key: %s",
		    buf_text(&x->outcome->error));
	return result;
}

enum call_result
stripe_get(struct stripe_work *x, const char *path)
{
	struct http_call call = {.method = "GET"};

	work_send(x, &call, path, (struct str){NULL, 0});
	return work_judge(x);
}

enum call_result
stripe_post(struct stripe_work *x, const char *path, struct str form)
{
	struct http_call call = {.method = "POST", .body = form};
	struct str key = x->call->key;
	struct buf fresh;

	work_send(x, &call, path, key);
	if (x->answer.status == 500 && x->call->try > 1) {
		buf_init(&fresh);
		buf_add(&fresh, key.text, key.len);
		buf_printf(&fresh, "-try%d", x->call->try);
		work_send(x, &call, path, str_view(&fresh));
		buf_release(&fresh);
	}
	return work_judge(x);
}

struct json_doc *
stripe_answer(struct stripe_work *x)
{
	struct json_doc *doc = answer_parse(&x->answer);

	if (!doc)
		stripe_lacks(x, "JSON");
	return doc;
}

enum call_result
stripe_lacks(struct stripe_work *x, const char *what)
{
	struct buf *error = &x->outcome->error;

	buf_reset(error);
	buf_printf(error, "status %d without %s", x->answer.status, what);
	word_add(error, " request ", str_view(&x->answer.request_id));
	return CALL_RETRY;
}

bool
stripe_code_is(const struct stripe_work *x, const char *code)
{
	struct json_doc *doc = answer_parse(&x->answer);
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
    const struct call *call)
{
	char name[64];
	char order[32];

	snprintf(order, sizeof(order), "ord_%" PRId64, call->number);
	snprintf(name, sizeof(name), "%s[hold_id]", prefix);
	stripe_field(form, name, call->hold);
	snprintf(name, sizeof(name), "%s[order_id]", prefix);
	stripe_field(form, name, str_of(order));
}
