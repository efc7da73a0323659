/*
 * What goes wrong with one call of the API. SQL decides it; here it is done.
 */
#ifndef SANDBOX_FAULT_H
#define SANDBOX_FAULT_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

enum fault_kind {
	FAULT_NONE,
	FAULT_SLOW, /* carried out later */
	FAULT_CONFLICT,
	FAULT_RATE,
	FAULT_ERROR,
	FAULT_ERROR_AFTER, /* carried out, and then an error */
	FAULT_UNAVAILABLE,
	FAULT_TIMEOUT, /* carried out, answered later */
	FAULT_LOST, /* carried out, and no whole answer */
};

/* Zero at the beginning of a request; its own through all of it. */
struct fault {
	enum fault_kind kind;
	bool decided;
	/* For the server: do not answer yet. unanswered: ask again then. */
	int64_t wait_ms;
	bool unanswered;
};

/* The kind by its name in SQL; an empty one is FAULT_NONE. */
enum fault_kind
fault_kind_of(const char *name);
/* Decides: this kind, with its milliseconds. */
void
fault_begin(struct fault *fault, enum fault_kind kind, int64_t ms);
/* How much of an answer of so many bytes goes missing. */
size_t
fault_cut(const struct fault *fault, size_t bytes);

#endif
