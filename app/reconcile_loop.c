/* The cashier's thread that compares the books and repairs what was missed. */
#include "reconcile.h"

#include "base/clock.h"
#include "base/log.h"

#include <inttypes.h>

/* At its start it looks back at least so far: nobody looked meanwhile. */
#define START_BACK_S ((int64_t)3 * 86400)
/* When it could not be done, or somebody else was at it. */
#define AGAIN_MS 60000
/* How soon it sees that it is to stop. */
#define TICK_MS 100

/* Tells what came of it; whether it was done as far as it can be. */
static bool
loop_tell(const struct reconcile *r)
{
	const char *name = r->provider->name;

	switch (r->result) {
	case RECONCILE_AGREES:
		if (r->end.repaired > 0)
			log_warn("the books of %s had what did not reach us: "
				 "%" PRId64 " applied",
			    name, r->end.repaired);
		else
			log_info("the books agree with those of %s, %" PRId64
				 " read",
			    name, r->listed);
		return true;
	case RECONCILE_DIFFERS:
		log_error("the books differ from those of %s: %" PRId64
			  " tasks, %" PRId64
			  " repaired; see lastpair reconcile "
			  "--last",
		    name, r->end.differ, r->end.repaired);
		return true;
	case RECONCILE_REFUSED:
		log_error("cannot compare the books with %s: %s", name,
		    r->error);
		return true;
	case RECONCILE_PROVIDER:
		log_warn("could not compare the books with %s: %s", name,
		    r->error);
		return false;
	case RECONCILE_RECENT:
		return true;
	default:
		return false;
	}
}

/* What is to be done about the books of one provider. */
struct books {
	const struct provider *provider;
	struct reconcile_start start;
	int64_t due_ms;
};

static void
books_open(struct books *books, const struct provider *provider)
{
	*books = (struct books){
	    .provider = provider,
	    .start =
		{
		    .provider = provider->name,
		    .back_s = -1,
		    .least_s = START_BACK_S,
		    .repair = true,
		    .by = "cashier",
		},
	};
}

static void
books_compare(struct books *books, struct db *db, const struct conf *conf,
    const atomic_bool *stopping)
{
	int64_t minutes = conf->payment.reconcile_minutes;
	struct reconcile r = {
	    .conf = conf,
	    .provider = books->provider,
	    .db = db,
	    .start = books->start,
	    .grace_ms = RECONCILE_GRACE_MS,
	    .stopping = stopping,
	};
	bool done;

	reconcile_run(&r);
	done = loop_tell(&r);
	if (done) {
		/* Of two servers one does it for both. */
		books->start.least_s = 0;
		books->start.rest_s = minutes * 30;
	}
	books->due_ms =
	    clock_monotonic_ms() + (done ? minutes * 60000 : AGAIN_MS);
}

void
reconcile_loop(const struct conf *conf, const atomic_bool *stopping)
{
	static const char *const names[] = {"stripe", "standard"};
	struct books books[sizeof(names) / sizeof(names[0])];
	size_t count = 0;
	struct db *db;

	if (conf->payment.reconcile_minutes == 0)
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct provider *provider =
		    provider_find(str_of(names[i]));

		if (provider != NULL && provider_is_set_up(conf, provider))
			books_open(&books[count++], provider);
	}
	db = db_open(conf, DB_RECONCILE, "lastpair reconcile");
	while (!atomic_load(stopping)) {
		for (size_t i = 0; i < count && !atomic_load(stopping); i++)
			if (clock_monotonic_ms() >= books[i].due_ms)
				books_compare(&books[i], db, conf, stopping);
		clock_sleep_ms(TICK_MS);
	}
	db_close(db);
}
