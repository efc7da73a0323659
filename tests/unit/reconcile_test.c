/* Comparing the books: the order of steps, what is asked again, what stops. */
#include "reconcile_fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct event paid = {
    .kind = EVENT_PAID,
    .id = {"look_1", 6},
    .amount = 2500,
    .currency = "EUR",
};
static const struct event unusable = {
    .kind = EVENT_UNUSABLE,
    .amount = -1,
};

static const struct reply empty_pages[] = {{CALL_DONE, NULL, NULL, NULL, 0}};

static int
fresh(void **state)
{
	(void)state;
	buf_reset(&trace);
	fake_ms = 0;
	atomic_store(&stopping, false);
	stop_at_ms = 0;
	last_line[0] = '\0';
	silent = false;
	replies = empty_pages;
	reply_count = 1;
	replied = 0;
	for (size_t i = 0; i < SCRIPT_MAX; i++) {
		begins[i] = "begun";
		compares[i] = (struct reconcile_compared){0};
		asks[i] = NULL;
	}
	left = 0;
	failures = 0;
	lose_at_page = 0;
	begun_count = compared_count = asked_count = page_count = 0;
	settle_outcome = "applied";
	return 0;
}

static int
over(void **state)
{
	(void)state;
	buf_release(&trace);
	buf_release(&begin_place.cursor);
	return 0;
}

static enum reconcile_result
run(bool repair, bool wait)
{
	struct reconcile r = {
	    .provider = &fake_provider,
	    .start = {.provider = "fake", .repair = repair},
	    .wait = wait,
	    .stopping = &stopping,
	};

	return reconcile_run(&r);
}

#define happened(text) assert_string_equal(buf_text(&trace), text)
#define script(list) \
	(replies = (list), reply_count = sizeof(list) / sizeof((list)[0]))

static void
each_page_is_stored_before_the_next_is_asked_for(void **state)
{
	const struct event two[] = {paid, paid};
	const struct reply pages[] = {
	    {CALL_DONE, "cs_100", NULL, two, 2},
	    {CALL_DONE, NULL, NULL, two, 1},
	    {CALL_DONE, NULL, NULL, NULL, 0},
	};

	(void)state;
	script(pages);
	assert_int_equal(run(false, false), RECONCILE_AGREES);
	happened("begin;list sessions;store 2;list sessions cs_100;store 1;"
		 "list refunds;store 0;list events;store 0;compare;finish;");
}

static void
a_run_that_was_left_is_gone_on_with(void **state)
{
	(void)state;
	begins[0] = "resumed";
	snprintf(begin_place.list, sizeof(begin_place.list), "refunds");
	buf_reset(&begin_place.cursor);
	buf_str(&begin_place.cursor, "re_7");
	left = 2;
	assert_int_equal(run(false, false), RECONCILE_DIFFERS);
	happened("begin;list refunds re_7;store 0;list events;store 0;compare;"
		 "finish;");
	/* All that was left to do is the comparison. */
	fresh(NULL);
	begins[0] = "resumed";
	begin_place.list[0] = '\0';
	assert_int_equal(run(false, false), RECONCILE_AGREES);
	happened("begin;compare;finish;");
}

static void
a_provider_without_an_answer_is_asked_five_times(void **state)
{
	const struct reply none[] = {{CALL_RETRY, NULL, NULL, NULL, 0}};

	(void)state;
	script(none);
	assert_int_equal(run(false, false), RECONCILE_PROVIDER);
	happened("begin;list sessions;list sessions;list sessions;"
		 "list sessions;list sessions;release;");
	assert_true(fake_ms >= 500 + 1000 + 2000 + 4000);
	/* One lost answer is not the end. */
	fresh(NULL);
	{
		const struct reply once[] = {{CALL_RETRY, NULL, NULL, NULL, 0},
		    {CALL_DONE, NULL, NULL, NULL, 0}};

		script(once);
		assert_int_equal(run(false, false), RECONCILE_AGREES);
	}
}

static void
a_provider_that_refuses_ends_the_run(void **state)
{
	const struct reply no[] = {{CALL_REFUSED, NULL, NULL, NULL, 0}};
	struct conf conf = {.payment.reconcile_minutes = 60};

	(void)state;
	script(no);
	assert_int_equal(run(false, false), RECONCILE_REFUSED);
	happened("begin;list sessions;release;");
	fresh(NULL);
	script(no);
	stop_at_ms = 1000;
	reconcile_loop(&conf, &stopping);
	assert_string_equal(last_line,
	    "cannot compare the books with fake: why");
}

/* Cursors that come again, after a few that do not: a run would never end. */
static void
a_list_that_goes_round_in_circles_ends_the_run(void **state)
{
	static const char *const cursors[] = {"c0", "c1", "c2", "c3", "c4"};
	struct reply pages[64];

	(void)state;
	for (size_t circle = 1; circle <= 3; circle++) {
		fresh(NULL);
		for (size_t i = 0; i < 64; i++)
			pages[i] = (struct reply){CALL_DONE,
			    cursors[i < 2 ? i : 2 + (i - 2) % circle], NULL,
			    NULL, 0};
		script(pages);
		lose_at_page = 50;
		assert_int_equal(run(true, false), RECONCILE_REFUSED);
		assert_true(replied <= 16);
		assert_non_null(strstr(buf_text(&trace), "release;"));
	}
	/* Each list has cursors of its own. */
	{
		const struct reply same[] = {{CALL_DONE, "c0", NULL, NULL, 0},
		    {CALL_DONE, NULL, NULL, NULL, 0},
		    {CALL_DONE, "c0", NULL, NULL, 0},
		    {CALL_DONE, NULL, NULL, NULL, 0}};

		fresh(NULL);
		script(same);
		assert_int_equal(run(true, false), RECONCILE_AGREES);
	}
}

static void
who_has_lost_the_lease_does_nothing_more(void **state)
{
	(void)state;
	lose_at_page = 2;
	assert_int_equal(run(true, false), RECONCILE_TAKEN);
	happened("begin;list sessions;store 0;list refunds;store 0;");
}

static void
what_differs_is_looked_at_and_left_alone(void **state)
{
	const struct reply looks[] = {{CALL_DONE, NULL, NULL, NULL, 0},
	    {CALL_DONE, NULL, NULL, NULL, 0}, {CALL_DONE, NULL, NULL, NULL, 0},
	    {CALL_DONE, NULL, "news", &paid, 1},
	    {CALL_REFUSED, NULL, NULL, NULL, 0},
	    {CALL_DONE, NULL, NULL, NULL, 0}};

	(void)state;
	script(looks);
	asks[0] = "cs_1";
	asks[1] = "cs_2";
	asks[2] = "cs_3";
	left = 3;
	assert_int_equal(run(false, false), RECONCILE_DIFFERS);
	happened("begin;list sessions;store 0;list refunds;store 0;"
		 "list events;store 0;compare;"
		 "fetch cs_1;read news;heard 11 - 1;"
		 /* There is no such thing: that is an answer, too. */
		 "fetch cs_2;heard 11 - 0;fetch cs_3;heard 11 - 0;"
		 "compare;finish;");
}

static void
with_repair_the_news_is_settled_like_a_webhook(void **state)
{
	const struct event news[] = {paid, unusable};
	const struct reply looks[] = {{CALL_DONE, NULL, NULL, NULL, 0},
	    {CALL_DONE, NULL, NULL, NULL, 0}, {CALL_DONE, NULL, NULL, NULL, 0},
	    {CALL_DONE, NULL, "news", news, 2}};

	(void)state;
	script(looks);
	asks[0] = "cs_1";
	asks[1] = "evt_1";
	assert_int_equal(run(true, false), RECONCILE_AGREES);
	happened("begin;list sessions;store 0;list refunds;store 0;"
		 "list events;store 0;compare;"
		 "fetch cs_1;read news;settle paid news;heard 11 applied 2;"
		 /* What an event says was true once: it is no statement. */
		 "fetch evt_1;read news;settle paid news;heard 11 applied 0;"
		 "compare;finish;");
	/* What the database will not have stays a difference. */
	fresh(NULL);
	script(looks);
	asks[0] = "cs_1";
	settle_outcome = NULL;
	left = 1;
	assert_int_equal(run(true, false), RECONCILE_DIFFERS);
	assert_non_null(strstr(buf_text(&trace), "heard 11 - 2;"));
}

static void
news_that_may_be_under_way_is_waited_for(void **state)
{
	(void)state;
	compares[0] = (struct reconcile_compared){1, 60000};
	compares[1] = (struct reconcile_compared){1, 700};
	begins[1] = begins[2] = "resumed";
	begin_place.list[0] = '\0';
	assert_int_equal(run(false, false), RECONCILE_AGREES);
	/* Meanwhile another may go on with it. */
	happened("begin;list sessions;store 0;list refunds;store 0;"
		 "list events;store 0;compare;release;begin;compare;release;"
		 "begin;compare;finish;");
	/* A look now and then, and no longer than is left. */
	assert_true(fake_ms >= 2700 && fake_ms < 2900);
	fresh(NULL);
	for (size_t i = 0; i < SCRIPT_MAX; i++)
		compares[i] = (struct reconcile_compared){1, 60000};
	for (size_t i = 1; i < SCRIPT_MAX; i++)
		begins[i] = "resumed";
	stop_at_ms = 5000;
	assert_int_equal(run(false, false), RECONCILE_STOPPED);
	assert_true(fake_ms < 5300);
	/* One who finds that somebody does leaves it to them. */
	fresh(NULL);
	compares[0] = (struct reconcile_compared){1, 60000};
	begins[1] = "busy";
	assert_int_equal(run(false, false), RECONCILE_BUSY);
	assert_null(strstr(buf_text(&trace), "finish"));
	/* One who finds that somebody did reads anew. */
	fresh(NULL);
	compares[0] = (struct reconcile_compared){1, 60000};
	assert_int_equal(run(false, false), RECONCILE_AGREES);
	assert_non_null(
	    strstr(buf_text(&trace), "release;begin;list sessions"));
}

static void
stopping_gives_up_a_call_under_way(void **state)
{
	(void)state;
	silent = true;
	stop_at_ms = 1000;
	assert_int_equal(run(false, false), RECONCILE_STOPPED);
	happened("begin;cancel;release;");
}

static void
several_take_turns(void **state)
{
	(void)state;
	begins[0] = "busy";
	assert_int_equal(run(false, false), RECONCILE_BUSY);
	happened("begin;");
	fresh(NULL);
	begins[0] = begins[1] = "busy";
	begins[2] = "resumed";
	begin_place.list[0] = '\0';
	assert_int_equal(run(false, true), RECONCILE_AGREES);
	happened("begin;begin;begin;compare;finish;");
	fresh(NULL);
	for (size_t i = 0; i < SCRIPT_MAX; i++)
		begins[i] = "busy";
	stop_at_ms = 3000;
	assert_int_equal(run(false, true), RECONCILE_STOPPED);
	fresh(NULL);
	begins[0] = "recent";
	assert_int_equal(run(false, false), RECONCILE_RECENT);
	happened("begin;");
}

static void
a_database_that_comes_back_costs_nothing_that_was_read(void **state)
{
	(void)state;
	failure = DB_LOST;
	failures = 1;
	begins[1] = "resumed";
	snprintf(begin_place.list, sizeof(begin_place.list), "sessions");
	buf_reset(&begin_place.cursor);
	assert_int_equal(run(false, false), RECONCILE_AGREES);
	happened("begin;list sessions;page fails;begin;list sessions;store 0;"
		 "list refunds;store 0;list events;store 0;compare;finish;");
	fresh(NULL);
	for (size_t i = 0; i < SCRIPT_MAX; i++)
		begins[i] = NULL;
	assert_int_equal(run(false, false), RECONCILE_DATABASE);
	happened("begin;begin;begin;");
	/* What was read of a run that began anew is not read anew again. */
	fresh(NULL);
	failure = DB_LOST;
	failures = 1;
	{
		struct reconcile r = {
		    .provider = &fake_provider,
		    .start = {.provider = "fake", .restart = true},
		    .stopping = &stopping,
		};

		assert_int_equal(reconcile_run(&r), RECONCILE_AGREES);
		assert_int_equal(begun_count, 2);
		assert_false(last_start.restart);
	}
	fresh(NULL);
	failure = DB_REFUSED;
	failures = 9;
	assert_int_equal(run(false, false), RECONCILE_DATABASE);
	happened("begin;list sessions;page fails;release;");
}

static void
the_loop_compares_at_its_start_and_then_in_its_time(void **state)
{
	struct conf conf = {.payment.reconcile_minutes = 60};

	(void)state;
	stop_at_ms = 3600000 - 1000;
	reconcile_loop(&conf, &stopping);
	happened("open;begin;list sessions;store 0;list refunds;store 0;"
		 "list events;store 0;compare;finish;close;");
	assert_true(last_start.repair);
	assert_int_equal(last_start.back_s, -1);
	assert_int_equal(last_start.least_s, 3 * 86400);
	assert_int_equal(last_start.rest_s, 0);
	fresh(NULL);
	stop_at_ms = 3600000 + 30000;
	reconcile_loop(&conf, &stopping);
	assert_int_equal(begun_count, 2);
	/* Only a pause makes it look back further; of two servers one does. */
	assert_int_equal(last_start.least_s, 0);
	assert_int_equal(last_start.rest_s, 1800);
	fresh(NULL);
	conf.payment.reconcile_minutes = 0;
	reconcile_loop(&conf, &stopping);
	happened("");
}

static void
the_loop_tries_again_soon_when_it_could_not_compare(void **state)
{
	struct conf conf = {.payment.reconcile_minutes = 60};
	const struct reply none[] = {{CALL_RETRY, NULL, NULL, NULL, 0},
	    {CALL_RETRY, NULL, NULL, NULL, 0},
	    {CALL_RETRY, NULL, NULL, NULL, 0},
	    {CALL_RETRY, NULL, NULL, NULL, 0},
	    {CALL_RETRY, NULL, NULL, NULL, 0},
	    {CALL_DONE, NULL, NULL, NULL, 0}};

	(void)state;
	script(none);
	stop_at_ms = 120000;
	reconcile_loop(&conf, &stopping);
	assert_int_equal(begun_count, 2);
	assert_int_equal(last_start.least_s, 3 * 86400);
	/* What differs in the end is somebody's business. */
	fresh(NULL);
	left = 3;
	stop_at_ms = 1000;
	reconcile_loop(&conf, &stopping);
	assert_non_null(strstr(last_line, "the books differ"));
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, fresh, over)
	const struct CMUnitTest tests[] = {
	    TEST(each_page_is_stored_before_the_next_is_asked_for),
	    TEST(a_run_that_was_left_is_gone_on_with),
	    TEST(a_provider_without_an_answer_is_asked_five_times),
	    TEST(a_provider_that_refuses_ends_the_run),
	    TEST(a_list_that_goes_round_in_circles_ends_the_run),
	    TEST(who_has_lost_the_lease_does_nothing_more),
	    TEST(what_differs_is_looked_at_and_left_alone),
	    TEST(with_repair_the_news_is_settled_like_a_webhook),
	    TEST(news_that_may_be_under_way_is_waited_for),
	    TEST(stopping_gives_up_a_call_under_way),
	    TEST(several_take_turns),
	    TEST(a_database_that_comes_back_costs_nothing_that_was_read),
	    TEST(the_loop_compares_at_its_start_and_then_in_its_time),
	    TEST(the_loop_tries_again_soon_when_it_could_not_compare),
	};

	return cmocka_run_group_tests_name("reconcile", tests, NULL, NULL);
}
