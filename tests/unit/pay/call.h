/* What the tests of the provider's calls share: a call and its outcome. */
#ifndef UNIT_PAY_CALL_H
#define UNIT_PAY_CALL_H

#include "pay/script.h"

#include "pay/provider.h"

#define SESSION "cs_test_1"
#define INTENT "pi_1"

static const char declined[] =
    "{\"error\":{\"type\":\"card_error\",\"code\":\"card_declined\","
    "\"param\":\"line_items[0]\",\"message\":\"secret words\"}}";

static struct call_outcome outcome;
static struct conf conf;

static inline struct call
a_call(const char *key)
{
	return (struct call){
	    .key = str_of(key),
	    .hold = str_of(HOLD),
	    .number = 42,
	    .session_id = str_of(SESSION),
	    .payment_ref = str_of(INTENT),
	    .amount = 12900,
	    .currency = str_of("EUR"),
	    .title = str_of("1 x Lamp #24 \xe2\x80\x94 blau & gr\xc3\xbcn"),
	    .return_url = str_of("https://shop.test/order/" HOLD),
	    .session_expires_at = 1796052660,
	    .try = 1,
	};
}

static inline int
setup(void **state)
{
	script_clear();
	conf = fixture_conf();
	call_outcome_init(&outcome);
	return 0;
}

static inline int
teardown(void **state)
{
	call_outcome_release(&outcome);
	/* Each answer of the script was wanted. */
	return script_next == script_count ? 0 : -1;
}

static inline void
asked(size_t i, const char *method, const char *path)
{
	char url[256];

	snprintf(url, sizeof(url), "http://provider.test%s", path);
	assert_true(i < script_next);
	assert_string_equal(script_asked[i].method, method);
	assert_string_equal(script_asked[i].url, url);
	assert_int_equal(script_asked[i].timeout_ms, 20000);
	assert_true(script_header_is(i, "Stripe-Version: 2026-10-28.endive"));
}

#define METADATA(prefix) prefix "[hold_id]=" HOLD "&" prefix "[order_id]=ord_42"

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
