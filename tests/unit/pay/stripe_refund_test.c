/* pay/stripe: money goes back once. */
#include "pay/call.h"

static enum call_result
refund_try(int try)
{
	struct call call = a_call("refund-" HOLD);

	call.try = try;
	return provider_default()->refund(&conf, http_open(""), &call,
	    &outcome);
}

#define REFUND_BODY(id, status, hold, amount) \
	"{\"id\":\"" id "\",\"object\":\"refund\",\"status\":\"" status \
	"\",\"metadata\":{\"hold_id\":\"" hold "\"},\"amount\":" amount "}"
#define OURS(id, status) REFUND_BODY(id, status, HOLD, "12900")
#define LIST(refunds) "{\"object\":\"list\",\"data\":[" refunds "]}"

static const char already[] = "{\"error\":{\"type\":\"invalid_request_error\","
			      "\"code\":\"charge_already_refunded\"}}";
static const char disputed[] = "{\"error\":{\"type\":\"invalid_request_error\","
			       "\"code\":\"charge_disputed\"}}";

static void
refund_sends_what_the_contract_says(void **state)
{
	script_add(200, OURS("re_1", "succeeded"), NULL);
	assert_int_equal(refund_try(1), CALL_DONE);
	assert_string_equal(outcome.id.data, "re_1");
	assert_string_equal(outcome.state.data, "succeeded");
	asked(0, "POST", "/v1/refunds");
	assert_true(
	    script_header_is(0, "Authorization: Bearer sk_test_REFUND"));
	assert_true(script_header_is(0, "Idempotency-Key: refund-" HOLD));
	assert_string_equal(script_asked[0].body,
	    "payment_intent=pi_1&amount=12900&reason=requested_by_customer"
	    "&" METADATA("metadata"));
}

static void
refund_states_are_told(void **state)
{
	script_add(200, OURS("re_1", "pending"), NULL);
	assert_int_equal(refund_try(1), CALL_DONE);
	assert_string_equal(outcome.state.data, "pending");
	script_add(200, OURS("re_1", "failed"), NULL);
	assert_int_equal(refund_try(1), CALL_DONE);
	assert_string_equal(outcome.state.data, "failed");
	script_add(200, OURS("re_1", "strange"), NULL);
	assert_int_equal(refund_try(1), CALL_RETRY);
	script_add(200, "{\"status\":\"succeeded\"}", NULL);
	assert_int_equal(refund_try(1), CALL_RETRY);
}

static void
a_later_try_takes_the_refund_that_exists(void **state)
{
	script_add(200,
	    LIST(REFUND_BODY("re_0", "succeeded", "", "100") "," OURS("re_1",
		"pending")),
	    NULL);
	assert_int_equal(refund_try(2), CALL_DONE);
	assert_string_equal(outcome.id.data, "re_1");
	assert_string_equal(outcome.state.data, "pending");
	asked(0, "GET", "/v1/refunds?payment_intent=pi_1&limit=10");
	assert_true(
	    script_header_is(0, "Authorization: Bearer sk_test_REFUND"));
	/* All of it, by hand: taken as well. */
	script_add(200, LIST(REFUND_BODY("re_2", "succeeded", "", "12900")),
	    NULL);
	assert_int_equal(refund_try(3), CALL_DONE);
	assert_string_equal(outcome.id.data, "re_2");
}

static void
a_later_try_sends_when_there_is_none(void **state)
{
	/* A part, by hand, is not ours; neither is a failed one. */
	script_add(200,
	    LIST(REFUND_BODY("re_0", "succeeded", "",
		"100") "," REFUND_BODY("re_9", "failed", "", "12900")),
	    NULL);
	script_add(200, OURS("re_1", "succeeded"), NULL);
	assert_int_equal(refund_try(2), CALL_DONE);
	assert_string_equal(outcome.id.data, "re_1");
	asked(1, "POST", "/v1/refunds");
	assert_true(script_header_is(1, "Idempotency-Key: refund-" HOLD));
	/* After a stored 500: looked, so asked under a new key. */
	script_add(200, LIST(""), NULL);
	script_add(500, "", "false");
	script_add(200, OURS("re_1", "succeeded"), NULL);
	assert_int_equal(refund_try(4), CALL_DONE);
	assert_true(
	    script_header_is(4, "Idempotency-Key: refund-" HOLD "-try4"));
}

static void
our_failed_refund_is_not_sent_again(void **state)
{
	script_add(200, LIST(OURS("re_1", "failed")), NULL);
	assert_int_equal(refund_try(2), CALL_DONE);
	assert_string_equal(outcome.id.data, "re_1");
	assert_string_equal(outcome.state.data, "failed");
}

static void
a_later_try_sends_nothing_without_a_look(void **state)
{
	script_add(503, "", NULL);
	assert_int_equal(refund_try(2), CALL_RETRY);
	script_add(200, "{\"data\":{}}", NULL);
	assert_int_equal(refund_try(2), CALL_RETRY);
	script_add(200, "<html>", NULL);
	assert_int_equal(refund_try(2), CALL_RETRY);
}

static void
already_refunded_is_looked_up(void **state)
{
	script_add(400, already, NULL);
	script_add(200, LIST(OURS("re_1", "succeeded")), NULL);
	assert_int_equal(refund_try(1), CALL_DONE);
	assert_string_equal(outcome.id.data, "re_1");
	assert_int_equal(outcome.error.len, 0);
	/* In parts, by hand. */
	script_add(400, already, NULL);
	script_add(200,
	    LIST(REFUND_BODY("re_2", "succeeded", "",
		"12000") "," REFUND_BODY("re_3", "succeeded", "", "900")),
	    NULL);
	assert_int_equal(refund_try(1), CALL_DONE);
	assert_string_equal(outcome.id.data, "re_2");
	script_add(400, already, NULL);
	script_add(200, LIST(""), NULL);
	assert_int_equal(refund_try(1), CALL_REFUSED);
	script_add(400, already, NULL);
	script_add(503, "", NULL);
	assert_int_equal(refund_try(1), CALL_RETRY);
}

static void
a_disputed_payment_is_not_refunded(void **state)
{
	script_add(400, disputed, NULL);
	assert_int_equal(refund_try(1), CALL_REFUSED);
	assert_string_equal(outcome.error.data,
	    "status 400 invalid_request_error code=charge_disputed request "
	    "req_1");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(refund_sends_what_the_contract_says),
	    TEST(refund_states_are_told),
	    TEST(a_later_try_takes_the_refund_that_exists),
	    TEST(a_later_try_sends_when_there_is_none),
	    TEST(our_failed_refund_is_not_sent_again),
	    TEST(a_later_try_sends_nothing_without_a_look),
	    TEST(already_refunded_is_looked_up),
	    TEST(a_disputed_payment_is_not_refunded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
