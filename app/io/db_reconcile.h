/*
 * Comparing the books with the provider's: the database's part of a run, as
 * in db.h. For the command line and for the cashier's thread, which logs in
 * as DB_OPERATOR and DB_RECONCILE.
 */
#ifndef IO_DB_RECONCILE_H
#define IO_DB_RECONCILE_H

#include "io/db.h"

/* Where a run stands: what of the provider's is read next. */
struct reconcile_place {
	char list[12]; /* "sessions", "refunds", "events"; "" after the last */
	struct buf cursor; /* where its next page begins; empty: at its start */
};

/* The right to go on with a run, which each call keeps a while longer. */
struct reconcile_lease {
	int64_t run;
	char holder[33]; /* who has it: nobody else's text */
	int lease_ms;
	bool kept; /* after a call: false when somebody else has it now */
};

struct reconcile_start {
	const char *provider;
	const char *since; /* ISO 8601 with a zone, or NULL */
	int64_t
	    back_s; /* so far back; below 0: on from the last finished run */
	int64_t least_s; /* then at least so far */
	int64_t rest_s; /* not when one was finished within; 0: always */
	bool repair;
	bool restart; /* give up what was left */
	const char *by;
};

struct reconcile_begun {
	char outcome[12]; /* begun, resumed, busy, recent */
	int64_t since; /* seconds since 1970 */
	int64_t listed; /* things that were read before */
	int64_t busy_ms; /* until whoever is at it must have gone on */
	struct reconcile_place place;
};

struct reconcile_compared {
	int64_t differ;
	int64_t wait_ms; /* until no news that was not asked for is under way */
};

/* What the provider is asked for again; id 0: nothing, for now. */
struct reconcile_question {
	int64_t id;
	struct buf event_id, refund_ref, session_id, payment_ref, key,
	    payment_key, hold;
};

/* Things as the provider tells them, gathered for one call. */
struct reconcile_things {
	struct buf columns[10];
	size_t count;
};

void
reconcile_things_add(struct reconcile_things *things,
    const struct settlement *thing);
/* Empties it for others. */
void
reconcile_things_release(struct reconcile_things *things);
void
reconcile_question_release(struct reconcile_question *question);

/* Fills lease->run; begun->place.cursor is the caller's to release. */
enum db_status
db_reconcile_begin(struct db *db, const struct reconcile_start *start,
    struct reconcile_lease *lease, struct reconcile_begun *begun);
/*
 * Stores the page that was read at place, and moves place on to what is read
 * next: next, or the next list when that is empty.
 */
enum db_status
db_reconcile_page(struct db *db, struct reconcile_lease *lease,
    struct reconcile_things *things, struct str next,
    struct reconcile_place *place);
enum db_status
db_reconcile_compare(struct db *db, struct reconcile_lease *lease,
    int64_t grace_ms, struct reconcile_compared *compared);
/* A zeroed question, or one that was used before. */
enum db_status
db_reconcile_next(struct db *db, struct reconcile_lease *lease,
    int64_t grace_ms, struct reconcile_question *question);
/* outcome: of the news when it was applied, or NULL. */
enum db_status
db_reconcile_heard(struct db *db, struct reconcile_lease *lease,
    int64_t question, const char *outcome, struct reconcile_things *things);

struct reconcile_end {
	int64_t differ;
	int64_t repaired;
};

enum db_status
db_reconcile_finish(struct db *db, struct reconcile_lease *lease,
    struct reconcile_end *end);
enum db_status
db_reconcile_release(struct db *db, const struct reconcile_lease *lease);
/* run 0: the provider's last finished one; document empty when there is none. */
enum db_status
db_reconcile_show(struct db *db, const char *provider, int64_t run,
    struct buf *document);

#endif
