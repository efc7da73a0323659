/*
 * Compares this database with the provider's books, in both directions, and
 * applies what was missed if it is asked to: the same code for the command and
 * for the cashier, which runs it now and then. A run goes through the lists of
 * sessions, refunds and undelivered events page by page; each page is in the
 * database before the next one is asked for, so that a run that was killed, or
 * that stopped, is gone on with. What seems to differ is looked at once more,
 * thing by thing, before it counts. Nothing is asked inside a transaction;
 * several at once take turns, by a lease.
 */
#ifndef RECONCILE_H
#define RECONCILE_H

#include "base/conf.h"
#include "cashier_pace.h"
#include "io/db_reconcile.h"
#include "io/http.h"
#include "pay/provider.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* So long news may be under way before it counts as missed. */
#define RECONCILE_GRACE_MS 60000
/* How far back the provider remembers its events. */
#define RECONCILE_BACK_S ((int64_t)30 * 86400)

enum reconcile_result {
	RECONCILE_AGREES,
	RECONCILE_DIFFERS,
	RECONCILE_RECENT, /* nothing was done: one was finished just now */
	RECONCILE_BUSY, /* nothing was done: somebody is at it */
	RECONCILE_TAKEN, /* somebody else goes on with it */
	RECONCILE_STOPPED, /* as asked; the next run goes on here */
	RECONCILE_DATABASE, /* status and db_error say why */
	RECONCILE_PROVIDER, /* it cannot be reached; error says why */
	RECONCILE_REFUSED, /* it will not tell; error says why */
};

struct reconcile {
	const struct conf *conf;
	const struct provider *provider;
	struct db *db; /* the caller's, as DB_OPERATOR or DB_RECONCILE */
	struct reconcile_start start;
	int64_t grace_ms;
	bool wait; /* for whoever is at it */
	const atomic_bool *stopping; /* or NULL */
	void (*say)(const char *line); /* how far it is; or NULL */

	/* what came of it */
	struct reconcile_lease lease; /* lease.run */
	struct reconcile_end end;
	enum reconcile_result result;
	enum db_status status;
	char error[512]; /* one line; no secret in it */

	/* its own while it runs */
	struct http *http;
	struct pace pace;
	struct reconcile_place place;
	int64_t since;
	int64_t listed;
	int64_t pages; /* of this list */
	struct buf mark; /* a cursor that was there before */
	bool refused; /* it was told once that a thing is not shown */
};

enum reconcile_result
reconcile_run(struct reconcile *r);

/*
 * Compares and repairs at once and every payment.reconcile_minutes, until
 * stopping is set; returns within a second then, or when its call to the
 * database is over. For a thread of its own.
 */
void
reconcile_loop(const struct conf *conf, const atomic_bool *stopping);

#endif
