/*
 * The buyer's cookies. lp_buyer=buyer.<32 hex of the uuid>.<mac>
 */
#include "web/buyer.h"

#include <string.h>

#define KIND "buyer"
#define HEX_LEN 32
/* 400 days is the most that browsers keep a cookie. */
#define MAX_AGE "34560000"

/* Takes the next cookie off cookies (RFC 6265, section 5.4). */
static bool
cookie_next(struct str *cookies, struct str *name, struct str *value)
{
	struct str pair = *cookies;
	const char *end = pair.len ? memchr(pair.text, ';', pair.len) : NULL;
	const char *equals;

	if (pair.len == 0)
		return false;
	if (end)
		pair.len = (size_t)(end - pair.text);
	cookies->text += pair.len + (end ? 1 : 0);
	cookies->len -= pair.len + (end ? 1 : 0);
	while (pair.len && *pair.text == ' ') {
		pair.text++;
		pair.len--;
	}
	equals = pair.len ? memchr(pair.text, '=', pair.len) : NULL;
	*name = pair;
	*value = (struct str){NULL, 0};
	if (equals) {
		name->len = (size_t)(equals - pair.text);
		*value = (struct str){equals + 1, pair.len - name->len - 1};
	}
	return true;
}

static bool
is_hex32(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (!strchr("0123456789abcdef", s.text[i]) || !s.text[i])
			return false;
	}
	return s.len == HEX_LEN;
}

static bool
buyer_from_token(struct buyer *buyer, struct str token,
    const struct token_secrets *secrets)
{
	struct buf text = {0};
	struct str hex;
	bool ours;

	if (!token_verify(token, secrets, KIND, &hex) || !is_hex32(hex))
		return false;
	buf_printf(&text, "%.8s-%.4s-%.4s-%.4s-%.12s", hex.text, hex.text + 8,
	    hex.text + 12, hex.text + 16, hex.text + 20);
	ours = uuid_parse(&buyer->id, str_view(&text));
	buf_release(&text);
	return ours;
}

void
buyer_find(struct buyer *buyer, struct str cookies,
    const struct token_secrets *secrets)
{
	struct str visit = {NULL, 0};
	struct str name;
	struct str value;

	*buyer = (struct buyer){.known = true};
	while (cookie_next(&cookies, &name, &value)) {
		if (str_is(name, "lp_buyer") &&
		    buyer_from_token(buyer, value, secrets)) {
			buyer->is_signed = true;
			return;
		}
		if (str_is(name, "lp_visit") && is_hex32(value) && !visit.len)
			visit = value;
	}
	if (visit.len) {
		uuid_derive(&buyer->id, secrets->now, "visit", visit);
		return;
	}
	buyer->known = false;
	uuid_random(&buyer->id);
}

void
buyer_remember(struct exchange *x, const struct uuid *id)
{
	const struct conf *conf = x->web->conf;
	const struct token_secrets secrets = conf_secrets(conf);
	struct buf cookie = {0};
	char hex[HEX_LEN];
	size_t n = 0;

	if (x->buyer.is_signed && strcmp(x->buyer.id.text, id->text) == 0)
		return;
	for (const char *p = id->text; *p && n < sizeof(hex); p++) {
		if (*p != '-')
			hex[n++] = *p;
	}
	if (n < sizeof(hex))
		return;
	buf_str(&cookie, "lp_buyer=");
	token_sign(&cookie, &secrets, KIND, (struct str){hex, n});
	buf_str(&cookie,
	    "; Path=/; Max-Age=" MAX_AGE "; HttpOnly; SameSite=Lax");
	if (strncmp(conf->server.public_url, "https:", 6) == 0)
		buf_str(&cookie, "; Secure");
	exchange_header(x, "Set-Cookie", buf_text(&cookie));
	buf_release(&cookie);
}
