/*
 * Settings: one INI file, each key overridable by LASTPAIR_<SECTION>_<KEY>.
 * The only file that knows inih and the only one that calls getenv. One table
 * in conf.c names every key with its default and range.
 */
#ifndef BASE_CONF_H
#define BASE_CONF_H

#include "buf.h"
#include "token.h"

#include <stdbool.h>

#define CONF_FILE_DEFAULT "/etc/lastpair/lastpair.conf"

struct conf {
	struct {
		char *url; /* libpq connection string, without a user */
	} database;
	struct {
		char *public_url; /* https://shop.example, no final slash */
		int workers; /* 1..16, default 2 */
		int threads; /* of a worker, but for holds: 1..16, default 2 */
		int batch_max; /* holds in one transaction, 1..1000, 128 */
		int hold_wait_ms; /* then busy: 100..10000, default 3000 */
		char *socket_dir; /* web.0.sock and so on, sandbox.sock */
		char *share; /* holds sql/ and static/ */
		int lock_timeout_ms; /* 100..60000, default 2000 */
		int statement_timeout_ms; /* 100..600000, default 5000 */
		int sweep_slice; /* 1..10000, default 1000 */
	} server;
	struct {
		char *secret; /* at least 32 characters */
		char *old_secret; /* "" when none */
	} buyer;
	struct {
		char *api_base; /* https://api.stripe.com */
		char *version; /* Stripe-Version */
		char *open_key; /* opens and ends sessions */
		char *refund_key; /* refunds */
		char *webhook_secret;
		char *old_webhook_secret; /* "" when none */
		int opens_per_second; /* 1..100, default 20 */
		int ends_per_second; /* the same */
		int refunds_per_second; /* the same */
		int looks_per_second; /* the same */
		int calls_per_second; /* of all kinds, 1..1000, default 80 */
		int at_once; /* calls under way, 1..200, default 32 */
		int timeout_ms; /* of one call, 1000..120000, default 20000 */
		int tries; /* before an outbox row is stuck, 1..100 */
		bool livemode; /* derived: the keys are sk_live_ or rk_live_ */
	} stripe;
	struct {
		char *url; /* of the process that connects a provider; "" */
		char *webhook_secret; /* whsec_ or whpk_; "" takes nothing */
		char *old_webhook_secret; /* "" when none */
		char *call_secret; /* whsec_ or whsk_; "": webhook_secret */
		int calls_per_second; /* 1..1000, default 20 */
		int at_once; /* 1..200, default 32 */
		int timeout_ms; /* 1000..120000, default 20000 */
		int tries; /* 1..100, default 20 */
	} standard;
	struct {
		char *provider; /* "stripe" or "standard" */
		int reconcile_minutes; /* 0: never; ..10080, default 60 */
	} payment;
	struct {
		char *smtp_url; /* "" when none */
		char *folder; /* "" when none */
		char *from;
		char *operator; /* "" when none */
	} mail;
	struct {
		char *pay_url; /* where shoppers reach the sandbox */
		char *hook_url; /* where it posts its webhooks */
	} sandbox;
	const char *file; /* what was read; the caller's of conf_read */
	struct buf complaint; /* what conf_read answered, if it did */
};

/*
 * Reads file (NULL: the default), then the environment. NULL when conf is
 * whole, else one sentence naming the key at fault, owned by conf. Call
 * conf_release in either case. A key named <key>_file gives the value as
 * the content of a file, without its final newline. No text is ever NULL. A
 * value may hold ';' and '#'; a line that would be cut is refused.
 */
const char *
conf_read(struct conf *conf, const char *file);
void
conf_release(struct conf *conf);
/* The whole table as a commented INI file: what `lastpair setup` writes. */
void
conf_describe(struct buf *out);
/* The buyer's secrets as token.h wants them. */
struct token_secrets
conf_secrets(const struct conf *conf);

#endif
