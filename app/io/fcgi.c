/*
 * Requests in, answers out, over libfcgi. Invariant: a request is open from
 * fcgi_begin until fcgi_reply, and until then nothing but that reads from its
 * connection or writes to it. libfcgi never sees a connection that is not
 * there, and never one of which the request is over.
 */
#include "io/fcgi.h"
#include "base/clock.h"
#include "base/log.h"
#include "io/fcgi_request.h"

#include <errno.h>
#include <fcgiapp.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct fcgi {
	FCGX_Request request;
	bool open; /* a request waits for its answer */
	bool ended; /* all of the request has been read */
	bool head; /* its answer has no body */
	struct str length; /* CONTENT_LENGTH */
	struct buf path;
	struct buf body;
};

/*
 * libfcgi installs handlers of its own, which stop its accept. Ours stay, and
 * so does an ignored SIGPIPE.
 */
static void
library_start(void)
{
	static const int signals[] = {SIGPIPE, SIGTERM, SIGUSR1};
	enum { COUNT = sizeof(signals) / sizeof(signals[0]) };
	struct sigaction ours[COUNT];
	int failed;

	for (size_t i = 0; i < COUNT; i++)
		(void)sigaction(signals[i], NULL, &ours[i]);
	failed = FCGX_Init();
	for (size_t i = 0; i < COUNT; i++)
		(void)sigaction(signals[i], &ours[i], NULL);
	if (failed)
		log_bug("cannot start libfcgi");
}

struct fcgi *
fcgi_new(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct fcgi *fcgi = calloc(1, sizeof(*fcgi));

	if (!fcgi)
		log_bug("out of memory");
	(void)pthread_once(&once, library_start);
	/* It gets its connections from us and cannot accept one itself. */
	(void)FCGX_InitRequest(&fcgi->request, -1, 0);
	return fcgi;
}

/* Forgets the request, and all memory that it took. */
static void
fcgi_clear(struct fcgi *fcgi)
{
	FCGX_Free(&fcgi->request, 0);
	fcgi->request.ipcFd = -1;
	fcgi->open = false;
	fcgi->ended = false;
	fcgi->head = false;
	fcgi->length = (struct str){NULL, 0};
	buf_release(&fcgi->path);
	buf_release(&fcgi->body);
}

void
fcgi_free(struct fcgi *fcgi)
{
	if (!fcgi)
		return;
	fcgi_clear(fcgi);
	free(fcgi);
}

struct str
fcgi_param(const struct fcgi *fcgi, const char *name)
{
	const char *value = NULL;

	if (fcgi->open)
		value = FCGX_GetParam(name, fcgi->request.envp);
	return value ? str_of(value) : (struct str){NULL, 0};
}

/* All of a request has been read. It may be open for long, many at a time, so
 * a buffer that is needed no more is given back. */
static void
input_close(struct fcgi *fcgi)
{
	fcgi->ended = true;
	FCGX_FreeStream(&fcgi->request.in);
}

/* No length, no body: then its end has come, too. Or some bytes of one have;
 * what to do about that is for fcgi_read_body. */
static void
input_look(struct fcgi *fcgi)
{
	FCGX_Stream *in = fcgi->request.in;
	int c = FCGX_GetChar(in);

	if (c != EOF)
		(void)FCGX_UnGetChar(c, in);
	else if (FCGX_GetError(in) == 0)
		input_close(fcgi);
}

/*
 * With a connection that it believes to have kept, libfcgi does not look for
 * another. Detached, it closes a bad one without waiting for its peer.
 */
bool
fcgi_begin(struct fcgi *fcgi, int fd, struct request *request)
{
	FCGX_Request *r = &fcgi->request;

	if (fcgi->open)
		log_bug("a request is begun while another is open");
	r->ipcFd = fd;
	r->keepConnection = 1;
	(void)FCGX_Detach(r);
	if (FCGX_Accept_r(r) != 0) {
		fcgi_clear(fcgi);
		return false;
	}
	/* Not used, not sent; what is left is to end with the answer. */
	(void)FCGX_FClose(r->err);
	FCGX_FreeStream(&r->err);
	fcgi->open = true;
	fcgi->length = fcgi_request_fill(request, r->envp, &fcgi->path);
	fcgi->head = str_is(request->method, "HEAD");
	if (fcgi->length.len == 0)
		input_look(fcgi);
	return true;
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

/*
 * Takes what has been read already, or what one more read brings. False at the
 * end of the body and when it is cut.
 */
static bool
body_more(struct buf *body, size_t n, FCGX_Stream *in)
{
	int c = FCGX_GetChar(in);
	size_t left;
	ptrdiff_t here;

	if (c == EOF)
		return false;
	body->data[body->len++] = (char)c;
	left = n - body->len;
	here = in->stop - in->rdNext;
	if (left > (size_t)here)
		left = (size_t)here;
	body->len += (size_t)FCGX_GetStr(body->data + body->len, (int)left, in);
	return true;
}

/* Reads exactly n bytes and then the end; whatever the record boundaries. */
static enum fcgi_body
body_read(struct fcgi *fcgi, size_t n)
{
	FCGX_Stream *in = fcgi->request.in;
	struct buf *body = &fcgi->body;
	int64_t until = 0;

	if (fcgi->ended)
		return n == 0 ? FCGI_BODY_OK : FCGI_BODY_BAD;
	buf_reserve(body, n);
	while (body->len < n) {
		if (until && clock_monotonic_ms() > until)
			return FCGI_BODY_BAD;
		if (!body_more(body, n, in))
			return FCGI_BODY_BAD;
		/* Each read has a time limit: this is for all of them. */
		if (!until && body->len < n)
			until = clock_monotonic_ms() + FCGI_PEER_MS;
	}
	body->data[body->len] = '\0';
	if (FCGX_GetChar(in) != EOF || FCGX_GetError(in) != 0)
		return FCGI_BODY_BAD;
	input_close(fcgi);
	return FCGI_BODY_OK;
}

enum fcgi_body
fcgi_read_body(struct fcgi *fcgi, struct request *request, size_t max)
{
	enum fcgi_body result;
	int64_t n = 0;

	buf_reset(&fcgi->body);
	request->body = (struct str){NULL, 0};
	if (fcgi->length.len && !length_parse(fcgi->length, &n))
		return FCGI_BODY_BAD;
	if (n > (int64_t)max)
		return FCGI_BODY_TOO_LONG;
	result = body_read(fcgi, (size_t)n);
	if (result != FCGI_BODY_OK)
		return fcgi->length.len ? result : FCGI_BODY_NO_LENGTH;
	request->body = (struct str){buf_text(&fcgi->body), fcgi->body.len};
	return FCGI_BODY_OK;
}

/*
 * Reads what nobody wanted, lest it is taken for the next request. True when
 * that was all. It has arrived, or the connection is not worth a wait.
 */
static bool
input_end(struct fcgi *fcgi)
{
	FCGX_Stream *in = fcgi->request.in;
	char bytes[4096];
	size_t read = 0;
	int got;

	if (fcgi->ended)
		return true;
	if (fcntl(fcgi->request.ipcFd, F_SETFL, O_NONBLOCK) < 0)
		return false;
	do {
		got = FCGX_GetStr(bytes, sizeof(bytes), in);
		read += (size_t)got;
	} while (got == sizeof(bytes) && read < FCGI_BODY_MAX);
	(void)fcntl(fcgi->request.ipcFd, F_SETFL, 0);
	return FCGX_HasSeenEOF(in) && FCGX_GetError(in) == 0;
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

/* A piece is what libfcgi's buffer takes; more of them have a time limit. */
static bool
reply_put(struct fcgi *fcgi, struct str bytes)
{
	enum { PIECE = 8192 };
	int64_t until = 0;

	while (bytes.len) {
		size_t n = bytes.len < PIECE ? bytes.len : PIECE;

		if (until && clock_monotonic_ms() > until)
			return false;
		if (FCGX_PutStr(bytes.text, (int)n, fcgi->request.out) < 0)
			return false;
		bytes.text += n;
		bytes.len -= n;
		if (!until && bytes.len)
			until = clock_monotonic_ms() + FCGI_PEER_MS;
	}
	return true;
}

static bool
reply_send(struct fcgi *fcgi, const struct reply *reply)
{
	char status[64];
	char length[64];
	struct str body = str_view(&reply->body);
	bool sent;

	snprintf(status, sizeof(status), "Status: %d %s\r\n", reply->status,
	    status_reason(reply->status));
	snprintf(length, sizeof(length), "Content-Length: %zu\r\n\r\n",
	    body.len);
	body.len -= reply->cut < body.len ? reply->cut : body.len;
	sent = reply_put(fcgi, str_of(status)) &&
	    reply_put(fcgi, str_view(&reply->headers)) &&
	    reply_put(fcgi, str_of(length)) &&
	    (fcgi->head || reply_put(fcgi, body));
	/* What libfcgi has still in its buffer shall not wait once more. */
	if (!sent)
		(void)shutdown(fcgi->request.ipcFd, SHUT_RDWR);
	return FCGX_FClose(fcgi->request.out) == 0 && sent;
}

bool
fcgi_reply(struct fcgi *fcgi, const struct reply *reply)
{
	bool keep;

	if (!fcgi->open)
		return false;
	/* Before the answer: with that, the next request may come. */
	keep = input_end(fcgi) && fcgi->request.keepConnection;
	keep = reply_send(fcgi, reply) && keep && reply->cut == 0;
	fcgi_clear(fcgi);
	return keep;
}
