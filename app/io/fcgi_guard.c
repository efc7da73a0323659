/*
 * The head of a FastCGI request (specification 1.0, sections 3.3 and 3.4),
 * read with MSG_PEEK. Nothing is taken off the connection.
 */
#include "io/fcgi_guard.h"

#include <stddef.h>
#include <sys/socket.h>

enum { BEGIN_REQUEST = 1, PARAMS = 4, HEADER_BYTES = 8, BEGIN_BYTES = 8 };

struct record {
	int type;
	unsigned id;
	size_t len;
	size_t padding;
};

/* Waits until n bytes can be seen. Mostly all has come with the first look. */
static bool
head_wait(struct buf *head, int fd, size_t n)
{
	if (n > FCGI_HEAD_MAX)
		return false;
	while (head->len < n) {
		ssize_t got = recv(fd, head->data + head->len,
		    FCGI_HEAD_MAX - head->len, MSG_PEEK);

		if (got <= 0)
			return false;
		head->len += (size_t)got;
		head->data[head->len] = '\0';
	}
	return true;
}

/* The record at a place of the head, once all of it is there. */
static bool
record_at(struct buf *head, int fd, size_t at, struct record *record)
{
	const unsigned char *p = (const unsigned char *)head->data + at;

	if (!head_wait(head, fd, at + HEADER_BYTES) || p[0] != 1)
		return false;
	record->type = p[1];
	record->id = (unsigned)p[2] << 8 | p[3];
	record->len = (size_t)p[4] << 8 | p[5];
	record->padding = p[6];
	return head_wait(head, fd,
	    at + HEADER_BYTES + record->len + record->padding);
}

/* Takes a length of one or four bytes off the parameters. */
static bool
length_next(const struct buf *params, size_t *at, size_t *len)
{
	const unsigned char *p = (const unsigned char *)params->data + *at;
	size_t left = params->len - *at;

	if (left == 0)
		return false;
	*len = p[0];
	*at += 1;
	if (p[0] < 0x80)
		return true;
	if (left < 4)
		return false;
	*len = (size_t)(p[0] & 0x7f) << 24 | (size_t)p[1] << 16 |
	    (size_t)p[2] << 8 | p[3];
	*at += 3;
	return true;
}

static bool
params_add_up(const struct buf *params)
{
	size_t at = 0;

	while (at < params->len) {
		size_t name;
		size_t value;

		if (!length_next(params, &at, &name) ||
		    !length_next(params, &at, &value) ||
		    name > params->len - at || value > params->len - at - name)
			return false;
		at += name + value;
	}
	return true;
}

bool
fcgi_guard(struct fcgi_guard *guard, int fd)
{
	struct buf *head = &guard->head;
	const int start = 0;
	struct record record;
	unsigned id;
	size_t at = 0;

	buf_reset(head);
	buf_reset(&guard->params);
	buf_reserve(head, FCGI_HEAD_MAX);
	/* Each look begins where the last one ended, and waits for more. */
	if (setsockopt(fd, SOL_SOCKET, SO_PEEK_OFF, &start, sizeof(start)) < 0)
		return false;
	if (!record_at(head, fd, 0, &record) || record.type != BEGIN_REQUEST ||
	    record.id == 0 || record.len != BEGIN_BYTES)
		return false;
	id = record.id;
	do {
		at += HEADER_BYTES + record.len + record.padding;
		if (!record_at(head, fd, at, &record) ||
		    record.type != PARAMS || record.id != id)
			return false;
		buf_add(&guard->params, head->data + at + HEADER_BYTES,
		    record.len);
	} while (record.len);
	return params_add_up(&guard->params);
}

void
fcgi_guard_release(struct fcgi_guard *guard)
{
	buf_release(&guard->head);
	buf_release(&guard->params);
}
