/* pay/provider: the adapters there are, and what can be relied upon. */
#include "pay/fixture.h"

#include "pay/provider.h"

static void
a_provider_is_found_by_its_whole_name(void **state)
{
	static const char *const none[] = {"", "Stripe", "stripe ", "strip",
	    "stripes", "other"};

	assert_string_equal(provider_find(str_of("stripe"))->name, "stripe");
	assert_string_equal(provider_find(str_of("standard"))->name,
	    "standard");
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_null(provider_find(str_of(none[i])));
}

static void
the_settings_choose_the_current_one(void **state)
{
	struct conf conf = fixture_conf();

	assert_string_equal(provider_current(&conf)->name, "stripe");
	conf.payment.provider = "standard";
	assert_string_equal(provider_current(&conf)->name, "standard");
}

static void
stripe_says_what_it_can(void **state)
{
	const struct provider *stripe = provider_find(str_of("stripe"));

	assert_int_equal(stripe->caps.min_expiry_s, 30 * 60);
	assert_int_equal(stripe->caps.max_expiry_s, 24 * 60 * 60);
	assert_true(stripe->caps.can_end);
	assert_false(stripe->caps.needs_fetch);
	assert_false(stripe->caps.needs_capture);
	assert_int_equal(stripe->caps.batch, 1);
	assert_int_equal(stripe->caps.idem_len, 255);
	assert_int_equal(stripe->caps.idem_ttl_s, 24 * 60 * 60);
	assert_null(stripe->ack);
}

static void
stripe_goes_as_fast_as_the_settings_say(void **state)
{
	struct conf conf = fixture_conf();
	struct provider_pace pace;

	provider_find(str_of("stripe"))->pace(&conf, &pace);
	assert_int_equal(pace.per_second[ENDPOINT_OPEN], 20);
	assert_int_equal(pace.per_second[ENDPOINT_END], 21);
	assert_int_equal(pace.per_second[ENDPOINT_REFUND], 22);
	assert_int_equal(pace.per_second[ENDPOINT_LOOK], 23);
	assert_int_equal(pace.calls_per_second, 80);
	assert_int_equal(pace.at_once, 32);
	assert_int_equal(pace.timeout_ms, 20000);
	assert_int_equal(pace.tries, 3);
}

static void
kinds_have_the_names_of_the_inbox(void **state)
{
	static const char *const names[] = {"paid", "pending", "failed",
	    "expired", "refund", "dispute", "look", "ignore", "unusable"};

	for (int kind = EVENT_PAID; kind <= EVENT_UNUSABLE; kind++)
		assert_string_equal(event_kind_name((enum event_kind)kind),
		    names[kind]);
}

/* A work that was never stepped has nothing to give back. */
static void
a_work_begins_and_ends_empty(void **state)
{
	const struct call call = {.act = ACT_FETCH};
	struct conf conf = fixture_conf();
	struct work work;

	work_init(&work, &conf, provider_current(&conf), &call);
	assert_int_equal(work.stage, 0);
	assert_null(work.outcome.reader);
	assert_int_equal(work.outcome.error.len, 0);
	work_release(&work);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_provider_is_found_by_its_whole_name),
	    cmocka_unit_test(the_settings_choose_the_current_one),
	    cmocka_unit_test(stripe_says_what_it_can),
	    cmocka_unit_test(stripe_goes_as_fast_as_the_settings_say),
	    cmocka_unit_test(kinds_have_the_names_of_the_inbox),
	    cmocka_unit_test(a_work_begins_and_ends_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
