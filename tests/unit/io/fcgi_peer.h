/*
 * A FastCGI client that can misbehave: builds requests byte by byte and reads
 * whatever comes back.
 */
#ifndef IO_FCGI_PEER_H
#define IO_FCGI_PEER_H

#include "base/buf.h"
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum record { BEGIN = 1, END = 3, PARAMS = 4, STDIN = 5, STDOUT = 6 };

static inline int
dial(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	assert_true(fd >= 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(connect(fd, (struct sockaddr *)&address,
			     sizeof(address)),
	    0);
	return fd;
}

static inline void
add_record(struct buf *b, enum record type, const void *bytes, size_t n)
{
	const char *p = bytes;

	buf_char(b, 1);
	buf_char(b, (char)type);
	buf_add(b, "\0\1", 2);
	buf_char(b, (char)(n >> 8));
	buf_char(b, (char)n);
	buf_add(b, "\0\0", 2);
	if (n)
		buf_add(b, p, n);
}

/* In records of at most step bytes. */
static inline void
add_stream(struct buf *b, enum record type, struct str bytes, size_t step)
{
	while (bytes.len) {
		size_t n = bytes.len < step ? bytes.len : step;

		add_record(b, type, bytes.text, n);
		bytes.text += n;
		bytes.len -= n;
	}
	add_record(b, type, NULL, 0);
}

static inline void
add_param(struct buf *b, const char *name, const char *value)
{
	size_t n = strlen(value);

	buf_char(b, (char)strlen(name));
	if (n < 128) {
		buf_char(b, (char)n);
	} else {
		buf_char(b, (char)(0x80 | n >> 24));
		buf_char(b, (char)(n >> 16));
		buf_char(b, (char)(n >> 8));
		buf_char(b, (char)n);
	}
	buf_str(b, name);
	buf_str(b, value);
}

static inline void
add_begin(struct buf *b)
{
	add_record(b, BEGIN, "\0\1\0\0\0\0\0\0", 8);
}

/* The same, of a peer that wants to keep the connection. */
static inline void
add_begin_kept(struct buf *b)
{
	add_record(b, BEGIN, "\0\1\1\0\0\0\0\0", 8);
}

struct post {
	const char *method;
	const char *path;
	const char *length; /* NULL: no such parameter */
	struct str body;
	size_t step; /* of STDIN records; 0: 65535 */
	bool keep;
};

static inline void
add_request(struct buf *b, const struct post *post)
{
	struct buf params = {0};

	if (post->keep)
		add_begin_kept(b);
	else
		add_begin(b);
	add_param(&params, "REQUEST_METHOD", post->method);
	add_param(&params, "REQUEST_URI", post->path);
	add_param(&params, "HTTP_EMPTY", "");
	if (post->length)
		add_param(&params, "CONTENT_LENGTH", post->length);
	add_stream(b, PARAMS, (struct str){params.data, params.len}, 65535);
	add_stream(b, STDIN, post->body, post->step ? post->step : 65535);
	buf_release(&params);
}

static inline void
send_all(int fd, const struct buf *b)
{
	size_t sent = 0;

	while (sent < b->len) {
		ssize_t n =
		    send(fd, b->data + sent, b->len - sent, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		sent += (size_t)n;
	}
}

/*
 * Reads to the end of one answer; appends the bytes of its STDOUT records.
 * False when the connection ended before.
 */
static inline bool
receive(int fd, struct buf *out)
{
	struct buf raw = {0};
	char bytes[8192];
	bool whole = false;
	size_t at = 0;
	ssize_t n;

	while (!whole && (n = read(fd, bytes, sizeof(bytes))) > 0) {
		buf_add(&raw, bytes, (size_t)n);
		while (at + 8 <= raw.len) {
			const unsigned char *head =
			    (const unsigned char *)raw.data + at;
			size_t len = (size_t)head[4] << 8 | head[5];

			if (at + 8 + len + head[6] > raw.len)
				break;
			if (head[1] == STDOUT)
				buf_add(out, raw.data + at + 8, len);
			if (head[1] == END)
				whole = true;
			at += 8 + len + head[6];
		}
	}
	/* Nothing comes after the end. */
	if (whole)
		assert_int_equal(at, raw.len);
	buf_release(&raw);
	return whole;
}

/* Whether the peer has closed the connection; waits for it to do so. */
static inline bool
is_closed(int fd)
{
	char byte;

	return read(fd, &byte, 1) <= 0;
}

#endif
