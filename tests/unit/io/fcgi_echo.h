/*
 * A process that serves a socket with fcgi.c and fcgi_front.c, and answers
 * with what it got. Its pid must stay the same whatever is sent to it.
 */
#ifndef IO_FCGI_ECHO_H
#define IO_FCGI_ECHO_H

#include "io/fcgi.h"
#include "io/fcgi_front.h"
#include "io/fcgi_peer.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#define BODY_MAX_BYTES 200000

static char folder[64];
static char socket_path[96];
static int listener;
static pid_t server;

/* The serving child ---------------------------------------------------- */

static inline void
on_term(int signo)
{
	(void)signo;
	front_stop();
}

static inline void
add_field(struct buf *b, const char *name, struct str value)
{
	if (!value.text)
		value = str_of("(none)");
	buf_printf(b, "%s=%.*s;", name, (int)value.len, value.text);
}

static inline bool
serve_one(struct fcgi *fcgi, struct request *request, struct reply *reply)
{
	static const char *const names[] = {"ok", "too-long", "no-length",
	    "bad"};
	enum fcgi_body got = FCGI_BODY_OK;

	buf_reset(&reply->headers);
	buf_reset(&reply->body);
	reply->status = 200;
	buf_str(&reply->headers, "Content-Type: text/plain\r\n");
	/* /unread has a body that nobody reads. */
	if (str_is(request->method, "POST") &&
	    !str_is(request->path, "/unread"))
		got = fcgi_read_body(fcgi, request, BODY_MAX_BYTES);
	if (str_is(request->path, "/echo")) {
		buf_add(&reply->body, request->body.text, request->body.len);
	} else if (str_is(request->path, "/large")) {
		for (int i = 0; i < 100000; i++)
			buf_str(&reply->body, "0123456789");
	} else if (str_is(request->path, "/cut")) {
		buf_str(&reply->body, "0123456789");
		reply->cut = 4;
	} else {
		buf_printf(&reply->body, "%s %zu;", names[got],
		    request->body.len);
		add_field(&reply->body, "path", request->path);
		add_field(&reply->body, "query", request->query);
		add_field(&reply->body, "none", fcgi_param(fcgi, "HTTP_NONE"));
		add_field(&reply->body, "empty",
		    fcgi_param(fcgi, "HTTP_EMPTY"));
	}
	return fcgi_reply(fcgi, reply);
}

/* False: nothing has come within ms. */
static inline bool
serve_next(struct front *front, struct fcgi *fcgi, int ms)
{
	struct reply reply = {0};
	struct request request;
	int fd;

	if (!front_wait(front, &fd, 1, ms))
		return false;
	if (!fcgi_begin(fcgi, fd, &request))
		front_forget(front, fd);
	else if (serve_one(fcgi, &request, &reply))
		front_keep(front, fd);
	else
		front_drop(front, fd);
	buf_release(&reply.headers);
	buf_release(&reply.body);
	return true;
}

_Noreturn static inline void
serve(void)
{
	struct sigaction term = {.sa_handler = on_term, .sa_flags = SA_RESTART};
	struct front *front = front_open();
	struct fcgi *fcgi = fcgi_new();

	(void)sigaction(SIGTERM, &term, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	front_listen(front, listener);
	while (!front_stopped())
		(void)serve_next(front, fcgi, -1);
	front_unlisten(front, listener);
	while (serve_next(front, fcgi, 0))
		continue;
	fcgi_free(fcgi);
	front_close(front);
	exit(7); /* the leak check, if any, changes that */
}

static inline int
setup(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/fcgi-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	snprintf(socket_path, sizeof(socket_path), "%s/s", folder);
	listener = fcgi_listen(socket_path, 64);
	assert_true(listener >= 0);
	server = fork();
	assert_true(server >= 0);
	if (server == 0)
		serve();
	return 0;
}

static inline int
teardown(void **state)
{
	int status = 0;

	(void)state;
	assert_int_equal(kill(server, SIGTERM), 0);
	assert_int_equal(waitpid(server, &status, 0), server);
	/* Nothing has ended it before. */
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	(void)close(listener);
	(void)unlink(socket_path);
	(void)rmdir(folder);
	return 0;
}

/* The client ------------------------------------------------------------- */

/* The body of the answer in out; its length. */
static inline size_t
ask(const struct post *post, struct buf *out)
{
	struct buf request = {0};
	struct buf answer = {0};
	const char *body;
	int fd = dial(socket_path);

	add_request(&request, post);
	send_all(fd, &request);
	(void)receive(fd, &answer);
	(void)close(fd);
	buf_reset(out);
	body = answer.len ? strstr(answer.data, "\r\n\r\n") : NULL;
	if (body)
		buf_add(out, body + 4,
		    answer.len - (size_t)(body + 4 - answer.data));
	buf_release(&request);
	buf_release(&answer);
	return out->len;
}

static inline void
expect_start(const struct post *post, const char *start)
{
	struct buf out = {0};

	(void)ask(post, &out);
	if (strncmp(buf_text(&out), start, strlen(start)) != 0)
		fail_msg("got %.80s, not %s", buf_text(&out), start);
	buf_release(&out);
}

static inline void
expect_alive(void)
{
	const struct post post = {.method = "GET", .path = "/a%20b?c=%20"};

	expect_start(&post, "ok 0;path=/a b;query=c=%20;none=(none);empty=;");
	assert_int_equal(waitpid(server, NULL, WNOHANG), 0);
}

#endif
