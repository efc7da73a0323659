/*
 * The database as the processes see it: one typed function per function of
 * schema api, of the same name. All SQL text stands in the tables of db_*.c.
 * A handle belongs to one thread, which may have several. A conflict is tried
 * again here, at most 3 times with random pauses, and nowhere else. A call
 * ends in bounded time, whatever the server does: see io/pg.h.
 */
#ifndef IO_DB_H
#define IO_DB_H

#include "base/buf.h"
#include "base/conf.h"
#include "base/token.h"

#include <stdbool.h>
#include <stdint.h>

/* A basket's lines: more do not fit on a receipt or in 16 KiB of JSON. */
#define HOLD_LINES_MAX 20
/* Characters of an order key (contract: 16 to 255). */
#define HOLD_KEY_MAX 255
/* "hld_" and 22 characters. */
#define HOLD_ID_LEN 26

/* To a buyer all but the first and DB_REFUSED are "busy" (503). */
enum db_status {
	DB_OK,
	DB_DOWN, /* away or too slow: not carried out */
	DB_LOST, /* the connection went away: perhaps carried out */
	DB_CONFLICT, /* with others, after all tries: not carried out */
	DB_REFUSED, /* a constraint says no; db_error names it */
	DB_BUG, /* the call is wrong: logged as an error, not carried out */
};

/* Who calls: its login role and the statements that it may run. */
enum db_role {
	DB_OWNER,
	DB_WEB,
	DB_SWEEPER,
	DB_CASHIER,
	DB_RECONCILE, /* the cashier's thread that compares the books */
	DB_COURIER,
	DB_OPERATOR,
	DB_SANDBOX,
};

struct db;
struct pg_rows;

/* Never fails; the first call connects. process names it to the server. */
struct db *
db_open(const struct conf *conf, enum db_role role, const char *process);
void
db_close(struct db *db);
/*
 * Connects and compares every statement's types with the database's. Refused
 * when they differ, or when it is no server itself but a pooler.
 */
enum db_status
db_check(struct db *db);
const char *
db_error(const struct db *db);
/* Whether there is a connection: a call that was DB_DOWN all the same waited
 * too long for somebody else, and another call need not. */
bool
db_is_there(const struct db *db);
/* From now on locks are waited for at most so long, until the connection is
 * made anew. Without one, nothing is done. */
void
db_lock_wait(struct db *db, int ms);

/*
 * The answer of a command: the outcome's name as SQL gives it ("created",
 * "sold-out"), and the hold's document or the problem's members as JSON, or
 * nothing.
 */
struct answer {
	char outcome[24];
	struct uuid buyer; /* whose hold it is; hold_take only */
	struct buf document;
	struct buf url; /* payment_start: the pay page when "ready" */
	/* payment_start: pages that are opened before, when "opening" */
	int64_t ahead;
};

void
answer_init(struct answer *answer);
void
answer_release(struct answer *answer);

/* shop ---------------------------------------------------------------- */

struct hold_line {
	struct str sku;
	int64_t qty; /* 1.. */
};

struct hold_request {
	char id[HOLD_ID_LEN + 1]; /* the name a new hold gets */
	struct uuid buyer;
	bool known; /* a cookie says who it is */
	struct str key; /* empty: none */
	struct str email; /* empty: none */
	struct hold_line lines[HOLD_LINES_MAX];
	size_t count;
};

/*
 * n requests in one transaction; answers[i] belongs to requests[i] and is
 * touched on DB_OK only. A request has the same answer however often it is
 * asked: its id, key or buyer finds the hold.
 */
enum db_status
db_hold_take(struct db *db, const struct hold_request *const *requests,
    struct answer *const *answers, size_t n);
/* document empty when there is no such hold; buyer may be NULL. */
enum db_status
db_hold_show(struct db *db, struct str id, const struct uuid *buyer,
    struct buf *document);
enum db_status
db_hold_drop(struct db *db, struct str id, const struct uuid *buyer,
    struct answer *answer);
enum db_status
db_availability(struct db *db, const struct str *skus, size_t n,
    struct buf *document);

/* Who has or had units of an item: a result, read in place. */
struct gate_members {
	struct pg_rows *rows;
	size_t count;
};

/* members is the caller's to release on DB_OK. */
enum db_status
db_gate_members(struct db *db, struct str sku, struct gate_members *members);
struct str
gate_member_buyer(const struct gate_members *members, size_t i);
/* The order key; an empty view when there was none. */
struct str
gate_member_key(const struct gate_members *members, size_t i);
void
gate_members_release(struct gate_members *members);

struct payment_start {
	struct str hold;
	const struct uuid *buyer;
	const char *provider;
	const char *return_base; /* the shop's public address */
	int min_expiry_s; /* of a session, as the provider has it */
	int max_expiry_s;
};

enum db_status
db_payment_start(struct db *db, const struct payment_start *start,
    struct answer *answer);

/* One delivery; empty views become NULL, amount < 0 too. */
struct settlement {
	const char *provider;
	struct str event_id;
	struct str type;
	const char *kind; /* as in data.event */
	struct str key; /* our payment's or refund's */
	struct str hold;
	struct str session_id;
	struct str payment_ref;
	struct str refund_ref;
	struct str state; /* of a refund or a dispute, as in data.event */
	int64_t amount;
	struct str currency;
	struct str detail;
	struct str body;
};

/* Only answer->outcome is set. */
enum db_status
db_payment_settle(struct db *db, const struct settlement *settlement,
    struct answer *answer);

/*
 * n deliveries in one transaction; answers[i] belongs to settlements[i], only
 * its outcome is set, and on DB_OK only. Fails as a whole.
 */
enum db_status
db_payment_settle_all(struct db *db,
    const struct settlement *const *settlements, struct answer *const *answers,
    size_t n);

/* sweeper --------------------------------------------------------------- */

enum db_status
db_sweep(struct db *db, int limit, int64_t *returned, int64_t *next_in_ms);

/* cashier ------------------------------------------------------------- */

/* What the provider is asked for; their names are data.outbox.kind's. */
enum job_kind { JOB_OPEN, JOB_EXPIRE, JOB_REFUND, JOB_FETCH, JOB_KINDS };

/* A call that is owed to the provider, as the outbox has it. */
struct job {
	int64_t id;
	enum job_kind kind;
	int try; /* 1 for the first */
	int64_t age_s; /* since it was written down */
	struct buf key, payment_key, refund_key, hold, session_id, payment_ref,
	    refund_ref, currency, title, return_url;
	int64_t number;
	int64_t amount;
	int64_t session_expires_at;
};

void
job_init(struct job *job);
void
job_release(struct job *job);

struct job_claim {
	const char *provider;
	int most[JOB_KINDS]; /* so many of each kind */
	int lease_ms; /* they are ours so long */
};

/* What was claimed: a result, read in place. */
struct job_list {
	struct pg_rows *rows;
	size_t count;
};

/* jobs is the caller's to release on DB_OK. */
enum db_status
db_cashier_claim(struct db *db, const struct job_claim *claim,
    struct job_list *jobs);
void
job_list_read(const struct job_list *jobs, size_t i, struct job *job);
void
job_list_release(struct job_list *jobs);
/* *ms until a call is due: 0 when one is, at most most_ms. */
enum db_status
db_cashier_wait(struct db *db, const char *provider, int most_ms, int *ms);
/* Can be read when something has come from the database; -1: not connected. */
int
db_cashier_fd(const struct db *db);
/* Whether a call may have been added since it was last asked. Never waits. */
bool
db_cashier_noticed(struct db *db);
enum db_status
db_cashier_opened(struct db *db, const struct job *job, const char *session_id,
    const char *url);
/* The session has ended unpaid. */
enum db_status
db_cashier_expired(struct db *db, const struct job *job);
/* *person: it failed, or is not the refund that we knew of. */
enum db_status
db_cashier_refunded(struct db *db, const struct job *job,
    const char *refund_ref, const char *state, bool *person);
/* Nothing more is to be done: its news, if any, were settled. */
enum db_status
db_cashier_done(struct db *db, const struct job *job);

struct job_retry {
	const char *error; /* one line, no secret */
	int64_t delay_ms; /* until the next try */
	int tries; /* how many there are */
};

/* *stuck: that was the last try, a person is needed. */
enum db_status
db_cashier_retry(struct db *db, const struct job *job,
    const struct job_retry *retry, bool *stuck);
/* key_is_used: the no is kept for the job's key, the next call has a new one. */
enum db_status
db_cashier_refused(struct db *db, const struct job *job, const char *error,
    bool key_is_used);
/* How many calls, but for refunds, wait for a provider that is not set up, and
 * so are a task; with set_up it is over. */
enum db_status
db_cashier_stray(struct db *db, const char *provider, bool set_up,
    int64_t *waits);

/* operator -------------------------------------------------------------- */

struct item_new {
	const char *sku;
	const char *title;
	int64_t price;
	const char *currency;
	int64_t total;
	int64_t allowance;
	int hold_seconds;
	int per_buyer;
	int buckets;
	const char *opens_at; /* ISO 8601 with a zone, or NULL */
	const char *closes_at;
	const char *late; /* the ladder for late money: "retake,refund" */
};

enum db_status
db_item_add(struct db *db, const struct item_new *item, struct answer *answer);

/* NULL, or below 0: leave as it is. */
struct item_edit {
	const char *sku;
	int64_t version; /* the version that the operator saw */
	const char *title;
	int64_t price;
	int64_t total;
	const char *status;
	const char *by;
};

enum db_status
db_item_set(struct db *db, const struct item_edit *edit, struct answer *answer);

struct item_split {
	const char *sku;
	int buckets; /* from now on; 1 merges them */
	const char *by;
};

/* document: {item, buckets, spread: what is free in each of them} */
enum db_status
db_item_split(struct db *db, const struct item_split *split,
    struct answer *answer);
/* document empty when there is none */
enum db_status
db_item_show(struct db *db, const char *sku, struct buf *document);
enum db_status
db_item_list(struct db *db, struct buf *document);
enum db_status
db_hold_list(struct db *db, const char *state, const char *sku, int limit,
    struct buf *document);
enum db_status
db_order_show(struct db *db, const char *name, struct buf *document);
/* state and sku may be NULL. */
enum db_status
db_order_list(struct db *db, const char *state, const char *sku, int limit,
    struct buf *document);

struct order_refund {
	const char *name; /* ord_N or hld_... */
	int64_t amount; /* minor units; below 0: all that is left */
	const char *by;
};

/* document: {order, refunded, left, currency} */
enum db_status
db_order_refund(struct db *db, const struct order_refund *refund,
    struct answer *answer);
enum db_status
db_event_list(struct db *db, const char *outcome, int limit,
    struct buf *document);
enum db_status
db_event_show(struct db *db, const char *name, struct buf *document);
/* {outcome: how many} */
enum db_status
db_event_counts(struct db *db, struct buf *document);

/* Events to be read again: a result, read in place. */
struct replay_list {
	struct pg_rows *rows;
	size_t count;
};

struct replay {
	int64_t seq;
	struct str provider;
	struct str event_id;
	struct buf body; /* the bytes as received; the caller's to release */
};

struct replay_ask {
	const char *name; /* one event's id or number, or NULL */
	const char *outcome; /* or those of an outcome, or NULL: all */
	int64_t after; /* this number */
	int limit;
};

/* list is the caller's to release on DB_OK. */
enum db_status
db_event_replay_list(struct db *db, const struct replay_ask *ask,
    struct replay_list *list);
void
replay_read(const struct replay_list *list, size_t i, struct replay *replay);
void
replay_list_release(struct replay_list *list);
/* What is in it but provider and body; only answer->outcome is set. */
enum db_status
db_event_replay(struct db *db, int64_t seq, const struct settlement *reading,
    struct answer *answer);
/* all: settled ones, too */
enum db_status
db_task_list(struct db *db, bool all, struct buf *document);
enum db_status
db_task_settle(struct db *db, int64_t task, const char *note, const char *by,
    struct answer *answer);
enum db_status
db_task_retry(struct db *db, int64_t task, const char *by,
    struct answer *answer);
/* The breaches as a JSON array of {promise, what, which}. */
enum db_status
db_audit(struct db *db, struct buf *document);

/* owner ----------------------------------------------------------------- */

/*
 * Brings the database up to date with the scripts below share/sql: what is
 * missing of migrations/, then api/ and grants.sql anew, then the sandbox's,
 * if wanted. All in one transaction: a failure changes nothing. Tells each
 * step to say.
 */
enum db_status
db_migrate(struct db *db, const char *share, bool sandbox,
    void (*say)(const char *line));

#endif
