/*
 * A webhook on its way into the inbox: its events are recorded one after the
 * other, those of several webhooks that wait together in one transaction.
 */
#ifndef WEB_DELIVERY_H
#define WEB_DELIVERY_H

#include "io/db.h"
#include "pay/provider.h"

#include <stdbool.h>
#include <stddef.h>

/* Zeroed is none. */
struct delivery {
	const struct provider *provider;
	struct event_reader *reader;
	struct event event; /* the reader's latest */
	bool keeping; /* it cannot be used: kept for a person */
	struct buf name; /* what it is kept under */

	/* To be recorded, and what came of that. */
	struct settlement settlement;
	enum db_status status;
	struct answer answer;
	struct buf error; /* the database's reason, on DB_REFUSED */

	/* Of all its events so far. */
	struct buf outcomes; /* JSON texts, parted by commas */
	size_t taken;
	size_t unusable;
	enum db_status failure; /* the last one, or DB_OK */
};

void
delivery_release(struct delivery *delivery);

#endif
