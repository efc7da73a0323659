/*
 * Requests in, answers out, over libfcgi. Invariant: a request is open from
 * fcgi_accept until fcgi_reply, and nothing but that uses the connection.
 * Connections are not kept: who is served next is decided by the backlog.
 */
#include "io/fcgi.h"
#include "base/clock.h"
#include "base/log.h"
#include "io/fcgi_guard.h"

#include <errno.h>
#include <fcgiapp.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/*
 * How long a peer may take to send a request, its body, or to read the answer.
 * nginx has all of a request before it connects, so this is a broken peer.
 */
#define PEER_SECONDS 10
#define ACCEPT_PAUSE_MS 100

struct fcgi {
	FCGX_Request request;
	int fd;
	bool open; /* a request waits for its answer */
	struct fcgi_guard guard;
	struct buf path;
	struct buf body;
	struct buf out;
};

/* Readable from fcgi_stop on, so that no wait misses it. */
static int stop_fd = -1;
static volatile sig_atomic_t stopped;

static void
on_deadline(int signo)
{
	(void)signo; /* its one effect is to interrupt read or write */
}

/*
 * libfcgi takes an interrupted read or write for the end of its peer. The
 * signal comes again each second, lest one falls between two calls.
 */
static void
deadline_set(int seconds)
{
	struct itimerval timer = {.it_value = {.tv_sec = seconds}};

	timer.it_interval.tv_sec = seconds ? 1 : 0;
	(void)setitimer(ITIMER_REAL, &timer, NULL);
}

/*
 * libfcgi installs handlers of its own, which stop its accept. Ours stay, and
 * so does an ignored SIGPIPE.
 */
static bool
library_start(FCGX_Request *request)
{
	static const int signals[] = {SIGPIPE, SIGTERM, SIGUSR1};
	enum { COUNT = sizeof(signals) / sizeof(signals[0]) };
	struct sigaction ours[COUNT];
	bool started;

	for (size_t i = 0; i < COUNT; i++)
		(void)sigaction(signals[i], NULL, &ours[i]);
	/* It gets its connections from us and cannot accept one itself. */
	started = FCGX_Init() == 0 && FCGX_InitRequest(request, -1, 0) == 0;
	for (size_t i = 0; i < COUNT; i++)
		(void)sigaction(signals[i], &ours[i], NULL);
	return started;
}

struct fcgi *
fcgi_open(int fd)
{
	struct fcgi *fcgi = calloc(1, sizeof(*fcgi));
	struct sigaction action = {.sa_handler = on_deadline};
	int flags = fcntl(fd, F_GETFL);

	if (!fcgi)
		log_bug("out of memory");
	if (stop_fd < 0)
		stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	/* Of several processes that wait, one gets the connection. */
	if (stop_fd < 0 || flags < 0 ||
	    fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
	    sigaction(SIGALRM, &action, NULL) < 0)
		log_bug("cannot prepare to serve: %s", strerror(errno));
	if (!library_start(&fcgi->request))
		log_bug("cannot start libfcgi");
	fcgi->fd = fd;
	return fcgi;
}

static void
fcgi_finish(struct fcgi *fcgi)
{
	if (!fcgi->open)
		return;
	deadline_set(PEER_SECONDS);
	FCGX_Finish_r(&fcgi->request);
	/* A peer that wants to keep the connection would keep the process. */
	FCGX_Free(&fcgi->request, 1);
	deadline_set(0);
	fcgi->open = false;
}

void
fcgi_close(struct fcgi *fcgi)
{
	if (!fcgi)
		return;
	fcgi_finish(fcgi);
	FCGX_Free(&fcgi->request, 1);
	fcgi_guard_release(&fcgi->guard);
	buf_release(&fcgi->path);
	buf_release(&fcgi->body);
	buf_release(&fcgi->out);
	free(fcgi);
}

void
fcgi_stop(void)
{
	const uint64_t one = 1;
	int saved = errno;

	stopped = 1;
	/* It can only fail when it is readable already. */
	if (stop_fd >= 0 && write(stop_fd, &one, sizeof(one)) < 0)
		stopped = 1;
	errno = saved;
}

struct str
fcgi_param(const struct fcgi *fcgi, const char *name)
{
	const char *value = NULL;

	if (fcgi->open)
		value = FCGX_GetParam(name, fcgi->request.envp);
	return value ? str_of(value) : (struct str){NULL, 0};
}

/* A malformed escape stays as it is: no route looks like that. */
static struct str
path_decode(struct buf *b, struct str text)
{
	buf_reset(b);
	for (size_t i = 0; i < text.len; i++) {
		struct str digits = {text.text + i + 1, 2};

		if (text.text[i] == '%' && text.len - i > 2 &&
		    str_unhex(b, digits))
			i += 2;
		else
			buf_char(b, text.text[i]);
	}
	return (struct str){buf_text(b), b->len};
}

static void
request_fill(struct fcgi *fcgi, struct request *request)
{
	struct str uri = fcgi_param(fcgi, "REQUEST_URI");
	const char *mark = uri.len ? memchr(uri.text, '?', uri.len) : NULL;
	struct str raw = uri;

	if (mark)
		raw.len = (size_t)(mark - uri.text);
	*request = (struct request){
	    .method = fcgi_param(fcgi, "REQUEST_METHOD"),
	    .path = fcgi_param(fcgi, "DOCUMENT_URI"),
	    .query = fcgi_param(fcgi, "QUERY_STRING"),
	    .content_type = fcgi_param(fcgi, "CONTENT_TYPE"),
	    .cookie = fcgi_param(fcgi, "HTTP_COOKIE"),
	    .id = fcgi_param(fcgi, "REQUEST_ID"),
	};
	if (request->path.len == 0)
		request->path = path_decode(&fcgi->path, raw);
	if (!request->query.text && mark)
		request->query = (struct str){mark + 1, uri.len - raw.len - 1};
}

/* Waits for a connection: -1 when there is none after all. */
static int
fcgi_wait(const struct fcgi *fcgi)
{
	struct pollfd fds[] = {{fcgi->fd, POLLIN, 0}, {stop_fd, POLLIN, 0}};
	int fd;

	if (poll(fds, 2, -1) <= 0 || !fds[0].revents)
		return -1;
	fd = accept(fcgi->fd, NULL, NULL);
	if (fd >= 0)
		return fd;
	/* Another process was faster, or the peer went away. */
	if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
		log_error("could not accept a connection: %s", strerror(errno));
		clock_sleep_ms(ACCEPT_PAUSE_MS);
	}
	return -1;
}

/*
 * Has libfcgi read the request on connection fd; true when there is one. With
 * a connection that it believes to have kept, it does not look for another.
 */
static bool
fcgi_begin(struct fcgi *fcgi, int fd)
{
	if (!fcgi_guard(&fcgi->guard, fd)) {
		(void)close(fd);
		return false;
	}
	fcgi->request.ipcFd = fd;
	fcgi->request.keepConnection = 1;
	fcgi->open = FCGX_Accept_r(&fcgi->request) == 0;
	if (!fcgi->open)
		FCGX_Free(&fcgi->request, 1);
	return fcgi->open;
}

bool
fcgi_accept(struct fcgi *fcgi, struct request *request)
{
	fcgi_finish(fcgi);
	while (!stopped) {
		int fd = fcgi_wait(fcgi);
		bool begun;

		if (fd < 0)
			continue;
		deadline_set(PEER_SECONDS);
		begun = fcgi_begin(fcgi, fd);
		deadline_set(0);
		if (begun) {
			request_fill(fcgi, request);
			return true;
		}
	}
	return false;
}

/* HTTP lets a length have leading zeros (RFC 9110, section 8.6). */
static bool
length_parse(struct str s, int64_t *out)
{
	while (s.len > 1 && s.text[0] == '0') {
		s.text++;
		s.len--;
	}
	if (str_is(s, "0")) {
		*out = 0;
		return true;
	}
	return str_qty(s, out);
}

/* Reads exactly n bytes and then the end; whatever the record boundaries. */
static enum fcgi_body
body_read(struct fcgi *fcgi, size_t n)
{
	FCGX_Stream *in = fcgi->request.in;
	struct buf *body = &fcgi->body;

	buf_reserve(body, n);
	while (body->len < n) {
		int got = FCGX_GetStr(body->data + body->len,
		    (int)(n - body->len), in);

		if (got <= 0)
			return FCGI_BODY_BAD;
		body->len += (size_t)got;
	}
	if (body->data)
		body->data[body->len] = '\0';
	if (FCGX_GetChar(in) != EOF || FCGX_GetError(in) != 0)
		return FCGI_BODY_BAD;
	return FCGI_BODY_OK;
}

enum fcgi_body
fcgi_read_body(struct fcgi *fcgi, struct request *request, size_t max)
{
	struct str length = fcgi_param(fcgi, "CONTENT_LENGTH");
	enum fcgi_body result;
	int64_t n = 0;

	buf_reset(&fcgi->body);
	request->body = (struct str){NULL, 0};
	if (length.len && !length_parse(length, &n))
		return FCGI_BODY_BAD;
	if (n > (int64_t)max)
		return FCGI_BODY_TOO_LONG;
	deadline_set(PEER_SECONDS);
	result = body_read(fcgi, (size_t)n);
	deadline_set(0);
	if (result != FCGI_BODY_OK)
		return length.len ? result : FCGI_BODY_NO_LENGTH;
	request->body = (struct str){buf_text(&fcgi->body), fcgi->body.len};
	return FCGI_BODY_OK;
}

static const char *
status_reason(int status)
{
	static const struct {
		int status;
		const char *reason;
	} reasons[] = {
	    {200, "OK"},
	    {201, "Created"},
	    {202, "Accepted"},
	    {303, "See Other"},
	    {400, "Bad Request"},
	    {401, "Unauthorized"},
	    {403, "Forbidden"},
	    {404, "Not Found"},
	    {405, "Method Not Allowed"},
	    {409, "Conflict"},
	    {410, "Gone"},
	    {411, "Length Required"},
	    {413, "Content Too Large"},
	    {415, "Unsupported Media Type"},
	    {422, "Unprocessable Content"},
	    {429, "Too Many Requests"},
	    {500, "Internal Server Error"},
	    {503, "Service Unavailable"},
	};

	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		if (reasons[i].status == status)
			return reasons[i].reason;
	}
	return "Unnamed";
}

static void
fcgi_put(struct fcgi *fcgi, struct str bytes)
{
	/* An error shows again when the stream is closed, and ends there. */
	if (bytes.len)
		(void)FCGX_PutStr(bytes.text, (int)bytes.len,
		    fcgi->request.out);
}

void
fcgi_reply(struct fcgi *fcgi, const struct reply *reply)
{
	struct buf *out = &fcgi->out;

	if (!fcgi->open)
		return;
	buf_reset(out);
	buf_printf(out, "Status: %d %s\r\n", reply->status,
	    status_reason(reply->status));
	buf_add(out, buf_text(&reply->headers), reply->headers.len);
	buf_printf(out, "Content-Length: %zu\r\n\r\n", reply->body.len);
	deadline_set(PEER_SECONDS);
	fcgi_put(fcgi, (struct str){buf_text(out), out->len});
	if (!str_is(fcgi_param(fcgi, "REQUEST_METHOD"), "HEAD"))
		fcgi_put(fcgi,
		    (struct str){buf_text(&reply->body), reply->body.len});
	fcgi_finish(fcgi);
}
