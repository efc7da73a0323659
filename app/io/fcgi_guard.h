/*
 * Looks at a request before libfcgi does, for the front alone. The library
 * believes the lengths in it: some end the process (it is fixed for others,
 * CVE-2025-23016), a record of another kind makes it write over its stack, and
 * padding in some places makes it lose its way.
 */
#ifndef IO_FCGI_GUARD_H
#define IO_FCGI_GUARD_H

#include "base/buf.h"

/* nginx sends at most 32 KiB of headers and 2 KiB of its own. */
#define FCGI_HEAD_MAX 65535

enum fcgi_found {
	FCGI_NOTHING, /* not a byte so far */
	FCGI_PART, /* of a request: more is to come */
	FCGI_WHOLE, /* one request, and nothing after it */
	FCGI_LONG, /* its head and FCGI_BODY_AHEAD: the rest comes later */
	FCGI_BAD, /* no request, or the peer has gone */
};

struct fcgi_guard {
	struct buf seen; /* what has arrived; it stays in the socket */
	struct buf params;
};

/*
 * Looks at what has arrived on fd, without waiting. As all of it stays in the
 * socket, a peer that writes it in more than some 250 pieces fills that up, and
 * its request is never whole.
 */
enum fcgi_found
fcgi_guard_look(struct fcgi_guard *guard, int fd);
void
fcgi_guard_release(struct fcgi_guard *guard);

#endif
