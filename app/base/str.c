/*
 * Text: views, checked numbers, encoders and decoders.
 */
#include "base/str.h"

#include <string.h>

struct str
str_of(const char *text)
{
	return (struct str){text, strlen(text)};
}

struct str
str_view(const struct buf *b)
{
	return (struct str){buf_text(b), b->len};
}

bool
str_is(struct str s, const char *text)
{
	return str_equal(s, str_of(text));
}

bool
str_equal(struct str a, struct str b)
{
	return a.len == b.len &&
	    (a.len == 0 || memcmp(a.text, b.text, a.len) == 0);
}

bool
str_has_nul(struct str s)
{
	return s.len && memchr(s.text, '\0', s.len);
}

/*
 * Length of the sequence that p starts, 0 when it is malformed. The second
 * byte's range rules out overlong forms, surrogates and > U+10FFFF (RFC 3629,
 * section 4).
 */
static size_t
utf8_len(const unsigned char *p, size_t room)
{
	unsigned char low = 0x80;
	unsigned char high = 0xbf;
	size_t n;

	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	n = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	if (n > room || p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	return n;
}

bool
str_is_utf8(struct str s)
{
	size_t i = 0;

	while (i < s.len) {
		size_t n =
		    utf8_len((const unsigned char *)s.text + i, s.len - i);

		if (n == 0)
			return false;
		i += n;
	}
	return true;
}

static bool
is_digits(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if (s.text[i] < '0' || s.text[i] > '9')
			return false;
	}
	return s.len > 0 && (s.len == 1 || s.text[0] != '0');
}

bool
str_int(struct str s, int64_t *out)
{
	bool minus = s.len && s.text[0] == '-';
	int64_t n = 0;

	if (minus) {
		s.text++;
		s.len--;
	}
	if (!is_digits(s))
		return false;
	/* Counts downwards: INT64_MIN has no positive counterpart. */
	for (size_t i = 0; i < s.len; i++) {
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_sub_overflow(n, s.text[i] - '0', &n))
			return false;
	}
	if (!minus && __builtin_sub_overflow(0, n, &n))
		return false;
	*out = n;
	return true;
}

bool
str_qty(struct str s, int64_t *out)
{
	if (!is_digits(s) || s.text[0] == '0')
		return false;
	if (!str_int(s, out))
		*out = INT64_MAX;
	return true;
}

static const char *
json_escape(unsigned char c)
{
	switch (c) {
	case '"':
		return "\\\"";
	case '\\':
		return "\\\\";
	case '\b':
		return "\\b";
	case '\f':
		return "\\f";
	case '\n':
		return "\\n";
	case '\r':
		return "\\r";
	case '\t':
		return "\\t";
	default:
		return NULL;
	}
}

void
str_json(struct buf *b, struct str s)
{
	buf_reserve(b, s.len + 2);
	buf_char(b, '"');
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.text[i];
		const char *escape = json_escape(c);

		if (escape)
			buf_str(b, escape);
		else if (c < 0x20)
			buf_printf(b, "\\u%04x", c);
		else
			buf_char(b, (char)c);
	}
	buf_char(b, '"');
}

static const char *
html_escape(char c)
{
	switch (c) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

void
str_html(struct buf *b, struct str s)
{
	buf_reserve(b, s.len);
	for (size_t i = 0; i < s.len; i++) {
		const char *escape = html_escape(s.text[i]);

		if (escape)
			buf_str(b, escape);
		else
			buf_char(b, s.text[i]);
	}
}

static bool
is_alnum(char c)
{
	/* Not isalnum(): it asks the locale. */
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	    (c >= 'a' && c <= 'z');
}

void
str_url(struct buf *b, struct str s)
{
	buf_reserve(b, s.len);
	for (size_t i = 0; i < s.len; i++) {
		char c = s.text[i];

		if (is_alnum(c) || (c && strchr("-._~", c)))
			buf_char(b, c);
		else
			buf_printf(b, "%%%02X", (unsigned char)c);
	}
}

void
str_hex(struct buf *b, const void *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *p = bytes;

	buf_reserve(b, 2 * n);
	for (size_t i = 0; i < n; i++) {
		buf_char(b, digits[p[i] >> 4]);
		buf_char(b, digits[p[i] & 0x0f]);
	}
}

/* The first 62 digits of both alphabets, and each one's last two. */
#define BASE64_62 \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"abcdefghijklmnopqrstuvwxyz" \
	"0123456789"

static const char base64[] = BASE64_62 "+/";
static const char base64url[] = BASE64_62 "-_";

static void
base64_add(struct buf *b, const char *alphabet, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	unsigned bits = 0;
	unsigned held = 0; /* bits not written yet */

	buf_reserve(b, (n + 2) / 3 * 4);
	for (size_t i = 0; i < n; i++) {
		bits = (bits << 8 | p[i]) & 0xffffU;
		for (held += 8; held >= 6; held -= 6)
			buf_char(b, alphabet[bits >> (held - 6) & 0x3f]);
	}
	if (held)
		buf_char(b, alphabet[bits << (6 - held) & 0x3f]);
}

void
str_base64(struct buf *b, const void *bytes, size_t n)
{
	base64_add(b, base64, bytes, n);
	for (; n % 3; n++)
		buf_char(b, '=');
}

void
str_base64url(struct buf *b, const void *bytes, size_t n)
{
	base64_add(b, base64url, bytes, n);
}

/* The digit's value, -1 when c is none. */
static int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static void
buf_cut(struct buf *b, size_t len)
{
	b->len = len;
	if (b->data)
		b->data[len] = '\0';
}

bool
str_unhex(struct buf *b, struct str s)
{
	size_t start = b->len;

	if (s.len % 2)
		return false;
	buf_reserve(b, s.len / 2);
	for (size_t i = 0; i < s.len; i += 2) {
		int high = hex_value(s.text[i]);
		int low = hex_value(s.text[i + 1]);

		if (high < 0 || low < 0) {
			buf_cut(b, start);
			return false;
		}
		buf_char(b, (char)(high * 16 + low));
	}
	return true;
}

static bool
base64_take(struct buf *b, const char *alphabet, struct str s)
{
	size_t start = b->len;
	unsigned bits = 0;
	unsigned held = 0;

	buf_reserve(b, s.len / 4 * 3 + 3);
	for (size_t i = 0; i < s.len; i++) {
		const char *at = s.text[i] ? strchr(alphabet, s.text[i]) : NULL;

		if (!at) {
			buf_cut(b, start);
			return false;
		}
		bits = (bits << 6 | (unsigned)(at - alphabet)) & 0xffffU;
		held += 6;
		if (held >= 8) {
			held -= 8;
			buf_char(b, (char)(unsigned char)(bits >> held));
		}
	}
	/* A lone last character, or bits that no encoder writes. */
	if (held == 6 || (bits & ((1U << held) - 1))) {
		buf_cut(b, start);
		return false;
	}
	return true;
}

bool
str_unbase64(struct buf *b, struct str s)
{
	size_t pad = 0;

	if (s.len % 4)
		return false;
	while (pad < 2 && pad < s.len && s.text[s.len - pad - 1] == '=')
		pad++;
	/* Without the filling a length says how much there must have been. */
	s.len -= pad;
	return base64_take(b, base64, s);
}

bool
str_unbase64url(struct buf *b, struct str s)
{
	return base64_take(b, base64url, s);
}
