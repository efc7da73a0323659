/* pay/stripe: money goes back once. */
#include "pay/refund.h"

static void
refund_sends_what_the_contract_says(void **state)
{
	script_add(200, OURS("re_1", "succeeded"), NULL);
	assert_int_equal(refund_try(1), CALL_DONE);
	took("re_1", "succeeded");
	asked(0, ENDPOINT_REFUND, "POST", "/v1/refunds");
	assert_true(
	    script_header_is(0, "Authorization: Bearer sk_test_REFUND"));
	assert_true(script_header_is(0, "Idempotency-Key: " KEY));
	assert_string_equal(script_asked[0].body,
	    "payment_intent=pi_1&amount=12900&reason=requested_by_customer"
	    "&" METADATA("metadata", KEY));
}

static void
refund_states_are_told(void **state)
{
	script_add(200, OURS("re_1", "pending"), NULL);
	assert_int_equal(refund_try(1), CALL_DONE);
	took("re_1", "pending");
	script_add(200, OURS("re_1", "failed"), NULL);
	assert_int_equal(refund_try(1), CALL_DONE);
	took("re_1", "failed");
	script_add(200, OURS("re_1", "strange"), NULL);
	assert_int_equal(refund_try(1), CALL_RETRY);
	script_add(200, "{\"status\":\"succeeded\"}", NULL);
	assert_int_equal(refund_try(1), CALL_RETRY);
	script_add(200, "<html>", NULL);
	assert_int_equal(refund_try(1), CALL_RETRY);
	/* Of another payment: not what was asked for. */
	script_add(200,
	    "{\"id\":\"re_1\",\"status\":\"succeeded\","
	    "\"payment_intent\":\"pi_2\"}",
	    NULL);
	assert_int_equal(refund_try(1), CALL_RETRY);
	took("", "");
}

/* What is kept has room for 255. */
static void
a_refund_has_an_id_of_at_most_255(void **state)
{
	char body[512];

	for (int len = 255; len <= 256; len++) {
		snprintf(body, sizeof(body),
		    "{\"id\":\"%0*d\",\"status\":\"succeeded\"}", len, 0);
		script_add(200, body, NULL);
		assert_int_equal(refund_try(1),
		    len == 255 ? CALL_DONE : CALL_RETRY);
	}
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
	took("re_1", "succeeded");
	asked(1, ENDPOINT_REFUND, "POST", "/v1/refunds");
	assert_true(script_header_is(1, "Idempotency-Key: " KEY));
	/* After a stored 500: looked, so asked under a new key. */
	script_add(200, LIST(""), NULL);
	script_add(500, "", "false");
	script_add(200, LIST(""), NULL);
	script_add(200, OURS("re_1", "succeeded"), NULL);
	assert_int_equal(refund_try(4), CALL_DONE);
	assert_true(script_header_is(3, "Idempotency-Key: " KEY));
	asked_for(4, LOOK);
	assert_true(script_header_is(5, "Idempotency-Key: " KEY "-try4-0"));
	/* All else is as it was, our own key too. */
	assert_string_equal(script_asked[3].body, script_asked[5].body);
	assert_string_equal(script_asked[1].body, script_asked[5].body);
}

/* The first try never got there, the second did and is answered a 500: the
 * money is gone. */
static void
a_500_of_this_try_is_not_asked_anew(void **state)
{
	script_add(200, LIST(""), NULL);
	script_add(500, "", NULL);
	script_add(200, LIST(OURS("re_1", "succeeded")), NULL);
	assert_int_equal(refund_try(2), CALL_DONE);
	took("re_1", "succeeded");
	/* Nor when it cannot be seen whether it did. */
	script_add(200, LIST(""), NULL);
	script_add(500, "", NULL);
	script_add(503, "", NULL);
	assert_int_equal(refund_try(2), CALL_RETRY);
	/* What a new key comes to is judged like any other. */
	script_add(200, LIST(""), NULL);
	script_add(500, "", NULL);
	script_add(200, LIST(""), NULL);
	script_add(400, already, NULL);
	script_add(200, LIST(OURS("re_1", "succeeded")), NULL);
	assert_int_equal(refund_try(3), CALL_DONE);
	took("re_1", "succeeded");
	script_add(200, LIST(""), NULL);
	script_add(500, "", NULL);
	script_add(200, LIST(""), NULL);
	script_add(500, "", NULL);
	assert_int_equal(refund_try(3), CALL_RETRY);
}

/* Given up, then asked for by a person: the tries begin again, and the keys of
 * those before hold a 500 each. */
static void
a_retried_task_takes_keys_of_its_own(void **state)
{
	for (int i = 0; i < 2; i++) {
		script_add(200, LIST(""), NULL);
		script_add(500, "", NULL);
		script_add(200, LIST(""), NULL);
		script_add(500, "", NULL);
		call_fill(ACT_REFUND, KEY);
		call.try = 2;
		call.age_s = 1 + i * 3600;
		assert_int_equal(run(), CALL_RETRY);
	}
	assert_true(script_header_is(3, "Idempotency-Key: " KEY "-try2-1"));
	assert_true(script_header_is(7, "Idempotency-Key: " KEY "-try2-3601"));
	assert_true(script_header_is(5, "Idempotency-Key: " KEY));
}

/* The first 500 says nothing: the money may be on its way. */
static void
a_first_500_is_not_asked_anew(void **state)
{
	script_add(500, "", NULL);
	assert_int_equal(refund_try(1), CALL_RETRY);
}

static void
a_key_that_may_be_forgotten_is_not_trusted(void **state)
{
	call_fill(ACT_REFUND, KEY);
	call.age_s = DAY_S - 3601;
	script_add(200, OURS("re_1", "succeeded"), NULL);
	assert_int_equal(run(), CALL_DONE);
	asked(0, ENDPOINT_REFUND, "POST", "/v1/refunds");
	/* It may be a while until it is sent. */
	call.age_s = DAY_S - 3600;
	script_add(200, LIST(OURS("re_1", "succeeded")), NULL);
	assert_int_equal(run(), CALL_DONE);
	asked_for(1, LOOK);
}

/* A no is kept under the key before: looked for by the name that it would have
 * there, then sent under the new key and the old name. */
static void
a_new_key_is_the_calls_alone(void **state)
{
	call_fill(ACT_REFUND, KEY "-again-2");
	call.refund_key = str_of(KEY);
	script_add(200, LIST(""), NULL);
	script_add(200, OURS("re_1", "succeeded"), NULL);
	assert_int_equal(run(), CALL_DONE);
	took("re_1", "succeeded");
	asked_for(0, LOOK);
	assert_true(script_header_is(1, "Idempotency-Key: " KEY "-again-2"));
	assert_string_equal(script_asked[1].body,
	    "payment_intent=pi_1&amount=12900&reason=requested_by_customer"
	    "&" METADATA("metadata", KEY));
	/* It is there after all. */
	script_add(200, LIST(OURS("re_1", "succeeded")), NULL);
	assert_int_equal(run(), CALL_DONE);
	took("re_1", "succeeded");
	asked_for(2, LOOK);
}

static void
a_no_that_is_kept_uses_the_key(void **state)
{
	static const struct {
		const char *should_retry;
		int status;
		bool used;
	} all[] = {
	    {NULL, 400, true},
	    {NULL, 402, true},
	    {NULL, 403, true},
	    {NULL, 404, true},
	    {NULL, 422, true},
	    {NULL, 200, false},
	    /* Nothing is kept, or nobody knows. */
	    {NULL, 401, false},
	    {NULL, 409, false},
	    {NULL, 424, false},
	    {NULL, 429, false},
	    {"false", 409, false},
	    {"false", 429, false},
	    {"true", 400, false},
	    {NULL, 500, false},
	    {"false", 502, false},
	    {NULL, 503, false},
	    {NULL, 0, false},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		script_clear();
		script_add(all[i].status, "{}", all[i].should_retry);
		(void)refund_try(1);
		assert_int_equal(work.outcome.key_is_used, all[i].used);
	}
	/* A look is under no key, whatever it comes to. */
	script_clear();
	script_add(403, "{}", NULL);
	assert_int_equal(refund_try(2), CALL_REFUSED);
	assert_false(work.outcome.key_is_used);
	/* The no before it counts. */
	script_add(400, already, NULL);
	script_add(200, LIST(""), NULL);
	assert_int_equal(refund_try(1), CALL_REFUSED);
	assert_true(work.outcome.key_is_used);
	/* The key has a 500, the key of this try the no: the look was between. */
	script_add(200, LIST(""), NULL);
	script_add(500, "", NULL);
	script_add(200, LIST(""), NULL);
	script_add(402, declined, NULL);
	assert_int_equal(refund_try(2), CALL_REFUSED);
	assert_true(work.outcome.key_is_used);
}

static void
a_later_try_sends_nothing_without_a_look(void **state)
{
	static const char *const bodies[] = {"{\"data\":{}}", "<html>", "{}",
	    "{\"data\":null}", "[]"};

	script_add(503, "", NULL);
	assert_int_equal(refund_try(2), CALL_RETRY);
	script_add(500, "", NULL);
	assert_int_equal(refund_try(2), CALL_RETRY);
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		script_add(200, bodies[i], NULL);
		if (refund_try(2) != CALL_RETRY)
			fail_msg("%s", bodies[i]);
	}
	/* A look at a part is none. */
	script_add(200,
	    "{\"data\":[" REFUND_BODY("re_0", "succeeded", "",
		"1") "],\"has_more\":true}",
	    NULL);
	assert_int_equal(refund_try(2), CALL_REFUSED);
	assert_non_null(strstr(error(), "more than 100 refunds"));
}

static void
a_disputed_payment_is_not_refunded(void **state)
{
	static const char *const codes[] = {"charge_disputed",
	    "refund_disputed_payment"};
	char body[128];
	char wanted[256];

	for (size_t i = 0; i < 2; i++) {
		snprintf(body, sizeof(body),
		    "{\"error\":{\"type\":\"invalid_request_error\","
		    "\"code\":\"%s\"}}",
		    codes[i]);
		snprintf(wanted, sizeof(wanted),
		    "status 400 invalid_request_error code=%s request req_1: "
		    "the payment is disputed, so nothing goes back; answer "
		    "the bank",
		    codes[i]);
		script_add(400, body, NULL);
		assert_int_equal(refund_try(1), CALL_REFUSED);
		assert_string_equal(error(), wanted);
	}
}

static void
a_refund_of_nothing_is_refused(void **state)
{
	call_fill(ACT_REFUND, KEY);
	call.payment_ref = (struct str){NULL, 0};
	assert_int_equal(run(), CALL_REFUSED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(refund_sends_what_the_contract_says),
	    TEST(refund_states_are_told),
	    TEST(a_refund_has_an_id_of_at_most_255),
	    TEST(a_later_try_sends_when_there_is_none),
	    TEST(a_500_of_this_try_is_not_asked_anew),
	    TEST(a_retried_task_takes_keys_of_its_own),
	    TEST(a_first_500_is_not_asked_anew),
	    TEST(a_key_that_may_be_forgotten_is_not_trusted),
	    TEST(a_new_key_is_the_calls_alone),
	    TEST(a_no_that_is_kept_uses_the_key),
	    TEST(a_later_try_sends_nothing_without_a_look),
	    TEST(a_disputed_payment_is_not_refunded),
	    TEST(a_refund_of_nothing_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
