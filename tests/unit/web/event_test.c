/*
 * event.c by way of route.c: nothing is read before it is verified, and
 * nothing is acknowledged that was not recorded.
 */
#include "web/fakes.h"

static int
send_event(void)
{
	return fake_post("/pay-callback", "anything/at-all", "{\"id\":1}");
}

static void
good_event(void)
{
	fake.outcome = "applied";
	fake.event = (struct event){
	    .kind = EVENT_PAID,
	    .id = str_of("evt_1"),
	    .type = str_of("checkout.session.completed"),
	    .hold = str_of(FAKE_HOLD),
	    .amount = 12900,
	    .currency = "EUR",
	};
}

static void
acknowledges_what_is_recorded(void **state)
{
	static const char *const outcomes[] = {"applied", "repeat", "refund",
	    "ignored", "unmatched", "person"};

	(void)state;
	good_event();
	for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
		fake.outcome = outcomes[i];
		assert_int_equal(send_event(), 200);
		assert_header("Content-Type: application/json\r\n");
		assert_body(outcomes[i]);
	}
	assert_string_equal(fake.settled.event_id, "evt_1");
	assert_string_equal(fake.settled.kind, "paid");
	assert_int_equal(fake.settled.last.amount, 12900);
	assert_true(str_is(fake.settled.last.body, "{\"id\":1}"));
	assert_string_equal(fake.settled.last.provider, "fake");
	assert_int_equal(fake.reads, fake.reads_freed);
	assert_int_equal(fake_post("/pay-callback/fake", "", "x"), 200);
	assert_int_equal(fake.body_max, 256 * 1024);
}

static void
reads_nothing_that_is_not_signed(void **state)
{
	(void)state;
	good_event();
	for (fake.verdict = VERDICT_BAD; fake.verdict <= VERDICT_OLD;
	     fake.verdict++) {
		assert_int_equal(send_event(), 400);
		assert_lacks(&fake.reply.body, "detail");
		assert_lacks(&fake.reply.body, "signature");
	}
	assert_int_equal(fake.reads, 0);
	assert_int_equal(fake.settled.calls, 0);
}

static void
keeps_what_it_cannot_use(void **state)
{
	(void)state;
	fake.outcome = "unusable";
	fake.event = (struct event){.kind = EVENT_UNUSABLE,
	    .detail = str_of("no object"),
	    .amount = -1};
	assert_int_equal(send_event(), 400);
	assert_string_equal(fake.settled.kind, "unusable");
	assert_string_equal(fake.settled.type, "unknown");
	assert_string_equal(fake.settled.detail, "no object");
	/* sha256 of the body; the name of a good event stays free */
	assert_string_equal(fake.settled.event_id,
	    "unusable:037c9214eef74cc3887f3a4f085b4e17"
	    "d76280dafd273b0ee160c09c4ba1cfd4");
	fake.event.id = str_of("evt_1");
	assert_int_equal(send_event(), 400);
	assert_memory_equal(fake.settled.event_id, "unusable:evt_1:037c9214",
	    23);
	assert_int_equal(fake.reads, fake.reads_freed);
}

static void
keeps_an_event_without_an_id(void **state)
{
	(void)state;
	good_event();
	fake.event.id = (struct str){NULL, 0};
	assert_int_equal(send_event(), 400);
	assert_string_equal(fake.settled.kind, "unusable");
	assert_string_equal(fake.settled.detail, "it has no id");
}

static void
keeps_what_the_database_refuses(void **state)
{
	(void)state;
	good_event();
	fake.status = DB_REFUSED;
	assert_int_equal(send_event(), 400);
	assert_int_equal(fake.settled.calls, 2);
	assert_string_equal(fake.settled.kind, "unusable");
	assert_string_equal(fake.settled.detail, "the database's reason");
}

static void
asks_for_a_repeat_without_a_database(void **state)
{
	(void)state;
	good_event();
	fake.status = DB_DOWN;
	assert_int_equal(send_event(), 503);
	assert_header("Retry-After: 1\r\n");
	fake.event.kind = EVENT_UNUSABLE;
	assert_int_equal(send_event(), 503);
}

static void
refuses_by_shape(void **state)
{
	(void)state;
	good_event();
	assert_int_equal(fake_get("/pay-callback", ""), 405);
	assert_header("Allow: POST\r\n");
	assert_int_equal(fake_send("PUT", "/pay-callback/fake", ""), 405);
	assert_int_equal(fake_post("/pay-callback/other", "", ""), 404);
	fake.body = FCGI_BODY_TOO_LONG;
	assert_int_equal(send_event(), 413);
	fake.body = FCGI_BODY_NO_LENGTH;
	assert_int_equal(send_event(), 411);
	fake.body = FCGI_BODY_BAD;
	assert_int_equal(send_event(), 400);
	assert_int_equal(fake.reads, 0);
	/* JSON, even to what calls itself a form, and from any site. */
	fake.body = FCGI_BODY_OK;
	fake_param("HTTP_ORIGIN", "https://provider.example");
	assert_int_equal(fake_form("/pay-callback", "x"), 200);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fake_setup, fake_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(acknowledges_what_is_recorded),
	    TEST(reads_nothing_that_is_not_signed),
	    TEST(keeps_what_it_cannot_use),
	    TEST(keeps_an_event_without_an_id),
	    TEST(keeps_what_the_database_refuses),
	    TEST(asks_for_a_repeat_without_a_database),
	    TEST(refuses_by_shape),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
