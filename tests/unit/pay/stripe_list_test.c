/* pay/stripe: pages of events, sessions and refunds, whole or not at all. */
#include "pay/call.h"
#include "pay/session.h"

#define PAGE(items, more) \
	"{\"object\":\"list\",\"data\":[" items "],\"has_more\":" more "}"
#define REFUND(id, status) \
	"{\"id\":\"" id "\",\"status\":\"" status \
	"\",\"amount\":500,\"currency\":\"eur\",\"payment_intent\":\"pi_1\"}"
#define SINCE "created%5Bgte%5D=1796050800&limit=100"

static void
list_fill(enum list list)
{
	call = (struct call){
	    .act = ACT_LIST,
	    .list = list,
	    .since = 1796050800,
	    .try = 1,
	};
}

static enum call_result
list_try(enum list list, const char *answer)
{
	list_fill(list);
	script_add(200, answer, NULL);
	return run();
}

/* The next item is of that kind and has that id. */
static void
item_is(enum event_kind kind, const char *id)
{
	struct event event;

	assert_true(stripe_provider.next(work.outcome.reader, &event));
	if (event.kind != kind || !str_is(event.id, id))
		fail_msg("%d %.*s", (int)event.kind, (int)event.id.len,
		    event.id.len ? event.id.text : "");
	assert_true((event.detail.len > 0) ==
	    (kind == EVENT_IGNORE || kind == EVENT_UNUSABLE));
}

static void
no_more_items(void)
{
	struct event event;

	assert_false(stripe_provider.next(work.outcome.reader, &event));
	assert_false(stripe_provider.next(work.outcome.reader, &event));
}

static void
sample_add(struct buf *b, const char *name)
{
	struct buf path = {0};

	buf_printf(&path, "tests/data/stripe-events/%s.json", name);
	fixture_file(b, path.data);
	buf_release(&path);
}

static void
undelivered_events_are_events(void **state)
{
	struct buf page = {0};

	buf_str(&page, "{\"data\":[");
	sample_add(&page, "checkout.session.completed.paid");
	buf_char(&page, ',');
	sample_add(&page, "refund.failed");
	buf_str(&page, ",7,");
	sample_add(&page, "payment_intent.created");
	buf_str(&page, "],\"has_more\":true}");
	assert_int_equal(list_try(LIST_EVENTS, page.data), CALL_DONE);
	asked_for(0, "/v1/events?delivery_success=false&" SINCE);
	assert_true(script_header_is(0, "Authorization: Bearer sk_test_OPEN"));
	item_is(EVENT_PAID, "evt_1QFlash00000000000000001");
	item_is(EVENT_REFUND, "evt_1QFlash00000000000000022");
	item_is(EVENT_UNUSABLE, "");
	item_is(EVENT_IGNORE, "evt_1QFlash00000000000000010");
	no_more_items();
	assert_string_equal(work.outcome.cursor.data,
	    "evt_1QFlash00000000000000010");
	buf_release(&page);
}

static void
complete_sessions_are_events(void **state)
{
	struct buf page = {0};

	buf_printf(&page, "{\"data\":[%s,%s,%s,%s],\"has_more\":false}",
	    session_paid, session_unpaid, session_expired, session_open);
	assert_int_equal(list_try(LIST_SESSIONS, page.data), CALL_DONE);
	asked_for(0, "/v1/checkout/sessions?status=complete&" SINCE);
	assert_true(script_header_is(0, "Authorization: Bearer sk_test_OPEN"));
	/* Named as when it is looked up by itself. */
	item_is(EVENT_PAID, "fetch-cs_test_1-complete-paid");
	item_is(EVENT_PENDING, "fetch-cs_test_1-complete-unpaid");
	item_is(EVENT_EXPIRED, "fetch-cs_test_1-expired-unpaid");
	item_is(EVENT_IGNORE, "fetch-cs_test_1-complete-unpaid");
	no_more_items();
	assert_int_equal(work.outcome.cursor.len, 0);
	buf_release(&page);
}

static void
an_item_says_all_that_its_event_would(void **state)
{
	struct event event;

	assert_int_equal(list_try(LIST_SESSIONS,
			     "{\"data\":[" SESSION_HEAD
			     "\"status\":\"complete\","
			     "\"payment_status\":\"paid\"," SESSION_TAIL
			     "],\"has_more\":false}"),
	    CALL_DONE);
	assert_true(stripe_provider.next(work.outcome.reader, &event));
	assert_true(str_is(event.type, "checkout.session.completed"));
	assert_true(str_is(event.session_id, SESSION));
	assert_true(str_is(event.payment_ref, INTENT));
	assert_true(str_is(event.key, "cs-" HOLD));
	assert_int_equal(event.amount, 12900);
	assert_string_equal(event.currency, "EUR");
}

static void
the_other_mode_is_ignored(void **state)
{
	conf.stripe.livemode = true;
	assert_int_equal(list_try(LIST_SESSIONS,
			     "{\"data\":[" SESSION_HEAD
			     "\"status\":\"complete\","
			     "\"payment_status\":\"paid\"," SESSION_TAIL
			     "],\"has_more\":false}"),
	    CALL_DONE);
	item_is(EVENT_IGNORE, "fetch-cs_test_1-complete-paid");
}

static void
refunds_are_events(void **state)
{
	assert_int_equal(list_try(LIST_REFUNDS,
			     PAGE(REFUND("re_1", "succeeded") "," REFUND("re_2",
				      "failed") "," REFUND("re_3",
				      "odd") ",[],{}",
				 "false")),
	    CALL_DONE);
	asked_for(0, "/v1/refunds?" SINCE);
	assert_true(
	    script_header_is(0, "Authorization: Bearer sk_test_REFUND"));
	item_is(EVENT_REFUND, "fetch-re_1-succeeded");
	item_is(EVENT_REFUND, "fetch-re_2-failed");
	item_is(EVENT_UNUSABLE, "fetch-re_3-odd");
	item_is(EVENT_UNUSABLE, "fetch--");
	item_is(EVENT_UNUSABLE, "fetch--");
	no_more_items();
}

static void
pages_follow_one_another(void **state)
{
	assert_int_equal(list_try(LIST_REFUNDS,
			     PAGE(REFUND("re_9",
				      "succeeded") "," REFUND("re/8 &",
				      "succeeded"),
				 "true")),
	    CALL_DONE);
	assert_string_equal(work.outcome.cursor.data, "re/8 &");
	list_fill(LIST_REFUNDS);
	call.cursor = str_of("re/8 &");
	script_add(200, PAGE("", "false"), NULL);
	assert_int_equal(run(), CALL_DONE);
	asked_for(1, "/v1/refunds?" SINCE "&starting_after=re%2F8%20%26");
	assert_int_equal(work.outcome.cursor.len, 0);
	no_more_items();
}

static void
a_page_that_did_not_come_is_asked_for_in_parts(void **state)
{
	list_fill(LIST_EVENTS);
	script_add(0, "", NULL);
	assert_int_equal(run(), CALL_RETRY);
	call.try = 2;
	script_add(200, PAGE("", "false"), NULL);
	assert_int_equal(run(), CALL_DONE);
	asked_for(1,
	    "/v1/events?delivery_success=false&created%5Bgte%5D=1796050800"
	    "&limit=10");
	/* Ten that are as long as they get are still too much. */
	call.try = 4;
	script_add(200, PAGE("", "false"), NULL);
	assert_int_equal(run(), CALL_DONE);
	asked_for(2,
	    "/v1/events?delivery_success=false&created%5Bgte%5D=1796050800"
	    "&limit=1");
}

static void
hostile_pages_are_none(void **state)
{
	static const char *const pages[] = {"", "<html>", "null", "[]", "{}",
	    "{\"has_more\":false}", "{\"data\":{},\"has_more\":false}",
	    "{\"data\":null,\"has_more\":false}", "{\"data\":[]}",
	    "{\"data\":[],\"has_more\":1}", "{\"data\":[],\"has_more\":null}",
	    /* There is more, but nothing to go on from. */
	    PAGE("", "true"), PAGE("{}", "true"), PAGE("7", "true"),
	    PAGE("{\"id\":7}", "true"), PAGE("{\"id\":\"\"}", "true"),
	    PAGE("{\"id\":\"re_1\"},{}", "true"),
	    /* The page that this one was to follow. */
	    PAGE("{\"id\":\"re_0\"}", "true"),
	    "{\"data\":[],\"data\":[],\"has_more\":false}",
	    "{\"data\":[{\"id\":\"re_1\"}],\"has_more\":true"};
	struct buf b = {0};

	list_fill(LIST_REFUNDS);
	call.cursor = str_of("re_0");
	for (size_t i = 0; i < sizeof(pages) / sizeof(pages[0]); i++) {
		script_clear();
		script_add(200, pages[i], NULL);
		if (run() != CALL_RETRY)
			fail_msg("%s", pages[i]);
		assert_int_equal(work.outcome.cursor.len, 0);
	}
	buf_printf(&b, "{\"data\":[{\"id\":\"%0*d\"}],\"has_more\":true}", 256,
	    0);
	script_add(200, b.data, NULL);
	assert_int_equal(run(), CALL_RETRY);
	buf_release(&b);
}

static void
a_list_fails_like_any_call(void **state)
{
	list_fill(LIST_EVENTS);
	script_add(0, "", NULL);
	assert_int_equal(run(), CALL_RETRY);
	script_add(429, "", NULL);
	assert_int_equal(run(), CALL_RETRY);
	script_add(403, "", NULL);
	assert_int_equal(run(), CALL_REFUSED);
	assert_int_equal(alarms, 1);
}

static void
a_megabyte_of_items_is_read(void **state)
{
	static const char item[] = REFUND("re_1", "succeeded");
	struct buf b = {0};
	struct event event;
	size_t count = 1;
	size_t read = 0;

	buf_printf(&b, "{\"data\":[%s", item);
	for (; b.len + sizeof(item) + 32 < HTTP_ANSWER_MAX; count++)
		buf_printf(&b, ",%s", item);
	buf_str(&b, "],\"has_more\":false}");
	assert_int_equal(list_try(LIST_REFUNDS, b.data), CALL_DONE);
	while (stripe_provider.next(work.outcome.reader, &event)) {
		assert_true(str_is(event.id, "fetch-re_1-succeeded"));
		read++;
	}
	assert_int_equal(read, count);
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(undelivered_events_are_events),
	    TEST(complete_sessions_are_events),
	    TEST(an_item_says_all_that_its_event_would),
	    TEST(the_other_mode_is_ignored),
	    TEST(refunds_are_events),
	    TEST(pages_follow_one_another),
	    TEST(a_page_that_did_not_come_is_asked_for_in_parts),
	    TEST(hostile_pages_are_none),
	    TEST(a_list_fails_like_any_call),
	    TEST(a_megabyte_of_items_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
