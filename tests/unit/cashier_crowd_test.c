/*
 * The cashier with many calls: at once, at the provider's pace, in the right
 * order; when it wakes, and how it stops. The world is made up here.
 */
#include "cashier_provider.h"

/* When row i's first request went out; -1: never. */
static int64_t
sent_ms(size_t row)
{
	for (size_t i = 0; i < sent_count; i++) {
		if (sent[i].row == row)
			return sent[i].ms;
	}
	return -1;
}

/* The most requests to an endpoint, ENDPOINTS: to all, in any second. */
static size_t
most_in_a_second(enum endpoint endpoint)
{
	size_t most = 0;

	for (size_t i = 0; i < sent_count; i++) {
		size_t n = 0;

		for (size_t j = i;
		     j < sent_count && sent[j].ms < sent[i].ms + 1000; j++)
			n += endpoint == ENDPOINTS ||
			    sent[j].endpoint == endpoint;
		most = n > most ? n : most;
	}
	return most;
}

static void
pages_are_opened_side_by_side_and_in_order(void **state)
{
	/* The newest hold's call was written down first. */
	for (int i = 0; i < 500; i++) {
		struct row *row = row_add(JOB_OPEN);

		row->hold = 500 - i;
		row->latency_ms = 900;
	}
	run();
	for (size_t i = 0; i < 500; i++) {
		assert_true(rows[i].done);
		assert_int_equal(rows[i].try, 1);
	}
	for (size_t i = 1; i < 500; i++)
		assert_true(sent[i].row < sent[i - 1].row);
	assert_int_equal(most_in_a_second(ENDPOINT_OPEN), 20);
	/* 20 a second, evenly, although each takes most of one. */
	assert_in_range(sent[499].ms - sent[0].ms, 24900, 25000);
	assert_in_range(flying_most, 17, 20);
}

static void
every_endpoint_has_its_own_pace(void **state)
{
	for (int i = 0; i < 400; i++) {
		struct row *row = row_add((enum job_kind)(i % JOB_KINDS));

		row->requests = i % JOB_KINDS == JOB_EXPIRE ? 2 : 1;
	}
	run();
	for (size_t i = 0; i < 400; i++)
		assert_true(rows[i].done);
	assert_in_range(most_in_a_second(ENDPOINT_OPEN), 20, 22);
	assert_in_range(most_in_a_second(ENDPOINT_END), 20, 22);
	assert_in_range(most_in_a_second(ENDPOINT_REFUND), 20, 22);
	assert_in_range(most_in_a_second(ENDPOINT_LOOK), 20, 22);
	assert_in_range(most_in_a_second(ENDPOINTS), 60, 88);
	/* A hundred of each; fetches and the second looks share theirs. */
	assert_in_range(rows[396].done_ms - 1000000, 4900, 5500);
	assert_in_range(rows[398].done_ms - 1000000, 4900, 5500);
	assert_in_range(rows[399].done_ms - 1000000, 4900, 11000);
}

static void
all_together_have_a_pace(void **state)
{
	fake_pace.calls_per_second = 10;
	for (int i = 0; i < 200; i++)
		row_add((enum job_kind)(i % JOB_KINDS));
	run();
	for (size_t i = 0; i < 200; i++)
		assert_true(rows[i].done);
	assert_in_range(most_in_a_second(ENDPOINTS), 10, 11);
}

static void
a_slow_call_holds_nobody_up(void **state)
{
	row_add(JOB_OPEN)->latency_ms = 15000;
	for (int i = 0; i < 40; i++)
		row_add(JOB_OPEN);
	run();
	for (size_t i = 1; i <= 40; i++)
		assert_in_range(rows[i].done_ms - 1000000, 0, 2300);
	assert_int_equal(rows[0].done_ms - 1000000, 15000);
}

/* A provider that opens no page: what else is owed goes out all the same. */
static void
ends_and_refunds_do_not_wait_for_pages(void **state)
{
	for (int i = 0; i < 200; i++)
		row_add(JOB_OPEN)->frozen = 1;
	for (int i = 0; i < 20; i++) {
		row_add(JOB_EXPIRE)->due_ms += 5000;
		row_add(JOB_REFUND)->due_ms += 5000;
	}
	stop_ms = fake_ms + 20000;
	run();
	/* A quarter of 32 is not theirs. */
	assert_in_range(flying_most, 25, 32);
	for (size_t i = 200; i < 240; i++)
		assert_in_range(rows[i].done_ms - 1005000, 0, 1300);
	assert_int_equal(sent_ms(24), -1);
}

static void
pages_do_not_wait_for_ends(void **state)
{
	for (int i = 0; i < 200; i++)
		row_add(JOB_EXPIRE)->frozen = 1;
	for (int i = 0; i < 10; i++)
		row_add(JOB_OPEN)->due_ms += 5000;
	stop_ms = fake_ms + 20000;
	run();
	for (size_t i = 200; i < 210; i++)
		assert_in_range(rows[i].done_ms - 1005000, 0, 700);
}

/* Whatever kind it is that gets no answer. */
static void
money_back_does_not_wait_for_ends_and_looks(void **state)
{
	static const enum job_kind kinds[] = {JOB_EXPIRE, JOB_FETCH};

	for (size_t k = 0; k < 3; k++) {
		setup(NULL);
		for (int i = 0; i < 200; i++)
			row_add(kinds[k < 2 ? k : (size_t)i % 2])->frozen = 1;
		for (int i = 0; i < 10; i++)
			row_add(JOB_REFUND)->due_ms += 5000;
		stop_ms = fake_ms + 20000;
		run();
		for (size_t i = 200; i < 210; i++)
			assert_in_range(rows[i].done_ms - 1005000, 0, 1300);
		buf_reset(&seen);
	}
	/* Nor they for it: half of what is not kept for pages. */
	setup(NULL);
	for (int i = 0; i < 200; i++)
		row_add(JOB_REFUND)->frozen = 1;
	for (int i = 0; i < 10; i++)
		row_add(JOB_EXPIRE)->due_ms += 5000;
	stop_ms = fake_ms + 20000;
	run();
	assert_int_equal(rows[11].try + rows[12].try, 1);
	for (size_t i = 200; i < 210; i++)
		assert_in_range(rows[i].done_ms - 1005000, 0, 1300);
}

/* The fewer there are, the less can be kept free; but no kind goes without. */
static void
few_slots_serve_all_kinds(void **state)
{
	for (int slots = 1; slots <= 9; slots++) {
		setup(NULL);
		fake_pace.at_once = slots;
		for (int i = 0; i < 40; i++)
			row_add((enum job_kind)(i % JOB_KINDS));
		run();
		for (size_t i = 0; i < 40; i++)
			assert_true(rows[i].done);
		assert_in_range(flying_most, 1, slots);
		buf_reset(&seen);
	}
}

/* A pace for all together, as every provider but one has it. */
static void
money_back_has_the_first_turn(void **state)
{
	fake_pace.calls_per_second = 20;
	for (int i = 0; i < 300; i++)
		row_add(JOB_OPEN);
	for (int i = 0; i < 20; i++)
		row_add(JOB_REFUND)->due_ms += 3000;
	run();
	for (size_t i = 300; i < 320; i++)
		assert_in_range(rows[i].done_ms - 1003000, 0, 1400);
	for (size_t i = 0; i < 300; i++)
		assert_true(rows[i].done);
}

static void
one_call_at_once_serves_all_kinds(void **state)
{
	fake_pace.at_once = 1;
	for (int i = 0; i < 40; i++)
		row_add((enum job_kind)(i % JOB_KINDS));
	run();
	for (size_t i = 0; i < 40; i++)
		assert_true(rows[i].done);
	assert_int_equal(flying_most, 1);
}

static void
no_more_are_claimed_than_there_is_room_for(void **state)
{
	for (int i = 0; i < 100; i++)
		row_add(JOB_OPEN)->frozen = 1;
	stop_ms = fake_ms + 10000;
	run();
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(rows[i].try, i < 24);
	/* Nor does it ask in vain all the time: ten times a second. */
	assert_in_range(claims, 1, 110);
}

static void
a_notification_wakes_it_at_once(void **state)
{
	struct row *row = row_add(JOB_OPEN);

	row->due_ms += 3333;
	row->born_ms = row->due_ms;
	notice_ms = row->due_ms;
	run();
	assert_int_equal(sent_ms(0), 1003333);
}

/* As when the database's clock is set: it looks once in a second. */
static void
what_nobody_told_is_found_within_a_second(void **state)
{
	struct row *row = row_add(JOB_OPEN);

	row->due_ms += 3333;
	row->born_ms = row->due_ms;
	run();
	assert_in_range(sent_ms(0), 1003333, 1004333);
}

static void
what_is_due_later_goes_out_in_its_millisecond(void **state)
{
	row_add(JOB_EXPIRE)->due_ms += 2345;
	row_add(JOB_EXPIRE)->due_ms += 7001;
	run();
	assert_int_equal(sent_ms(0), 1002345);
	assert_int_equal(sent_ms(1), 1007001);
}

static void
an_idle_cashier_hardly_asks(void **state)
{
	run();
	assert_in_range(claims, 58, 62);
}

static void
a_call_that_another_has_is_not_asked_for_in_haste(void **state)
{
	row_add(JOB_OPEN)->locked = true;
	run();
	assert_int_equal(sent_count, 0);
	assert_in_range(claims, 60, 310);
}

static void
each_provider_has_its_own(void **state)
{
	static char url[] = "http://127.0.0.1:9", secret[] = "whsec_x";

	for (int i = 0; i < 100; i++) {
		row_add(JOB_OPEN)->frozen = i % 2 == 0;
		if (i % 2)
			rows[i].provider = "standard";
	}
	run();
	/* It is not set up. */
	for (size_t i = 1; i < 100; i += 2)
		assert_int_equal(rows[i].try, 0);
	fake_conf.standard.url = url;
	fake_conf.standard.webhook_secret = secret;
	sent_count = 0;
	stop_ms = fake_ms + 10000;
	run();
	for (size_t i = 1; i < 100; i += 2)
		assert_true(rows[i].done);
}

static void
what_is_under_way_ends_before_it_stops(void **state)
{
	for (int i = 0; i < 200; i++)
		row_add(JOB_OPEN)->latency_ms = 2000;
	stop_ms = fake_ms + 1025;
	run();
	assert_in_range(sent_count, 20, 26);
	for (size_t i = 0; i < 200; i++)
		assert_int_equal(rows[i].done, i < sent_count);
	assert_true(last_claim_ms <= 1001025);
	assert_in_range(fake_ms, 1003000, 1003400);
}

static void
it_stops_without_who_does_not_answer(void **state)
{
	row_add(JOB_OPEN)->frozen = 1;
	row_add(JOB_OPEN)->latency_ms = 3000;
	stop_ms = fake_ms + 1000;
	run();
	assert_true(rows[1].done);
	assert_int_equal(fake_ms, 1006000);
	assert_non_null(strstr(log_lines,
	    "could not end the calls under way; they are made again"));
}

static void
it_stops_without_a_database(void **state)
{
	row_add(JOB_OPEN);
	down_from_ms = fake_ms + 50;
	down_until_ms = NEVER;
	stop_ms = fake_ms + 1000;
	run();
	assert_false(rows[0].done);
	assert_int_equal(fake_ms, 1006000);
}

static void
the_books_are_compared_beside_it(void **state)
{
	row_add(JOB_OPEN);
	books_compared = false;
	run();
	assert_false(books_compared);
	setup(NULL);
	row_add(JOB_OPEN);
	fake_conf.payment.reconcile_minutes = 60;
	run();
	assert_true(rows[0].done);
	assert_true(books_compared);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(pages_are_opened_side_by_side_and_in_order),
	    TEST(every_endpoint_has_its_own_pace),
	    TEST(all_together_have_a_pace),
	    TEST(a_slow_call_holds_nobody_up),
	    TEST(ends_and_refunds_do_not_wait_for_pages),
	    TEST(pages_do_not_wait_for_ends),
	    TEST(money_back_does_not_wait_for_ends_and_looks),
	    TEST(few_slots_serve_all_kinds),
	    TEST(money_back_has_the_first_turn),
	    TEST(one_call_at_once_serves_all_kinds),
	    TEST(no_more_are_claimed_than_there_is_room_for),
	    TEST(a_notification_wakes_it_at_once),
	    TEST(what_nobody_told_is_found_within_a_second),
	    TEST(what_is_due_later_goes_out_in_its_millisecond),
	    TEST(an_idle_cashier_hardly_asks),
	    TEST(a_call_that_another_has_is_not_asked_for_in_haste),
	    TEST(each_provider_has_its_own),
	    TEST(what_is_under_way_ends_before_it_stops),
	    TEST(it_stops_without_who_does_not_answer),
	    TEST(it_stops_without_a_database),
	    TEST(the_books_are_compared_beside_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
