/*
 * A server of PostgreSQL's protocol (its manual, "Message Formats") that does
 * what a test wants and a real one seldom does: falls silent, hangs up in the
 * middle. It serves one connection after the other on a unix socket.
 */
#ifndef UNIT_PG_FAKE_H
#define UNIT_PG_FAKE_H

#include "base/buf.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#define FAKE_PID 4242

static struct fake {
	char folder[64];
	char url[128];
	int listener;
	pthread_t thread;
	_Atomic int connections;
	_Atomic int closed;
	/*
	 * A letter for each connection; after the last, all is well:
	 *   s  no answer to the first packet   q  none to the first question
	 */
	const char *connects;
	/*
	 * A letter for each call, whatever its connection:
	 *   r  a row                          R  a row; shuts down afterwards
	 *   a  a notification, then a row     A  a row, then a notification
	 *   s  no answer                      n  not even read
	 *   h  half a row, then silence       c  hangs up
	 *   u  a row, but hangs up before the end of the answer
	 *   f  says that it shuts down, and hangs up
	 *   t  takes too long: cancelled      l  a deadlock
	 *   e  a row, then refused at the end of the transaction
	 */
	const char *calls;
} fake;

static void
message_begin(struct buf *out, char type)
{
	buf_reset(out);
	buf_char(out, type);
	buf_add(out, "\0\0\0\0", 4);
}

static void
message_int16(struct buf *out, unsigned value)
{
	buf_char(out, (char)(value >> 8));
	buf_char(out, (char)value);
}

static void
message_int32(struct buf *out, uint32_t value)
{
	message_int16(out, value >> 16);
	message_int16(out, value & 0xffff);
}

static void
message_text(struct buf *out, const char *text)
{
	buf_add(out, text, strlen(text) + 1);
}

/* but: so many bytes at the end are kept back. */
static void
message_send(struct buf *out, int fd, size_t but)
{
	uint32_t len = (uint32_t)out->len - 1;

	for (size_t i = 0; i < 4; i++)
		out->data[1 + i] = (char)(len >> (24 - 8 * i));
	(void)send(fd, out->data, out->len - but, MSG_NOSIGNAL);
}

static void
fake_ready(struct buf *out, int fd)
{
	message_begin(out, 'Z');
	buf_char(out, 'I');
	message_send(out, fd, 0);
}

static void
fake_complete(struct buf *out, int fd, const char *tag)
{
	message_begin(out, 'C');
	message_text(out, tag);
	message_send(out, fd, 0);
}

static void
fake_error(struct buf *out, int fd, const char *state)
{
	message_begin(out, 'E');
	message_text(out, "SERROR");
	message_text(out, "VERROR");
	buf_char(out, 'C');
	message_text(out, state);
	message_text(out, "Mthe fake server says so");
	buf_char(out, '\0');
	message_send(out, fd, 0);
}

static void
fake_notify(struct buf *out, int fd)
{
	message_begin(out, 'A');
	message_int32(out, FAKE_PID);
	message_text(out, "some_channel");
	message_text(out, "");
	message_send(out, fd, 0);
}

/* One row of one integer column; but as above. */
static void
fake_row(struct buf *out, int fd, const char *value, size_t but)
{
	message_begin(out, 'T');
	message_int16(out, 1);
	message_text(out, "n");
	message_int32(out, 0);
	message_int16(out, 0);
	message_int32(out, 23); /* int4 */
	message_int16(out, 4);
	message_int32(out, 0xffffffff);
	message_int16(out, 0);
	message_send(out, fd, 0);
	message_begin(out, 'D');
	message_int16(out, 1);
	message_int32(out, (uint32_t)strlen(value));
	buf_str(out, value);
	message_send(out, fd, but);
}

static bool
fake_read(int fd, void *bytes, size_t n)
{
	char *at = bytes;

	while (n > 0) {
		ssize_t got = read(fd, at, n);

		if (got <= 0)
			return false;
		at += got;
		n -= (size_t)got;
	}
	return true;
}

/* Reads a message's length and body; a length that has no type before it is
 * the first packet's. */
static bool
fake_read_body(int fd)
{
	unsigned char head[4];
	char part[65536];
	size_t len, n;

	if (!fake_read(fd, head, 4))
		return false;
	len = (size_t)head[0] << 24 | (size_t)head[1] << 16 |
	    (size_t)head[2] << 8 | head[3];
	for (len -= 4; len > 0; len -= n) {
		n = len < sizeof(part) ? len : sizeof(part);
		if (!fake_read(fd, part, n))
			return false;
	}
	return true;
}

/* Reads on to the end of a question: its type; 0 when the client hung up. */
static char
fake_question(int fd)
{
	char type;

	do {
		if (!fake_read(fd, &type, 1) || !fake_read_body(fd) ||
		    type == 'X')
			return 0;
	} while (type != 'Q' && type != 'S');
	return type;
}

static void
fake_parameter(struct buf *out, int fd, const char *name, const char *value)
{
	message_begin(out, 'S');
	message_text(out, name);
	message_text(out, value);
	message_send(out, fd, 0);
}

static void
fake_welcome(struct buf *out, int fd)
{
	message_begin(out, 'R');
	message_int32(out, 0);
	message_send(out, fd, 0);
	fake_parameter(out, fd, "server_version", "15.0");
	fake_parameter(out, fd, "client_encoding", "UTF8");
	fake_parameter(out, fd, "default_transaction_read_only", "off");
	fake_parameter(out, fd, "in_hot_standby", "off");
	message_begin(out, 'K');
	message_int32(out, FAKE_PID);
	message_int32(out, 1);
	message_send(out, fd, 0);
	fake_ready(out, fd);
}

/* Until the client has had enough. */
static void
fake_be_silent(int fd)
{
	struct pollfd hangup = {.fd = fd, .events = 0};

	while (poll(&hangup, 1, -1) < 0 && errno == EINTR)
		;
}

/* Answers one call; false: hangs up. */
static bool
fake_call(struct buf *out, int fd, char act)
{
	if (act == 'c')
		return false;
	message_begin(out, '2');
	message_send(out, fd, 0);
	switch (act) {
	case 'h':
		fake_row(out, fd, "1", 1);
		break;
	case 'f':
		fake_error(out, fd, "57P01");
		return false;
	case 't':
		fake_error(out, fd, "57014");
		fake_ready(out, fd);
		return true;
	case 'l':
		fake_error(out, fd, "40P01");
		fake_ready(out, fd);
		return true;
	case 'e':
		fake_row(out, fd, "1", 0);
		fake_complete(out, fd, "SELECT 1");
		fake_error(out, fd, "23514");
		fake_ready(out, fd);
		return true;
	case 'a':
	case 'A':
	case 'r':
	case 'R':
	case 'u':
		if (act == 'a')
			fake_notify(out, fd);
		fake_row(out, fd, "1", 0);
		fake_complete(out, fd, "SELECT 1");
		if (act != 'u')
			fake_ready(out, fd);
		if (act == 'R')
			fake_error(out, fd, "57P01");
		if (act == 'A')
			fake_notify(out, fd);
		return act != 'R' && act != 'u';
	default:
		break;
	}
	fake_be_silent(fd);
	return false;
}

/* Questions of the session: who are you, and the settings. */
static void
fake_session(struct buf *out, int fd, int nr)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", FAKE_PID);
	if (nr == 0)
		fake_row(out, fd, pid, 0);
	fake_complete(out, fd, nr == 0 ? "SELECT 1" : "SET");
	fake_ready(out, fd);
}

static void
fake_serve(struct buf *out, int fd)
{
	char connect = *fake.connects;

	if (connect)
		fake.connects++;
	if (connect == 's')
		fake_be_silent(fd);
	if (connect == 's' || !fake_read_body(fd))
		return;
	fake_welcome(out, fd);
	for (int nr = 0;; nr++) {
		if (nr >= 2 && *fake.calls == 'n') {
			fake.calls++;
			fake_be_silent(fd);
			return;
		}
		if (fake_question(fd) == 0)
			return;
		if (connect == 'q') {
			fake_be_silent(fd);
			return;
		}
		if (nr < 2)
			fake_session(out, fd, nr);
		else if (!fake_call(out, fd, *fake.calls++))
			return;
	}
}

static void *
fake_run(void *unused)
{
	struct buf out = {0};
	int fd;

	while ((fd = accept(fake.listener, NULL, NULL)) >= 0) {
		fake.connections++;
		fake_serve(&out, fd);
		(void)close(fd);
		fake.closed++;
	}
	buf_release(&out);
	return unused;
}

static void
fake_start(const char *connects, const char *calls)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	memset(&fake, 0, sizeof(fake));
	fake.connects = connects;
	fake.calls = calls;
	snprintf(fake.folder, sizeof(fake.folder), "/tmp/pg_test.XXXXXX");
	assert_non_null(mkdtemp(fake.folder));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/.s.PGSQL.5432",
	    fake.folder);
	snprintf(fake.url, sizeof(fake.url),
	    "host=%s port=5432 dbname=fake gssencmode=disable", fake.folder);
	fake.listener = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_true(fake.listener >= 0);
	assert_int_equal(bind(fake.listener, (struct sockaddr *)&address,
			     sizeof(address)),
	    0);
	assert_int_equal(listen(fake.listener, 8), 0);
	assert_int_equal(pthread_create(&fake.thread, NULL, fake_run, NULL), 0);
}

static void
fake_stop(void)
{
	char path[sizeof(fake.folder) + 20];

	(void)shutdown(fake.listener, SHUT_RDWR);
	pthread_join(fake.thread, NULL);
	(void)close(fake.listener);
	snprintf(path, sizeof(path), "%s/.s.PGSQL.5432", fake.folder);
	(void)unlink(path);
	(void)rmdir(fake.folder);
}

#endif
