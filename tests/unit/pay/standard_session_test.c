/* pay/standard: sessions, and what each answer of a call leads to. */
#include "pay/standard_work.h"

#define OPEN \
	OURS ",\"amount\":2500,\"currency\":\"EUR\",\"title\":\"1 x Lamp " \
	     "\\\"24\\\" \xe2\x80\x94 gr\xc3\xbcn\",\"return_url\":" \
	     "\"https://shop.test/order/" HOLD "\",\"expires_at\":1796051460"

static void
opening_gives_a_session_and_its_page(void **state)
{
	begin(ACT_OPEN);
	asks("session.open", ENDPOINT_OPEN, OPEN);
	assert_true(str_is(header("webhook-id"), "cs-" HOLD));
	assert_true(answer(200,
	    "{\"session\":\"s_1\",\"url\":\"https://pay.test/p?s=1\"}"));
	ends(CALL_DONE, "");
	assert_string_equal(buf_text(&work.outcome.id), "s_1");
	assert_string_equal(buf_text(&work.outcome.url),
	    "https://pay.test/p?s=1");
	/* A later try says the same. */
	call.try = 7;
	call.age_s = 100;
	begin(ACT_OPEN);
	asks("session.open", ENDPOINT_OPEN, OPEN);
	assert_true(str_is(header("webhook-id"), "cs-" HOLD));
}

static void
a_page_that_is_none_is_asked_for_again(void **state)
{
	static const char *const bad[] = {
	    "{\"session\":\"s_1\"}",
	    "{\"session\":\"s_1\",\"url\":\"\"}",
	    "{\"session\":\"s_1\",\"url\":\"javascript:alert(1)\"}",
	    "{\"session\":\"s_1\",\"url\":\"https://\"}",
	    "{\"session\":\"s_1\",\"url\":\"https://pay.test/a b\"}",
	    "{\"session\":\"s_1\",\"url\":\"https://pay.test/\\r\\nX: 1\"}",
	    "{\"session\":5,\"url\":\"https://pay.test/1\"}",
	    "{\"session\":\"\",\"url\":\"https://pay.test/1\"}",
	    "{\"url\":\"https://pay.test/1\"}",
	    "{}",
	    "[]",
	    "5",
	    "",
	    "<html>",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		begin(ACT_OPEN);
		assert_true(standard_provider.step(&work));
		assert_true(answer(200, bad[i]));
		assert_int_equal(work.result, CALL_RETRY);
		assert_memory_equal(work.outcome.error.data,
		    "status 200 without", 18);
		assert_int_equal(work.outcome.id.len, 0);
	}
}

static void
each_status_has_its_result(void **state)
{
	static const struct {
		int status;
		enum call_result result;
	} all[] = {
	    {0, CALL_RETRY},
	    {302, CALL_RETRY},
	    {400, CALL_REFUSED},
	    {401, CALL_REFUSED},
	    {402, CALL_REFUSED},
	    {404, CALL_REFUSED},
	    {408, CALL_RETRY},
	    {409, CALL_RETRY},
	    {410, CALL_REFUSED},
	    {422, CALL_REFUSED},
	    {425, CALL_RETRY},
	    {429, CALL_RETRY},
	    {500, CALL_RETRY},
	    {501, CALL_RETRY},
	    {503, CALL_RETRY},
	    {599, CALL_RETRY},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		begin(ACT_OPEN);
		assert_true(standard_provider.step(&work));
		assert_true(answer(all[i].status, ""));
		assert_int_equal(work.result, all[i].result);
		assert_true(work.outcome.error.len > 0);
	}
}

static void
an_error_is_one_word_without_secrets(void **state)
{
	begin(ACT_OPEN);
	assert_true(standard_provider.step(&work));
	assert_true(answer(422, "{\"error\":\"amount_too_small\"}"));
	ends(CALL_REFUSED, "status 422 amount_too_small");
	begin(ACT_OPEN);
	assert_true(standard_provider.step(&work));
	assert_true(answer(500, "{\"error\":\"" SHARED "\"}"));
	ends(CALL_RETRY, "status 500");
	begin(ACT_OPEN);
	assert_true(standard_provider.step(&work));
	assert_true(answer(500, "{\"error\":\"see https://pay.test/1\"}"));
	ends(CALL_RETRY, "status 500");
	begin(ACT_OPEN);
	assert_true(standard_provider.step(&work));
	assert_true(answer(0, ""));
	ends(CALL_RETRY, "no answer: connection refused");
}

#define NAMED OURS ",\"session\":\"s_1\""

static void
ending_judges_by_the_state(void **state)
{
	call.key = str_of("expire-" HOLD);
	call.session_id = str_of("s_1");
	begin(ACT_END);
	asks("session.end", ENDPOINT_END, NAMED);
	assert_true(str_is(header("webhook-id"), "expire-" HOLD));
	assert_true(answer_with(SESSION, "expired"));
	ends(CALL_DONE, "");
	begin(ACT_END);
	assert_true(standard_provider.step(&work));
	assert_true(answer_with(SESSION, "failed"));
	ends(CALL_DONE, "");
	assert_int_equal(work.outcome.body.len, 0);
	begin(ACT_END);
	assert_true(standard_provider.step(&work));
	assert_true(answer_with(SESSION, "open"));
	ends(CALL_RETRY, "status 200 without an end of the session");
	begin(ACT_END);
	assert_true(standard_provider.step(&work));
	assert_true(answer_with(SESSION, "gone"));
	assert_int_equal(work.result, CALL_RETRY);
	begin(ACT_END);
	assert_true(standard_provider.step(&work));
	assert_true(answer(200, "{\"session\":\"s_2\",\"state\":\"expired\"}"));
	assert_int_equal(work.result, CALL_RETRY);
}

static void
ending_what_is_paid_brings_the_news(void **state)
{
	call.session_id = str_of("s_1");
	begin(ACT_END);
	assert_true(standard_provider.step(&work));
	assert_true(answer_with(SESSION, "paid"));
	ends(CALL_COMPLETE, "");
	news_is(EVENT_PAID, "look.s_1.paid");
	begin(ACT_END);
	assert_true(standard_provider.step(&work));
	assert_true(answer_with(SESSION, "pending"));
	ends(CALL_COMPLETE, "");
	news_is(EVENT_PENDING, "look.s_1.pending");
	/* Paid, but of how much? Nobody knows: asked again. */
	begin(ACT_END);
	assert_true(standard_provider.step(&work));
	assert_true(answer(200, "{\"session\":\"s_1\",\"state\":\"paid\"}"));
	ends(CALL_RETRY,
	    "status 200 without what it should tell: the data has no payment");
	assert_int_equal(work.outcome.body.len, 0);
}

static void
looking_tells_of_sessions_and_refunds(void **state)
{
	call.session_id = str_of("s_1");
	begin(ACT_FETCH);
	asks("session.show", ENDPOINT_LOOK, NAMED);
	assert_memory_equal(header("webhook-id").text, "ask_", 4);
	assert_true(answer_with(SESSION, "paid"));
	ends(CALL_DONE, "");
	news_is(EVENT_PAID, "look.s_1.paid");
	begin(ACT_FETCH);
	assert_true(standard_provider.step(&work));
	assert_true(answer_with(SESSION, "open"));
	ends(CALL_DONE, "");
	assert_int_equal(work.outcome.body.len, 0);
	call.refund_ref = str_of("r_1");
	begin(ACT_FETCH);
	asks("refund.show", ENDPOINT_LOOK, "\"refund\":\"r_1\"");
	assert_true(answer_with(REFUND, "failed"));
	ends(CALL_DONE, "");
	news_is(EVENT_REFUND, "look.r_1.failed");
	begin(ACT_FETCH);
	assert_true(standard_provider.step(&work));
	assert_true(answer(200, "{\"refund\":null}"));
	ends(CALL_REFUSED, "the provider has no such refund");
	begin(ACT_FETCH);
	assert_true(standard_provider.step(&work));
	assert_true(answer_with(REFUND, "odd"));
	assert_int_equal(work.result, CALL_RETRY);
}

static void
looking_finds_an_event(void **state)
{
	static const char event[] =
	    "{\"id\":\"e_1\",\"type\":\"refund.updated\",\"data\":"
	    "{\"refund\":\"r_1\",\"payment\":\"p_1\",\"amount\":2500,"
	    "\"currency\":\"EUR\",\"state\":\"pending\"}}";

	call.event_id = str_of("e_1");
	begin(ACT_FETCH);
	asks("event.show", ENDPOINT_LOOK, "\"event\":\"e_1\"");
	assert_true(answer(200, event));
	ends(CALL_DONE, "");
	news_is(EVENT_REFUND, "e_1");
	call.event_id = str_of("e_2");
	begin(ACT_FETCH);
	assert_true(standard_provider.step(&work));
	assert_true(answer(200, event));
	ends(CALL_RETRY, "status 200 without the event that was asked for");
}

/* Two looks at one thing are two questions: no answer is kept for them. */
static void
a_look_has_an_id_of_its_own(void **state)
{
	struct buf seen = {0};
	struct str id;

	call.session_id = str_of("s_1");
	begin(ACT_FETCH);
	assert_true(standard_provider.step(&work));
	id = header("webhook-id");
	buf_add(&seen, id.text, id.len);
	begin(ACT_FETCH);
	assert_true(standard_provider.step(&work));
	assert_false(str_equal(header("webhook-id"), str_view(&seen)));
	buf_release(&seen);
}

static void
what_names_nothing_is_not_asked(void **state)
{
	begin(ACT_END);
	assert_false(standard_provider.step(&work));
	ends(CALL_REFUSED, "there is no session to speak of");
	begin(ACT_FETCH);
	assert_false(standard_provider.step(&work));
	ends(CALL_REFUSED, "there is no session to speak of");
	begin(ACT_REFUND);
	assert_false(standard_provider.step(&work));
	ends(CALL_REFUSED, "there is no payment to refund");
}

static void
what_cannot_be_signed_is_not_sent(void **state)
{
	conf.standard.webhook_secret = PUBLIC;
	begin(ACT_OPEN);
	assert_false(standard_provider.step(&work));
	ends(CALL_REFUSED,
	    "the call cannot be signed: set standard.call_secret");
	conf = rig_conf();
	call.key = str_of("cs.1");
	begin(ACT_OPEN);
	assert_false(standard_provider.step(&work));
	assert_int_equal(work.result, CALL_REFUSED);
}

static void
the_pace_is_the_settings(void **state)
{
	struct provider_pace pace;

	standard_provider.pace(&conf, &pace);
	for (size_t i = 0; i < ENDPOINTS; i++)
		assert_int_equal(pace.per_second[i], 20);
	assert_int_equal(pace.calls_per_second, 20);
	assert_int_equal(pace.at_once, 32);
	assert_int_equal(pace.timeout_ms, 5000);
	assert_int_equal(pace.tries, 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(opening_gives_a_session_and_its_page),
	    TEST(a_page_that_is_none_is_asked_for_again),
	    TEST(each_status_has_its_result),
	    TEST(an_error_is_one_word_without_secrets),
	    TEST(ending_judges_by_the_state),
	    TEST(ending_what_is_paid_brings_the_news),
	    TEST(looking_tells_of_sessions_and_refunds),
	    TEST(looking_finds_an_event),
	    TEST(a_look_has_an_id_of_its_own),
	    TEST(what_names_nothing_is_not_asked),
	    TEST(what_cannot_be_signed_is_not_sent),
	    TEST(the_pace_is_the_settings),
	};

	return cmocka_run_group_tests_name("pay/standard_session", tests, NULL,
	    NULL);
}
