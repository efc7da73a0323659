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
	fake.event_count = 1;
	fake.events[0] = (struct event){
	    .kind = EVENT_PAID,
	    .id = str_of("evt_1"),
	    .type = str_of("checkout.session.completed"),
	    .key = str_of("cs-" FAKE_HOLD),
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
	assert_true(str_is(fake.settled.last.key, "cs-" FAKE_HOLD));
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
	fake.event_count = 1;
	fake.events[0] = (struct event){.kind = EVENT_UNUSABLE,
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
	fake.events[0].id = str_of("evt_1");
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
	fake.events[0].id = (struct str){NULL, 0};
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
	fake.events[0].kind = EVENT_UNUSABLE;
	assert_int_equal(send_event(), 503);
}

/* The body's events are evt_1, evt_2 and so on. */
static void
good_events(size_t count)
{
	static const char *const ids[FAKE_EVENTS] = {"evt_1", "evt_2", "evt_3",
	    "evt_4"};

	good_event();
	fake.event_count = count;
	for (size_t i = 0; i < count; i++) {
		fake.events[i] = fake.events[0];
		fake.events[i].id = str_of(ids[i]);
	}
}

static void
settles_each_event_of_a_body(void **state)
{
	(void)state;
	good_events(3);
	assert_int_equal(send_event(), 200);
	assert_string_equal(fake.settled.trail,
	    "paid evt_1\npaid evt_2\npaid evt_3\n");
	assert_body("{\"outcomes\":[\"applied\",\"applied\",\"applied\"]}");
	assert_int_equal(fake.reads, fake.reads_freed);
	/* None: nothing was asked of us. */
	fake.event_count = 0;
	assert_int_equal(send_event(), 200);
	assert_int_equal(fake.settled.calls, 3);
}

static void
one_event_that_fails_brings_all_again(void **state)
{
	(void)state;
	good_events(3);
	fake.settled.statuses[1] = DB_CONFLICT;
	assert_int_equal(send_event(), 503);
	assert_header("Retry-After: 1\r\n");
	/* It does not stand in the way of the next. */
	assert_string_equal(fake.settled.trail,
	    "paid evt_1\npaid evt_2\npaid evt_3\n");
	assert_int_equal(fake.reads, fake.reads_freed);
	assert_int_equal(send_event(), 200);
}

static void
no_event_is_tried_without_a_database(void **state)
{
	(void)state;
	good_events(3);
	fake.status = DB_DOWN;
	assert_int_equal(send_event(), 503);
	assert_int_equal(fake.settled.calls, 1);
	assert_int_equal(fake.reads, fake.reads_freed);
}

static void
an_unusable_event_among_others_is_kept(void **state)
{
	(void)state;
	good_events(3);
	fake.events[0].kind = EVENT_UNUSABLE;
	fake.events[0].detail = str_of("no object");
	assert_int_equal(send_event(), 200);
	assert_memory_equal(fake.settled.trail, "unusable unusable:evt_1:", 24);
	assert_has(&fake.reply.body, "[\"applied\",\"applied\"]");
	fake.settled.calls = 0;
	fake.settled.statuses[0] = DB_LOST;
	assert_int_equal(send_event(), 503);
	/* Nothing else is in it. */
	fake.settled.statuses[0] = DB_OK;
	fake.event_count = 1;
	assert_int_equal(send_event(), 400);
}

static void
answers_in_the_providers_words(void **state)
{
	(void)state;
	good_events(2);
	fake_provider.ack = "[accepted]";
	assert_int_equal(send_event(), 200);
	assert_header("Content-Type: text/plain; charset=utf-8\r\n");
	assert_string_equal(buf_text(&fake.reply.body), "[accepted]");
	/* Not for what was not taken. */
	fake.status = DB_DOWN;
	assert_int_equal(send_event(), 503);
	assert_lacks(&fake.reply.body, "[accepted]");
	fake.verdict = VERDICT_BAD;
	assert_int_equal(send_event(), 400);
	assert_lacks(&fake.reply.body, "[accepted]");
}

static void
nobody_named_is_the_provider_in_use(void **state)
{
	static char secret[] = "whsec_1";

	(void)state;
	good_event();
	assert_int_equal(send_event(), 200);
	assert_string_equal(fake.settled.last.provider, "fake");
	/* Stripe's addresses were given out without a name. */
	fake.conf.stripe.webhook_secret = secret;
	assert_int_equal(send_event(), 200);
	assert_string_equal(fake.settled.last.provider, "stripe");
	assert_int_equal(fake_post("/pay-callback/fake", "", "x"), 200);
	assert_string_equal(fake.settled.last.provider, "fake");
}

static void
stripe_signs_one_header(void **state)
{
	(void)state;
	good_event();
	fake_param("HTTP_STRIPE_SIGNATURE", "t=1,v1=2");
	fake_param("HTTP_WEBHOOK_SIGNATURE", "v1,abc");
	fake_param("HTTP_WEBHOOK_ID", "msg_1");
	assert_int_equal(fake_post("/pay-callback/stripe", "", "x"), 200);
	assert_true(str_is(fake.hook.signature, "t=1,v1=2"));
	assert_int_equal(fake.hook.id.len, 0);
	assert_int_equal(fake.hook.timestamp.len, 0);
	assert_int_equal(fake.hook.tolerance_s, 300);
	assert_true(fake.hook.now > 1700000000);
}

static void
standard_webhooks_sign_three(void **state)
{
	(void)state;
	good_event();
	fake_provider.name = "standard";
	fake_param("HTTP_STRIPE_SIGNATURE", "t=1,v1=2");
	fake_param("HTTP_SVIX_SIGNATURE", "v1,svix");
	fake_param("HTTP_SVIX_ID", "msg_svix");
	fake_param("HTTP_SVIX_TIMESTAMP", "1796050801");
	assert_int_equal(fake_post("/pay-callback/standard", "", "x"), 200);
	assert_true(str_is(fake.hook.signature, "v1,svix"));
	assert_true(str_is(fake.hook.id, "msg_svix"));
	assert_true(str_is(fake.hook.timestamp, "1796050801"));
	/* The scheme's own names come first, never mixed with the others. */
	fake_param("HTTP_WEBHOOK_SIGNATURE", "v1,own");
	fake_param("HTTP_WEBHOOK_ID", "msg_own");
	assert_int_equal(fake_post("/pay-callback/standard", "", "x"), 200);
	assert_true(str_is(fake.hook.signature, "v1,own"));
	assert_true(str_is(fake.hook.id, "msg_own"));
	assert_int_equal(fake.hook.timestamp.len, 0);
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

#define GATHERED 3

/* Three webhooks that wait at the same time, about the orders of these names;
 * the status of each answer. */
static void
send_together_of(const char *const *holds, int *statuses)
{
	struct exchange xs[GATHERED];
	struct exchange *all[GATHERED];
	struct reply replies[GATHERED] = {0};

	fake.request.method = str_of("POST");
	fake.request.path = str_of("/pay-callback");
	fake.request.body = str_of("{}");
	for (size_t i = 0; i < GATHERED; i++) {
		exchange_init(&xs[i]);
		xs[i].web = &fake.web;
		xs[i].request = &fake.request;
		xs[i].reply = &replies[i];
		all[i] = &xs[i];
		fake.events[0].hold = str_of(holds[i]);
		route(&xs[i]);
		assert_non_null(xs[i].resume);
	}
	event_record(all, GATHERED);
	for (size_t i = 0; i < GATHERED; i++) {
		assert_null(xs[i].resume);
		statuses[i] = replies[i].status;
		exchange_release(&xs[i]);
		buf_release(&replies[i].headers);
		buf_release(&replies[i].body);
	}
}

static void
send_together(int *statuses)
{
	static const char *const holds[GATHERED] = {FAKE_HOLD "1",
	    FAKE_HOLD "2", FAKE_HOLD "3"};

	send_together_of(holds, statuses);
}

static void
records_what_waits_together_at_once(void **state)
{
	int statuses[GATHERED];

	(void)state;
	good_event();
	send_together(statuses);
	for (size_t i = 0; i < GATHERED; i++)
		assert_int_equal(statuses[i], 200);
	assert_int_equal(fake.settled.calls, GATHERED);
	assert_int_equal(fake.settled.batches, 1);
	assert_int_equal(fake.reads, fake.reads_freed);
}

static void
takes_each_alone_when_one_spoils_it(void **state)
{
	int statuses[GATHERED];

	(void)state;
	good_event();
	fake.settled.there = true;
	/* Of the batch, then of the first that is alone. */
	fake.settled.statuses[0] = DB_CONFLICT;
	fake.settled.statuses[1] = DB_CONFLICT;
	send_together(statuses);
	assert_int_equal(statuses[0], 503);
	assert_int_equal(statuses[1], 200);
	assert_int_equal(statuses[2], 200);
	assert_int_equal(fake.settled.batches, 1 + GATHERED);
	assert_int_equal(fake.settled.waited, 0);
}

/* The stock of its order is locked for too long: the others pay nothing. */
static void
takes_each_alone_when_one_waits_too_long(void **state)
{
	int statuses[GATHERED];

	(void)state;
	good_event();
	fake.settled.there = true;
	fake.settled.statuses[0] = DB_DOWN;
	fake.settled.statuses[1] = DB_DOWN;
	fake.conf.server.lock_timeout_ms = 2000;
	send_together(statuses);
	assert_int_equal(statuses[0], 503);
	assert_int_equal(statuses[1], 200);
	assert_int_equal(statuses[2], 200);
	assert_int_equal(fake.settled.batches, 1 + GATHERED);
	/* It has had its time; afterwards all have theirs again. */
	assert_int_equal(fake.settled.waited, 2);
	assert_int_equal(fake.settled.waits[0], 600);
	assert_int_equal(fake.settled.waits[1], 2000);
}

/* Many of one order that is locked do not take the time of those behind them. */
static void
waits_once_for_an_order_that_is_locked(void **state)
{
	static const char *const holds[GATHERED] = {FAKE_HOLD "1",
	    FAKE_HOLD "1", FAKE_HOLD "2"};
	int statuses[GATHERED];

	(void)state;
	good_event();
	fake.settled.there = true;
	fake.settled.statuses[0] = DB_DOWN;
	fake.settled.statuses[1] = DB_DOWN;
	send_together_of(holds, statuses);
	assert_int_equal(statuses[0], 503);
	assert_int_equal(statuses[1], 503);
	assert_int_equal(statuses[2], 200);
	assert_int_equal(fake.settled.batches, 3);
}

static void
takes_none_again_when_the_database_is_away(void **state)
{
	static const enum db_status away[] = {DB_DOWN, DB_LOST};
	int statuses[GATHERED];

	(void)state;
	good_event();
	for (int i = 0; i < 2; i++) {
		fake.settled.batches = 0;
		fake.settled.calls = 0;
		fake.settled.statuses[0] = away[i];
		send_together(statuses);
		for (size_t k = 0; k < GATHERED; k++)
			assert_int_equal(statuses[k], 503);
		assert_int_equal(fake.settled.batches, 1);
	}
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
	    TEST(settles_each_event_of_a_body),
	    TEST(one_event_that_fails_brings_all_again),
	    TEST(no_event_is_tried_without_a_database),
	    TEST(an_unusable_event_among_others_is_kept),
	    TEST(answers_in_the_providers_words),
	    TEST(nobody_named_is_the_provider_in_use),
	    TEST(stripe_signs_one_header),
	    TEST(standard_webhooks_sign_three),
	    TEST(refuses_by_shape),
	    TEST(records_what_waits_together_at_once),
	    TEST(takes_each_alone_when_one_spoils_it),
	    TEST(takes_each_alone_when_one_waits_too_long),
	    TEST(waits_once_for_an_order_that_is_locked),
	    TEST(takes_none_again_when_the_database_is_away),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
