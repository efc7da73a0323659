/*
 * What the cashier makes of each outcome. The outbox, the provider, the requests
 * and the clock are made up here.
 */
#include "cashier_provider.h"

/* Runs for a minute of made-up time. */
static void
expect(const char *expected)
{
	run();
	assert_string_equal(buf_text(&seen), expected);
}

static void
calls_are_made_and_recorded(void **state)
{
	row_add(JOB_OPEN);
	row_add(JOB_EXPIRE);
	row_add(JOB_REFUND);
	row_add(JOB_FETCH);
	run();
	assert_non_null(strstr(buf_text(&seen),
	    "hold-0 opened id_1 https://pay.test/c/1\n"));
	assert_non_null(strstr(buf_text(&seen), "hold-1 expired\n"));
	assert_non_null(
	    strstr(buf_text(&seen), "hold-2 refunded id_1 pending\n"));
	assert_non_null(strstr(buf_text(&seen), "hold-3 done\n"));
	assert_string_equal(alerts, "");
	for (size_t i = 0; i < row_count; i++) {
		assert_true(rows[i].done);
		assert_int_equal(rows[i].try, 1);
	}
}

/* Two looks after what is to be done, as for a session that was complete. */
static void
a_call_may_take_several_requests(void **state)
{
	row_add(JOB_EXPIRE)->requests = 3;
	expect("hold-0 expired\n");
	assert_int_equal(sent_count, 3);
	assert_int_equal(sent[0].endpoint, ENDPOINT_END);
	assert_int_equal(sent[1].endpoint, ENDPOINT_LOOK);
	assert_int_equal(sent[2].endpoint, ENDPOINT_LOOK);
	assert_int_equal(rows[0].try, 1);
}

static void
a_call_may_need_no_request(void **state)
{
	row_add(JOB_OPEN)->requests = 0;
	row_add(JOB_OPEN)->requests = 0;
	expect("hold-0 opened id_1 https://pay.test/c/1\n"
	       "hold-1 opened id_1 https://pay.test/c/1\n");
	assert_int_equal(rows[1].done_ms, 1000000);
}

static void
a_refund_that_fails_at_once_is_said(void **state)
{
	row_add(JOB_REFUND)->news = "failed";
	expect("hold-0 refunded id_1 failed\n");
	assert_string_equal(alerts,
	    "refund is failed, hold hold-0 needs a person\n");
}

static void
a_session_that_was_paid_is_settled(void **state)
{
	struct row *row = row_add(JOB_EXPIRE);

	row->result = CALL_COMPLETE;
	row->news = "p";
	expect(" settled paid evt_p 12900\nhold-0 done\n");
	assert_string_equal(alerts, "");
}

static void
an_event_is_looked_up_and_settled(void **state)
{
	row_add(JOB_FETCH)->news = "pq";
	expect(" settled paid evt_p 12900\n settled paid evt_q 12900\n"
	       "hold-0 done\n");
}

static void
news_that_need_a_person_are_said_once(void **state)
{
	row_add(JOB_FETCH)->news = "xp";
	expect(" settled paid evt_x 12900\n settled paid evt_p 12900\n"
	       "hold-0 done\n");
	assert_string_equal(alerts,
	    "event evt_x of hold hold-0 needs a person\n");
}

static void
news_that_cannot_be_read_are_looked_up_again(void **state)
{
	row_add(JOB_FETCH)->news = "u";
	expect("hold-0 retry what was looked up cannot be read\n");
	assert_int_equal(last_delay_ms, 60000);
}

static void
news_wait_for_the_database(void **state)
{
	row_add(JOB_FETCH)->news = "pq";
	record_failure = DB_LOST;
	record_failures = 1;
	expect("not  settled paid evt_p 12900\n"
	       " settled paid evt_p 12900\n settled paid evt_q 12900\n"
	       "hold-0 done\n");
	assert_int_equal(sent_count, 1);
}

static void
delays_double_up_to_a_minute(void **state)
{
	static const int64_t most[] = {500, 1000, 2000, 4000, 8000, 16000,
	    32000, 60000, 60000};

	for (int try = 1; try <= 9; try++) {
		struct row *row;

		setup(NULL);
		fake_pace.tries = 100;
		stop_ms = fake_ms + 300;
		row = row_add(JOB_OPEN);
		row->try = try - 1;
		row->failures = try;
		expect("hold-0 retry status 503\n");
		assert_int_equal(last_delay_ms, most[try - 1]);
	}
}

static void
a_call_comes_back_after_its_delay(void **state)
{
	row_add(JOB_OPEN)->failures = 2;
	expect("hold-0 retry status 503\nhold-0 retry status 503\n"
	       "hold-0 opened id_1 https://pay.test/c/1\n");
	assert_int_equal(sent[1].ms - sent[0].ms, 100 + 500);
	assert_int_equal(sent[2].ms - sent[1].ms, 100 + 1000);
	assert_string_equal(alerts, "");
}

static void
the_provider_may_ask_for_a_longer_delay(void **state)
{
	static const struct {
		const char *asked;
		int64_t delay_ms;
	} cases[] = {{"7", 7000}, {"0", 500}, {"86400", 60000}, {"-3", 500},
	    {"Wed, 21 Oct 2026 07:28:00 GMT", 500},
	    {"9223372036854775807", 60000}, {"", 500}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct row *row;

		setup(NULL);
		stop_ms = fake_ms + 300;
		row = row_add(JOB_OPEN);
		row->failures = 1;
		row->retry_after = cases[i].asked;
		expect("hold-0 retry status 503\n");
		assert_int_equal(last_delay_ms, cases[i].delay_ms);
	}
}

static void
the_last_try_is_stuck_and_said(void **state)
{
	row_add(JOB_REFUND)->failures = 3;
	expect("hold-0 retry status 503\nhold-0 retry status 503\n"
	       "hold-0 retry status 503\n");
	assert_string_equal(alerts,
	    "cannot send a refund for hold hold-0, given up after 3 tries: "
	    "status 503\n");
	assert_true(rows[0].stuck);
}

static void
a_refusal_is_recorded_and_said(void **state)
{
	row_add(JOB_OPEN)->result = CALL_REFUSED;
	expect("hold-0 refused status 400\n");
	assert_string_equal(alerts,
	    "cannot open a session for hold hold-0: status 400\n");
	assert_int_equal(sent_count, 1);
	row_add(JOB_REFUND)->result = CALL_REFUSED;
	rows[1].key_is_used = true;
	stop_ms = fake_ms + 1000;
	expect("hold-0 refused status 400\n"
	       "hold-1 refused status 400, key is used\n");
}

static void
an_outcome_that_cannot_be_stored_is_put_off(void **state)
{
	row_add(JOB_OPEN);
	record_failure = DB_REFUSED;
	record_failures = 1;
	stop_ms = fake_ms + 10000;
	expect("not hold-0 opened id_1 https://pay.test/c/1\n"
	       "hold-0 retry the outcome cannot be recorded\n");
	assert_int_equal(last_delay_ms, 60000);
	assert_string_equal(alerts,
	    "cannot record a call for hold hold-0: it says no\n");
}

/* A conflict that does not pass, a call that is wrong: one call's matter. */
static void
an_outcome_that_fails_holds_no_other_up(void **state)
{
	static const enum db_status failures[] = {DB_CONFLICT, DB_BUG,
	    DB_REFUSED};

	for (size_t i = 0; i < 3; i++) {
		setup(NULL);
		row_add(JOB_REFUND)->latency_ms = 50;
		row_add(JOB_REFUND);
		record_failure = failures[i];
		record_failures = 1;
		stop_ms = fake_ms + 300;
		run();
		assert_false(rows[0].done);
		assert_true(rows[1].done);
		assert_in_range(rows[1].done_ms, 1000100, 1000200);
		assert_int_equal(last_delay_ms, i == 0 ? 500 : 60000);
		assert_int_equal(rows[0].due_ms - last_delay_ms, 1000050);
		buf_reset(&seen);
	}
}

/* Its order is locked for too long: it comes back with its lease. */
static void
a_locked_order_holds_no_other_up(void **state)
{
	row_add(JOB_REFUND)->latency_ms = 50;
	row_add(JOB_REFUND);
	record_failure = DB_DOWN;
	record_failures = 1;
	stop_ms = fake_ms + 120000;
	run();
	assert_in_range(rows[1].done_ms, 1000100, 1000200);
	assert_int_equal(rows[1].try, 1);
	assert_true(rows[0].done);
	assert_int_equal(rows[0].try, 2);
	assert_non_null(strstr(log_lines,
	    "could not record a call for hold hold-0, which is locked"));
}

/* The provider was changed, and money is owed through the one before. */
static void
refunds_through_a_provider_that_is_gone_are_a_persons(void **state)
{
	static const char why[] =
	    "standard is not set up any more: set it up and retry this task, "
	    "or give the money back there";

	for (int kind = 0; kind < JOB_KINDS; kind++)
		row_add((enum job_kind)kind)->provider = "standard";
	/* One that comes while it runs. */
	row_add(JOB_REFUND)->provider = "standard";
	rows[JOB_KINDS].born_ms = rows[JOB_KINDS].due_ms = fake_ms + 5000;
	stop_ms = fake_ms + 70000;
	run();
	assert_int_equal(sent_count, 0);
	for (size_t i = 0; i < row_count; i++)
		assert_int_equal(rows[i].stuck, rows[i].kind == JOB_REFUND);
	assert_non_null(strstr(buf_text(&seen), why));
	assert_non_null(strstr(alerts, why));
}

/* It is looked at each minute, and said when there are more. */
static void
other_calls_to_a_provider_that_is_gone_are_counted(void **state)
{
	static const char three[] = "no settings for standard: 3 calls to it "
				    "wait\n",
			  four[] = "no settings for standard: 4 calls to it "
				   "wait\n";
	const char *at;

	for (int kind = 0; kind < JOB_KINDS; kind++) {
		if (kind != JOB_REFUND)
			row_add((enum job_kind)kind)->provider = "standard";
	}
	row_add(JOB_EXPIRE)->provider = "standard";
	rows[3].born_ms = rows[3].due_ms = fake_ms + 90000;
	stop_ms = fake_ms + 190000;
	run();
	assert_int_equal(strays_told, 4);
	assert_int_equal(sent_count, 0);
	at = strstr(alerts, three);
	assert_ptr_equal(at, alerts);
	assert_string_equal(at + strlen(three), four);
}

static void
an_outcome_is_kept_while_the_database_is_away(void **state)
{
	row_add(JOB_OPEN);
	row_add(JOB_OPEN)->due_ms += 1500;
	down_from_ms = fake_ms + 50;
	down_until_ms = fake_ms + 20000;
	run();
	assert_true(rows[0].done);
	assert_int_equal(rows[0].try, 1);
	assert_in_range(rows[0].done_ms, down_until_ms, down_until_ms + 5000);
	/* Nothing was begun meanwhile, and then it was. */
	assert_int_equal(sent_count, 2);
	assert_in_range(sent[1].ms, down_until_ms, down_until_ms + 5000);
	assert_true(rows[1].done);
}

static void
an_outcome_is_given_up_with_its_lease(void **state)
{
	row_add(JOB_EXPIRE);
	down_from_ms = fake_ms + 50;
	down_until_ms = fake_ms + 90000;
	stop_ms = fake_ms + 120000;
	run();
	assert_true(rows[0].done);
	assert_int_equal(rows[0].try, 2);
	assert_int_equal(sent_count, 2);
	assert_non_null(strstr(log_lines,
	    "could not record a call for hold hold-0 in time"));
}

static void
a_call_without_an_end_is_given_up_with_its_lease(void **state)
{
	row_add(JOB_EXPIRE)->frozen = 1;
	stop_ms = fake_ms + 120000;
	expect("hold-0 expired\n");
	assert_int_equal(sent_count, 2);
	/* Three requests, each waiting for 31 others at 20 a second, and ten
	 * seconds. */
	assert_int_equal(last_lease_ms, 3 * (20000 + 1600) + 10000);
	assert_in_range(sent[1].ms - sent[0].ms, last_lease_ms,
	    last_lease_ms + 1000);
}

static void
a_database_away_from_the_start_is_waited_for(void **state)
{
	row_add(JOB_OPEN);
	down_until_ms = fake_ms + 30000;
	run();
	assert_true(rows[0].done);
	assert_in_range(rows[0].done_ms, down_until_ms, down_until_ms + 5100);
	/* Pauses double, up to five seconds. */
	assert_in_range(claims, 5, 40);
}

static void
a_claim_that_is_refused_does_not_spin(void **state)
{
	row_add(JOB_OPEN);
	claim_refused = true;
	run();
	assert_in_range(claims, 55, 65);
	assert_non_null(strstr(alerts, "cannot claim a call: it says no\n"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(calls_are_made_and_recorded),
	    TEST(a_call_may_take_several_requests),
	    TEST(a_call_may_need_no_request),
	    TEST(a_refund_that_fails_at_once_is_said),
	    TEST(a_session_that_was_paid_is_settled),
	    TEST(an_event_is_looked_up_and_settled),
	    TEST(news_that_need_a_person_are_said_once),
	    TEST(news_that_cannot_be_read_are_looked_up_again),
	    TEST(news_wait_for_the_database),
	    TEST(delays_double_up_to_a_minute),
	    TEST(a_call_comes_back_after_its_delay),
	    TEST(the_provider_may_ask_for_a_longer_delay),
	    TEST(the_last_try_is_stuck_and_said),
	    TEST(a_refusal_is_recorded_and_said),
	    TEST(an_outcome_that_cannot_be_stored_is_put_off),
	    TEST(an_outcome_that_fails_holds_no_other_up),
	    TEST(a_locked_order_holds_no_other_up),
	    TEST(refunds_through_a_provider_that_is_gone_are_a_persons),
	    TEST(other_calls_to_a_provider_that_is_gone_are_counted),
	    TEST(an_outcome_is_kept_while_the_database_is_away),
	    TEST(an_outcome_is_given_up_with_its_lease),
	    TEST(a_call_without_an_end_is_given_up_with_its_lease),
	    TEST(a_database_away_from_the_start_is_waited_for),
	    TEST(a_claim_that_is_refused_does_not_spin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
