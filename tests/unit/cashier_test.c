/*
 * The cashier's loop: claim, call, record. The database, the clock and the
 * provider's answers are made up here; the adapter is the real one.
 */
#include "cashier_fake.h"

#include "cashier.h"

static void
step_add(enum step_kind kind, const char *job, int try)
{
	steps[step_count++] = (struct step){job, kind, try};
}

static int
setup(void **state)
{
	script_clear();
	step_count = 0;
	step_next = 0;
	record_failures = 0;
	record_failure = DB_DOWN;
	stop_at_record = false;
	stuck_next = false;
	delay_seen = -1;
	alert[0] = '\0';
	fake_ms = 1000000;
	slept_ms = 0;
	buf_init(&seen);
	return 0;
}

static int
teardown(void **state)
{
	buf_release(&seen);
	return script_next == script_count ? 0 : -1;
}

static void
run(const char *expected)
{
	struct conf conf = fixture_conf();

	assert_int_equal(cashier_run(&conf), 0);
	assert_string_equal(buf_text(&seen), expected);
}

/* The loop asks once more, and hears SIGTERM there. */
#define END "wait 1000\n"

static const char session_open[] = "{\"id\":\"cs_test_1\",\"status\":\"open\","
				   "\"url\":\"https://pay.test/c/1\"}";
static const char session_expired[] =
    "{\"id\":\"cs_test_1\",\"status\":\"expired\"}";
static const char session_complete[] =
    "{\"id\":\"cs_test_1\",\"status\":\"complete\",\"payment_status\":\"%s\","
    "\"livemode\":false,\"mode\":\"payment\",\"amount_total\":12900,"
    "\"currency\":\"eur\",\"payment_intent\":\"pi_1\",\"metadata\":"
    "{\"hold_id\":\"" HOLD "\"}}";
static const char refund[] = "{\"id\":\"re_1\",\"status\":\"pending\"}";
static const char no[] = "{\"error\":{\"type\":\"invalid_request_error\"}}";

static void
sessions_are_opened(void **state)
{
	step_add(STEP_JOB, "open", 1);
	script_add(200, session_open, NULL);
	run("opened cs_test_1 https://pay.test/c/1\n" END);
	assert_int_equal(lease_seen, 30000);
	assert_true(script_header_is(0, "Idempotency-Key: open-" HOLD));
	assert_non_null(
	    strstr(script_asked[0].body, "client_reference_id=ord_42&"));
	assert_non_null(strstr(script_asked[0].body, "unit_amount]=12900&"));
	assert_non_null(strstr(script_asked[0].body, "expires_at=1796052660&"));
}

static void
sessions_are_ended(void **state)
{
	step_add(STEP_JOB, "expire", 1);
	script_add(200, session_expired, NULL);
	run("expired\n" END);
}

static void
refunds_are_sent(void **state)
{
	step_add(STEP_JOB, "refund", 1);
	script_add(200, refund, NULL);
	run("refunded re_1 pending\n" END);
	assert_string_equal(alert, "");
}

static void
a_refund_that_fails_at_once_is_said(void **state)
{
	step_add(STEP_JOB, "refund", 1);
	script_add(200, "{\"id\":\"re_1\",\"status\":\"failed\"}", NULL);
	run("refunded re_1 failed\n" END);
	assert_string_equal(alert,
	    "refund is failed, hold " HOLD " needs a person");
}

static void
an_idle_cashier_waits(void **state)
{
	step_add(STEP_NONE, "", 0);
	step_add(STEP_NONE, "", 0);
	run("wait 1000\nwait 1000\n" END);
}

static void
complete(const char *payment_status, const char *session, const char *expected)
{
	char body[512];

	snprintf(body, sizeof(body), session, payment_status);
	step_add(STEP_JOB, "expire", 1);
	script_add(400, no, NULL);
	script_add(200, body, NULL);
	script_add(200, body, NULL);
	run(expected);
}

static void
a_session_that_was_paid_is_settled(void **state)
{
	complete("paid", session_complete,
	    "settled paid fetch-cs_test_1-complete-paid 12900\n"
	    "expired\n" END);
}

static void
c29_money_under_way_needs_no_end_of_the_session(void **state)
{
	complete("unpaid", session_complete,
	    "settled pending fetch-cs_test_1-complete-unpaid 12900\n"
	    "expired\n" END);
}

static void
a_session_that_cannot_be_read_is_kept(void **state)
{
	stuck_next = true;
	complete("odd", session_complete,
	    "retry the session cannot be read\n" END);
}

static void
a_lost_look_is_tried_again(void **state)
{
	char body[512];

	snprintf(body, sizeof(body), session_complete, "paid");
	step_add(STEP_JOB, "expire", 1);
	script_add(400, no, NULL);
	script_add(200, body, NULL);
	script_add(503, "", NULL);
	run("retry status 503 request req_1\n" END);
}

static void
delays_double_up_to_a_minute(void **state)
{
	static const int64_t most[] = {500, 1000, 2000, 4000, 8000, 16000,
	    32000, 60000, 60000};

	for (int try = 1; try <= 9; try++) {
		setup(NULL);
		step_add(STEP_JOB, "open", try);
		script_add(503, "", NULL);
		run("retry status 503 request req_1\n" END);
		assert_in_range(delay_seen, most[try - 1] / 2, most[try - 1]);
		buf_release(&seen);
	}
}

static void
a_refusal_is_recorded(void **state)
{
	step_add(STEP_JOB, "open", 1);
	script_add(400, no, NULL);
	run("refused status 400 invalid_request_error request req_1\n" END);
}

static void
the_last_try_is_stuck(void **state)
{
	stuck_next = true;
	step_add(STEP_JOB, "refund", 1);
	script_add(0, "", NULL);
	run("retry no answer: connection reset\n" END);
}

static void
a_database_that_is_away_is_waited_for(void **state)
{
	step_add(STEP_DOWN, "", 0);
	step_add(STEP_DOWN, "", 0);
	step_add(STEP_JOB, "open", 1);
	script_add(200, session_open, NULL);
	run("opened cs_test_1 https://pay.test/c/1\n" END);
	assert_in_range(claimed_ms[1] - claimed_ms[0], 250, 500);
	assert_in_range(claimed_ms[2] - claimed_ms[1], 500, 1000);
}

static void
an_outcome_is_kept_while_the_database_is_away(void **state)
{
	record_failures = 2;
	step_add(STEP_JOB, "open", 1);
	script_add(200, session_open, NULL);
	run("not opened cs_test_1 https://pay.test/c/1\n"
	    "not opened cs_test_1 https://pay.test/c/1\n"
	    "opened cs_test_1 https://pay.test/c/1\n" END);
}

static void
an_outcome_is_given_up_with_the_lease(void **state)
{
	record_failures = 1000;
	step_add(STEP_JOB, "expire", 1);
	step_add(STEP_NONE, "", 0);
	script_add(200, session_expired, NULL);
	{
		struct conf conf = fixture_conf();

		assert_int_equal(cashier_run(&conf), 0);
	}
	assert_in_range(claimed_ms[1] - claimed_ms[0], 30000, 35000);
	assert_int_equal(step_next, 2);
}

static void
an_outcome_that_cannot_be_stored_is_put_off(void **state)
{
	record_failures = 1;
	record_failure = DB_REFUSED;
	step_add(STEP_JOB, "open", 1);
	script_add(200, session_open, NULL);
	run("not opened cs_test_1 https://pay.test/c/1\n"
	    "retry the outcome cannot be recorded\n" END);
}

static void
a_claim_that_is_refused_does_not_spin(void **state)
{
	step_add(STEP_REFUSED, "", 0);
	step_add(STEP_NONE, "", 0);
	run("wait 1000\n" END);
	assert_true(claimed_ms[1] - claimed_ms[0] >= 1000);
}

static void
it_stops_after_the_call_at_hand(void **state)
{
	stop_at_record = true;
	step_add(STEP_JOB, "open", 1);
	step_add(STEP_JOB, "open", 1);
	script_add(200, session_open, NULL);
	run("opened cs_test_1 https://pay.test/c/1\n");
	assert_int_equal(step_next, 1);
}

static void
calls_of_a_kind_keep_their_pace(void **state)
{
	for (int i = 0; i < 21; i++) {
		step_add(STEP_JOB, "open", 1);
		script_add(200, session_open, NULL);
	}
	step_add(STEP_JOB, "expire", 1);
	script_add(200, session_expired, NULL);
	{
		struct conf conf = fixture_conf();

		assert_int_equal(cashier_run(&conf), 0);
	}
	/* 20 a second: the last of 21 goes out a second after the first. */
	assert_int_equal(claimed_ms[21] - claimed_ms[0], 1000);
	/* Another kind need not wait. */
	assert_int_equal(slept_ms, 1000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(sessions_are_opened),
	    TEST(sessions_are_ended),
	    TEST(refunds_are_sent),
	    TEST(a_refund_that_fails_at_once_is_said),
	    TEST(an_idle_cashier_waits),
	    TEST(a_session_that_was_paid_is_settled),
	    TEST(c29_money_under_way_needs_no_end_of_the_session),
	    TEST(a_session_that_cannot_be_read_is_kept),
	    TEST(a_lost_look_is_tried_again),
	    TEST(delays_double_up_to_a_minute),
	    TEST(a_refusal_is_recorded),
	    TEST(the_last_try_is_stuck),
	    TEST(a_database_that_is_away_is_waited_for),
	    TEST(an_outcome_is_kept_while_the_database_is_away),
	    TEST(an_outcome_is_given_up_with_the_lease),
	    TEST(an_outcome_that_cannot_be_stored_is_put_off),
	    TEST(a_claim_that_is_refused_does_not_spin),
	    TEST(it_stops_after_the_call_at_hand),
	    TEST(calls_of_a_kind_keep_their_pace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
