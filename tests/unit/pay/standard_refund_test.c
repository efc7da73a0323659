/* pay/standard: money goes back once; lists of what there is. */
#include "pay/standard_work.h"

static void
a_refund_call(void)
{
	call.key = str_of("refund-" HOLD "-2");
	call.payment_ref = str_of("p_1");
}

#define SEND \
	"\"key\":\"refund-" HOLD "-2\",\"hold\":\"" HOLD \
	"\",\"order\":\"ord_42\",\"payment\":\"p_1\",\"amount\":2500," \
	"\"currency\":\"EUR\""
#define LOOK "\"payment\":\"p_1\",\"key\":\"refund-" HOLD "-2\""

static void
refund_is(const char *state)
{
	ends(CALL_DONE, "");
	assert_string_equal(buf_text(&work.outcome.id), "r_1");
	assert_string_equal(buf_text(&work.outcome.state), state);
}

static void
the_first_refund_is_sent_at_once(void **state)
{
	a_refund_call();
	begin(ACT_REFUND);
	asks("refund.send", ENDPOINT_REFUND, SEND);
	assert_true(str_is(header("webhook-id"), "refund-" HOLD "-2"));
	assert_true(answer_with(REFUND, "pending"));
	refund_is("pending");
}

static void
a_later_one_is_looked_for_first(void **state)
{
	a_refund_call();
	call.try = 2;
	begin(ACT_REFUND);
	asks("refund.show", ENDPOINT_LOOK, LOOK);
	assert_true(answer_with(REFUND, "succeeded"));
	refund_is("succeeded");
	begin(ACT_REFUND);
	asks("refund.show", ENDPOINT_LOOK, LOOK);
	assert_false(answer(200, "{\"refund\":null}"));
	/* The step that answered false has written the next request. */
	assert_int_equal(work.endpoint, ENDPOINT_REFUND);
	assert_true(str_is(header("webhook-id"), "refund-" HOLD "-2"));
	assert_non_null(strstr(work.http.request.body.data, SEND));
	assert_true(answer_with(REFUND, "succeeded"));
	refund_is("succeeded");
	/* None is an answer to a look alone: nothing is sent twice. */
	call.try = 1;
	begin(ACT_REFUND);
	asks("refund.send", ENDPOINT_REFUND, SEND);
	assert_true(answer(200, "{\"refund\":null}"));
	assert_int_equal(work.result, CALL_RETRY);
	/* The key may be forgotten after a day, and it may be a while until
	 * it is sent. */
	call.try = 1;
	call.age_s = 86400 - 3600;
	begin(ACT_REFUND);
	asks("refund.show", ENDPOINT_LOOK, LOOK);
}

/* A person has it sent again after a no: looked for first, the same data. */
static void
a_new_key_is_the_messages_alone(void **state)
{
	a_refund_call();
	call.refund_key = call.key;
	call.key = str_of("refund-" HOLD "-2-again-2");
	begin(ACT_REFUND);
	asks("refund.show", ENDPOINT_LOOK, LOOK);
	assert_false(answer(200, "{\"refund\":null}"));
	assert_int_equal(work.endpoint, ENDPOINT_REFUND);
	assert_true(str_is(header("webhook-id"), "refund-" HOLD "-2-again-2"));
	assert_non_null(strstr(work.http.request.body.data, SEND));
	assert_true(answer_with(REFUND, "succeeded"));
	refund_is("succeeded");
}

static void
a_no_that_is_kept_uses_the_key(void **state)
{
	static const struct {
		int status;
		bool used;
	} all[] = {{400, true}, {403, true}, {404, true}, {410, true},
	    {422, true}, {401, false}, {408, false}, {409, false}, {425, false},
	    {429, false}, {500, false}, {503, false}, {0, false}};

	a_refund_call();
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		begin(ACT_REFUND);
		assert_true(standard_provider.step(&work));
		assert_true(answer(all[i].status, "{}"));
		assert_int_equal(work.outcome.key_is_used, all[i].used);
	}
	/* A look is under no key. */
	call.try = 2;
	begin(ACT_REFUND);
	assert_true(standard_provider.step(&work));
	assert_true(answer(404, "{}"));
	assert_false(work.outcome.key_is_used);
}

/* Without a clear answer nothing is sent. */
static void
an_unclear_look_sends_nothing(void **state)
{
	static const struct {
		const char *body;
		int status;
		enum call_result result;
	} all[] = {
	    {"", 0, CALL_RETRY},
	    {"", 404, CALL_REFUSED},
	    {"{\"refund\":null}", 404, CALL_REFUSED},
	    {"{\"refund\":null}", 500, CALL_RETRY},
	    {"{}", 200, CALL_RETRY},
	    {"null", 200, CALL_RETRY},
	    {"{\"refund\":\"\"}", 200, CALL_RETRY},
	    {"{\"refund\":\"r_1\"}", 200, CALL_RETRY},
	    {"{\"refund\":\"r_1\",\"state\":\"odd\"}", 200, CALL_RETRY},
	    {"{\"refund\":false,\"state\":\"pending\"}", 200, CALL_RETRY},
	};

	a_refund_call();
	call.try = 2;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		begin(ACT_REFUND);
		assert_true(standard_provider.step(&work));
		assert_true(answer(all[i].status, all[i].body));
		assert_int_equal(work.result, all[i].result);
		assert_int_equal(work.outcome.id.len, 0);
	}
}

static void
a_look_at_one_takes_no_other(void **state)
{
	a_refund_call();
	call.refund_ref = str_of("r_2");
	begin(ACT_FETCH);
	asks("refund.show", ENDPOINT_LOOK, "\"refund\":\"r_2\"");
	assert_true(answer_with(REFUND, "succeeded"));
	ends(CALL_RETRY, "status 200 without the refund that was asked for");
	assert_int_equal(work.outcome.body.len, 0);
}

static void
another_refund_is_not_ours(void **state)
{
	static const char *const all[] = {
	    "{\"refund\":\"r_1\",\"state\":\"pending\",\"payment\":\"p_2\"}",
	    "{\"refund\":\"r_1\",\"state\":\"pending\",\"payment\":\"p_1\","
	    "\"amount\":2499}",
	    "{\"refund\":\"r_1\",\"state\":\"pending\",\"amount\":\"2500\"}",
	    "{\"refund\":\"r_1\",\"state\":\"pending\",\"currency\":\"USD\"}",
	    /* One made by hand, or of another part of the order. */
	    "{\"refund\":\"r_1\",\"state\":\"pending\",\"payment\":\"p_1\","
	    "\"amount\":2500,\"currency\":\"EUR\",\"key\":null}",
	    "{\"refund\":\"r_1\",\"state\":\"pending\",\"payment\":\"p_1\","
	    "\"amount\":2500,\"currency\":\"EUR\","
	    "\"key\":\"refund-" HOLD "\"}",
	};

	a_refund_call();
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		begin(ACT_REFUND);
		assert_true(standard_provider.step(&work));
		assert_true(answer(200, all[i]));
		assert_int_equal(work.result, CALL_REFUSED);
	}
}

static void
null_is_as_good_as_nothing(void **state)
{
	a_refund_call();
	begin(ACT_REFUND);
	assert_true(standard_provider.step(&work));
	assert_true(answer(200,
	    "{\"refund\":\"r_1\",\"state\":\"pending\",\"payment\":null,"
	    "\"amount\":null,\"currency\":null}"));
	ends(CALL_DONE, "");
}

static void
lists_come_page_by_page(void **state)
{
	struct event event;

	call.since = 1796000000;
	call.list = LIST_REFUNDS;
	begin(ACT_LIST);
	asks("list", ENDPOINT_LOOK,
	    "\"list\":\"refunds\",\"since\":1796000000,\"limit\":100");
	assert_true(answer(200,
	    "{\"items\":[{\"refund\":\"r_1\",\"payment\":\"p_1\",\"amount\":1,"
	    "\"currency\":\"EUR\",\"state\":\"failed\"}],\"cursor\":\"c1\"}"));
	ends(CALL_DONE, "");
	assert_string_equal(buf_text(&work.outcome.cursor), "c1");
	assert_non_null(work.outcome.reader);
	assert_true(standard_provider.next(work.outcome.reader, &event));
	assert_int_equal(event.kind, EVENT_REFUND);
	assert_false(standard_provider.next(work.outcome.reader, &event));
	call.cursor = str_of("c1");
	call.list = LIST_SESSIONS;
	begin(ACT_LIST);
	asks("list", ENDPOINT_LOOK,
	    "\"list\":\"sessions\",\"since\":1796000000,\"limit\":100,"
	    "\"cursor\":\"c1\"");
	assert_true(answer(200, "{\"items\":[],\"cursor\":null}"));
	ends(CALL_DONE, "");
	assert_int_equal(work.outcome.cursor.len, 0);
	call.list = LIST_EVENTS;
	begin(ACT_LIST);
	asks("list", ENDPOINT_LOOK,
	    "\"list\":\"events\",\"since\":1796000000,\"limit\":100,"
	    "\"cursor\":\"c1\"");
	assert_true(answer(200, "{\"items\":[]}"));
	ends(CALL_DONE, "");
}

static void
a_list_that_is_none_is_asked_for_again(void **state)
{
	static const char *const bad[] = {
	    "{}",
	    "{\"items\":{}}",
	    "{\"items\":null}",
	    "{\"items\":[],\"cursor\":5}",
	    "{\"items\":[],\"cursor\":\"\"}",
	    /* Round and round. */
	    "{\"items\":[],\"cursor\":\"c1\"}",
	};

	call.cursor = str_of("c1");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		begin(ACT_LIST);
		assert_true(standard_provider.step(&work));
		assert_true(answer(200, bad[i]));
		ends(CALL_RETRY,
		    "status 200 without a list of items and its cursor");
		assert_null(work.outcome.reader);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(the_first_refund_is_sent_at_once),
	    TEST(a_later_one_is_looked_for_first),
	    TEST(a_new_key_is_the_messages_alone),
	    TEST(a_no_that_is_kept_uses_the_key),
	    TEST(an_unclear_look_sends_nothing),
	    TEST(a_look_at_one_takes_no_other),
	    TEST(another_refund_is_not_ours),
	    TEST(null_is_as_good_as_nothing),
	    TEST(lists_come_page_by_page),
	    TEST(a_list_that_is_none_is_asked_for_again),
	};

	return cmocka_run_group_tests_name("pay/standard_refund", tests, NULL,
	    NULL);
}
