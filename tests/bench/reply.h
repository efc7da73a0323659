/*
 * An HTTP/1.1 answer in a buffer: where its parts are and whether it is whole.
 * Pure; the parts are views of the caller's bytes.
 */
#ifndef BENCH_REPLY_H
#define BENCH_REPLY_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct reply {
	int status; /* 100 to 599 */
	struct str head; /* status line and headers, with the empty line */
	struct str body; /* without its chunks */
	size_t size; /* bytes that the answer took, as it was sent */
	bool closes; /* the connection ends with it */
};

enum reply_progress { REPLY_MORE, REPLY_WHOLE, REPLY_BAD };

/*
 * Reads the answer to a GET or POST at the start of len bytes. ended: nothing
 * will follow. A body in chunks is put together in place, and only when the
 * answer is whole. REPLY_MORE: *need is how many bytes there must be before it
 * is worth to look again.
 */
enum reply_progress
reply_read(struct reply *reply, char *bytes, size_t len, bool ended,
    size_t *need);
/* The first header of that name, without blanks; text is NULL: there is none. */
struct str
reply_header(struct str head, const char *name);
/* The value of a cookie that the answer sets; text is NULL: it does not. */
struct str
reply_cookie(struct str head, const char *name);

#endif
