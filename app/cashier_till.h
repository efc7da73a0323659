/*
 * A provider's till: its calls under way, each in a slot, one request after
 * the other at the provider's pace. Knows no database: the cashier puts claimed
 * calls in, takes outcomes out, and frees the slot. Times are milliseconds of
 * the clock that never goes back, passed in.
 */
#ifndef CASHIER_TILL_H
#define CASHIER_TILL_H

#include "cashier_pace.h"
#include "io/db.h"
#include "io/http.h"
#include "pay/provider.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What stripe.at_once and standard.at_once can be at most. */
#define TILL_SLOTS_MAX 200

/* Calls are claimed when they can go out within so long: a few at a time, and
 * yet no page waits here that one of an older hold could overtake. */
#define TILL_AHEAD_MS 200

enum slot_state {
	SLOT_FREE,
	SLOT_WAITING, /* its request waits for its turn */
	SLOT_SENT,
	SLOT_OVER, /* its outcome is to be recorded */
};

struct slot {
	enum slot_state state;
	struct job job;
	struct call call; /* what it says is the job's */
	struct work work;
	int64_t order; /* who came first */
	int64_t lease_end_ms; /* then the job is not ours any more */
};

struct till {
	const struct conf *conf;
	const struct provider *provider;
	struct provider_pace limits;
	struct pace pace;
	struct http *http; /* not owned */
	size_t first; /* number of its first slot among all tills' */
	struct slot *slots; /* limits.at_once of them */
	int64_t orders;
	/* What the cashier knows of calls that are due. */
	bool more[JOB_KINDS]; /* there may be some of this kind */
	int64_t look_ms; /* then there may be some of any kind */
};

/* first: http_call.slot of its first slot. */
void
till_open(struct till *till, const struct conf *conf,
    const struct provider *provider, struct http *http, size_t first);
/* Gives up what is under way. */
void
till_close(struct till *till);
/* How long a call may take with all its requests and their waiting. */
int
till_lease_ms(const struct till *till);

/* How many calls of each kind, that may have more, there is room for and could
 * go out soon. */
void
till_room(const struct till *till, int64_t now_ms, int room[JOB_KINDS]);
/* Calls may be due at this time, if none were before. */
void
till_look_by(struct till *till, int64_t at_ms);
/* A free slot's job, to be filled in and then begun; there must be room. */
struct slot *
till_slot(struct till *till);
void
till_begin(struct till *till, struct slot *slot, int64_t lease_end_ms);
/* Sends requests whose turn it is. */
void
till_send(struct till *till, int64_t now_ms);
/* The request of one of its slots has ended. */
void
till_answered(struct till *till, const struct http_call *call);
/* The first slot from *at on in this state, or NULL; moves *at past it. */
struct slot *
till_find(struct till *till, enum slot_state state, size_t *at);
/* Gives a call up, wherever it is, or forgets a recorded one. */
void
till_free(struct till *till, struct slot *slot);

/* How long until a request may go out, or there may be more room to claim. */
int64_t
till_send_ms(const struct till *till, int64_t now_ms);
int64_t
till_room_ms(const struct till *till, int64_t now_ms);
bool
till_is_idle(const struct till *till);

#endif
