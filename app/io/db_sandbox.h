/*
 * The stand-in provider's calls, over the same door as db.h: one typed
 * function per function of schema sandbox, of the same name. The handle is
 * one opened as DB_SANDBOX.
 */
#ifndef IO_DB_SANDBOX_H
#define IO_DB_SANDBOX_H

#include "io/db.h"

/* The API --------------------------------------------------------------- */

/* What a POST carries; texts of one request. */
struct sandbox_post {
	struct str key; /* Idempotency-Key; empty: none */
	const char *params; /* a flat JSON object */
	const char *request; /* this request's id */
	const char *version; /* Stripe-Version; session_create only */
};

struct sandbox_answer {
	int status;
	struct buf body; /* JSON */
	struct buf original; /* request first answered so, when replayed */
};

void
sandbox_answer_release(struct sandbox_answer *answer);

/* pay_url: where shoppers reach the sandbox. */
enum db_status
db_sandbox_session_create(struct db *db, const struct sandbox_post *post,
    const char *pay_url, struct sandbox_answer *answer);
enum db_status
db_sandbox_session_get(struct db *db, struct str id,
    struct sandbox_answer *answer);
enum db_status
db_sandbox_session_search(struct db *db, const char *params,
    struct sandbox_answer *answer);
enum db_status
db_sandbox_session_expire(struct db *db, struct str id,
    const struct sandbox_post *post, struct sandbox_answer *answer);
enum db_status
db_sandbox_payment_get(struct db *db, struct str id,
    struct sandbox_answer *answer);
enum db_status
db_sandbox_refund_create(struct db *db, const struct sandbox_post *post,
    struct sandbox_answer *answer);
enum db_status
db_sandbox_refund_get(struct db *db, struct str id,
    struct sandbox_answer *answer);
enum db_status
db_sandbox_refund_list(struct db *db, const char *params,
    struct sandbox_answer *answer);
enum db_status
db_sandbox_dispute_get(struct db *db, struct str id,
    struct sandbox_answer *answer);
enum db_status
db_sandbox_dispute_list(struct db *db, const char *params,
    struct sandbox_answer *answer);
enum db_status
db_sandbox_event_get(struct db *db, struct str id,
    struct sandbox_answer *answer);
enum db_status
db_sandbox_event_list(struct db *db, const char *params,
    struct sandbox_answer *answer);

/* A call that is about to be carried out. */
struct sandbox_ask {
	const char *target; /* open, end, refund, look */
	struct str key; /* Idempotency-Key; empty: none */
	const char *path; /* with its method */
	struct str id; /* the path's; empty: none */
	const char *params;
};

/* What goes wrong with it; kind "" when nothing does. */
struct sandbox_fault {
	char kind[16];
	int64_t ms;
};

enum db_status
db_sandbox_call_fault(struct db *db, const struct sandbox_ask *ask,
    struct sandbox_fault *fault);

struct sandbox_fail {
	const struct sandbox_post *post;
	const char *path; /* with its method */
	bool after; /* it has been carried out */
};

/* A 500, kept for its key. */
enum db_status
db_sandbox_call_fail(struct db *db, const struct sandbox_fail *fail,
    struct sandbox_answer *answer);

/* The pay page ------------------------------------------------------------ */

/* Where a session stands: open, held, bank, paid, failed, expired; "" when
 * there is no such session. */
struct sandbox_view {
	char text[8];
};

struct sandbox_session {
	struct sandbox_view view;
	struct buf error; /* of the last try to pay; or empty */
	struct buf name;
	int64_t quantity;
	int64_t amount; /* minor units, of all */
	int64_t refunded;
	char currency[4]; /* upper case */
	int64_t left_ms; /* until the session expires */
	int64_t pay_in_ms; /* until the payment under way; -1: none */
	struct buf success_url;
	struct buf back_url;
};

void
sandbox_session_release(struct sandbox_session *session);

enum db_status
db_sandbox_session_page(struct db *db, struct str id,
    struct sandbox_session *session);

struct sandbox_pay {
	int64_t delay_ms; /* from now; 0: at once */
	bool even_if_expired; /* when the session ends before that, too */
};

enum db_status
db_sandbox_session_pay(struct db *db, struct str id,
    const struct sandbox_pay *pay, struct sandbox_view *view);
enum db_status
db_sandbox_session_decline(struct db *db, struct str id,
    struct sandbox_view *view);

struct sandbox_bank {
	const char *outcome; /* "succeeded", "failed", NULL: not yet */
	int64_t delay_ms; /* until the bank says it */
};

enum db_status
db_sandbox_session_bank(struct db *db, struct str id,
    const struct sandbox_bank *bank, struct sandbox_view *view);

/* What comes of a payment later. */
struct sandbox_then {
	const char *what; /* "dispute"; or the next refund's: "refund_pending",
			     "refund_fails", "refund_pending_fails" */
	int64_t after_ms;
};

/* Pays at once. A session that is not open stays as it is. */
enum db_status
db_sandbox_session_pay_then(struct db *db, struct str id,
    const struct sandbox_then *then, struct sandbox_view *view);

/* Levers: money ------------------------------------------------------------ */

/* What was made; else why it could not be; neither: there is no such thing. */
struct sandbox_made {
	struct buf id;
	struct buf problem;
};

void
sandbox_made_release(struct sandbox_made *made);

/* amount 0: all that is left. */
enum db_status
db_sandbox_payment_refund(struct db *db, struct str id, int64_t amount,
    struct sandbox_made *made);
/* inquiry: the bank only asks. */
enum db_status
db_sandbox_payment_dispute(struct db *db, struct str id, bool inquiry,
    struct sandbox_made *made);
/* outcome: "won" (of an inquiry: it is closed) or "lost". */
enum db_status
db_sandbox_dispute_close(struct db *db, struct str id, const char *outcome,
    struct sandbox_made *made);
/* *found: there is such a refund. */
enum db_status
db_sandbox_refund_fail(struct db *db, struct str id, bool *found);
/* A JSON object. */
enum db_status
db_sandbox_books(struct db *db, struct buf *document);

/* Levers: clock, faults ------------------------------------------------------ */

/* JSON objects. */
enum db_status
db_sandbox_clock_show(struct db *db, struct buf *document);
enum db_status
db_sandbox_clock_forward(struct db *db, int64_t ms, struct buf *document);
/* The seed itself. */
enum db_status
db_sandbox_seed_show(struct db *db, struct buf *seed);
enum db_status
db_sandbox_seed_set(struct db *db, struct str seed, struct buf *now);
/* What this run made up is known as that in all runs. */
enum db_status
db_sandbox_alias_add(struct db *db, struct str name, struct str as);

struct sandbox_fault_new {
	struct str target;
	struct str kind;
	int64_t percent; /* 1..100 */
	int64_t times; /* 0: no end */
	int64_t ms; /* -1: the kind's own */
	int64_t timeout_ms; /* longer than the shop waits */
};

/* DB_REFUSED: there is no such fault. */
enum db_status
db_sandbox_fault_add(struct db *db, const struct sandbox_fault_new *fault,
    int64_t *id);
/* id 0: all. *count: how many that were. */
enum db_status
db_sandbox_fault_clear(struct db *db, int64_t id, int64_t *count);
/* A JSON array. */
enum db_status
db_sandbox_fault_list(struct db *db, int limit, struct buf *document);

/* For the seller and for tests ------------------------------------------- */

/* JSON objects, with up to limit of each kind: the page of payments, and that
 * of faults. */
enum db_status
db_sandbox_desk(struct db *db, int limit, struct buf *document);
enum db_status
db_sandbox_panel(struct db *db, int limit, struct buf *document);
/* A JSON array, newest first. session empty: of all. */
enum db_status
db_sandbox_delivery_list(struct db *db, struct str session, int limit,
    struct buf *document);
/* *found: there is such an event. */
enum db_status
db_sandbox_event_resend(struct db *db, struct str id, bool *found);

struct sandbox_flush {
	int64_t due; /* what waited */
	int64_t resent; /* what would not have been sent any more */
};

enum db_status
db_sandbox_delivery_flush(struct db *db, bool dropped,
    struct sandbox_flush *flush);

/* Delivery ----------------------------------------------------------------- */

struct sandbox_delivery {
	int64_t id;
	int try;
	struct buf event_id;
	struct buf body;
};

void
sandbox_delivery_release(struct sandbox_delivery *delivery);

/* What the clock brings; *n: how much it was. */
enum db_status
db_sandbox_tick(struct db *db, int limit, int64_t *n);
/* *found: a webhook was due; it is ours for lease_ms. */
enum db_status
db_sandbox_delivery_claim(struct db *db, int lease_ms,
    struct sandbox_delivery *delivery, bool *found);
/* status 0: no answer came, error says why; else error is NULL. */
enum db_status
db_sandbox_delivery_done(struct db *db, const struct sandbox_delivery *delivery,
    int status, const char *error);
/* Hears when something happens. Once, after db_open. */
void
db_sandbox_listen(struct db *db);
/* Milliseconds until something is due, at most most_ms: that, too, when the
 * database is away. */
int
db_sandbox_wait(struct db *db, int most_ms);
/* Can be read when something has come from the database; -1: not connected. */
int
db_sandbox_fd(const struct db *db);
/* Whether something may have happened since it was last asked. Never waits. */
bool
db_sandbox_noticed(struct db *db);

#endif
