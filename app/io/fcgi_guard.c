/*
 * The records of a FastCGI request (specification 1.0, sections 3.3 and 3.4),
 * read with MSG_PEEK. Nothing is taken off the connection.
 */
#include "io/fcgi_guard.h"
#include "base/str.h"
#include "io/fcgi.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

enum {
	BEGIN_REQUEST = 1,
	PARAMS = 4,
	STDIN = 5,
	RESPONDER = 1,
	HEADER_BYTES = 8,
	BEGIN_BYTES = 8,
	SEEN_MAX = FCGI_HEAD_MAX + FCGI_BODY_AHEAD,
};

/* Steps from record to record. */
struct walk {
	struct str left;
	unsigned id; /* of all records; 0: the first one says */
	struct str content;
	size_t padding;
};

static unsigned
number_at(const char *p)
{
	return (unsigned)(unsigned char)p[0] << 8 | (unsigned char)p[1];
}

/* Takes a record of this type off what is left, once all of it is there. */
static enum fcgi_found
walk_next(struct walk *walk, int type)
{
	const char *p = walk->left.text;
	unsigned id;
	size_t n;

	if (walk->left.len < HEADER_BYTES)
		return FCGI_PART;
	id = number_at(p + 2);
	if (p[0] != 1 || p[1] != type || id == 0 ||
	    (walk->id && id != walk->id))
		return FCGI_BAD;
	walk->id = id;
	walk->content = (struct str){p + HEADER_BYTES, number_at(p + 4)};
	walk->padding = (unsigned char)p[6];
	n = HEADER_BYTES + walk->content.len + walk->padding;
	if (walk->left.len < n)
		return FCGI_PART;
	walk->left.text += n;
	walk->left.len -= n;
	/* libfcgi takes such padding for the next record. */
	if ((type == BEGIN_REQUEST || walk->content.len == 0) && walk->padding)
		return FCGI_BAD;
	return FCGI_WHOLE;
}

/* Takes a length of one or four bytes off the parameters. */
static bool
length_next(struct str *params, size_t *len)
{
	const unsigned char *p = (const unsigned char *)params->text;
	size_t n = params->len && p[0] >= 0x80 ? 4 : 1;

	if (params->len < n)
		return false;
	*len = p[0];
	if (n == 4)
		*len = (size_t)(p[0] & 0x7f) << 24 | (size_t)p[1] << 16 |
		    (size_t)p[2] << 8 | p[3];
	params->text += n;
	params->len -= n;
	return true;
}

static bool
params_add_up(struct str params)
{
	while (params.len) {
		size_t name;
		size_t value;

		if (!length_next(&params, &name) ||
		    !length_next(&params, &value) || name > params.len ||
		    value > params.len - name)
			return false;
		params.text += name + value;
		params.len -= name + value;
	}
	return true;
}

/* All parameters. Mostly they are one record, and looked at where it is. */
static enum fcgi_found
params_look(struct fcgi_guard *guard, struct walk *walk)
{
	struct str params = {NULL, 0};

	buf_reset(&guard->params);
	for (;;) {
		enum fcgi_found found = walk_next(walk, PARAMS);

		if (found != FCGI_WHOLE)
			return found;
		if (walk->content.len == 0)
			break;
		if (params.len == 0) {
			params = walk->content;
			continue;
		}
		if (guard->params.len == 0)
			buf_add(&guard->params, params.text, params.len);
		buf_add(&guard->params, walk->content.text, walk->content.len);
		params = str_view(&guard->params);
	}
	return params_add_up(params) ? FCGI_WHOLE : FCGI_BAD;
}

static enum fcgi_found
head_look(struct fcgi_guard *guard, struct walk *walk)
{
	enum fcgi_found found = walk_next(walk, BEGIN_REQUEST);

	if (found != FCGI_WHOLE)
		return found;
	if (walk->content.len != BEGIN_BYTES ||
	    number_at(walk->content.text) != RESPONDER)
		return FCGI_BAD;
	found = params_look(guard, walk);
	/* What has come of it is too long already, or was in the end. */
	if (guard->seen.len - walk->left.len > FCGI_HEAD_MAX ||
	    (found == FCGI_PART && guard->seen.len > FCGI_HEAD_MAX))
		return FCGI_BAD;
	return found;
}

static enum fcgi_found
body_look(struct walk *walk)
{
	size_t ahead = walk->left.len;
	enum fcgi_found found;

	do {
		found = walk_next(walk, STDIN);
	} while (found == FCGI_WHOLE && walk->content.len);
	if (found == FCGI_PART && ahead >= FCGI_BODY_AHEAD)
		return FCGI_LONG;
	/* libfcgi may read what follows, and throw it away. */
	if (found == FCGI_WHOLE && walk->left.len)
		return FCGI_BAD;
	return found;
}

enum fcgi_found
fcgi_guard_look(struct fcgi_guard *guard, int fd)
{
	struct walk walk = {.id = 0};
	enum fcgi_found found;
	ssize_t got;

	buf_reset(&guard->seen);
	buf_reserve(&guard->seen, SEEN_MAX);
	got = recv(fd, guard->seen.data, SEEN_MAX, MSG_PEEK | MSG_DONTWAIT);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return FCGI_NOTHING;
	if (got <= 0)
		return FCGI_BAD;
	guard->seen.len = (size_t)got;
	guard->seen.data[got] = '\0';
	walk.left = str_view(&guard->seen);
	found = head_look(guard, &walk);
	return found == FCGI_WHOLE ? body_look(&walk) : found;
}

void
fcgi_guard_release(struct fcgi_guard *guard)
{
	buf_release(&guard->seen);
	buf_release(&guard->params);
}
