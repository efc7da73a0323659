/*
 * Reads HTTP answers. Strict: what no server of ours sends is refused, so that
 * a load test never takes rubbish for an answer.
 */
#include "reply.h"

#include <string.h>
#include <strings.h>

/* No answer of the shop has a longer head. */
#define HEAD_MAX ((size_t)64 * 1024)

static struct str
trim(struct str s)
{
	while (s.len && (*s.text == ' ' || *s.text == '\t')) {
		s.text++;
		s.len--;
	}
	while (s.len && strchr(" \t\r\n", s.text[s.len - 1]))
		s.len--;
	return s;
}

/* The next line of head after *at, without its end; false: no more. */
static bool
line_next(struct str head, size_t *at, struct str *line)
{
	const char *start = head.text + *at;
	const char *end;

	if (*at >= head.len)
		return false;
	end = memchr(start, '\n', head.len - *at);
	if (!end)
		return false;
	*line = (struct str){start, (size_t)(end - start)};
	*at += line->len + 1;
	return true;
}

/* The next header of that name after *at. */
static struct str
header_next(struct str head, size_t *at, const char *name)
{
	size_t n = strlen(name);
	struct str line;

	while (line_next(head, at, &line)) {
		if (line.len > n && line.text[n] == ':' &&
		    strncasecmp(line.text, name, n) == 0)
			return trim(
			    (struct str){line.text + n + 1, line.len - n - 1});
	}
	return (struct str){0};
}

struct str
reply_header(struct str head, const char *name)
{
	size_t at = 0;

	return header_next(head, &at, name);
}

struct str
reply_cookie(struct str head, const char *name)
{
	size_t n = strlen(name);
	size_t at = 0;
	struct str found;

	while ((found = header_next(head, &at, "Set-Cookie")).text) {
		const char *end = memchr(found.text, ';', found.len);

		if (found.len <= n || found.text[n] != '=' ||
		    memcmp(found.text, name, n) != 0)
			continue;
		if (end)
			found.len = (size_t)(end - found.text);
		return (struct str){found.text + n + 1, found.len - n - 1};
	}
	return (struct str){0};
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* The line that begins a chunk, at *at: its length. */
static enum reply_progress
chunk_head(const char *bytes, size_t len, size_t *at, size_t *size)
{
	const char *end = memchr(bytes + *at, '\n', len - *at);
	size_t digits = 0;

	*size = 0;
	while (*at + digits < len && digits < 7 &&
	    hex_digit(bytes[*at + digits]) >= 0) {
		*size = *size * 16 + (size_t)hex_digit(bytes[*at + digits]);
		digits++;
	}
	if (!end)
		return len - *at > 256 ? REPLY_BAD : REPLY_MORE;
	if (digits == 0)
		return REPLY_BAD;
	*at = (size_t)(end - bytes) + 1;
	return REPLY_WHOLE;
}

/*
 * Walks over the chunks that begin at from. move: puts them together there.
 * *end: behind the last one; *size: the bytes in them.
 */
static enum reply_progress
chunks_walk(char *bytes, size_t len, size_t from, bool move, size_t out[2])
{
	size_t at = from;
	size_t total = 0;
	size_t size;

	for (;;) {
		enum reply_progress progress =
		    chunk_head(bytes, len, &at, &size);

		if (progress != REPLY_WHOLE)
			return progress;
		if (len - at < size + 2)
			return REPLY_MORE;
		if (memcmp(bytes + at + size, "\r\n", 2) != 0)
			return REPLY_BAD;
		if (move)
			memmove(bytes + from + total, bytes + at, size);
		total += size;
		at += size + 2;
		if (size == 0)
			break;
	}
	out[0] = at;
	out[1] = total;
	return REPLY_WHOLE;
}

static enum reply_progress
body_chunked(struct reply *reply, char *bytes, size_t len, bool ended)
{
	size_t out[2] = {0, 0};
	enum reply_progress progress =
	    chunks_walk(bytes, len, reply->head.len, false, out);

	if (progress == REPLY_MORE && ended)
		return REPLY_BAD;
	if (progress != REPLY_WHOLE)
		return progress;
	(void)chunks_walk(bytes, len, reply->head.len, true, out);
	reply->body = (struct str){bytes + reply->head.len, out[1]};
	reply->size = out[0];
	return REPLY_WHOLE;
}

static enum reply_progress
body_counted(struct reply *reply, const char *bytes, size_t len, struct str n,
    size_t *need)
{
	int64_t size;

	if (!str_int(n, &size) || size < 0 || size > INT32_MAX)
		return REPLY_BAD;
	reply->size = reply->head.len + (size_t)size;
	*need = reply->size;
	if (len < reply->size)
		return REPLY_MORE;
	reply->body = (struct str){bytes + reply->head.len, (size_t)size};
	return REPLY_WHOLE;
}

/* The status line: "HTTP/1.1 200 OK". */
static bool
status_read(struct reply *reply, const char *bytes)
{
	if (memcmp(bytes, "HTTP/1.", 7) != 0 || bytes[8] != ' ')
		return false;
	reply->status = 0;
	for (int i = 9; i < 12; i++) {
		if (bytes[i] < '0' || bytes[i] > '9')
			return false;
		reply->status = reply->status * 10 + bytes[i] - '0';
	}
	reply->closes = bytes[7] == '0';
	return reply->status >= 100 && reply->status < 600;
}

static enum reply_progress
body_read(struct reply *reply, char *bytes, size_t len, bool ended,
    size_t *need)
{
	struct str found = reply_header(reply->head, "Connection");

	if (found.len == 5 && strncasecmp(found.text, "close", 5) == 0)
		reply->closes = true;
	found = reply_header(reply->head, "Content-Length");
	if (reply->status == 204 || reply->status == 304) {
		reply->size = reply->head.len;
		return REPLY_WHOLE;
	}
	if (found.text)
		return body_counted(reply, bytes, len, found, need);
	if (reply_header(reply->head, "Transfer-Encoding").text)
		return body_chunked(reply, bytes, len, ended);
	/* As long as the connection. */
	reply->closes = true;
	reply->size = len;
	reply->body =
	    (struct str){bytes + reply->head.len, len - reply->head.len};
	return ended ? REPLY_WHOLE : REPLY_MORE;
}

/* How long the head is, with the empty line; 0: its end is not there yet. */
static size_t
head_length(const char *bytes, size_t len)
{
	const char *at = bytes;
	const char *end;

	while ((end = memchr(at, '\n', len - (size_t)(at - bytes)))) {
		at = end + 1;
		if ((size_t)(at - bytes) + 2 <= len && at[0] == '\r' &&
		    at[1] == '\n')
			return (size_t)(at - bytes) + 2;
	}
	return 0;
}

enum reply_progress
reply_read(struct reply *reply, char *bytes, size_t len, bool ended,
    size_t *need)
{
	size_t head = head_length(bytes, len);
	enum reply_progress progress;

	*reply = (struct reply){0};
	*need = len + 1;
	if (!head)
		return ended || len > HEAD_MAX ? REPLY_BAD : REPLY_MORE;
	reply->head = (struct str){bytes, head};
	if (reply->head.len < 16 || !status_read(reply, bytes))
		return REPLY_BAD;
	progress = body_read(reply, bytes, len, ended, need);
	return progress == REPLY_MORE && ended ? REPLY_BAD : progress;
}
