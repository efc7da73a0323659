/* pay/stripe: how sessions are opened and ended. */
#include "pay/call.h"
#include "pay/session.h"

static const char not_open[] =
    "{\"error\":{\"type\":\"invalid_request_error\",\"message\":"
    "\"Only Checkout Sessions with a status in [\\\"open\\\"] can be "
    "expired. sk_test_OPEN\"}}";

static enum call_result
open_try(int try)
{
	call_fill(ACT_OPEN, "cs-" HOLD);
	call.session_id = (struct str){NULL, 0};
	call.payment_ref = (struct str){NULL, 0};
	call.try = try;
	return run();
}

static enum call_result
end_try(int try)
{
	call_fill(ACT_END, "expire-" HOLD);
	call.try = try;
	return run();
}

static void
open_sends_what_the_contract_says(void **state)
{
	script_add(200, session_open, NULL);
	assert_int_equal(open_try(1), CALL_DONE);
	assert_string_equal(work.outcome.id.data, SESSION);
	assert_string_equal(work.outcome.url.data,
	    "https://pay.test/c/cs_test_1#fid");
	asked(0, ENDPOINT_OPEN, "POST", "/v1/checkout/sessions");
	assert_true(script_header_is(0, "Authorization: Bearer sk_test_OPEN"));
	assert_true(script_header_is(0, "Idempotency-Key: cs-" HOLD));
	assert_true(script_header_is(0,
	    "Content-Type: application/x-www-form-urlencoded"));
#define ORDER "https%3A%2F%2Fshop.test%2Forder%2F" HOLD
	assert_string_equal(script_asked[0].body,
	    "mode=payment&line_items[0][quantity]=1"
	    "&line_items[0][price_data][currency]=eur"
	    "&line_items[0][price_data][unit_amount]=12900"
	    "&line_items[0][price_data][product_data][name]="
	    "1%20x%20Lamp%20%2324%20%E2%80%94%20blau%20%26%20gr%C3%BCn"
	    "&client_reference_id=ord_42"
	    "&" METADATA("metadata", "cs-" HOLD) //
	    "&" METADATA("payment_intent_data[metadata]", "cs-" HOLD) //
	    "&allowed_payment_method_types[0]=card"
	    "&adaptive_pricing[enabled]=false&expires_at=1796052660"
	    "&success_url=" ORDER "&cancel_url=" ORDER);
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
		int status = table[i].status;

		script_clear();
		alarms = 0;
		script_add(status, declined, table[i].should_retry);
		if (open_try(1) != table[i].result)
			fail_msg("status %d", status);
		assert_int_equal(alarms,
		    status == 401 || status == 403 || status == 404);
	}
}

static void
alarms_name_the_setting(void **state)
{
	script_add(401, declined, NULL);
	assert_int_equal(open_try(1), CALL_REFUSED);
	assert_string_equal(alarm_text,
	    "the provider refuses our key, stripe.open_key");
	assert_string_equal(error(),
	    "status 401 card_error code=card_declined param=line_items[0] "
	    "request req_1: the key is wrong or was rolled, set it anew");
	script_add(403, "", NULL);
	assert_int_equal(open_try(1), CALL_REFUSED);
	assert_non_null(strstr(alarm_text, "stripe.open_key"));
	assert_non_null(strstr(error(), "permission"));
	call_fill(ACT_REFUND, "refund-" HOLD);
	script_add(404, "", NULL);
	assert_int_equal(run(), CALL_REFUSED);
	assert_non_null(strstr(alarm_text, "stripe.refund_key"));
	assert_non_null(strstr(error(), "another account or mode"));
}

static void
errors_are_one_short_line_without_secrets(void **state)
{
	script_add(402, declined, NULL);
	assert_int_equal(open_try(1), CALL_REFUSED);
	assert_string_equal(error(),
	    "status 402 card_error code=card_declined param=line_items[0] "
	    "request req_1");
	script_add(503, "<html>503</html>", NULL);
	assert_int_equal(open_try(1), CALL_RETRY);
	assert_string_equal(error(), "status 503 request req_1");
	script_add(0, "", NULL);
	assert_int_equal(open_try(1), CALL_RETRY);
	assert_string_equal(error(), "no answer: connection reset");
	script_add(400,
	    "{\"error\":{\"type\":\"a\\nb\",\"code\":\"x y\",\"param\":"
	    "\"0123456789012345678901234567890123456789012345678901234567890"
	    "12345\"}}",
	    NULL);
	assert_int_equal(open_try(1), CALL_REFUSED);
	assert_string_equal(error(), "status 400 request req_1");
}

/* A provider, or somebody in its place, that says our keys back to us. */
static void
errors_hold_no_key_that_is_sent_back(void **state)
{
	static const char *const keys[] = {"sk_test_OPEN", "xsk_test_REFUNDx",
	    "whsec_test_ALPHA_0001", "whsec_test_BETA_0002",
	    "https://pay.test/c/1"};
	static char old[] = "whsec_test_BETA_0002";
	char body[256];

	conf.stripe.old_webhook_secret = old;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		snprintf(body, sizeof(body),
		    "{\"error\":{\"type\":\"%s\",\"code\":\"%s\","
		    "\"param\":\"%s\",\"message\":\"%s\"}}",
		    keys[i], keys[i], keys[i], keys[i]);
		script_add(400, body, NULL);
		assert_int_equal(open_try(1), CALL_REFUSED);
		assert_string_equal(error(), "status 400 request req_1");
	}
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
		assert_memory_equal(error(), "status 200", 10);
		assert_null(strstr(error(), "pay.test"));
		assert_int_equal(work.outcome.id.len, 0);
	}
}

static void
a_page_of_any_length_is_not_taken(void **state)
{
	struct buf body = {0};

	for (int room = 0; room < 2; room++) {
		buf_reset(&body);
		buf_str(&body, "{\"id\":\"cs_1\",\"url\":\"https://pay.test/");
		for (int i = 17; i < 4000 + room; i++)
			buf_char(&body, 'x');
		buf_str(&body, "\"}");
		script_add(200, body.data, NULL);
		assert_int_equal(open_try(1), room ? CALL_RETRY : CALL_DONE);
	}
	script_add(200,
	    "{\"id\":\"cs_1\",\"url\":\"https://pay.test/\xc3\xbc\"}", NULL);
	assert_int_equal(open_try(1), CALL_RETRY);
	for (int len = 255; len <= 256; len++) {
		buf_reset(&body);
		buf_printf(&body,
		    "{\"id\":\"%0*d\",\"url\":\"https://pay.test/c\"}", len, 0);
		script_add(200, body.data, NULL);
		assert_int_equal(open_try(1),
		    len == 255 ? CALL_DONE : CALL_RETRY);
	}
	buf_release(&body);
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
	assert_true(script_header_is(2, "Idempotency-Key: cs-" HOLD "-try2-0"));
	assert_string_equal(script_asked[1].body, script_asked[2].body);
	asked(2, ENDPOINT_OPEN, "POST", "/v1/checkout/sessions");
	/* One more of them in a try, not one after the other. */
	script_add(500, declined, NULL);
	script_add(500, declined, NULL);
	assert_int_equal(open_try(3), CALL_RETRY);
}

static void
end_expires_the_session(void **state)
{
	script_add(200, session_expired, NULL);
	assert_int_equal(end_try(1), CALL_DONE);
	asked(0, ENDPOINT_END, "POST",
	    "/v1/checkout/sessions/cs_test_1/expire");
	assert_true(script_header_is(0, "Idempotency-Key: expire-" HOLD));
	assert_true(script_header_is(0, "Authorization: Bearer sk_test_OPEN"));
	assert_string_equal(script_asked[0].body, "");
	assert_int_equal(work.outcome.body.len, 0);
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
	    {400, CALL_RETRY, "{\"id\":\"cs_other\",\"status\":\"complete\"}"},
	    {400, CALL_RETRY, "{\"id\":\"cs_test_1\",\"status\":\"odd\"}"},
	    {400, CALL_RETRY, "{\"id\":\"cs_test_1\"}"},
	    {400, CALL_RETRY, "<html>"},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		script_clear();
		script_add(table[i].status, not_open, NULL);
		script_add(200, table[i].session, NULL);
		if (end_try(1) != table[i].result)
			fail_msg("row %zu", i);
		asked_for(1, "/v1/checkout/sessions/cs_test_1");
		/* The news is told if and only if there is some. */
		assert_true((work.outcome.body.len > 0) ==
		    (table[i].result == CALL_COMPLETE));
	}
}

static void
end_tells_what_it_saw(void **state)
{
	struct event_reader *reader;
	struct event event;

	script_add(400, not_open, NULL);
	script_add(200, session_paid, NULL);
	assert_int_equal(end_try(1), CALL_COMPLETE);
	news_read(&reader, &event);
	assert_int_equal(event.kind, EVENT_PAID);
	assert_true(str_is(event.id, "fetch-cs_test_1-complete-paid"));
	assert_true(str_is(event.session_id, SESSION));
	assert_true(str_is(event.payment_ref, INTENT));
	assert_true(str_is(event.hold, HOLD));
	assert_true(str_is(event.key, "cs-" HOLD));
	assert_int_equal(event.amount, 12900);
	stripe_provider.read_free(reader);
	/* Said by the end itself, against all custom. */
	script_add(200, session_unpaid, NULL);
	assert_int_equal(end_try(1), CALL_COMPLETE);
	news_read(&reader, &event);
	assert_int_equal(event.kind, EVENT_PENDING);
	stripe_provider.read_free(reader);
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
	assert_true(
	    script_header_is(4, "Idempotency-Key: expire-" HOLD "-try2-0"));
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
	/* It says yes, but of another. */
	script_add(200, "{\"id\":\"cs_other\",\"status\":\"expired\"}", NULL);
	assert_int_equal(end_try(1), CALL_RETRY);
}

static void
an_id_cannot_leave_its_place_in_the_address(void **state)
{
	call_fill(ACT_END, "k");
	call.session_id = str_of("../a?b#c&d/e%");
	script_add(503, "", NULL);
	assert_int_equal(run(), CALL_RETRY);
	asked(0, ENDPOINT_END, "POST",
	    "/v1/checkout/sessions/..%2Fa%3Fb%23c%26d%2Fe%25/expire");
}

static void
an_end_of_nothing_is_refused(void **state)
{
	call_fill(ACT_END, "k");
	call.session_id = (struct str){NULL, 0};
	assert_int_equal(run(), CALL_REFUSED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(open_sends_what_the_contract_says),
	    TEST(open_names_the_methods_as_the_version_does),
	    TEST(a_retry_says_the_same_under_the_same_key),
	    TEST(the_table_of_statuses_holds),
	    TEST(alarms_name_the_setting),
	    TEST(errors_are_one_short_line_without_secrets),
	    TEST(errors_hold_no_key_that_is_sent_back),
	    TEST(success_that_is_not_a_session_is_tried_again),
	    TEST(a_page_of_any_length_is_not_taken),
	    TEST(a_stored_500_is_left_behind_on_a_later_try),
	    TEST(end_expires_the_session),
	    TEST(end_looks_when_it_is_refused),
	    TEST(end_tells_what_it_saw),
	    TEST(end_knows_what_it_does_not_know),
	    TEST(an_id_cannot_leave_its_place_in_the_address),
	    TEST(an_end_of_nothing_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
