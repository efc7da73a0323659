/*
 * A whole on-sale: a crowd of buyers, each a small machine that behaves like
 * the shop's pages in a browser and like the person in front of it. What a
 * buyer will do is drawn from the seed, so that a run can be repeated.
 *
 *   drill.c         options, the loop, the lines of progress
 *   drill_buyer.c   a buyer until there is a hold: page, stock, Buy
 *   drill_holder.c  with a hold: pay, leave, give up, pay late
 *   drill_wire.c    one buyer's connection, cookies, repeats
 *   drill_count.c   what came of it, as a file of numbers
 *   drill_report.c  those numbers and the books: the table and the verdict
 *
 * One thread. Times are microseconds of client_now_us.
 */
#ifndef BENCH_DRILL_H
#define BENCH_DRILL_H

#include "base/buf.h"
#include "base/str.h"
#include "client.h"
#include "hist.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define MS ((int64_t)1000)
#define SECOND (1000 * MS)

/* As the command line says them, name=value. */
struct drill_options {
	int64_t port; /* the shop's, on loopback */
	int64_t pay_port; /* the sandbox provider's */
	struct str item; /* its SKU; letters, digits and hyphens */
	int64_t buyers;
	int64_t units;
	int64_t seconds; /* within which those come who are not early */
	int64_t early; /* percent of the buyers */
	int64_t lead; /* seconds over which the early ones come */
	int64_t hold; /* seconds that a hold lasts */
	int64_t opens_ms; /* since 1970 */
	int64_t seed;
	int64_t connections; /* open at once at most */
	struct str out; /* the file of numbers to write */
	struct str holds; /* the file with one line for each hold to write */
};

/* What a buyer does with a hold. */
enum plan {
	PLAN_PAY,
	PLAN_LEAVE, /* goes away without a word */
	PLAN_DROP, /* gives it up */
	PLAN_LATE, /* the bank carries the payment out after the hold's end */
	PLAN_EDGE, /* presses Pay within a second of the hold's end */
	PLANS,
};

/* How it ended for a buyer. */
enum end {
	END_NONE,
	END_AWAY, /* was told that none is left, and went away */
	END_PAID,
	END_RETAKEN, /* paid late; one was free and taken again */
	END_REFUNDED, /* paid late; the money came back */
	END_EXPIRED, /* left; the unit went back */
	END_DROPPED,
	END_UNPAID, /* wanted to pay; the hold was over first, nothing charged */
	/* Broken promises. */
	END_UNANSWERED,
	END_WRONG, /* an answer that must not be */
	ENDS,
};

struct tally {
	uint64_t statuses[600]; /* [0]: no answer */
	uint64_t failures[CLIENT_GARBLED + 1]; /* why there was none */
	uint64_t ends[ENDS];
	uint64_t pages; /* loaded */
	uint64_t asked; /* buyers who have pressed Buy */
	uint64_t presses; /* each with a key of its own */
	uint64_t waiting; /* presses without an answer yet */
	uint64_t granted;
	uint64_t refused; /* presses */
	uint64_t paid;
	uint64_t charged; /* by what the pay page said */
	uint64_t retries; /* requests sent again, as after a lost answer */
	uint64_t hangups; /* buyers who did not wait for the answer */
	uint64_t repeats; /* asked again under a key that had its answer */
	uint64_t differ; /* of those: another hold */
	uint64_t lines; /* what was wrong, told on standard error */
	struct hist page;
	struct hist look;
	struct hist grant; /* from the press to the hold, with all retries */
	struct hist refusal;
	struct hist order;
	struct hist pay; /* the provider's page */
};

struct drill;

struct buyer {
	struct drill *drill;
	struct alarm alarm; /* of the next step; not set during a call */
	void (*step)(struct buyer *buyer);
	uint64_t dice;
	uint32_t number;
	/* Drawn at the beginning. */
	enum plan plan;
	bool eager; /* presses without waiting for what the page says */
	bool bare; /* presses without ever having loaded the page */
	bool hangs_up; /* does not wait for the first answer */
	bool repeats; /* asks again under the same key */
	int64_t patience_us; /* from the first press or look on */

	/* The wire's. */
	struct client_conn *conn; /* NULL: none is open */
	struct client_call call;
	struct buf request; /* the call's bytes, kept to send them again */
	void (*then)(struct buyer *buyer);
	struct buyer *next; /* in the line for a connection */
	bool queued;
	bool sending;
	bool stubborn; /* asks until the drill ends */
	int tries; /* of this request so far */
	int64_t port;
	int64_t due_us; /* when what is done now was meant to be done */
	int64_t sent_us; /* when it was done */
	char visit[40]; /* cookies; "": none */
	char token[128];

	/* The sale. */
	enum end end;
	int presses;
	int64_t zero_us; /* its own countdown's end; 0: none yet */
	int64_t gone_us; /* goes away then */
	int64_t pressed_us;

	/* The hold, as this side knows it. */
	char id[48]; /* "": none */
	char pay_path[112];
	bool dropping;
	bool charged;
	int asks;
	int64_t granted_us;
	int64_t surely_us; /* the hold lives until then for sure */
	int64_t over_us; /* and is over then for sure */
	int64_t dropped_us; /* when giving it up was sent; 0: never */
	int64_t paid_us; /* when that was known; 0: never */
};

struct drill {
	struct drill_options options;
	struct client *client;
	struct buyer *buyers;
	struct buyer *
	    *holders; /* those with a hold, in the order they got it */
	size_t held;
	struct tally tally;
	int64_t opening_us;
	int64_t deadline_us; /* who has no answer by then has none */
	int64_t left; /* buyers that have not ended */
	int64_t open; /* connections */
	struct buyer *first; /* in the line for one */
	struct buyer *last;
	struct alarm progress;
};

/* --- drill_buyer.c */

/* A number from low to high, from the buyer's own dice. */
int64_t
buyer_draw(struct buyer *buyer, int64_t low, int64_t high);
bool
buyer_chance(struct buyer *buyer, int percent);
/* Runs step in so many microseconds. */
void
buyer_later(struct buyer *buyer, int64_t us, void (*step)(struct buyer *buyer));
void
buyer_end(struct buyer *buyer, enum end end);
/* A line on standard error about what this buyer met. */
void
buyer_say(struct buyer *buyer, const char *what);
/* Says what was wrong, and ends. */
void
buyer_wrong(struct buyer *buyer, const char *what);
/* Draws what the buyer will do, and sets the alarm of the arrival. */
void
buyer_start(struct buyer *buyer, struct drill *drill, uint32_t number);

/* --- drill_holder.c */

/* The press was answered by a hold; the answer is in buyer->call. */
void
holder_start(struct buyer *buyer);

/* --- drill_wire.c */

struct wire_post {
	const char *path;
	const char *type;
	const char *body;
	const char *key; /* NULL: none */
};

/*
 * Asks port, now, counted from due_us. No answer, 429 and 5xx lead to repeats
 * of the same bytes, as the pages do it; then sees what came in the end, or the
 * last failure when the buyer gives up.
 */
void
wire_get(struct buyer *buyer, const char *path, void (*then)(struct buyer *b));
void
wire_send(struct buyer *buyer, const struct wire_post *post,
    void (*then)(struct buyer *b));
/* Sends the bytes of the call before once more. */
void
wire_same(struct buyer *buyer, void (*then)(struct buyer *b));
/* Whether then was called without an answer that decides. */
bool
wire_undecided(const struct buyer *buyer);
/* Closes the connection under the call, and sends the same bytes again. */
void
wire_hang_up(struct buyer *buyer);
/* Ends what is under way. */
void
wire_end(struct buyer *buyer);

/* --- drill_count.c */

/* The first of the lines of progress, and one a second. */
void
count_title(void);
void
count_line(const struct drill *drill);
/*
 * The most units that were surely held or sold at once; *all_us: how long after
 * the opening it was as many as there are, or -1.
 */
int64_t
count_peak(const struct drill *drill, int64_t *all_us);
/* Holds that more than one buyer was given. */
int64_t
count_shared(const struct drill *drill);
/* Writes options.out and options.holds. False: it could not. */
bool
count_write(const struct drill *drill);

/* --- drill_report.c */

/*
 * Reads files of name=value lines, the run's and the books'; writes the table
 * and a line for each promise to out, and the numbers to json as one flat
 * object. How many promises were broken, or -1 when a file could not be read
 * or written.
 */
int
report_run(FILE *out, const char *run, const char *books, const char *json);

#endif
