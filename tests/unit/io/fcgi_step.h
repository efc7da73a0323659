/*
 * fcgi_front.c, step by step: the test is both the loop and the peers, and its
 * clock moves when it is told to. For one file of each program.
 */
#ifndef IO_FCGI_STEP_H
#define IO_FCGI_STEP_H

#include "base/clock.h"
#include "io/fcgi.h"
#include "io/fcgi_front.h"
#include "io/fcgi_peer.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>

static int64_t now_ms = 1000;
static struct front *front;
static struct fcgi *fcgi;
static struct buf request; /* a whole one, of a peer that keeps */

int64_t
clock_monotonic_ms(void)
{
	return now_ms;
}

static inline int
setup(void **state)
{
	const struct post post = {"POST", "/", "3", {"abc", 3}, 0, true};

	(void)state;
	front = front_open();
	fcgi = fcgi_new();
	add_request(&request, &post);
	return 0;
}

static inline int
teardown(void **state)
{
	(void)state;
	front_close(front);
	fcgi_free(fcgi);
	buf_release(&request);
	return 0;
}

/* Descriptors of this process. */
static inline int
count_fds(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(folder);
	while (readdir(folder))
		n++;
	(void)closedir(folder);
	return n;
}

/* A connection of this front; the peer's end. */
static inline int
join(struct front *to)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	front_adopt(to, fds[1]);
	return fds[0];
}

static inline void
send_part(int fd, size_t from, size_t n)
{
	const struct buf part = {request.data + from, n, n};

	send_all(fd, &part);
}

/* Begins what waits on fd, and reads its body. */
static inline void
begin(int fd)
{
	struct request got;

	assert_true(fcgi_begin(fcgi, fd, &got));
	assert_int_equal(fcgi_read_body(fcgi, &got, 3), FCGI_BODY_OK);
	assert_true(str_is(got.body, "abc"));
}

static inline bool
reply(void)
{
	struct reply answer = {.status = 200};
	bool kept;

	buf_str(&answer.body, "done");
	kept = fcgi_reply(fcgi, &answer);
	buf_release(&answer.body);
	return kept;
}

/* Answers all that is there, and that is as expected; how many. */
static inline size_t
serve(struct front *with)
{
	size_t served = 0;
	int fd;

	while (front_wait(with, &fd, 1, 0)) {
		begin(fd);
		if (reply())
			front_keep(with, fd);
		else
			front_drop(with, fd);
		served++;
	}
	return served;
}

static inline void
expect_answer(int fd)
{
	struct buf out = {0};

	assert_true(receive(fd, &out));
	assert_non_null(strstr(buf_text(&out), "\r\n\r\ndone"));
	buf_release(&out);
}

#endif
