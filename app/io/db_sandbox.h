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
db_sandbox_session_expire(struct db *db, struct str id,
    const struct sandbox_post *post, struct sandbox_answer *answer);
enum db_status
db_sandbox_payment_get(struct db *db, struct str id,
    struct sandbox_answer *answer);
enum db_status
db_sandbox_refund_create(struct db *db, const struct sandbox_post *post,
    struct sandbox_answer *answer);
enum db_status
db_sandbox_refund_list(struct db *db, const char *params,
    struct sandbox_answer *answer);
enum db_status
db_sandbox_event_list(struct db *db, const char *params,
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
/* outcome: "succeeded", "failed", or NULL for not yet. */
enum db_status
db_sandbox_session_bank(struct db *db, struct str id, const char *outcome,
    struct sandbox_view *view);

/* For the seller and for tests ------------------------------------------- */

/* JSON arrays, newest first. session empty: of all. */
enum db_status
db_sandbox_session_list(struct db *db, int limit, struct buf *document);
enum db_status
db_sandbox_delivery_list(struct db *db, struct str session, int limit,
    struct buf *document);
/* *found: there is such an event, such a refund. */
enum db_status
db_sandbox_event_resend(struct db *db, struct str id, bool *found);
enum db_status
db_sandbox_refund_fail(struct db *db, struct str id, bool *found);

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
/* Wakes db_sandbox_wait when something happens. Once, after db_open. */
void
db_sandbox_listen(struct db *db);
/* Waits until something may be due, at most most_ms. */
void
db_sandbox_wait(struct db *db, int most_ms);

#endif
