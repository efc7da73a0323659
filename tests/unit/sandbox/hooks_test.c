/* sandbox/hooks: the signature, as the shop checks it. */
#include "base/conf.h"
#include "pay/provider.h"
#include "sandbox/hooks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW 1796050897
#define BODY "{\"id\": \"evt_1\"}"
/* printf '%s' "$NOW.$BODY" | openssl dgst -sha256 -hmac whsec_now */
#define MAC_NOW \
	"4b003984fd6d8d87e957a849b40ff71269556b63c228f441d63ecccd2341e3a9"
#define MAC_OLD \
	"e229877d66fcf9a91ba90ad3b53c638be42d8b0e6beb113c209f5a6df02fe43c"

static char now_secret[] = "whsec_now";
static char old_secret[] = "whsec_old";
static char none[] = "";

static void
assert_signature(char *old, const char *want)
{
	struct conf conf = {0};
	struct buf out = {0};

	conf.stripe.webhook_secret = now_secret;
	conf.stripe.old_webhook_secret = old;
	hook_signature(&out, &conf, NOW, str_of(BODY));
	assert_string_equal(buf_text(&out), want);
	buf_release(&out);
}

static void
one_secret_signs_once(void **state)
{
	(void)state;
	assert_signature(none, "t=1796050897,v1=" MAC_NOW);
}

static void
an_old_secret_signs_too(void **state)
{
	(void)state;
	assert_signature(old_secret, "t=1796050897,v1=" MAC_NOW ",v1=" MAC_OLD);
}

/* While secrets are changed, the two sides may know different ones. */
static void
the_shop_accepts_it_while_secrets_change(void **state)
{
	char *secrets[][2] = {
	    {now_secret, none},
	    {old_secret, none},
	    {old_secret, now_secret},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
		struct conf sender = {0};
		struct conf shop = {0};
		struct buf header = {0};
		struct hook hook = {.body = str_of(BODY),
		    .now = NOW + 1,
		    .tolerance_s = HOOK_TOLERANCE_S};

		sender.stripe.webhook_secret = now_secret;
		sender.stripe.old_webhook_secret = old_secret;
		shop.stripe.webhook_secret = secrets[i][0];
		shop.stripe.old_webhook_secret = secrets[i][1];
		hook_signature(&header, &sender, NOW, str_of(BODY));
		hook.signature = str_of(buf_text(&header));
		assert_int_equal(provider_find(str_of("stripe"))
				     ->verify(&shop, &hook),
		    VERDICT_OK);
		hook.body = str_of(BODY " ");
		assert_int_equal(provider_find(str_of("stripe"))
				     ->verify(&shop, &hook),
		    VERDICT_BAD);
		buf_release(&header);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(one_secret_signs_once),
	    cmocka_unit_test(an_old_secret_signs_too),
	    cmocka_unit_test(the_shop_accepts_it_while_secrets_change),
	};

	return cmocka_run_group_tests_name("sandbox/hooks", tests, NULL, NULL);
}
