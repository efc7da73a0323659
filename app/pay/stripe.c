/*
 * Stripe: whether a webhook is theirs, and the table of the adapter. Nothing
 * is parsed here but the header; the body is signed bytes.
 */
#include "pay/stripe.h"
#include "base/log.h"
#include "base/sign.h"

#include <string.h>

#define MACS_MAX 16 /* one a secret being rolled, and room */
#define MAC_CHARS ((size_t)2 * SIGN_SHA256_LEN)
#define TIME_CHARS_MAX 12 /* seconds; keeps milliseconds out of int64 trouble */

/* Stripe-Signature: t=<seconds>,v1=<hex>[,v1=<hex>…] */
struct signature {
	struct str time;
	size_t times;
	struct str macs[MACS_MAX];
	size_t count; /* well-formed ones */
	size_t seen;
};

static bool
is_time(struct str s)
{
	if (s.len == 0 || s.len > TIME_CHARS_MAX || s.text[0] == '0')
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (s.text[i] < '0' || s.text[i] > '9')
			return false;
	}
	return true;
}

static bool
is_mac(struct str s)
{
	if (s.len != MAC_CHARS)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		char c = s.text[i];

		if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
			return false;
	}
	return true;
}

/* Up to the next c or the end; *rest is what follows it. */
static struct str
cut(struct str s, char c, struct str *rest)
{
	const char *at = s.len ? memchr(s.text, c, s.len) : NULL;
	size_t len = at ? (size_t)(at - s.text) : s.len;

	*rest = (struct str){NULL, 0};
	if (at)
		*rest = (struct str){at + 1, s.len - len - 1};
	return (struct str){s.text, len};
}

/*
 * Other schemes are dropped: v0 is a fake one on test events, and taking it
 * would be a downgrade. Nothing is trimmed.
 */
static bool
signature_read(struct signature *signature, struct str header)
{
	while (header.len) {
		struct str element = cut(header, ',', &header);
		struct str value;
		struct str name = cut(element, '=', &value);

		if (str_is(name, "t")) {
			signature->time = value;
			signature->times++;
		} else if (str_is(name, "v1")) {
			if (++signature->seen > MACS_MAX)
				return false;
			if (is_mac(value))
				signature->macs[signature->count++] = value;
		}
	}
	return signature->times == 1 && is_time(signature->time) &&
	    signature->count > 0;
}

/* Takes the same time whichever matches, if any does. */
static bool
signature_match(const struct signature *signature, const char *secret,
    struct str body)
{
	struct str parts[] = {signature->time, str_of("."), body};
	unsigned char mac[SIGN_SHA256_LEN];
	struct buf hex;
	bool match = false;

	/* Anybody could sign with an empty one. */
	if (!*secret)
		return false;
	/* The key is the whole text, with its whsec_. */
	sign_hmac_sha256(mac, str_of(secret), parts, 3);
	buf_init(&hex);
	str_hex(&hex, mac, sizeof(mac));
	for (size_t i = 0; i < signature->count; i++)
		match |=
		    sign_equal(hex.data, signature->macs[i].text, MAC_CHARS);
	buf_release(&hex);
	return match;
}

static enum verdict
stripe_verify(const struct conf *conf, const struct hook *hook)
{
	struct signature signature = {.count = 0};
	int64_t then = 0;
	int64_t age;
	bool match;

	if (hook->body.len == 0 ||
	    !signature_read(&signature, hook->signature) ||
	    !str_int(signature.time, &then))
		return VERDICT_BAD;
	match = signature_match(&signature, conf->stripe.webhook_secret,
	    hook->body);
	match |= signature_match(&signature, conf->stripe.old_webhook_secret,
	    hook->body);
	if (!match)
		return VERDICT_BAD;
	age = hook->now - then;
	if (hook->tolerance_s == HOOK_ANY_AGE)
		return VERDICT_OK;
	return age > hook->tolerance_s || age < -hook->tolerance_s ? VERDICT_OLD
								   : VERDICT_OK;
}

static void
stripe_pace(const struct conf *conf, struct provider_pace *pace)
{
	*pace = (struct provider_pace){
	    .per_second =
		{
		    [ENDPOINT_OPEN] = conf->stripe.opens_per_second,
		    [ENDPOINT_END] = conf->stripe.ends_per_second,
		    [ENDPOINT_REFUND] = conf->stripe.refunds_per_second,
		    [ENDPOINT_LOOK] = conf->stripe.looks_per_second,
		},
	    .calls_per_second = conf->stripe.calls_per_second,
	    .at_once = conf->stripe.at_once,
	    .timeout_ms = conf->stripe.timeout_ms,
	    .tries = conf->stripe.tries,
	};
}

static bool
stripe_step(struct work *work)
{
	switch (work->call->act) {
	case ACT_OPEN:
		return stripe_open(work);
	case ACT_END:
		return stripe_end(work);
	case ACT_REFUND:
		return stripe_refund(work);
	case ACT_FETCH:
		return stripe_fetch(work);
	case ACT_LIST:
		return stripe_list(work);
	}
	log_bug("cannot do act %d", (int)work->call->act);
}

const struct provider stripe_provider = {
    .name = "stripe",
    .caps =
	{
	    .min_expiry_s = 1800,
	    .max_expiry_s = 86400,
	    .can_end = true,
	    .batch = 1,
	    .idem_len = 255,
	    .idem_ttl_s = 86400,
	},
    .pace = stripe_pace,
    .verify = stripe_verify,
    .read = stripe_read,
    .next = stripe_next,
    .read_free = stripe_read_free,
    .step = stripe_step,
};
