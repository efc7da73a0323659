/*
 * Holds on their way to the database. One thread owns one connection and takes
 * all calls that wait, oldest first and at most batch_max, in one transaction;
 * while it is under way, the next ones gather. It never waits for more to
 * come. A lane belongs to one process; each function says who may call it.
 */
#ifndef IO_LANE_H
#define IO_LANE_H

#include "io/db.h"

struct gate;
struct lane;

/* One request for units on its way through the lane. */
struct lane_call {
	struct hold_request request; /* its texts stay valid until lane_done */
	int64_t until_ms; /* clock_monotonic_ms; not sent later than this */
	int64_t asked_ms; /* the lane's: just before it was sent; 0: never */
	enum db_status status; /* DB_OK: see answer; DB_DOWN: busy */
	struct answer answer; /* init and release are the caller's */
	struct lane_call *next; /* NULL, or the next one to put; the lane's */
};

struct lane_options {
	const struct conf *conf; /* outlives the lane */
	struct gate *gate; /* may be NULL */
	const char *process; /* names the connection to the server; copied */
	int wake_fd; /* an eventfd: see lane_done */
};

/* Starts the thread, which connects at once. Signals stay the caller's. */
struct lane *
lane_open(const struct lane_options *options);
/*
 * Puts calls, linked by next, in this order: those that are put together can
 * be taken together. They are the lane's until lane_done gives them back. Any
 * thread.
 */
void
lane_put(struct lane *lane, struct lane_call *calls);
/*
 * What has been answered since the last time, linked by next, or NULL; also,
 * as DB_DOWN, what has waited past its until_ms without being sent: so call it
 * now and then. wake_fd was written to when something was answered, and is not
 * again until this is called: read it first. Any thread.
 *
 * A call has one of these statuses:
 *   DB_OK       carried out, see answer
 *   DB_DOWN     the database is away or slow, or it was too late; a call that
 *               was sent when the connection went away is asked again under
 *               the same id until its until_ms, so only then may it have been
 *               carried out all the same
 *   DB_CONFLICT, DB_REFUSED, DB_BUG   asked alone, too, and not carried out
 */
struct lane_call *
lane_done(struct lane *lane);
/* Calls that were put and not yet given back. Any thread. */
size_t
lane_waiting(struct lane *lane);
/*
 * Carries out all that waits, deadlines hold, and ends the thread. Nothing
 * may be put from now on; lane_done gives the rest.
 */
void
lane_stop(struct lane *lane);
/* After lane_stop. Calls not fetched stay their owner's. */
void
lane_close(struct lane *lane);

#endif
