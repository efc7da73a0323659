/*
 * Headers, encoded words (RFC 2047) and quoted-printable (RFC 2045). Invariant:
 * no byte that is not printable ASCII is written, but CRLF after a whole line and
 * an address that has such letters itself (RFC 6532).
 */
#include "io/mail_message.h"

#include <string.h>
#include <time.h>

/* RFC 2045, 6.7: 76 at most, one of them for the = of a soft break. */
#define LINE_MAX_QP 75
/* RFC 2047, 2: an encoded word is 75 at most, 12 of them "=?utf-8?Q?" and
 * "?=". */
#define WORD_BYTES_MAX 63
/* A plain header line; RFC 5322, 2.1.1 allows 998. */
#define PLAIN_MAX 200

static bool
is_plain(unsigned char c)
{
	return c > ' ' && c < 0x7f;
}

bool
mail_is_address(struct str s)
{
	const char *at;

	if (s.len < 3 || s.len > MAIL_ADDRESS_MAX || !str_is_utf8(s))
		return false;
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.text[i];

		if (c <= ' ' || c == 0x7f || strchr("<>()[]\\,;:\"", c))
			return false;
	}
	at = memchr(s.text, '@', s.len);
	return at && at > s.text && at < s.text + s.len - 1 &&
	    !memchr(at + 1, '@', (size_t)(s.text + s.len - at) - 1);
}

/* Whether s can stand in a header: text without control characters. */
static bool
is_line(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		unsigned char c = (unsigned char)s.text[i];

		if (c < ' ' || c == 0x7f)
			return false;
	}
	return str_is_utf8(s);
}

static struct str
trimmed(struct str s)
{
	while (s.len && s.text[0] == ' ') {
		s.text++;
		s.len--;
	}
	while (s.len && s.text[s.len - 1] == ' ')
		s.len--;
	return s;
}

bool
mail_sender_read(struct mail_sender *sender, const char *text)
{
	struct str all = trimmed(str_of(text));
	const char *open = all.len ? memchr(all.text, '<', all.len) : NULL;

	*sender = (struct mail_sender){.address = all};
	if (open) {
		size_t before = (size_t)(open - all.text);

		if (all.text[all.len - 1] != '>')
			return false;
		sender->name = trimmed((struct str){all.text, before});
		sender->address = (struct str){open + 1, all.len - before - 2};
	}
	/* As people write it: "Shop" is the same as Shop. */
	if (sender->name.len > 1 && sender->name.text[0] == '"' &&
	    sender->name.text[sender->name.len - 1] == '"') {
		sender->name.text++;
		sender->name.len -= 2;
	}
	return is_line(sender->name) && mail_is_address(sender->address);
}

static bool
is_ascii(struct str s)
{
	for (size_t i = 0; i < s.len; i++) {
		if ((unsigned char)s.text[i] > 0x7e)
			return false;
	}
	return true;
}

/* Bytes of the character that starts here; s is UTF-8. */
static size_t
character_len(struct str s, size_t i)
{
	size_t n = 1;

	while (i + n < s.len && ((unsigned char)s.text[i + n] & 0xc0) == 0x80)
		n++;
	return n;
}

/* Letters and digits stand for themselves in any place of a header. */
static void
word_add(struct buf *word, unsigned char c)
{
	if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	    (c >= 'a' && c <= 'z'))
		buf_char(word, (char)c);
	else if (c == ' ')
		buf_char(word, '_');
	else
		buf_printf(word, "=%02X", c);
}

/* As many encoded words as it takes; no character is parted. */
static void
words_add(struct buf *out, struct str s)
{
	struct buf word = {0};
	struct buf next = {0};
	size_t n;

	for (size_t i = 0; i < s.len; i += n) {
		n = character_len(s, i);
		buf_reset(&next);
		for (size_t k = i; k < i + n; k++)
			word_add(&next, (unsigned char)s.text[k]);
		if (word.len + next.len > WORD_BYTES_MAX) {
			buf_printf(out, "=?utf-8?Q?%s?=\r\n ", buf_text(&word));
			buf_reset(&word);
		}
		buf_str(&word, buf_text(&next));
	}
	buf_printf(out, "=?utf-8?Q?%s?=", buf_text(&word));
	buf_release(&word);
	buf_release(&next);
}

/* Too long, too rich, or what would be read as an encoded word. */
static bool
needs_words(struct str s)
{
	for (size_t i = 0; i + 1 < s.len; i++) {
		if (s.text[i] == '=' && s.text[i + 1] == '?')
			return true;
	}
	return !is_ascii(s) || s.len > PLAIN_MAX;
}

static void
subject_add(struct buf *out, struct str subject)
{
	buf_str(out, "Subject: ");
	if (needs_words(subject))
		words_add(out, subject);
	else
		buf_add(out, subject.text, subject.len);
	buf_str(out, "\r\n");
}

static void
sender_add(struct buf *out, const struct mail_sender *from)
{
	struct str name = from->name;

	buf_str(out, "From: ");
	if (name.len && needs_words(name)) {
		words_add(out, name);
		buf_char(out, ' ');
	} else if (name.len) {
		buf_char(out, '"');
		for (size_t i = 0; i < name.len; i++) {
			if (strchr("\"\\", name.text[i]))
				buf_char(out, '\\');
			buf_char(out, name.text[i]);
		}
		buf_str(out, "\" ");
	}
	buf_printf(out, "<%.*s>\r\n", (int)from->address.len,
	    from->address.text);
}

/* RFC 5322, 3.3, whatever the locale. */
static void
date_add(struct buf *out, int64_t at)
{
	static const char days[][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri",
	    "Sat"};
	static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May",
	    "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	time_t seconds = (time_t)at;
	struct tm tm;

	gmtime_r(&seconds, &tm);
	buf_printf(out, "Date: %s, %02d %s %d %02d:%02d:%02d +0000\r\n",
	    days[tm.tm_wday], tm.tm_mday, months[tm.tm_mon], tm.tm_year + 1900,
	    tm.tm_hour, tm.tm_min, tm.tm_sec);
}

/* One line of text: what is not plain as =XX, soft breaks before it gets too
 * long, no blank at its end. */
static void
line_add(struct buf *out, struct str line)
{
	size_t column = 0;

	for (size_t i = 0; i < line.len; i++) {
		unsigned char c = (unsigned char)line.text[i];
		bool plain =
		    (is_plain(c) && c != '=') || (c == ' ' && i + 1 < line.len);
		size_t width = plain ? 1 : 3;

		if (column + width > LINE_MAX_QP) {
			buf_str(out, "=\r\n");
			column = 0;
		}
		if (plain)
			buf_char(out, (char)c);
		else
			buf_printf(out, "=%02X", c);
		column += width;
	}
	buf_str(out, "\r\n");
}

static void
text_add(struct buf *out, struct str text)
{
	while (text.len) {
		const char *end = memchr(text.text, '\n', text.len);
		size_t len = end ? (size_t)(end - text.text) : text.len;
		struct str line = {text.text, len};

		if (line.len && line.text[line.len - 1] == '\r')
			line.len--;
		line_add(out, line);
		len += end != NULL;
		text.text += len;
		text.len -= len;
	}
}

/* It becomes part of a Message-ID and a file's name. */
static bool
is_name(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len <= MAIL_NAME_MAX &&
	    strspn(name,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789_-") == len;
}

static const char *
message_check(const struct mail_sender *from,
    const struct mail_message *message)
{
	if (!is_line(from->name) || !mail_is_address(from->address))
		return "the sender is no mail address";
	if (!mail_is_address(message->to))
		return "the address is no mail address";
	if (!message->subject.len || !is_line(message->subject))
		return "the subject is not one line of text";
	if (!is_name(message->name))
		return "the mail has no name";
	return NULL;
}

const char *
mail_message_write(struct buf *out, const struct mail_sender *from,
    const struct mail_message *message)
{
	const char *why = message_check(from, message);
	struct str domain = from->address;
	size_t skip;

	if (why)
		return why;
	skip = (size_t)((const char *)memchr(domain.text, '@', domain.len) -
		   domain.text) +
	    1;
	sender_add(out, from);
	buf_printf(out, "To: <%.*s>\r\n", (int)message->to.len,
	    message->to.text);
	subject_add(out, message->subject);
	date_add(out, message->at);
	buf_printf(out, "Message-ID: <%s@%.*s>\r\n", message->name,
	    (int)(domain.len - skip), domain.text + skip);
	/* RFC 3834: no out-of-office note answers it. */
	buf_str(out,
	    "Auto-Submitted: auto-generated\r\n"
	    "MIME-Version: 1.0\r\n"
	    "Content-Type: text/plain; charset=utf-8\r\n"
	    "Content-Transfer-Encoding: quoted-printable\r\n"
	    "\r\n");
	text_add(out, message->text);
	return NULL;
}
