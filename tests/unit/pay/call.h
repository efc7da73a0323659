/* What the tests of Stripe's calls share: a call, its work, the alarms. */
#ifndef UNIT_PAY_CALL_H
#define UNIT_PAY_CALL_H

#include "pay/script.h"

#include "base/log.h"
#include "pay/stripe.h"

#define SESSION "cs_test_1"
#define INTENT "pi_1"
#define DAY_S 86400

static const char declined[] =
    "{\"error\":{\"type\":\"card_error\",\"code\":\"card_declined\","
    "\"param\":\"line_items[0]\",\"message\":\"secret words\"}}";

static struct conf conf;
static struct call call; /* the one that run() makes */
static struct work work;
static char alarm_text[256]; /* the last line of level error */
static int alarms;

void
log_write(enum log_level level, const char *format, ...)
{
	va_list args;

	if (level != LOG_ERROR)
		return;
	va_start(args, format);
	vsnprintf(alarm_text, sizeof(alarm_text), format, args);
	va_end(args);
	alarms++;
}

static inline void
call_fill(enum act act, const char *key)
{
	call = (struct call){
	    .act = act,
	    .key = str_of(key),
	    .payment_key = str_of("cs-" HOLD),
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

/* Makes the call anew; what came of it is in work. */
static inline enum call_result
run(void)
{
	work_release(&work);
	work_init(&work, &conf, &stripe_provider, &call);
	return script_run(&work);
}

static inline const char *
error(void)
{
	return buf_text(&work.outcome.error);
}

static inline int
setup(void **state)
{
	script_clear();
	conf = fixture_conf();
	alarms = 0;
	alarm_text[0] = '\0';
	return 0;
}

static inline int
teardown(void **state)
{
	work_release(&work);
	work = (struct work){0};
	/* Each answer of the script was wanted. */
	return script_next == script_count ? 0 : -1;
}

static inline void
asked(size_t i, enum endpoint endpoint, const char *method, const char *path)
{
	char url[512];

	snprintf(url, sizeof(url), "http://provider.test%s", path);
	assert_true(i < script_next);
	assert_string_equal(script_asked[i].method, method);
	assert_string_equal(script_asked[i].url, url);
	assert_int_equal(script_asked[i].endpoint, endpoint);
	assert_int_equal(script_asked[i].timeout_ms, 20000);
	assert_true(script_header_is(i, "Stripe-Version: 2026-10-28.endive"));
}

static inline void
asked_for(size_t i, const char *path)
{
	asked(i, ENDPOINT_LOOK, "GET", path);
	assert_string_equal(script_asked[i].body, "");
	assert_null(strstr(script_asked[i].headers, "Idempotency"));
}

/* Reads the one event that the news is; it lives as long as *reader. */
static inline void
news_read(struct event_reader **reader, struct event *event)
{
	struct event more;

	*reader =
	    stripe_provider.read(&conf, NULL, fixture_view(&work.outcome.body));
	assert_true(stripe_provider.next(*reader, event));
	assert_false(stripe_provider.next(*reader, &more));
}

#define METADATA(prefix, key) \
	prefix "[hold_id]=" HOLD "&" prefix "[order_id]=ord_42&" prefix \
	       "[key]=" key

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
