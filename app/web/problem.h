/*
 * Problems: every way in which we say no. One table gives each its status,
 * title and what a person can do; it answers as RFC 9457 asks, as a page, or
 * with a redirect to /problems/<name>.
 */
#ifndef WEB_PROBLEM_H
#define WEB_PROBLEM_H

#include "web/exchange.h"

/* One refusal; what is not known stays zero. */
struct refusal {
	const char *name; /* of the table; another one is a bug */
	const char *detail; /* what was wrong here, in plain words */
	struct str members; /* a JSON object whose members are added */
	struct str item; /* the SKU to go back to */
	struct str hold; /* better: the hold whose page to go back to */
};

/* Fills the answer. */
void
problem_answer(struct exchange *x, const struct refusal *refusal);
/* The same with a detail only. */
void
problem_say(struct exchange *x, const char *name, const char *detail);
/*
 * Answers for a call that gave no result: busy when the database is away, else
 * (it will not have these values) malformed.
 */
void
problem_database(struct exchange *x, enum db_status status, struct str item);
/*
 * Answers for a hold that can be neither paid nor given up: ended (with the
 * hold's document), not-yours, no-such-hold.
 */
void
problem_hold(struct exchange *x, const char *outcome, struct str document);
/* Whether a refusal of that name is in the table. */
bool
problem_exists(struct str name);
/* GET /problems/<name>?item=<SKU> or ?hold=<id> */
void
problem_show(struct exchange *x, struct str name);

#endif
