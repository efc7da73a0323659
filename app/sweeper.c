/*
 * A loop that asks the database what is due and when to come back. Each slice
 * is a transaction of its own, so that progress survives whatever ends a pass.
 */
#include "sweeper.h"

#include "base/clock.h"
#include "base/log.h"
#include "io/db.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>

/* While the database is away. */
#define PAUSE_MS 500

static volatile sig_atomic_t stopping;

static void
sweeper_on_term(int signo)
{
	(void)signo;
	stopping = 1;
}

/* In short parts: a signal that comes just before a sleep does not end it. */
static void
sweeper_rest(int64_t ms)
{
	while (ms > 0 && !stopping) {
		int64_t part = ms > 100 ? 100 : ms;

		clock_sleep_ms(part);
		ms -= part;
	}
}

int
sweeper_run(const struct conf *conf)
{
	struct sigaction action;
	struct db *db = db_open(conf, DB_SWEEPER, "lastpair sweeper");
	int64_t returned, next_in_ms;

	memset(&action, 0, sizeof(action));
	action.sa_handler = sweeper_on_term;
	sigaction(SIGTERM, &action, NULL);
	while (!stopping) {
		if (db_sweep(db, conf->server.sweep_slice, &returned,
			&next_in_ms) != DB_OK)
			next_in_ms = PAUSE_MS;
		else if (returned > 0)
			log_info("returned %lld expired lines",
			    (long long)returned);
		sweeper_rest(next_in_ms);
	}
	db_close(db);
	return 0;
}
