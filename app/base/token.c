/*
 * Signed tokens and random ids. The secret also derives uuids; a blank after
 * the label keeps those inputs apart from every token, which holds none.
 */
#include "base/token.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/sign.h"

#include <string.h>

#define MAC_CHARS 43 /* base64url of 32 bytes */
#define SECRET_MIN 32

static bool
is_token_text(struct str s)
{
	static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz"
				       "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789_-";

	for (size_t i = 0; i < s.len; i++) {
		if (!s.text[i] || !strchr(alphabet, s.text[i]))
			return false;
	}
	return s.len > 0;
}

static void
token_mac(unsigned char out[SIGN_SHA256_LEN], struct str secret,
    const char *kind, struct str payload)
{
	struct str parts[] = {str_of(kind), str_of("."), payload};

	sign_hmac_sha256(out, secret, parts, sizeof(parts) / sizeof(parts[0]));
}

void
token_sign(struct buf *out, const struct token_secrets *secrets,
    const char *kind, struct str payload)
{
	unsigned char mac[SIGN_SHA256_LEN];

	if (secrets->now.len < SECRET_MIN)
		log_bug("cannot sign with a secret of %zu bytes",
		    secrets->now.len);
	if (!is_token_text(str_of(kind)) || !is_token_text(payload))
		log_bug("cannot sign a %s token of such a payload", kind);
	token_mac(mac, secrets->now, kind, payload);
	buf_str(out, kind);
	buf_char(out, '.');
	buf_add(out, payload.text, payload.len);
	buf_char(out, '.');
	str_base64url(out, mac, sizeof(mac));
}

static bool
mac_is_ours(struct str mac, const struct token_secrets *secrets,
    const char *kind, struct str payload)
{
	const struct str *const keys[] = {&secrets->now, &secrets->old};
	unsigned char expected[SIGN_SHA256_LEN];
	struct buf given = {0};
	bool ours = false;

	if (!str_unbase64url(&given, mac) || given.len != sizeof(expected))
		goto out;
	for (size_t i = 0; i < 2; i++) {
		/* An empty secret is one that anybody knows. */
		if (keys[i]->len == 0)
			continue;
		token_mac(expected, *keys[i], kind, payload);
		ours |= sign_equal(given.data, expected, sizeof(expected));
	}
out:
	buf_release(&given);
	return ours;
}

bool
token_verify(struct str token, const struct token_secrets *secrets,
    const char *kind, struct str *payload)
{
	size_t head = strlen(kind) + 1;
	size_t tail = 1 + MAC_CHARS;
	struct str body;
	struct str mac;

	if (token.len <= head + tail || memcmp(token.text, kind, head - 1) != 0)
		return false;
	body = (struct str){token.text + head, token.len - head - tail};
	mac = (struct str){token.text + token.len - MAC_CHARS, MAC_CHARS};
	if (token.text[head - 1] != '.' || mac.text[-1] != '.')
		return false;
	if (!is_token_text(body) || !mac_is_ours(mac, secrets, kind, body))
		return false;
	*payload = body;
	return true;
}

/* Seconds since 1970, which fit until 2106. */
#define STAMP_BYTES 4

void
token_id(struct token_id *out)
{
	unsigned char bytes[16];
	struct buf text = {0};
	int64_t now = clock_unix();

	for (int i = 0; i < STAMP_BYTES; i++)
		bytes[i] = (unsigned char)(now >> (8 * (STAMP_BYTES - 1 - i)));
	sign_random(bytes + STAMP_BYTES, sizeof(bytes) - STAMP_BYTES);
	str_base64url(&text, bytes, sizeof(bytes));
	memcpy(out->text, text.data, sizeof(out->text));
	buf_release(&text);
}

bool
token_is_id(struct str s, const char *prefix)
{
	static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz"
				       "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789_-";
	size_t len = strlen(prefix);

	if (s.len != len + sizeof(struct token_id) - 1 ||
	    memcmp(s.text, prefix, len) != 0)
		return false;
	for (size_t i = len; i < s.len; i++) {
		if (!s.text[i] || !strchr(alphabet, s.text[i]))
			return false;
	}
	return true;
}

/* RFC 9562: version 4 is random, 8 is anybody's own rule. */
static void
uuid_write(struct uuid *out, unsigned char bytes[16], unsigned version)
{
	static const char digits[] = "0123456789abcdef";
	size_t n = 0;

	bytes[6] = (unsigned char)((version << 4) | (bytes[6] & 0x0fU));
	bytes[8] = (unsigned char)(0x80U | (bytes[8] & 0x3fU));
	for (size_t i = 0; i < 16; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			out->text[n++] = '-';
		out->text[n++] = digits[bytes[i] >> 4];
		out->text[n++] = digits[bytes[i] & 0x0f];
	}
	out->text[n] = '\0';
}

void
uuid_random(struct uuid *out)
{
	unsigned char bytes[16];

	sign_random(bytes, sizeof(bytes));
	uuid_write(out, bytes, 4);
}

void
uuid_derive(struct uuid *out, struct str secret, const char *label,
    struct str seed)
{
	struct str parts[] = {str_of(label), str_of(" "), seed};
	unsigned char mac[SIGN_SHA256_LEN];

	if (secret.len < SECRET_MIN)
		log_bug("cannot derive from a secret of %zu bytes", secret.len);
	sign_hmac_sha256(mac, secret, parts, sizeof(parts) / sizeof(parts[0]));
	uuid_write(out, mac, 8);
}

bool
uuid_parse(struct uuid *out, struct str text)
{
	if (text.len != sizeof(out->text) - 1)
		return false;
	for (size_t i = 0; i < text.len; i++) {
		char c = text.text[i];
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;
		bool digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');

		if (dash ? c != '-' : !digit)
			return false;
	}
	memcpy(out->text, text.text, text.len);
	out->text[text.len] = '\0';
	return true;
}
