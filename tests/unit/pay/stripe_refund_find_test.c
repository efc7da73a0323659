/* pay/stripe: which refund that exists is ours. */
#include "pay/refund.h"

static void
a_later_try_takes_the_refund_that_exists(void **state)
{
	script_add(200,
	    LIST(REFUND_BODY("re_0", "succeeded", "", "100") "," OURS("re_1",
		"pending")),
	    NULL);
	assert_int_equal(refund_try(2), CALL_DONE);
	took("re_1", "pending");
	asked_for(0, LOOK);
	assert_true(
	    script_header_is(0, "Authorization: Bearer sk_test_REFUND"));
	/* All of it, by hand: taken when there is no more. */
	script_add(200, LIST(REFUND_BODY("re_2", "succeeded", "", "12900")),
	    NULL);
	script_add(400, already, NULL);
	script_add(200, LIST(REFUND_BODY("re_2", "succeeded", "", "12900")),
	    NULL);
	assert_int_equal(refund_try(3), CALL_DONE);
	took("re_2", "succeeded");
}

/* The first half went back by hand; ours is the second. */
static void
the_same_amount_by_hand_is_not_ours(void **state)
{
	script_add(200, LIST(REFUND_BODY("re_1", "succeeded", "", "12900")),
	    NULL);
	script_add(200, OURS("re_2", "succeeded"), NULL);
	assert_int_equal(refund_try(2), CALL_DONE);
	took("re_2", "succeeded");
}

static void
the_key_decides_before_hold_and_amount(void **state)
{
	/* By the key; the others fit less well. */
	script_add(200,
	    LIST(REFUND_BODY("re_1", "succeeded", "",
		"12900") "," REFUND_BODY("re_2", "succeeded", OF_HOLD,
		"12900") "," OURS("re_3", "pending")),
	    NULL);
	assert_int_equal(refund_try(2), CALL_DONE);
	took("re_3", "pending");
	/* Then by the hold. */
	script_add(200,
	    LIST(REFUND_BODY("re_1", "succeeded", "",
		"12900") "," REFUND_BODY("re_2", "succeeded", OF_HOLD,
		"12900")),
	    NULL);
	assert_int_equal(refund_try(2), CALL_DONE);
	took("re_2", "succeeded");
}

/* It is there, but what became of it is not to be read: to send it would be to
 * give it back twice, once the key is forgotten. */
static void
our_refund_in_a_strange_state_is_not_sent_again(void **state)
{
	static const char *const strange[] = {
	    LIST(OURS("re_1", "strange")),
	    LIST("{\"id\":\"re_1\",\"status\":null,\"amount\":12900,"
		 "\"metadata\":{" KEYED(KEY) "}}"),
	    LIST("{\"status\":\"succeeded\",\"amount\":12900,"
		 "\"metadata\":{" KEYED(KEY) "}}"),
	    LIST(REFUND_BODY("re_1", "strange", OF_HOLD, "12900")),
	};

	for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
		script_add(200, strange[i], NULL);
		if (refund_try(2) != CALL_RETRY)
			fail_msg("%s", strange[i]);
		took("", "");
	}
	/* Somebody else's is no reason to wait. */
	script_add(200, LIST(REFUND_BODY("re_1", "strange", "", "12900")),
	    NULL);
	script_add(200, OURS("re_2", "succeeded"), NULL);
	assert_int_equal(refund_try(2), CALL_DONE);
	took("re_2", "succeeded");
}

/* A restored database may take the same key for another amount. */
static void
our_key_for_another_amount_needs_a_person(void **state)
{
	static const char other[] =
	    REFUND_BODY("re_1", "succeeded", KEYED(KEY), "12899");

	script_add(200,
	    LIST(REFUND_BODY("re_1", "succeeded", KEYED(KEY), "12899")), NULL);
	assert_int_equal(refund_try(2), CALL_REFUSED);
	assert_non_null(strstr(error(), "of another amount"));
	took("", "");
	script_add(200, other, NULL);
	assert_int_equal(refund_try(1), CALL_REFUSED);
	assert_non_null(strstr(error(), "of another amount"));
	took("", "");
	script_add(200,
	    "{\"id\":\"re_1\",\"status\":\"succeeded\",\"amount\":12900,"
	    "\"currency\":\"usd\",\"metadata\":{" KEYED(KEY) "}}",
	    NULL);
	assert_int_equal(refund_try(1), CALL_REFUSED);
	took("", "");
	script_add(200,
	    "{\"id\":\"re_1\",\"status\":\"succeeded\",\"amount\":12900,"
	    "\"currency\":\"eu\",\"metadata\":{" KEYED(KEY) "}}",
	    NULL);
	assert_int_equal(refund_try(1), CALL_REFUSED);
	/* As it should be. */
	script_add(200,
	    "{\"id\":\"re_1\",\"status\":\"succeeded\",\"amount\":12900,"
	    "\"currency\":\"eur\",\"metadata\":{" KEYED(KEY) "}}",
	    NULL);
	assert_int_equal(refund_try(1), CALL_DONE);
	took("re_1", "succeeded");
}

/* The order has been given back in parts before: those are not this one. */
static void
another_key_of_the_order_is_another_refund(void **state)
{
	static const char others[] =
	    LIST(REFUND_BODY("re_1", "succeeded", KEYED(KEY "-2"),
		"12900") "," REFUND_BODY("re_2", "failed", KEYED(KEY "-3"),
		"12900") "," REFUND_BODY("re_3", "succeeded", OF_HOLD, "500"));

	script_add(200, others, NULL);
	script_add(200, OURS("re_9", "succeeded"), NULL);
	assert_int_equal(refund_try(2), CALL_DONE);
	took("re_9", "succeeded");
	/* Not even when nothing is left. */
	script_add(400, already, NULL);
	script_add(200,
	    LIST(REFUND_BODY("re_1", "succeeded", KEYED(KEY "-2"), "12900")),
	    NULL);
	assert_int_equal(refund_try(1), CALL_REFUSED);
	took("", "");
}

static void
a_refund_of_another_payment_is_not_ours(void **state)
{
	script_add(200,
	    LIST("{\"id\":\"re_1\",\"status\":\"succeeded\",\"amount\":12900,"
		 "\"payment_intent\":\"pi_2\",\"metadata\":{" KEYED(KEY) "}}"),
	    NULL);
	script_add(200, OURS("re_9", "succeeded"), NULL);
	assert_int_equal(refund_try(2), CALL_DONE);
	took("re_9", "succeeded");
}

static void
our_failed_refund_is_not_sent_again(void **state)
{
	script_add(200, LIST(OURS("re_1", "failed")), NULL);
	assert_int_equal(refund_try(2), CALL_DONE);
	took("re_1", "failed");
	script_add(200, LIST(REFUND_BODY("re_2", "failed", OF_HOLD, "12900")),
	    NULL);
	assert_int_equal(refund_try(2), CALL_DONE);
	took("re_2", "failed");
}

static void
already_refunded_is_looked_up(void **state)
{
	script_add(400, already, NULL);
	script_add(200, LIST(OURS("re_1", "succeeded")), NULL);
	assert_int_equal(refund_try(1), CALL_DONE);
	took("re_1", "succeeded");
	asked_for(1, LOOK);
	/* The same amount, by hand. */
	script_add(400, already, NULL);
	script_add(200,
	    LIST(REFUND_BODY("re_2", "succeeded", "",
		"900") "," REFUND_BODY("re_3", "succeeded", "", "12900")),
	    NULL);
	assert_int_equal(refund_try(1), CALL_DONE);
	took("re_3", "succeeded");
	/* In parts, by hand: none of them is this one, their news tells. */
	script_add(400, already, NULL);
	script_add(200,
	    LIST(REFUND_BODY("re_2", "succeeded", "",
		"12000") "," REFUND_BODY("re_3", "succeeded", "", "900")),
	    NULL);
	assert_int_equal(refund_try(1), CALL_REFUSED);
	assert_non_null(strstr(error(), "compare with the provider's books"));
	script_add(400, already, NULL);
	script_add(200, LIST(""), NULL);
	assert_int_equal(refund_try(1), CALL_REFUSED);
	assert_non_null(strstr(error(), "compare with the provider's books"));
	script_add(400, already, NULL);
	script_add(503, "", NULL);
	assert_int_equal(refund_try(1), CALL_RETRY);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_later_try_takes_the_refund_that_exists),
	    TEST(the_same_amount_by_hand_is_not_ours),
	    TEST(the_key_decides_before_hold_and_amount),
	    TEST(our_refund_in_a_strange_state_is_not_sent_again),
	    TEST(our_key_for_another_amount_needs_a_person),
	    TEST(another_key_of_the_order_is_another_refund),
	    TEST(a_refund_of_another_payment_is_not_ours),
	    TEST(our_failed_refund_is_not_sent_again),
	    TEST(already_refunded_is_looked_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
