/*
 * One thread that waits for everything at once: answers of the providers, the
 * database's word that a call was added, the time when one is due or may go
 * out. Invariant: between two waits no outcome lies around that the database
 * could have been told. Whatever a provider did and could not be recorded is
 * asked for again under the same key, when the row's lease is over.
 */
#include "cashier.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/sign.h"
#include "cashier_record.h"
#include "cashier_stray.h"
#include "cashier_till.h"
#include "io/db.h"
#include "io/http.h"
#include "pay/provider.h"
#include "reconcile.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

/* The longest wait, in case that the database's clock is set, or a signal came
 * just before it. */
#define WAIT_MS 1000
/* Between tries while the database is away. */
#define AWAY_MIN_MS 500
#define AWAY_MAX_MS 5000
/* What is under way when it is time to stop may still end within this. The
 * supervisor kills after twice as much. */
#define STOP_MS 5000

/* Between looks for calls to a provider that is not set up any more. */
#define STRAY_MS 60000

static const char *const provider_names[] = {"stripe", "standard"};
#define TILLS_MAX (sizeof(provider_names) / sizeof(provider_names[0]))

struct cashier {
	const struct conf *conf;
	struct db *db;
	struct http *http;
	struct till tills[TILLS_MAX];
	size_t till_count;
	int failures; /* of the database, in a row */
	int64_t away_until_ms; /* not asked before, when there are any */
	int64_t stray_ms; /* when to look for strays */
	int64_t strays[TILLS_MAX]; /* how many there were, by provider_names */
	int64_t end_ms; /* what has not ended by then is given up */
};

static atomic_bool stopping;

static void
cashier_on_term(int signo)
{
	(void)signo;
	stopping = true;
}

/* The call may go through later, also one that perhaps has: to record the same
 * outcome twice changes nothing. Who is there and will not have one outcome may
 * have the others. */
static bool
is_away(enum db_status status)
{
	return status == DB_DOWN || status == DB_LOST;
}

/* Whether the database may be asked. */
static bool
cashier_may_ask(const struct cashier *c)
{
	return c->failures == 0 || clock_monotonic_ms() >= c->away_until_ms;
}

/* Notes how the database did, which the log has from io; false when it is
 * away. */
static bool
cashier_weigh(struct cashier *c, enum db_status status)
{
	int64_t ms = AWAY_MIN_MS;
	unsigned char chance;

	if (!is_away(status)) {
		c->failures = 0;
		return true;
	}
	c->failures++;
	for (int i = 1; i < c->failures && ms < AWAY_MAX_MS; i++)
		ms *= 2;
	ms = ms < AWAY_MAX_MS ? ms : AWAY_MAX_MS;
	sign_random(&chance, sizeof(chance));
	c->away_until_ms =
	    clock_monotonic_ms() + ms / 2 + ms / 2 * chance / 255;
	return false;
}

/* Some calls may have been added. */
static void
cashier_look(struct cashier *c)
{
	for (size_t i = 0; i < c->till_count; i++)
		till_look_by(&c->tills[i], 0);
}

/* Takes the requests that have ended one step on. */
static void
cashier_collect(struct cashier *c)
{
	struct http_call *call;

	while ((call = http_next(c->http)) != NULL)
		till_answered(&c->tills[call->slot / TILL_SLOTS_MAX], call);
}

/* Gives up what has become somebody else's. */
static void
till_drop_late(struct till *till, int64_t now_ms)
{
	for (int i = 0; i < till->limits.at_once; i++) {
		struct slot *slot = &till->slots[i];

		if (slot->state == SLOT_FREE || slot->lease_end_ms > now_ms)
			continue;
		log_warn("could not %s for hold %s in time; it is tried "
			 "again under its key",
		    slot->state == SLOT_OVER ? "record a call"
					     : job_act(&slot->job),
		    buf_text(&slot->job.hold));
		till_free(till, slot);
	}
}

/* Whether the database is there, but somebody has had the order locked for too
 * long. Whoever waited for it would hold all others up: its call comes back
 * with its lease. */
static bool
cashier_is_barred(const struct cashier *c, const struct slot *slot,
    enum db_status status)
{
	if (status != DB_DOWN || !db_is_there(c->db))
		return false;
	log_warn("could not record a call for hold %s, which is locked; it is "
		 "tried again under its key",
	    buf_text(&slot->job.hold));
	return true;
}

/* Tells the database what came of the calls, as long as it is there. */
static void
cashier_record(struct cashier *c, struct till *till)
{
	struct slot *slot;
	size_t at = 0;

	while (cashier_may_ask(c) &&
	    (slot = till_find(till, SLOT_OVER, &at)) != NULL) {
		enum db_status status = slot_record(slot, till, c->db);

		if (cashier_is_barred(c, slot, status) ||
		    cashier_weigh(c, status))
			till_free(till, slot);
	}
}

/* Puts what was claimed into slots; notes of which kinds there was less than
 * asked for: that was all. */
static void
till_fill(struct till *till, const struct job_list *jobs,
    const int room[JOB_KINDS], int64_t lease_end_ms)
{
	int got[JOB_KINDS] = {0};

	for (size_t i = 0; i < jobs->count; i++) {
		struct slot *slot = till_slot(till);

		job_list_read(jobs, i, &slot->job);
		got[slot->job.kind]++;
		till_begin(till, slot, lease_end_ms);
	}
	for (int kind = 0; kind < JOB_KINDS; kind++) {
		if (room[kind] > 0)
			till->more[kind] = got[kind] >= room[kind];
	}
}

/* When to look for calls that become due. One that is due and was not claimed,
 * for want of room or by another cashier's doing, is not asked for in haste. */
static void
cashier_plan(struct cashier *c, struct till *till)
{
	int ms = 0;

	if (cashier_weigh(c,
		db_cashier_wait(c->db, till->provider->name, WAIT_MS, &ms)))
		till_look_by(till,
		    clock_monotonic_ms() + (ms > 0 ? ms : TILL_AHEAD_MS));
}

static void
cashier_claim(struct cashier *c, struct till *till)
{
	int64_t now_ms = clock_monotonic_ms();
	struct job_claim claim = {till->provider->name, {0},
	    till_lease_ms(till)};
	struct job_list jobs;
	enum db_status status;
	int sum = 0;

	if (now_ms >= till->look_ms) {
		for (int kind = 0; kind < JOB_KINDS; kind++)
			till->more[kind] = true;
		till->look_ms = now_ms + WAIT_MS;
	}
	till_room(till, now_ms, claim.most);
	for (int kind = 0; kind < JOB_KINDS; kind++)
		sum += claim.most[kind];
	if (sum == 0)
		return;
	status = db_cashier_claim(c->db, &claim, &jobs);
	if (!cashier_weigh(c, status))
		return;
	if (status != DB_OK) {
		log_error("cannot claim a call: %s", db_error(c->db));
		memset(till->more, 0, sizeof(till->more));
		return;
	}
	till_fill(till, &jobs, claim.most, now_ms + claim.lease_ms);
	job_list_release(&jobs);
	cashier_plan(c, till);
}

/* How long nothing is to be done unless something comes. */
static int
cashier_rest_ms(const struct cashier *c)
{
	int64_t now_ms = clock_monotonic_ms();
	int64_t rest = c->end_ms - now_ms;

	rest = rest < WAIT_MS ? rest : WAIT_MS;
	for (size_t i = 0; i < c->till_count; i++) {
		const struct till *till = &c->tills[i];
		int64_t ms = till_send_ms(till, now_ms);

		rest = ms < rest ? ms : rest;
		if (stopping || !cashier_may_ask(c))
			continue;
		ms = till_room_ms(till, now_ms);
		rest = ms < rest ? ms : rest;
	}
	if (!cashier_may_ask(c) && c->away_until_ms - now_ms < rest)
		rest = c->away_until_ms - now_ms;
	return rest > 0 ? (int)rest : 0;
}

/* Claims calls as long as there are some and there is room. */
static void
cashier_serve(struct cashier *c, struct till *till)
{
	while (!stopping && cashier_may_ask(c) &&
	    till_room_ms(till, clock_monotonic_ms()) == 0) {
		cashier_claim(c, till);
		/* Some need no request to be over. */
		cashier_record(c, till);
	}
}

static enum db_status
stray_look(struct cashier *c, const struct provider *provider, int64_t *waits)
{
	bool set_up = provider_is_set_up(c->conf, provider);
	enum db_status status = set_up ? DB_OK : stray_refuse(c->db, provider);

	return status == DB_OK ? stray_tell(c->db, provider, set_up, waits)
			       : status;
}

static void
cashier_stray(struct cashier *c)
{
	int64_t now_ms = clock_monotonic_ms();

	if (stopping || now_ms < c->stray_ms)
		return;
	c->stray_ms = now_ms + STRAY_MS;
	for (size_t i = 0; i < TILLS_MAX && cashier_may_ask(c); i++) {
		const struct provider *provider =
		    provider_find(str_of(provider_names[i]));

		if (provider)
			(void)cashier_weigh(c,
			    stray_look(c, provider, &c->strays[i]));
	}
}

static void
cashier_turn(struct cashier *c)
{
	cashier_collect(c);
	cashier_stray(c);
	for (size_t i = 0; i < c->till_count; i++) {
		till_drop_late(&c->tills[i], clock_monotonic_ms());
		cashier_record(c, &c->tills[i]);
	}
	for (size_t i = 0; i < c->till_count; i++) {
		/* What waits has its turn before there is room for more. */
		till_send(&c->tills[i], clock_monotonic_ms());
		cashier_serve(c, &c->tills[i]);
		till_send(&c->tills[i], clock_monotonic_ms());
	}
}

static void
cashier_wait(struct cashier *c)
{
	/* The word may have come along with an answer, and be read already. */
	if (db_cashier_noticed(c->db))
		cashier_look(c);
	http_wait(c->http, db_cashier_fd(c->db), cashier_rest_ms(c));
}

static bool
cashier_is_idle(const struct cashier *c)
{
	for (size_t i = 0; i < c->till_count; i++) {
		if (!till_is_idle(&c->tills[i]))
			return false;
	}
	return true;
}

static void
cashier_loop(struct cashier *c)
{
	while (!stopping) {
		cashier_turn(c);
		cashier_wait(c);
	}
	c->end_ms = clock_monotonic_ms() + STOP_MS;
	cashier_turn(c);
	while (!cashier_is_idle(c) && clock_monotonic_ms() < c->end_ms) {
		cashier_wait(c);
		cashier_turn(c);
	}
	if (!cashier_is_idle(c))
		log_warn("could not end the calls under way; they are made "
			 "again under their keys");
}

static void
cashier_open(struct cashier *c, const struct conf *conf)
{
	*c = (struct cashier){.conf = conf, .end_ms = INT64_MAX};
	c->db = db_open(conf, DB_CASHIER, "lastpair cashier");
	c->http = http_open("lastpair");
	for (size_t i = 0; i < TILLS_MAX; i++) {
		const struct provider *provider =
		    provider_find(str_of(provider_names[i]));

		if (!provider || !provider_is_set_up(conf, provider))
			continue;
		till_open(&c->tills[c->till_count], conf, provider, c->http,
		    c->till_count * TILL_SLOTS_MAX);
		c->till_count++;
	}
}

static void
cashier_close(struct cashier *c)
{
	for (size_t i = 0; i < c->till_count; i++)
		till_close(&c->tills[i]);
	http_close(c->http);
	db_close(c->db);
}

static void *
books_main(void *conf)
{
	reconcile_loop(conf, &stopping);
	return NULL;
}

/* The books are compared in a thread of its own, that no signal goes to: it
 * may take its time, and holds no call up. */
static void
books_start(pthread_t *thread, const struct conf *conf)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(thread, NULL, books_main, (void *)(uintptr_t)conf) !=
	    0)
		log_bug("cannot start a thread");
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

int
cashier_run(const struct conf *conf)
{
	bool compares = conf->payment.reconcile_minutes > 0;
	struct cashier c;
	struct sigaction action;
	pthread_t books;

	memset(&action, 0, sizeof(action));
	sigemptyset(&action.sa_mask);
	action.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &action, NULL);
	/* Not restarted: waits end when it is time to stop. */
	stopping = false;
	action.sa_handler = cashier_on_term;
	sigaction(SIGTERM, &action, NULL);
	cashier_open(&c, conf);
	if (compares)
		books_start(&books, conf);
	cashier_loop(&c);
	cashier_close(&c);
	if (compares)
		pthread_join(books, NULL);
	return 0;
}
