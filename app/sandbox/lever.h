/*
 * The levers behind control.h, a file per noun, and what they share.
 */
#ifndef SANDBOX_LEVER_H
#define SANDBOX_LEVER_H

#include "base/json.h"
#include "io/db_sandbox.h"
#include "web/exchange.h"

/* The farthest that something is put off, the clock is moved: a year. */
#define LEVER_MS_MAX 31536000000

struct lever {
	struct exchange *x;
	struct str id; /* the path's; empty when it has none */
	const struct json *body; /* NULL: none was sent */
};

/* A whole number of the body; *value stays when there is none, or null. False
 * when it is no number from least to most. */
bool
lever_int(const struct lever *lever, const char *name, int64_t least,
    int64_t most, int64_t *value);
bool
lever_flag(const struct lever *lever, const char *name);
/* A text of the body; an empty view when there is none. */
struct str
lever_text(const struct lever *lever, const char *name);

/* Answers. */
void
lever_say(const struct lever *lever, int status, const char *json);
/* {"error": why} */
void
lever_refuse(const struct lever *lever, int status, const char *why);
void
lever_fail(const struct lever *lever, enum db_status status);
/* A document of the database's, or its failure. */
void
lever_document(const struct lever *lever, enum db_status status,
    const struct buf *document);
/* {}, or that there is no such thing. */
void
lever_found(const struct lever *lever, enum db_status status, bool found);

/* lever_session.c */
void
lever_session_pay(const struct lever *lever);
void
lever_session_decline(const struct lever *lever);
void
lever_session_bank(const struct lever *lever);
/* lever_money.c */
void
lever_payment_refund(const struct lever *lever);
void
lever_payment_dispute(const struct lever *lever);
void
lever_dispute_close(const struct lever *lever);
void
lever_refund_fail(const struct lever *lever);
void
lever_books(const struct lever *lever);
/* lever_fault.c */
void
lever_fault_add(const struct lever *lever);
void
lever_fault_list(const struct lever *lever);
void
lever_fault_clear(const struct lever *lever);
void
lever_fault_clear_all(const struct lever *lever);
void
lever_seed_show(const struct lever *lever);
void
lever_seed_set(const struct lever *lever);
void
lever_alias_add(const struct lever *lever);
void
lever_clock_show(const struct lever *lever);
void
lever_clock_forward(const struct lever *lever);
/* lever_delivery.c */
void
lever_event_resend(const struct lever *lever);
void
lever_delivery_list(const struct lever *lever);
void
lever_delivery_flush(const struct lever *lever);

#endif
