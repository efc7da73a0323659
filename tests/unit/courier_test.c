/*
 * The courier's loop: claim, write, send, record. The database, the clock and
 * the mail server are made up here; the words are the real ones.
 */
#include "courier_fake.h"

#include "courier.h"

static struct conf conf;

static void
step_add(enum step_kind kind, int try)
{
	steps[step_count++] = (struct step){kind, try};
}

static int
setup(void **state)
{
	step_count = 0;
	step_next = 0;
	result_next = MAIL_SENT;
	away_next = false;
	set_up = true;
	record_failures = 0;
	record_failure = DB_DOWN;
	stop_at_record = false;
	stuck_next = false;
	delay_seen = -1;
	alert[0] = '\0';
	warning[0] = '\0';
	fake_ms = 1000000;
	buf_init(&seen);
	memset(&conf, 0, sizeof(conf));
	conf.server.share = ".";
	conf.server.public_url = "https://shop.test";
	conf.mail.smtp_url = "";
	conf.mail.folder = "/tmp";
	conf.mail.from = "shop@shop.test";
	conf.mail.operator= "ann@shop.test";
	return 0;
}

static int
teardown(void **state)
{
	buf_release(&seen);
	return 0;
}

static void
run(const char *expected)
{
	assert_int_equal(courier_run(&conf), 0);
	assert_string_equal(buf_text(&seen), expected);
}

/* The loop asks once more, and hears SIGTERM there. */
#define END "wait 1000\n"
#define MAIL "paid-7 to ada@buyer.test: Order ord_42 is paid\n"
#define TASK \
	"task-7 to ann@shop.test: The payment provider gives no answer: " \
	"ord_42\n"
#define ERROR "status 450 to RCPT: 450 no ada@buyer.test\n"

static void
mails_are_sent(void **state)
{
	step_add(STEP_MAIL, 1);
	step_add(STEP_TASK, 1);
	step_add(STEP_NONE, 0);
	run(MAIL "sent\n" TASK "sent\n"
		 "wait 1000\n" END);
	assert_in_range(lease_seen, MAIL_TIMEOUT_MS, 2 * MAIL_TIMEOUT_MS);
	assert_string_equal(alert, "");
}

static void
without_a_way_out_they_are_void(void **state)
{
	set_up = false;
	step_add(STEP_MAIL, 1);
	step_add(STEP_TASK, 1);
	run("void\nvoid\n" END);
}

static void
without_an_operator_tasks_are_void(void **state)
{
	conf.mail.operator= "";
	step_add(STEP_TASK, 1);
	step_add(STEP_MAIL, 1);
	run("void\n" MAIL "sent\n" END);
	assert_non_null(strstr(warning, "mail.operator"));
}

static void
a_mail_that_cannot_go_now_is_tried_again(void **state)
{
	result_next = MAIL_LATER;
	step_add(STEP_MAIL, 3);
	run(MAIL "retry " ERROR END);
	assert_in_range(delay_seen, 2000, 4000);
	assert_string_equal(alert, "");
	/* The log names no address. */
	assert_string_equal(warning,
	    "could not send mail paid-7 about ord_42, try 3: status 450 to "
	    "RCPT");
}

static void
delays_double_up_to_four_hours(void **state)
{
	const int64_t hours4 = (int64_t)4 * 3600 * 1000;
	int64_t sum = 0;

	for (int try = 1; try < 20; try++) {
		int64_t most = (int64_t)1000 << (try - 1);

		most = most < hours4 ? most : hours4;
		setup(NULL);
		result_next = MAIL_LATER;
		step_add(STEP_MAIL, try);
		run(MAIL "retry " ERROR END);
		assert_in_range(delay_seen, most / 2, most);
		sum += delay_seen;
		buf_release(&seen);
	}
	/* All tries together outlast a night. */
	assert_true(sum > (int64_t)12 * 3600 * 1000);
}

static void
the_last_try_is_told(void **state)
{
	result_next = MAIL_LATER;
	stuck_next = true;
	step_add(STEP_MAIL, 20);
	run(MAIL "retry " ERROR END);
	assert_string_equal(alert,
	    "cannot send mail paid-7 about ord_42, given up after 20 tries: "
	    "status 450 to RCPT");
}

static void
a_refusal_is_final(void **state)
{
	result_next = MAIL_REFUSED;
	step_add(STEP_MAIL, 1);
	run(MAIL "refused " ERROR END);
	assert_string_equal(alert, "");
	assert_non_null(strstr(warning, "cannot send mail paid-7"));
	/* That the operator cannot be told must be told. */
	buf_reset(&seen);
	step_next = 0;
	steps[0].kind = STEP_TASK;
	run(TASK "refused " ERROR END);
	assert_non_null(strstr(alert, "cannot send mail task-7 about task 12"));
}

static void
a_server_that_is_away_is_left_alone(void **state)
{
	result_next = MAIL_LATER;
	away_next = true;
	for (int i = 0; i < 10; i++)
		step_add(STEP_MAIL, 1);
	assert_int_equal(courier_run(&conf), 0);
	assert_in_range(claimed_ms[1] - claimed_ms[0], 250, 500);
	assert_in_range(claimed_ms[2] - claimed_ms[1], 500, 1000);
	assert_in_range(claimed_ms[9] - claimed_ms[8], 15000, 30000);
}

static void
a_mail_that_never_ends_is_given_up(void **state)
{
	step_add(STEP_MAIL, 21);
	run("refused no try came to its end\n" END);
	assert_non_null(strstr(alert, "given up after 20 tries"));
}

static void
a_database_that_is_away_is_waited_for(void **state)
{
	step_add(STEP_DOWN, 0);
	step_add(STEP_DOWN, 0);
	step_add(STEP_MAIL, 1);
	run(MAIL "sent\n" END);
	assert_in_range(claimed_ms[1] - claimed_ms[0], 250, 500);
	assert_in_range(claimed_ms[2] - claimed_ms[1], 500, 1000);
}

static void
what_was_sent_is_kept_while_the_database_is_away(void **state)
{
	record_failures = 2;
	step_add(STEP_MAIL, 1);
	run(MAIL "not sent\nnot sent\nsent\n" END);
}

static void
it_is_given_up_with_the_lease(void **state)
{
	record_failures = 1000;
	step_add(STEP_MAIL, 1);
	step_add(STEP_NONE, 0);
	assert_int_equal(courier_run(&conf), 0);
	assert_in_range(claimed_ms[1] - claimed_ms[0], lease_seen,
	    lease_seen + 5000);
	assert_non_null(strstr(warning, "it goes out again"));
}

static void
what_cannot_be_recorded_is_not_sent_for_ever(void **state)
{
	record_failures = 1;
	record_failure = DB_REFUSED;
	step_add(STEP_MAIL, 1);
	run(MAIL "not sent\nrefused what came of it cannot be recorded\n" END);
	assert_non_null(strstr(alert, "it says no"));
}

static void
a_claim_that_is_refused_does_not_spin(void **state)
{
	step_add(STEP_REFUSED, 0);
	step_add(STEP_NONE, 0);
	run("wait 1000\n" END);
	assert_true(claimed_ms[1] - claimed_ms[0] >= 1000);
}

static void
it_stops_after_the_mail_at_hand(void **state)
{
	stop_at_record = true;
	step_add(STEP_MAIL, 1);
	step_add(STEP_MAIL, 1);
	run(MAIL "sent\n");
	assert_int_equal(step_next, 1);
}

static void
without_its_words_it_does_not_start(void **state)
{
	conf.server.share = "/nowhere";
	assert_int_equal(courier_run(&conf), 1);
	assert_non_null(strstr(alert, "/nowhere/static/mail/paid.txt"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(mails_are_sent),
	    TEST(without_a_way_out_they_are_void),
	    TEST(without_an_operator_tasks_are_void),
	    TEST(a_mail_that_cannot_go_now_is_tried_again),
	    TEST(delays_double_up_to_four_hours),
	    TEST(the_last_try_is_told),
	    TEST(a_refusal_is_final),
	    TEST(a_server_that_is_away_is_left_alone),
	    TEST(a_mail_that_never_ends_is_given_up),
	    TEST(a_database_that_is_away_is_waited_for),
	    TEST(what_was_sent_is_kept_while_the_database_is_away),
	    TEST(it_is_given_up_with_the_lease),
	    TEST(what_cannot_be_recorded_is_not_sent_for_ever),
	    TEST(a_claim_that_is_refused_does_not_spin),
	    TEST(it_stops_after_the_mail_at_hand),
	    TEST(without_its_words_it_does_not_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
