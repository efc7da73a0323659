/*
 * Requests in, answers out, over FastCGI 1.0. The only file that knows
 * libfcgi. One struct fcgi serves one request at a time, in one thread.
 */
#ifndef IO_FCGI_H
#define IO_FCGI_H

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>

/* Room for a FastCGI record's parameters as nginx sends them. */
#define FCGI_BODY_MAX (256 * 1024)

struct fcgi;

/* Views into memory that fcgi owns until fcgi_reply. */
struct request {
	struct str method;
	struct str path; /* decoded, without the query */
	struct str query; /* as sent */
	struct str content_type;
	struct str cookie;
	struct str id; /* REQUEST_ID of the front server, for the log */
	struct str body; /* filled by fcgi_read_body */
};

struct reply {
	int status;
	struct buf headers; /* "Name: value\r\n" each; no Status, no length */
	struct buf body;
};

enum fcgi_body {
	FCGI_BODY_OK,
	FCGI_BODY_TOO_LONG, /* 413 */
	FCGI_BODY_NO_LENGTH, /* 411: a body of unknown length */
	FCGI_BODY_BAD, /* 400: the length is no number, or the body is cut */
};

/*
 * Makes the listening unix socket, mode 0660, replacing a stale one; refuses
 * when somebody answers there. -1 with a line in the log.
 */
int
fcgi_listen(const char *path, int backlog);

/*
 * Serves the listening descriptor fd, which stays the caller's and becomes
 * non-blocking. Takes SIGALRM: a peer that stalls for 10 s is cut off.
 */
struct fcgi *
fcgi_open(int fd);
void
fcgi_close(struct fcgi *fcgi);
/*
 * Waits for the next request. False when fcgi_stop was called: requests that
 * were accepted are answered first, the rest stay in the backlog.
 */
bool
fcgi_accept(struct fcgi *fcgi, struct request *request);
/*
 * A header of the request by its CGI name ("HTTP_ORIGIN"); its text is NULL
 * when there is none. Valid until fcgi_reply.
 */
struct str
fcgi_param(const struct fcgi *fcgi, const char *name);
/* Reads the whole body, at most max bytes; never a part of it. */
enum fcgi_body
fcgi_read_body(struct fcgi *fcgi, struct request *request, size_t max);
/*
 * Sends the answer, in one write where it fits, and ends the request; a HEAD
 * gets no body. A client gone is harmless. SIGPIPE must be ignored.
 */
void
fcgi_reply(struct fcgi *fcgi, const struct reply *reply);
/* Async-signal-safe: makes fcgi_accept return false. */
void
fcgi_stop(void);

#endif
