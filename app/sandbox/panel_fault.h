/*
 * What can go wrong, in a seller's words. Which target can have which kind is
 * what the table of faults in sql/sandbox/migrations says, too.
 */
#ifndef SANDBOX_PANEL_FAULT_H
#define SANDBOX_PANEL_FAULT_H

#include "base/buf.h"
#include "base/str.h"

#include <stdint.h>

/* nginx gives an answer up after 120 s, so none is later. */
#define FAULT_WAIT_MS_MAX 100000

enum fault_group { GROUP_CALLS, GROUP_WEBHOOKS, GROUP_MONEY };

/* What its number says, if it has one. */
enum fault_after {
	AFTER_NONE,
	AFTER_WAIT, /* milliseconds until a call is answered */
	AFTER_MS, /* until a webhook is sent */
	AFTER_DAYS, /* of the sandbox's clock */
};

struct fault_entry {
	const char *kind;
	const char *targets[6]; /* the first is the usual one; NULL ends them */
	const char *title;
	const char *what; /* happens */
	const char *look; /* at the shop */
	enum fault_group group;
	enum fault_after after;
	int64_t
	    usual; /* milliseconds or days; -1: longer than the shop waits */
	int percent; /* that is offered */
};

/* NULL when there is none of that kind. */
const struct fault_entry *
fault_entry_find(struct str kind);
/* "refunds"; the word itself when it is none of ours. */
struct str
fault_target_words(struct str target);
/* A fold for each fault of the group, with the form that switches it on.
 * timeout_ms: longer than the shop waits. */
void
fault_group_add(struct buf *out, enum fault_group group, int64_t timeout_ms);

#endif
