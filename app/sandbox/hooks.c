/*
 * Claim, send, record, many at once in one thread. Killed in between, a row
 * comes back when its lease is over, so an event may arrive twice: the shop
 * must stand that anyway, as it must stand any order.
 */
#include "sandbox/hooks.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/sign.h"
#include "io/db_sandbox.h"
#include "io/http.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* As a provider with many customers would: more than the shop's workers have
 * threads. */
#define AT_ONCE 32
/* The provider is said to give up after some 20 s. */
#define HOOK_TIMEOUT_MS 20000
/* Beyond the time-out, so that a row is not claimed twice at once. */
#define LEASE_MS 30000
#define TICK_MS 100
#define TICK_LIMIT 100
/* A notification that got lost costs so much. */
#define WAIT_MS 1000
/* While the database is away. */
#define PAUSE_MS 500
/* For those under way at the end: less than the parent waits. */
#define STOP_MS 2000

/* One webhook under way. */
struct hook {
	struct http_call call;
	struct sandbox_delivery delivery;
	struct hook *next; /* spare ones */
};

struct hooks {
	const struct conf *conf;
	struct db *db;
	struct http *http;
	struct hook all[AT_ONCE];
	struct hook *spare;
	int under_way;
	int64_t ticked_at; /* clock_monotonic_ms */
};

static volatile sig_atomic_t stopping;

static void
on_term(int signo)
{
	(void)signo;
	stopping = 1;
}

static void
signature_add(struct buf *out, const char *secret, struct str time,
    struct str body)
{
	const struct str parts[] = {time, str_of("."), body};
	unsigned char mac[SIGN_SHA256_LEN];

	sign_hmac_sha256(mac, str_of(secret), parts, 3);
	buf_str(out, ",v1=");
	str_hex(out, mac, sizeof(mac));
}

void
hook_signature(struct buf *out, const struct conf *conf, int64_t now,
    struct str body)
{
	char time[24];

	snprintf(time, sizeof(time), "%" PRId64, now);
	buf_printf(out, "t=%s", time);
	signature_add(out, conf->stripe.webhook_secret, str_of(time), body);
	if (conf->stripe.old_webhook_secret[0])
		signature_add(out, conf->stripe.old_webhook_secret,
		    str_of(time), body);
}

/* Signed anew at each try: the shop refuses what is five minutes old. */
static void
hook_start(struct hooks *hooks, struct hook *hook)
{
	struct http_request *request = &hook->call.request;
	struct str body = str_view(&hook->delivery.body);
	struct buf signature = {0};

	http_call_reset(&hook->call);
	hook->call.slot = (size_t)(hook - hooks->all);
	hook_signature(&signature, hooks->conf, clock_unix(), body);
	request->method = "POST";
	request->timeout_ms = HOOK_TIMEOUT_MS;
	buf_str(&request->url, hooks->conf->sandbox.hook_url);
	buf_add(&request->body, body.text, body.len);
	http_header(&hook->call, "Content-Type",
	    str_of("application/json; charset=utf-8"));
	http_header(&hook->call, "Stripe-Signature", str_view(&signature));
	http_start(hooks->http, &hook->call);
	hooks->under_way++;
	buf_release(&signature);
}

/* One has ended; what came of it is written down. */
static enum db_status
hook_end(struct hooks *hooks, struct hook *hook)
{
	const struct http_answer *answer = &hook->call.answer;
	enum db_status status;

	if (answer->status < 200 || answer->status > 299)
		log_info("could not deliver %s, try %d: %d %s",
		    buf_text(&hook->delivery.event_id), hook->delivery.try,
		    answer->status, answer->error);
	status = db_sandbox_delivery_done(hooks->db, &hook->delivery,
	    answer->status, answer->status ? NULL : answer->error);
	hook->next = hooks->spare;
	hooks->spare = hook;
	hooks->under_way--;
	return status;
}

static enum db_status
hooks_end(struct hooks *hooks)
{
	enum db_status status = DB_OK;
	struct http_call *call;

	while ((call = http_next(hooks->http))) {
		enum db_status one = hook_end(hooks, &hooks->all[call->slot]);

		if (one != DB_OK)
			status = one;
	}
	return status;
}

/* What the clock brings, now and then also between deliveries. */
static enum db_status
hooks_tick(struct hooks *hooks)
{
	int64_t now = clock_monotonic_ms();
	int64_t n = TICK_LIMIT;
	enum db_status status = DB_OK;

	if (hooks->ticked_at && now - hooks->ticked_at < TICK_MS)
		return DB_OK;
	while (status == DB_OK && n >= TICK_LIMIT)
		status = db_sandbox_tick(hooks->db, TICK_LIMIT, &n);
	hooks->ticked_at = now;
	return status;
}

/* Sends what is due, as far as there is room. */
static enum db_status
hooks_start(struct hooks *hooks)
{
	enum db_status status = DB_OK;
	bool found = true;

	while (status == DB_OK && found && hooks->spare) {
		struct hook *hook = hooks->spare;

		status = db_sandbox_delivery_claim(hooks->db, LEASE_MS,
		    &hook->delivery, &found);
		if (status != DB_OK || !found)
			break;
		hooks->spare = hook->next;
		hook_start(hooks, hook);
	}
	return status;
}

/* Until something has ended, happened, or is due. */
static void
hooks_wait(struct hooks *hooks)
{
	int ms = TICK_MS;

	/* With all of them under way, what is due has to wait. */
	if (hooks->spare)
		ms = db_sandbox_wait(hooks->db, WAIT_MS);
	/* Something may have been heard while that was asked. */
	if (ms > 0 && !db_sandbox_noticed(hooks->db))
		http_wait(hooks->http, db_sandbox_fd(hooks->db), ms);
	if (hooks->spare)
		hooks->ticked_at = 0;
}

static void
hooks_turn(struct hooks *hooks)
{
	enum db_status status = hooks_tick(hooks);

	if (status == DB_OK)
		status = hooks_start(hooks);
	if (status == DB_OK)
		hooks_wait(hooks);
	else
		http_wait(hooks->http, -1, PAUSE_MS);
	status = hooks_end(hooks);
	if (status != DB_OK)
		clock_sleep_ms(PAUSE_MS);
}

static void
hooks_stop(struct hooks *hooks)
{
	int64_t end = clock_monotonic_ms() + STOP_MS;
	int64_t left = STOP_MS;

	while (hooks->under_way && left > 0) {
		http_wait(hooks->http, -1, (int)left);
		(void)hooks_end(hooks);
		left = end - clock_monotonic_ms();
	}
}

int
sandbox_hooks(const struct conf *conf, int fd)
{
	struct sigaction action = {.sa_handler = on_term};
	struct hooks *hooks = calloc(1, sizeof(*hooks));

	(void)fd;
	if (!hooks)
		log_bug("out of memory");
	(void)sigaction(SIGTERM, &action, NULL);
	hooks->conf = conf;
	hooks->db = db_open(conf, DB_SANDBOX, "lastpair sandbox hooks");
	hooks->http = http_open("Lastpair-Sandbox/1.0");
	for (int i = 0; i < AT_ONCE; i++) {
		hooks->all[i].next = hooks->spare;
		hooks->spare = &hooks->all[i];
	}
	db_sandbox_listen(hooks->db);
	while (!stopping)
		hooks_turn(hooks);
	hooks_stop(hooks);
	http_close(hooks->http);
	for (int i = 0; i < AT_ONCE; i++) {
		http_call_release(&hooks->all[i].call);
		sandbox_delivery_release(&hooks->all[i].delivery);
	}
	db_close(hooks->db);
	free(hooks);
	return 0;
}
