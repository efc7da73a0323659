/*
 * What the tests of the standard adapter share: settings, secrets, and a work
 * that is answered by hand.
 */
#ifndef UNIT_PAY_STANDARD_RIG_H
#define UNIT_PAY_STANDARD_RIG_H

#include "base/sign.h"
#include "pay/fixture.h"
#include "pay/standard.h"

#include <stdio.h>
#include <string.h>

#define NOW 1796050800
#define SHARED_KEY "0123456789abcdef0123456789abcdef"
#define SHARED "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
#define OTHER "whsec_b2xkLW9sZC1vbGQtb2xkLW9sZC1vbGQtb2xkLW9sZCE="
/* RFC 8032, section 7.1, test 1. */
#define PRIVATE "whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A="
#define PUBLIC "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="

static inline struct conf
rig_conf(void)
{
	struct conf conf = fixture_conf();

	conf.standard.url = "http://127.0.0.1:9/pay";
	conf.standard.webhook_secret = SHARED;
	conf.standard.old_webhook_secret = "";
	conf.standard.call_secret = "";
	conf.standard.calls_per_second = 20;
	conf.standard.at_once = 32;
	conf.standard.timeout_ms = 5000;
	conf.standard.tries = 3;
	return conf;
}

/* By another way than the adapter's, and whatever the id and the time are. */
static inline void
rig_sign(struct buf *out, const struct hook *hook)
{
	const struct str key = {SHARED_KEY, strlen(SHARED_KEY)};
	unsigned char mac[SIGN_SHA256_LEN];
	struct buf text = {0};
	struct str all;

	buf_printf(&text, "%.*s.%.*s.%.*s", (int)hook->id.len, hook->id.text,
	    (int)hook->timestamp.len, hook->timestamp.text, (int)hook->body.len,
	    hook->body.text);
	all = str_view(&text);
	sign_hmac_sha256(mac, key, &all, 1);
	buf_reset(out);
	buf_str(out, "v1,");
	str_base64(out, mac, sizeof(mac));
	buf_release(&text);
}

#endif
