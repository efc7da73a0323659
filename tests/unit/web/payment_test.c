/*
 * payment.c by way of route.c: each outcome of payment_start to a script, to a
 * form and to the page that asks again.
 */
#include "web/fakes.h"

#define DOCUMENT \
	"{\"id\":\"" FAKE_HOLD "\",\"lines\":[{\"item\":\"RUN-42\"}]," \
	"\"expires_in_ms\":598000}"
#define URL "https://pay.example/c/1?a=b&c=d#e"

static int
ask(void)
{
	return fake_json("/pay", "{\"id\":\"" FAKE_HOLD "\"}");
}

static int
ask_form(void)
{
	return fake_form("/pay", "id=" FAKE_HOLD);
}

static int
ask_page(void)
{
	return fake_get("/pay", "id=" FAKE_HOLD);
}

static void
leads_to_the_pay_page(void **state)
{
	struct buf cookie = {0};

	(void)state;
	fake.outcome = "ready";
	fake.document = DOCUMENT;
	fake.url = URL;
	fake_sign_in(&cookie);
	assert_int_equal(ask(), 200);
	assert_string_equal(fake.asked.text, FAKE_BUYER);
	assert_string_equal(fake.reply.body.data,
	    "{\"state\":\"ready\",\"url\":\"" URL "\"}");
	assert_int_equal(ask_form(), 303);
	assert_header("Location: " URL "\r\n");
	assert_int_equal(ask_page(), 303);
	assert_header("Location: " URL "\r\n");
	assert_header("Cache-Control: no-store\r\n");
	/* No header can be made of it. */
	fake.url = "https://pay.example/\r\nSet-Cookie: a=b";
	assert_int_equal(ask_form(), 303);
	assert_lacks(&fake.reply.headers, "Set-Cookie");
	buf_release(&cookie);
}

static void
says_that_it_is_opening(void **state)
{
	struct buf cookie = {0};

	(void)state;
	fake.outcome = "opening";
	fake.document = DOCUMENT;
	fake_sign_in(&cookie);
	assert_int_equal(ask(), 202);
	assert_string_equal(fake.reply.body.data,
	    "{\"state\":\"opening\",\"retry_in_ms\":500,"
	    "\"ready_in_ms\":1000,\"ahead\":0}");
	assert_int_equal(ask_form(), 303);
	assert_header("Location: /pay?id=" FAKE_HOLD "\r\n");
	assert_int_equal(ask_page(), 200);
	assert_lacks(&fake.reply.headers, "Refresh");
	assert_header("Content-Type: text/html; charset=utf-8\r\n");
	assert_string_equal(fake.reply.body.data,
	    "opening " FAKE_HOLD " 9 min 58 s A second or two: yours is next. "
	    "yes 1 500");
	/* The page's script asks the same address for JSON. */
	fake_param("HTTP_ACCEPT", "application/json, application/problem+json");
	assert_int_equal(ask_page(), 202);
	assert_body("{\"state\":\"opening\",");
	fake.outcome = "ready";
	fake.url = URL;
	assert_int_equal(ask_page(), 200);
	assert_body("\"url\":\"" URL "\"");
	buf_release(&cookie);
}

/* 20 in a second, and one call of a second. */
static void
says_how_long_it_takes(void **state)
{
	static const struct {
		int64_t ahead;
		const char *json;
		const char *page;
	} cases[] = {
	    {1, "\"retry_in_ms\":500,\"ready_in_ms\":1050,\"ahead\":1}",
		"About 1 second: 1 page is opened before yours. yes 1 500"},
	    {240, "\"retry_in_ms\":3250,\"ready_in_ms\":13000,\"ahead\":240}",
		"About 13 seconds: 240 pages are opened before yours. yes 4 "
		"3250"},
	    {2379,
		"\"retry_in_ms\":5000,\"ready_in_ms\":119950,\"ahead\":2379}",
		"About 119 seconds: 2379 pages are opened before yours. yes 5 "
		"5000"},
	    {4000, "\"ready_in_ms\":201000,\"ahead\":4000}",
		"About 3 minutes: 4000 pages are opened before yours. yes 5 "},
	    {10000, "\"ready_in_ms\":501000,\"ahead\":10000}",
		"About 8 minutes: more than 10000 pages are opened before "
		"yours. yes 5 "},
	};
	struct buf cookie = {0};

	(void)state;
	fake.outcome = "opening";
	fake.document = DOCUMENT;
	fake_sign_in(&cookie);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake.ahead = cases[i].ahead;
		assert_int_equal(ask(), 202);
		assert_body(cases[i].json);
		assert_int_equal(ask_page(), 200);
		assert_body(cases[i].page);
	}
	/* 598 s are left: 11,940 more than fit, 11,939 do. */
	fake.ahead = 11940;
	assert_int_equal(ask_page(), 200);
	assert_body(" no 5 ");
	fake.ahead = 11939;
	assert_int_equal(ask_page(), 200);
	assert_body(" yes 5 ");
	buf_release(&cookie);
}

/* Whichever is the slower: sessions, or calls of all kinds. */
static void
counts_at_the_pace_of_the_provider(void **state)
{
	struct buf cookie = {0};

	(void)state;
	fake.outcome = "opening";
	fake.document = DOCUMENT;
	fake.ahead = 30;
	fake_sign_in(&cookie);
	fake.conf.stripe.opens_per_second = 10;
	assert_int_equal(ask(), 202);
	assert_body("\"ready_in_ms\":4000,");
	fake.conf.stripe.calls_per_second = 5;
	assert_int_equal(ask(), 202);
	assert_body("\"ready_in_ms\":7000,");
	buf_release(&cookie);
}

static void
asks_nobody_to_pay_twice(void **state)
{
	static const char *const outcomes[] = {"checking", "paid"};
	struct buf cookie = {0};

	(void)state;
	fake.document = DOCUMENT;
	fake_sign_in(&cookie);
	for (size_t i = 0; i < 2; i++) {
		fake.outcome = outcomes[i];
		assert_int_equal(ask(), 200);
		assert_body(outcomes[i]);
		assert_int_equal(ask_form(), 303);
		assert_header("Location: /order/" FAKE_HOLD "\r\n");
		assert_int_equal(ask_page(), 303);
		assert_header("Location: /order/" FAKE_HOLD "\r\n");
	}
	buf_release(&cookie);
}

static void
says_no_in_each_way(void **state)
{
	static const struct {
		const char *outcome;
		const char *name;
		int status;
		const char *back; /* what a person is led back to */
	} cases[] = {
	    {"refused", "provider", 503, "?hold=" FAKE_HOLD "\r\n"},
	    {"ended", "ended", 410, "?item=RUN-42\r\n"},
	    {"no-such-hold", "no-such-hold", 404, ""},
	    {"not-yours", "not-yours", 403, ""},
	};
	struct buf cookie = {0};
	char text[64];

	(void)state;
	fake_sign_in(&cookie);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake.outcome = cases[i].outcome;
		fake.document = i < 2 ? DOCUMENT : NULL;
		snprintf(text, sizeof(text), "/problems/%s", cases[i].name);
		assert_int_equal(ask(), cases[i].status);
		assert_body(text);
		assert_int_equal(ask_form(), 303);
		assert_header(text);
		assert_header(cases[i].back);
		snprintf(text, sizeof(text), "problem %s|", cases[i].name);
		assert_int_equal(ask_page(), cases[i].status);
		assert_body(text);
		if (cases[i].status == 503)
			assert_header("Retry-After: 5\r\n");
	}
	fake.outcome = "ended";
	fake.document = DOCUMENT;
	assert_int_equal(ask(), 410);
	assert_body("\"hold\":" DOCUMENT "}");
	buf_release(&cookie);
}

static void
wants_a_cookie_of_ours_for_a_link(void **state)
{
	(void)state;
	fake.outcome = "ready";
	fake.url = URL;
	fake.request.cookie =
	    str_of("lp_visit=0123456789abcdef0123456789abcdef");
	assert_int_equal(ask_page(), 403);
	assert_body("problem not-yours|");
	assert_int_equal(fake.calls, 0);
	/* A button is pressed on our own page. */
	assert_int_equal(ask(), 200);
}

static void
refuses_what_is_no_hold(void **state)
{
	struct buf cookie = {0};

	(void)state;
	fake_sign_in(&cookie);
	assert_int_equal(fake_json("/pay", "{\"id\":\"x\"}"), 404);
	assert_int_equal(fake_json("/pay", "{\"id\":1}"), 400);
	assert_int_equal(fake_json("/pay", "{}"), 400);
	assert_int_equal(fake_json("/pay", "nonsense"), 400);
	assert_int_equal(fake_form("/pay", ""), 400);
	assert_int_equal(fake_get("/pay", ""), 400);
	assert_body("problem malformed|");
	assert_int_equal(fake_get("/pay", "id=x"), 404);
	assert_int_equal(fake.calls, 0);
	fake.status = DB_DOWN;
	assert_int_equal(ask(), 503);
	assert_header("Retry-After: 1\r\n");
	assert_int_equal(ask_form(), 303);
	assert_header("Location: /problems/busy\r\n");
	assert_int_equal(ask_page(), 503);
	buf_release(&cookie);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fake_setup, fake_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(leads_to_the_pay_page),
	    TEST(says_that_it_is_opening),
	    TEST(says_how_long_it_takes),
	    TEST(counts_at_the_pace_of_the_provider),
	    TEST(asks_nobody_to_pay_twice),
	    TEST(says_no_in_each_way),
	    TEST(wants_a_cookie_of_ours_for_a_link),
	    TEST(refuses_what_is_no_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
