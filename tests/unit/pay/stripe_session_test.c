/* pay/stripe: how sessions are opened, ended and looked up. */
#include "pay/call.h"

static const char session_open[] =
    "{\"id\":\"cs_test_1\",\"status\":\"open\",\"payment_status\":\"unpaid\","
    "\"livemode\":false,\"url\":\"https://pay.test/c/cs_test_1#fid\"}";
static const char session_expired[] =
    "{\"id\":\"cs_test_1\",\"status\":\"expired\",\"url\":null,"
    "\"payment_status\":\"unpaid\",\"livemode\":false}";
static const char session_paid[] =
    "{\"id\":\"cs_test_1\",\"status\":\"complete\",\"url\":null,"
    "\"payment_status\":\"paid\",\"livemode\":false,\"mode\":\"payment\","
    "\"amount_total\":12900,\"currency\":\"eur\",\"payment_intent\":\"pi_1\","
    "\"metadata\":{\"hold_id\":\"" HOLD "\"}}";
static const char session_unpaid[] =
    "{\"id\":\"cs_test_1\",\"status\":\"complete\","
    "\"payment_status\":\"unpaid\",\"livemode\":false,\"mode\":\"payment\","
    "\"amount_total\":12900,\"currency\":\"eur\",\"payment_intent\":\"pi_1\"}";
static const char not_open[] =
    "{\"error\":{\"type\":\"invalid_request_error\",\"message\":"
    "\"Only Checkout Sessions with a status in [\\\"open\\\"] can be "
    "expired. sk_test_OPEN\"}}";

static enum call_result
open_try(int try)
{
	struct call call = a_call("cs-" HOLD);

	call.try = try;
	return provider_default()->open(&conf, http_open(""), &call, &outcome);
}

static enum call_result
end_try(int try)
{
	struct call call = a_call("expire-" HOLD);

	call.try = try;
	return provider_default()->end(&conf, http_open(""), &call, &outcome);
}

static enum call_result
fetch(void)
{
	struct call call = a_call("expire-" HOLD);

	return provider_default()->fetch(&conf, http_open(""), &call, &outcome);
}

static void
open_sends_what_the_contract_says(void **state)
{
	script_add(200, session_open, NULL);
	assert_int_equal(open_try(1), CALL_DONE);
	assert_string_equal(outcome.id.data, SESSION);
	assert_string_equal(outcome.url.data,
	    "https://pay.test/c/cs_test_1#fid");
	assert_int_equal(outcome.error.len, 0);
	asked(0, "POST", "/v1/checkout/sessions");
	assert_true(script_header_is(0, "Authorization: Bearer sk_test_OPEN"));
	assert_true(script_header_is(0, "Idempotency-Key: cs-" HOLD));
	assert_true(script_header_is(0,
	    "Content-Type: application/x-www-form-urlencoded"));
	assert_string_equal(script_asked[0].body,
	    "mode=payment&line_items[0][quantity]=1"
	    "&line_items[0][price_data][currency]=eur"
	    "&line_items[0][price_data][unit_amount]=12900"
	    "&line_items[0][price_data][product_data][name]="
	    "1%20x%20Lamp%20%2324%20%E2%80%94%20blau%20%26%20gr%C3%BCn"
	    "&client_reference_id=ord_42&" METADATA("metadata") "&" METADATA(
		"payment_intent_data[metadata]") "&allowed_payment_method_types"
						 "[0]=card"
						 "&adaptive_pricing[enabled]="
						 "false&expires_at=1796052660"
						 "&success_url=https%3A%2F%2F"
						 "shop.test%2Forder%2F" HOLD
						 "&cancel_url=https%3A%2F%2F"
						 "shop.test%2Forder%2F" HOLD);
}

static void
open_names_the_methods_as_the_version_does(void **state)
{
	static const struct {
		char *version;
		bool allowed;
	} versions[] = {{"2026-09-30.endive", true}, {"2027-01-01.x", true},
	    {"2026-08-27.dahlia", false}, {"2025-03-31.basil", false}};

	for (size_t i = 0; i < 4; i++) {
		conf.stripe.version = versions[i].version;
		script_add(200, session_open, NULL);
		assert_int_equal(open_try(1), CALL_DONE);
		assert_true(versions[i].allowed ==
		    (strstr(script_asked[i].body,
			 "&allowed_payment_method_types[0]=card&") != NULL));
		assert_true(versions[i].allowed !=
		    (strstr(script_asked[i].body,
			 "&payment_method_types[0]=card&") != NULL));
		call_outcome_release(&outcome);
		call_outcome_init(&outcome);
	}
}

static void
a_retry_says_the_same_under_the_same_key(void **state)
{
	script_add(0, "", NULL);
	script_add(503, "<html>503</html>", NULL);
	script_add(200, session_open, NULL);
	assert_int_equal(open_try(1), CALL_RETRY);
	assert_int_equal(open_try(2), CALL_RETRY);
	assert_int_equal(open_try(3), CALL_DONE);
	assert_memory_equal(&script_asked[0], &script_asked[1],
	    sizeof(script_asked[0]));
	assert_memory_equal(&script_asked[0], &script_asked[2],
	    sizeof(script_asked[0]));
}

static void
the_table_of_statuses_holds(void **state)
{
	static const struct {
		int status;
		enum call_result result;
		const char *should_retry;
	} table[] = {
	    {0, CALL_RETRY, NULL},
	    {400, CALL_REFUSED, NULL},
	    {401, CALL_REFUSED, NULL},
	    {402, CALL_REFUSED, NULL},
	    {403, CALL_REFUSED, NULL},
	    {404, CALL_REFUSED, NULL},
	    {409, CALL_RETRY, NULL},
	    {424, CALL_RETRY, NULL},
	    {429, CALL_RETRY, NULL},
	    {500, CALL_RETRY, NULL},
	    {500, CALL_RETRY, "false"},
	    {502, CALL_RETRY, NULL},
	    {503, CALL_RETRY, NULL},
	    {504, CALL_RETRY, NULL},
	    {301, CALL_RETRY, NULL},
	    {400, CALL_RETRY, "true"},
	    {402, CALL_RETRY, "TRUE"},
	    {409, CALL_RETRY, "true"},
	    {409, CALL_REFUSED, "false"},
	    {429, CALL_REFUSED, "false"},
	    {503, CALL_REFUSED, "false"},
	    {400, CALL_REFUSED, "perhaps"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		script_clear();
		script_add(table[i].status, declined, table[i].should_retry);
		if (open_try(1) != table[i].result)
			fail_msg("status %d", table[i].status);
		assert_true(outcome.error.len > 0);
	}
}

static void
errors_are_one_short_line_without_secrets(void **state)
{
	script_add(402, declined, NULL);
	assert_int_equal(open_try(1), CALL_REFUSED);
	assert_string_equal(outcome.error.data,
	    "status 402 card_error code=card_declined param=line_items[0] "
	    "request req_1");
	script_add(503, "<html>503</html>", NULL);
	assert_int_equal(open_try(1), CALL_RETRY);
	assert_string_equal(outcome.error.data, "status 503 request req_1");
	script_add(0, "", NULL);
	assert_int_equal(open_try(1), CALL_RETRY);
	assert_string_equal(outcome.error.data, "no answer: connection reset");
	script_add(400,
	    "{\"error\":{\"type\":\"a\\nb\",\"code\":\"x y\",\"param\":"
	    "\"0123456789012345678901234567890123456789012345678901234567890"
	    "12345\"}}",
	    NULL);
	assert_int_equal(open_try(1), CALL_REFUSED);
	assert_string_equal(outcome.error.data, "status 400 request req_1");
}

static void
success_that_is_not_a_session_is_tried_again(void **state)
{
	static const char *const bodies[] = {"", "<html>", "[]", "{}",
	    "{\"id\":\"cs_1\"}", "{\"url\":\"https://pay.test/\"}",
	    "{\"id\":7,\"url\":\"https://pay.test/\"}",
	    "{\"id\":\"cs_1\",\"url\":null}",
	    "{\"id\":\"cs_1\",\"url\":\"javascript:alert(1)\"}",
	    "{\"id\":\"cs_1\",\"url\":\"https://\"}",
	    "{\"id\":\"cs_1\",\"url\":\"https://pay.test/\\r\\nX: y\"}"};

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		script_add(200, bodies[i], NULL);
		if (open_try(1) != CALL_RETRY)
			fail_msg("%s", bodies[i]);
		assert_memory_equal(outcome.error.data, "status 200", 10);
		assert_null(strstr(outcome.error.data, "pay.test"));
		assert_int_equal(outcome.id.len, 0);
	}
}

static void
a_stored_500_is_left_behind_on_a_later_try(void **state)
{
	script_add(500, declined, "false");
	assert_int_equal(open_try(1), CALL_RETRY);
	script_add(500, declined, "false");
	script_add(200, session_open, NULL);
	assert_int_equal(open_try(2), CALL_DONE);
	assert_true(script_header_is(1, "Idempotency-Key: cs-" HOLD));
	assert_true(script_header_is(2, "Idempotency-Key: cs-" HOLD "-try2"));
	assert_string_equal(script_asked[1].body, script_asked[2].body);
}

static void
end_expires_the_session(void **state)
{
	script_add(200, session_expired, NULL);
	assert_int_equal(end_try(1), CALL_DONE);
	asked(0, "POST", "/v1/checkout/sessions/cs_test_1/expire");
	assert_true(script_header_is(0, "Idempotency-Key: expire-" HOLD));
	assert_true(script_header_is(0, "Authorization: Bearer sk_test_OPEN"));
	assert_string_equal(script_asked[0].body, "");
}

static void
end_looks_when_it_is_refused(void **state)
{
	static const struct {
		int status;
		enum call_result result;
		const char *session;
	} table[] = {
	    {400, CALL_DONE, session_expired},
	    {400, CALL_COMPLETE, session_paid},
	    {400, CALL_COMPLETE, session_unpaid},
	    {400, CALL_RETRY, session_open},
	    {404, CALL_DONE, session_expired},
	    {400, CALL_RETRY, "{\"id\":\"cs_other\",\"status\":\"expired\"}"},
	    {400, CALL_RETRY, "{\"id\":\"cs_test_1\"}"},
	    {400, CALL_RETRY, "<html>"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		script_clear();
		script_add(table[i].status, not_open, NULL);
		script_add(200, table[i].session, NULL);
		if (end_try(1) != table[i].result)
			fail_msg("row %zu", i);
		asked(1, "GET", "/v1/checkout/sessions/cs_test_1");
		assert_null(strstr(script_asked[1].headers, "Idempotency"));
	}
}

static void
end_knows_what_it_does_not_know(void **state)
{
	/* No outcome at first: the same again. */
	script_add(429, declined, NULL);
	assert_int_equal(end_try(1), CALL_RETRY);
	/* Later it looks. */
	script_add(0, "", NULL);
	script_add(200, session_paid, NULL);
	assert_int_equal(end_try(2), CALL_COMPLETE);
	/* A 500 may have ended it all the same. */
	script_add(500, declined, NULL);
	script_add(500, declined, NULL);
	script_add(200, session_expired, NULL);
	assert_int_equal(end_try(2), CALL_DONE);
	/* Neither answers. */
	script_add(503, "", NULL);
	script_add(503, "", NULL);
	assert_int_equal(end_try(3), CALL_RETRY);
	/* Wrong key or mode: both say that there is none. */
	script_add(404, declined, NULL);
	script_add(404, declined, NULL);
	assert_int_equal(end_try(1), CALL_REFUSED);
	/* It says yes, but the session is open. */
	script_add(200, session_open, NULL);
	assert_int_equal(end_try(1), CALL_RETRY);
	script_add(401, declined, NULL);
	assert_int_equal(end_try(1), CALL_REFUSED);
}

static void
fetched(const char *session, enum event_kind kind, const char *id)
{
	struct event event;
	struct event_reader *reader;

	script_clear();
	call_outcome_release(&outcome);
	call_outcome_init(&outcome);
	script_add(200, session, NULL);
	assert_int_equal(fetch(), CALL_DONE);
	asked(0, "GET", "/v1/checkout/sessions/cs_test_1");
	reader = provider_default()->read(&conf, fixture_view(&outcome.body),
	    &event);
	assert_int_equal(event.kind, kind);
	assert_true(str_is(event.id, id));
	assert_true(kind == EVENT_IGNORE || str_is(event.session_id, SESSION));
	provider_default()->read_free(reader);
}

static void
fetch_gives_an_event_to_read(void **state)
{
	fetched(session_paid, EVENT_PAID, "fetch-cs_test_1-complete-paid");
	fetched(session_unpaid, EVENT_PENDING,
	    "fetch-cs_test_1-complete-unpaid");
	fetched(session_expired, EVENT_EXPIRED,
	    "fetch-cs_test_1-expired-unpaid");
	conf.stripe.livemode = true;
	fetched(session_paid, EVENT_IGNORE, "fetch-cs_test_1-complete-paid");
}

static void
fetch_has_no_news_of_an_open_session(void **state)
{
	script_add(200, session_open, NULL);
	assert_int_equal(fetch(), CALL_RETRY);
	assert_int_equal(outcome.body.len, 0);
	script_add(404, declined, NULL);
	assert_int_equal(fetch(), CALL_REFUSED);
	script_add(200, "{\"id\":\"cs_test_1\",\"status\":\"complete\",", NULL);
	assert_int_equal(fetch(), CALL_RETRY);
	assert_int_equal(outcome.body.len, 0);
}

static void
calls_that_name_nothing_are_refused(void **state)
{
	struct call call = a_call("k");

	call.session_id = str_of("");
	call.payment_ref = str_of("");
	assert_int_equal(provider_default()->end(&conf, http_open(""), &call,
			     &outcome),
	    CALL_REFUSED);
	assert_int_equal(provider_default()->fetch(&conf, http_open(""), &call,
			     &outcome),
	    CALL_REFUSED);
	assert_int_equal(provider_default()->refund(&conf, http_open(""), &call,
			     &outcome),
	    CALL_REFUSED);
	assert_true(outcome.error.len > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(open_sends_what_the_contract_says),
	    TEST(open_names_the_methods_as_the_version_does),
	    TEST(a_retry_says_the_same_under_the_same_key),
	    TEST(the_table_of_statuses_holds),
	    TEST(errors_are_one_short_line_without_secrets),
	    TEST(success_that_is_not_a_session_is_tried_again),
	    TEST(a_stored_500_is_left_behind_on_a_later_try),
	    TEST(end_expires_the_session),
	    TEST(end_looks_when_it_is_refused),
	    TEST(end_knows_what_it_does_not_know),
	    TEST(fetch_gives_an_event_to_read),
	    TEST(fetch_has_no_news_of_an_open_session),
	    TEST(calls_that_name_nothing_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
