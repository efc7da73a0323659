/*
 * One request after the other on connections that others wait for: reads it,
 * sends its answer, over FastCGI 1.0. The only part that knows libfcgi.
 * A struct fcgi has one request at a time. Several are used at once; each may
 * move from thread to thread if it is handed over properly.
 */
#ifndef IO_FCGI_H
#define IO_FCGI_H

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>

/* The longest body that a handler takes: see nginx's client_max_body_size. */
#define FCGI_BODY_MAX 262144
/* What of a body has arrived before its request is begun. */
#define FCGI_BODY_AHEAD 32768
/* How long a peer may take to send a request, its body, or to read an answer.
 * nginx has all of a request before it sends it, so this is a broken peer. */
#define FCGI_PEER_MS 10000

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
	size_t cut; /* so many of its bytes go missing, as in a bad network */
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

struct fcgi *
fcgi_new(void);
/* With a request open, that one gets no answer; its connection stays open. */
void
fcgi_free(struct fcgi *fcgi);
/*
 * Reads the head of the request that waits on fd, as front_wait has found it;
 * does not block. False: it cannot be read after all, and libfcgi has closed
 * fd: front_forget it.
 */
bool
fcgi_begin(struct fcgi *fcgi, int fd, struct request *request);
/*
 * A header of the request by its CGI name ("HTTP_ORIGIN"); its text is NULL
 * when there is none. Valid until fcgi_reply.
 */
struct str
fcgi_param(const struct fcgi *fcgi, const char *name);
/*
 * Reads the whole body, at most max bytes; never a part of it. One of up to
 * FCGI_BODY_AHEAD bytes has arrived; for a longer one this may block.
 */
enum fcgi_body
fcgi_read_body(struct fcgi *fcgi, struct request *request, size_t max);
/*
 * Sends the answer, in one write where it fits, and ends the request; a HEAD
 * gets no body. True when fd is good for another request and the peer wants
 * that: front_keep it. False: front_drop it; the peer may have gone, which is
 * harmless. SIGPIPE must be ignored. Blocks when the peer does not read.
 */
bool
fcgi_reply(struct fcgi *fcgi, const struct reply *reply);

#endif
