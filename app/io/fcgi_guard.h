/*
 * Looks at the head of a request before libfcgi does, for fcgi.c alone. The
 * library believes the lengths in it: some end the process (it is fixed for
 * others, CVE-2025-23016), and a record of another kind makes it write over
 * its stack.
 */
#ifndef IO_FCGI_GUARD_H
#define IO_FCGI_GUARD_H

#include "base/buf.h"

#include <stdbool.h>

/* nginx sends at most 32 KiB of headers and 2 KiB of its own. */
#define FCGI_HEAD_MAX 65535

struct fcgi_guard {
	struct buf head; /* what was looked at; it stays in the socket */
	struct buf params;
};

/*
 * Waits until all parameters have arrived on fd. True when they are one
 * BEGIN_REQUEST and PARAMS records that add up; false too when the peer hangs
 * up or a signal interrupts. As all of it waits in the socket, a peer that
 * writes it in more than some 250 pieces fills that up and waits, too.
 */
bool
fcgi_guard(struct fcgi_guard *guard, int fd);
void
fcgi_guard_release(struct fcgi_guard *guard);

#endif
