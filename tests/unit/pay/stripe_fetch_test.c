/* pay/stripe: looking up a session, a refund, an event. */
#include "pay/call.h"
#include "pay/session.h"

/* A session that is paid, n bytes long. */
static void
long_session(struct buf *b, size_t n)
{
	size_t head = strlen("{\"note\":\"\",");

	buf_str(b, "{\"note\":\"");
	for (size_t i = head + strlen(session_paid + 1); i < n; i++)
		buf_char(b, 'x');
	buf_printf(b, "\",%s", session_paid + 1);
	assert_int_equal(b->len, n);
}

static enum call_result
fetch_session(const char *answer)
{
	call_fill(ACT_FETCH, "fetch-" HOLD);
	script_add(200, answer, NULL);
	return run();
}

static void
fetched(const char *session, enum event_kind kind, const char *id)
{
	struct event event;
	struct event_reader *reader;

	script_clear();
	assert_int_equal(fetch_session(session), CALL_DONE);
	asked_for(0, "/v1/checkout/sessions/cs_test_1");
	assert_true(script_header_is(0, "Authorization: Bearer sk_test_OPEN"));
	news_read(&reader, &event);
	assert_int_equal(event.kind, kind);
	assert_true(str_is(event.id, id));
	assert_true(kind == EVENT_IGNORE || str_is(event.session_id, SESSION));
	stripe_provider.read_free(reader);
}

static void
a_session_becomes_an_event(void **state)
{
	fetched(session_paid, EVENT_PAID, "fetch-cs_test_1-complete-paid");
	fetched(session_unpaid, EVENT_PENDING,
	    "fetch-cs_test_1-complete-unpaid");
	fetched(session_expired, EVENT_EXPIRED,
	    "fetch-cs_test_1-expired-unpaid");
	/* Money is money, whatever the status says. */
	fetched(SESSION_HEAD
	    "\"status\":\"open\",\"payment_status\":\"paid\"," //
	    SESSION_TAIL,
	    EVENT_PAID, "fetch-cs_test_1-complete-paid");
	fetched(SESSION_HEAD "\"status\":\"expired\","
			     "\"payment_status\":\"paid\"," SESSION_TAIL,
	    EVENT_PAID, "fetch-cs_test_1-complete-paid");
	conf.stripe.livemode = true;
	fetched(session_paid, EVENT_IGNORE, "fetch-cs_test_1-complete-paid");
}

/* A mode that is not said is not the other one. */
static void
a_session_without_a_mode_is_ours(void **state)
{
	static const char *const modes[] = {"null", "\"true\"", "1", "{}"};
	char session[768];

	conf.stripe.livemode = true;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		snprintf(session, sizeof(session),
		    "{\"id\":\"cs_test_1\",\"livemode\":%s,"
		    "\"status\":\"complete\",\"payment_status\":\"paid\","
		    "\"amount_total\":12900,\"currency\":\"eur\"}",
		    modes[i]);
		fetched(session, EVENT_PAID, "fetch-cs_test_1-complete-paid");
	}
}

static void
an_open_session_is_no_news(void **state)
{
	assert_int_equal(fetch_session(session_open), CALL_DONE);
	assert_int_equal(work.outcome.body.len, 0);
}

static void
what_is_not_the_session_is_asked_for_again(void **state)
{
	static const char *const bodies[] = {"", "<html>", "[]", "7",
	    "{\"status\":\"complete\"}",
	    "{\"id\":\"cs_test_1\",\"status\":\"complete\",",
	    "{\"id\":\"cs_test_1\",\"status\":\"odd\"}",
	    "{\"id\":\"cs_test_1\",\"status\":null}",
	    "{\"id\":\"cs_test_2\",\"status\":\"complete\"}",
	    "{\"id\":\"cs_test_1\",\"status\":\"open\",\"id\":\"x\"}"};

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		if (fetch_session(bodies[i]) != CALL_RETRY)
			fail_msg("%s", bodies[i]);
	}
}

static void
a_look_fails_like_any_call(void **state)
{
	call_fill(ACT_FETCH, "k");
	call.try = 7;
	/* No key is on a GET, so a 500 is not stored. */
	script_add(500, "", NULL);
	assert_int_equal(run(), CALL_RETRY);
	script_add(0, "", NULL);
	assert_int_equal(run(), CALL_RETRY);
	script_add(404, declined, NULL);
	assert_int_equal(run(), CALL_REFUSED);
	assert_int_equal(alarms, 1);
}

static void
a_megabyte_is_read(void **state)
{
	struct buf b = {0};
	struct event_reader *reader;
	struct event event;

	long_session(&b, HTTP_ANSWER_MAX);
	assert_int_equal(fetch_session(b.data), CALL_DONE);
	assert_true(work.outcome.body.len > HTTP_ANSWER_MAX);
	news_read(&reader, &event);
	assert_int_equal(event.kind, EVENT_PAID);
	stripe_provider.read_free(reader);
	buf_reset(&b);
	for (size_t i = 0; i < HTTP_ANSWER_MAX; i++)
		buf_char(&b, '[');
	assert_int_equal(fetch_session(b.data), CALL_RETRY);
	buf_release(&b);
}

static void
a_refund_becomes_an_event(void **state)
{
	static const struct {
		const char *theirs;
		const char *ours;
	} states[] = {{"pending", "pending"}, {"succeeded", "succeeded"},
	    {"failed", "failed"}, {"canceled", "failed"}};
	struct event_reader *reader;
	struct event event;
	char body[512];
	char id[64];

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		script_clear();
		snprintf(body, sizeof(body),
		    "{\"id\":\"re_1\",\"status\":\"%s\",\"amount\":500,"
		    "\"currency\":\"eur\",\"payment_intent\":\"pi_1\","
		    "\"metadata\":{\"key\":\"refund-" HOLD "-2\"}}",
		    states[i].theirs);
		call_fill(ACT_FETCH, "k");
		call.refund_ref = str_of("re_1");
		script_add(200, body, NULL);
		assert_int_equal(run(), CALL_DONE);
		asked_for(0, "/v1/refunds/re_1");
		assert_true(script_header_is(0,
		    "Authorization: Bearer sk_test_REFUND"));
		news_read(&reader, &event);
		assert_int_equal(event.kind, EVENT_REFUND);
		snprintf(id, sizeof(id), "fetch-re_1-%s", states[i].theirs);
		assert_true(str_is(event.id, id));
		assert_true(str_is(event.type, "refund.updated"));
		assert_true(str_is(event.state, states[i].ours));
		assert_true(str_is(event.refund_ref, "re_1"));
		assert_true(str_is(event.payment_ref, INTENT));
		assert_true(str_is(event.key, "refund-" HOLD "-2"));
		assert_int_equal(event.amount, 500);
		stripe_provider.read_free(reader);
	}
}

static void
a_foreign_refund_is_none(void **state)
{
	call_fill(ACT_FETCH, "k");
	call.refund_ref = str_of("re_1");
	script_add(200, "{\"id\":\"re_2\",\"status\":\"succeeded\"}", NULL);
	assert_int_equal(run(), CALL_RETRY);
}

static void
an_event_is_itself(void **state)
{
	struct buf sample = {0};
	struct event_reader *reader;
	struct event event;

	fixture_file(&sample, "tests/data/stripe-events/refund.failed.json");
	call_fill(ACT_FETCH, "k");
	/* The event is named first, and it is what is asked for. */
	call.refund_ref = str_of("re_1");
	call.event_id = str_of("evt_1QFlash00000000000000022");
	script_add(200, sample.data, NULL);
	assert_int_equal(run(), CALL_DONE);
	asked_for(0, "/v1/events/evt_1QFlash00000000000000022");
	assert_true(script_header_is(0, "Authorization: Bearer sk_test_OPEN"));
	assert_string_equal(work.outcome.body.data, sample.data);
	news_read(&reader, &event);
	assert_int_equal(event.kind, EVENT_REFUND);
	assert_true(str_is(event.id, "evt_1QFlash00000000000000022"));
	stripe_provider.read_free(reader);
	call.event_id = str_of("evt_other");
	script_add(200, sample.data, NULL);
	assert_int_equal(run(), CALL_RETRY);
	buf_release(&sample);
}

static void
a_look_at_nothing_is_refused(void **state)
{
	call_fill(ACT_FETCH, "k");
	call.session_id = (struct str){NULL, 0};
	assert_int_equal(run(), CALL_REFUSED);
	assert_string_equal(error(), "there is nothing to look up");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_session_becomes_an_event),
	    TEST(a_session_without_a_mode_is_ours),
	    TEST(an_open_session_is_no_news),
	    TEST(what_is_not_the_session_is_asked_for_again),
	    TEST(a_look_fails_like_any_call),
	    TEST(a_megabyte_is_read),
	    TEST(a_refund_becomes_an_event),
	    TEST(a_foreign_refund_is_none),
	    TEST(an_event_is_itself),
	    TEST(a_look_at_nothing_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
