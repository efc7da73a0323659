/*
 * Whether a message is the connected process's, and what shows it that one is
 * ours: Standard Webhooks 1.0.0, which signs "{id}.{timestamp}.{body}".
 */
#include "pay/standard.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SIGNATURES_MAX 16 /* one a secret being changed, and room */
#define TIME_CHARS_MAX 12 /* seconds; keeps milliseconds out of int64 trouble */
#define ID_CHARS_MAX 255 /* of an event's name in the tables */
/* In base64: 32 bytes and 64. */
#define V1_CHARS ((size_t)44)
#define V1A_CHARS ((size_t)88)

/* webhook-signature: v1,<base64>[ v1a,<base64>…] */
struct signature {
	struct str v1[SIGNATURES_MAX];
	size_t v1_count; /* of the right length */
	struct str v1a[SIGNATURES_MAX];
	size_t v1a_count;
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

/* A dot in it would let the parts of what is signed be cut elsewhere. */
static bool
is_id(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.text[i] <= ' ' || s.text[i] > '~' || s.text[i] == '.')
			return false;
	}
	return s.len > 0 && s.len <= ID_CHARS_MAX;
}

static bool
starts(struct str *s, const char *prefix)
{
	size_t len = strlen(prefix);

	if (s->len < len || memcmp(s->text, prefix, len) != 0)
		return false;
	s->text += len;
	s->len -= len;
	return true;
}

/* Other versions are skipped; nothing is trimmed but the blanks between. */
static bool
signature_read(struct signature *signature, struct str header)
{
	size_t at = 0;

	while (at < header.len) {
		const char *text = header.text + at;
		const char *end = memchr(text, ' ', header.len - at);
		size_t len = end ? (size_t)(end - text) : header.len - at;
		struct str s = {text, len};
		bool is_v1 = starts(&s, "v1,");
		bool is_v1a = !is_v1 && starts(&s, "v1a,");

		at += len + 1;
		if ((is_v1 || is_v1a) && ++signature->seen > SIGNATURES_MAX)
			return false;
		if (is_v1 && s.len == V1_CHARS)
			signature->v1[signature->v1_count++] = s;
		if (is_v1a && s.len == V1A_CHARS)
			signature->v1a[signature->v1a_count++] = s;
	}
	return true;
}

static void
signed_v1(struct buf *text, const struct sign_secret *secret,
    const struct hook *hook)
{
	const struct str parts[] = {hook->id, str_of("."), hook->timestamp,
	    str_of("."), hook->body};
	struct str key = {(const char *)secret->bytes, secret->len};
	unsigned char mac[SIGN_SHA256_LEN];

	sign_hmac_sha256(mac, key, parts, sizeof(parts) / sizeof(parts[0]));
	str_base64(text, mac, sizeof(mac));
}

/* Ed25519 wants it in one piece. */
static void
signed_bytes(struct buf *bytes, const struct hook *hook)
{
	buf_reserve(bytes,
	    hook->id.len + hook->timestamp.len + hook->body.len + 2);
	buf_add(bytes, hook->id.text, hook->id.len);
	buf_char(bytes, '.');
	buf_add(bytes, hook->timestamp.text, hook->timestamp.len);
	buf_char(bytes, '.');
	buf_add(bytes, hook->body.text, hook->body.len);
}

/* Takes the same time whichever matches, if any does. */
static bool
match_v1(const struct sign_secret *secret, const struct signature *signature,
    const struct hook *hook)
{
	struct buf own = {0};
	bool match = false;

	signed_v1(&own, secret, hook);
	for (size_t i = 0; i < signature->v1_count; i++)
		match |= sign_equal(own.data, signature->v1[i].text, V1_CHARS);
	buf_release(&own);
	return match;
}

static bool
match_v1a(const struct sign_secret *secret, const struct signature *signature,
    const struct hook *hook)
{
	struct buf bytes = {0};
	struct buf raw = {0};
	bool match = false;

	if (signature->v1a_count > 0)
		signed_bytes(&bytes, hook);
	for (size_t i = 0; i < signature->v1a_count; i++) {
		buf_reset(&raw);
		match |= str_unbase64(&raw, signature->v1a[i]) &&
		    raw.len == SIGN_ED25519_LEN &&
		    sign_ed25519_verify((const unsigned char *)raw.data,
			secret->bytes, str_view(&bytes));
	}
	buf_release(&bytes);
	buf_release(&raw);
	return match;
}

static bool
secret_match(const char *text, const struct signature *signature,
    const struct hook *hook)
{
	struct sign_secret secret;
	bool match = false;

	sign_secret_read(&secret, str_of(text));
	if (secret.kind == SIGN_SECRET_SHARED)
		match = match_v1(&secret, signature, hook);
	else if (secret.kind == SIGN_SECRET_PUBLIC)
		match = match_v1a(&secret, signature, hook);
	sign_secret_wipe(&secret);
	return match;
}

enum verdict
standard_verify(const struct conf *conf, const struct hook *hook)
{
	struct signature signature = {.seen = 0};
	int64_t then = 0;
	int64_t age;
	bool match;

	if (!is_id(hook->id) || !is_time(hook->timestamp) ||
	    !str_int(hook->timestamp, &then) ||
	    !signature_read(&signature, hook->signature))
		return VERDICT_BAD;
	match = secret_match(conf->standard.webhook_secret, &signature, hook);
	match |=
	    secret_match(conf->standard.old_webhook_secret, &signature, hook);
	if (!match)
		return VERDICT_BAD;
	age = hook->now - then;
	if (hook->tolerance_s == HOOK_ANY_AGE)
		return VERDICT_OK;
	return age > hook->tolerance_s || age < -hook->tolerance_s ? VERDICT_OLD
								   : VERDICT_OK;
}

/* Whether this secret signs; if so, its signature stands behind the others. */
static bool
secret_sign(struct buf *header, const char *text, const struct hook *hook)
{
	unsigned char raw[SIGN_ED25519_LEN];
	struct sign_secret secret;
	struct buf bytes = {0};
	bool signs;

	sign_secret_read(&secret, str_of(text));
	signs = secret.kind == SIGN_SECRET_SHARED ||
	    secret.kind == SIGN_SECRET_PRIVATE;
	if (signs && header->len)
		buf_char(header, ' ');
	if (secret.kind == SIGN_SECRET_SHARED) {
		buf_str(header, "v1,");
		signed_v1(header, &secret, hook);
	} else if (secret.kind == SIGN_SECRET_PRIVATE) {
		signed_bytes(&bytes, hook);
		sign_ed25519(raw, secret.bytes, str_view(&bytes));
		buf_str(header, "v1a,");
		str_base64(header, raw, sizeof(raw));
	}
	sign_secret_wipe(&secret);
	buf_release(&bytes);
	return signs;
}

bool
standard_sign(struct buf *header, const struct conf *conf,
    const struct hook *hook)
{
	if (!is_id(hook->id) || !is_time(hook->timestamp))
		return false;
	if (*conf->standard.call_secret)
		return secret_sign(header, conf->standard.call_secret, hook);
	if (!secret_sign(header, conf->standard.webhook_secret, hook))
		return false;
	/* The process takes up a new secret when it likes. */
	secret_sign(header, conf->standard.old_webhook_secret, hook);
	return true;
}
