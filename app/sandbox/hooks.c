/*
 * Claim, send, record. Killed in between, the row comes back when its lease is
 * over, so an event may arrive twice: the shop must stand that anyway.
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
#include <string.h>

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

struct hooks {
	const struct conf *conf;
	struct db *db;
	struct http *http;
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

static enum db_status
hook_send(struct hooks *hooks, const struct sandbox_delivery *delivery)
{
	struct str body = {buf_text(&delivery->body), delivery->body.len};
	struct buf signature = {0};
	struct http_answer answer;
	enum db_status status;
	bool came;

	buf_str(&signature, "Stripe-Signature: ");
	hook_signature(&signature, hooks->conf, clock_unix(), body);
	{
		const char *headers[] = {
		    "Content-Type: application/json; charset=utf-8",
		    buf_text(&signature),
		    NULL,
		};
		const struct http_call call = {
		    .method = "POST",
		    .url = hooks->conf->sandbox.hook_url,
		    .headers = headers,
		    .body = body,
		    .timeout_ms = HOOK_TIMEOUT_MS,
		};

		http_answer_init(&answer);
		came = http_call(hooks->http, &call, &answer);
	}
	if (!came || answer.status < 200 || answer.status > 299)
		log_info("could not deliver %s, try %d: %d %s",
		    buf_text(&delivery->event_id), delivery->try, answer.status,
		    answer.error);
	status = db_sandbox_delivery_done(hooks->db, delivery,
	    came ? answer.status : 0, came ? NULL : answer.error);
	http_answer_release(&answer);
	buf_release(&signature);
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

static void
hooks_turn(struct hooks *hooks, struct sandbox_delivery *delivery)
{
	bool found = false;
	enum db_status status = hooks_tick(hooks);

	if (status == DB_OK)
		status = db_sandbox_delivery_claim(hooks->db, LEASE_MS,
		    delivery, &found);
	if (status == DB_OK && found) {
		status = hook_send(hooks, delivery);
	} else if (status == DB_OK) {
		db_sandbox_wait(hooks->db, WAIT_MS);
		hooks->ticked_at = 0;
	}
	if (status != DB_OK)
		clock_sleep_ms(PAUSE_MS);
}

int
sandbox_hooks(const struct conf *conf, int fd)
{
	struct sigaction action = {.sa_handler = on_term};
	struct sandbox_delivery delivery = {0};
	struct hooks hooks = {
	    .conf = conf,
	    .db = db_open(conf, DB_SANDBOX, "lastpair sandbox hooks"),
	    .http = http_open("Lastpair-Sandbox/1.0"),
	};

	(void)fd;
	(void)sigaction(SIGTERM, &action, NULL);
	db_sandbox_listen(hooks.db);
	while (!stopping)
		hooks_turn(&hooks, &delivery);
	sandbox_delivery_release(&delivery);
	http_close(hooks.http);
	db_close(hooks.db);
	return 0;
}
