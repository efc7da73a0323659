/* pay/standard: what a message means to us; what cannot be used, and why. */
#include "pay/standard_rig.h"

#include <stdlib.h>

#define NAMES \
	"\"session\":\"s_1\",\"payment\":\"p_1\",\"key\":\"cs-" HOLD \
	"\",\"hold\":\"" HOLD "\""
#define MONEY "\"amount\":2500,\"currency\":\"EUR\""

static struct event_reader *reader;
static struct event event;

static int
teardown(void **state)
{
	standard_read_free(reader);
	reader = NULL;
	return 0;
}

/* As a webhook of the id msg_1. */
static void
read_body(const char *body)
{
	struct conf conf = rig_conf();
	struct hook hook = {.id = str_of("msg_1")};
	struct event none;

	standard_read_free(reader);
	reader = standard_provider.read(&conf, &hook, str_of(body));
	assert_non_null(reader);
	assert_true(standard_provider.next(reader, &event));
	assert_false(standard_provider.next(reader, &none));
}

static void
read_data(const char *type, const char *data)
{
	static char body[2048];

	snprintf(body, sizeof(body),
	    "{\"type\":\"%s\",\"timestamp\":\"2026-11-30T15:00:00Z\","
	    "\"data\":{%s}}",
	    type, data);
	read_body(body);
}

static void
text_is(struct str s, const char *wanted)
{
	if (!str_is(s, wanted))
		fail_msg("\"%.*s\", not \"%s\"", (int)s.len,
		    s.text ? s.text : "", wanted);
}

static void
unusable(const char *type, const char *data)
{
	read_data(type, data);
	if (event.kind != EVENT_UNUSABLE)
		fail_msg("%s {%s} is taken as %s", type, data,
		    event_kind_name(event.kind));
	assert_true(event.detail.len > 0);
	text_is(event.id, "msg_1");
}

static void
a_payment_has_all_its_names(void **state)
{
	read_data("payment.paid", NAMES "," MONEY);
	assert_int_equal(event.kind, EVENT_PAID);
	text_is(event.id, "msg_1");
	text_is(event.type, "payment.paid");
	text_is(event.session_id, "s_1");
	text_is(event.payment_ref, "p_1");
	text_is(event.key, "cs-" HOLD);
	text_is(event.hold, HOLD);
	text_is(event.refund_ref, "");
	text_is(event.state, "");
	text_is(event.detail, "");
	assert_int_equal(event.amount, 2500);
	assert_string_equal(event.currency, "EUR");
}

static void
each_type_has_its_kind(void **state)
{
	static const struct {
		const char *type;
		const char *data;
		enum event_kind kind;
	} all[] = {
	    {"payment.pending", "\"session\":\"s_1\"", EVENT_PENDING},
	    {"payment.failed", "\"session\":\"s_1\"", EVENT_FAILED},
	    {"payment.expired", "\"session\":\"s_1\"", EVENT_EXPIRED},
	    {"payment.changed", "\"session\":\"s_1\"", EVENT_LOOK},
	    {"payment.changed", "\"session\":\"s_1\",\"payment\":null",
		EVENT_LOOK},
	    {"payment.paid", NAMES "," MONEY ",\"livemode\":true", EVENT_PAID},
	    {"payment.paid", NAMES "," MONEY ",\"livemode\":null", EVENT_PAID},
	    {"payment.paid", NAMES "," MONEY ",\"livemode\":false",
		EVENT_IGNORE},
	    {"payment.thought_of", "\"session\":5", EVENT_IGNORE},
	    {"session.open", "", EVENT_IGNORE},
	    {"payment.Paid", "", EVENT_IGNORE},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		read_data(all[i].type, all[i].data);
		assert_int_equal(event.kind, all[i].kind);
		text_is(event.type, all[i].type);
		text_is(event.id, "msg_1");
		text_is(event.state, "");
		assert_int_equal(event.detail.len > 0,
		    all[i].kind == EVENT_IGNORE);
	}
}

#define REFUND "\"refund\":\"r_1\",\"payment\":\"p_1\"," MONEY

static void
refunds_and_disputes_have_states(void **state)
{
	static const char *const refund[] = {"pending", "succeeded", "failed"};
	static const char *const dispute[] = {"open", "won", "lost"};
	char data[256];

	for (size_t i = 0; i < 3; i++) {
		snprintf(data, sizeof(data),
		    REFUND ",\"key\":\"refund-" HOLD "\",\"state\":\"%s\"",
		    refund[i]);
		read_data("refund.updated", data);
		assert_int_equal(event.kind, EVENT_REFUND);
		text_is(event.state, refund[i]);
		text_is(event.refund_ref, "r_1");
		text_is(event.key, "refund-" HOLD);
		snprintf(data, sizeof(data),
		    "\"payment\":\"p_1\",\"amount\":1,\"state\":\"%s\"",
		    dispute[i]);
		read_data("payment.disputed", data);
		assert_int_equal(event.kind, EVENT_DISPUTE);
		text_is(event.state, dispute[i]);
		text_is(event.refund_ref, "");
		assert_int_equal(event.amount, 1);
		assert_string_equal(event.currency, "");
	}
	read_data("payment.disputed",
	    "\"payment\":\"p_1\",\"refund\":\"r_1\",\"dispute\":\"d_1\","
	    "\"state\":\"open\"");
	text_is(event.refund_ref, "d_1");
	read_data("refund.updated",
	    REFUND ",\"dispute\":\"d_1\",\"state\":\"failed\"");
	text_is(event.refund_ref, "r_1");
	unusable("payment.disputed",
	    "\"payment\":\"p_1\",\"dispute\":\"\",\"state\":\"open\"");
	unusable("payment.disputed",
	    "\"payment\":\"p_1\",\"state\":\"inquiry\"");
	unusable("refund.updated", REFUND);
	unusable("refund.updated", REFUND ",\"state\":\"paid\"");
	unusable("refund.updated", REFUND ",\"state\":\"open\"");
	unusable("payment.disputed", "\"payment\":\"p_1\"");
	unusable("payment.disputed",
	    "\"payment\":\"p_1\",\"state\":\"failed\"");
	unusable("payment.disputed", "\"state\":\"open\"");
}

static void
what_is_missing_is_said(void **state)
{
	unusable("payment.paid", "\"session\":\"s_1\"," MONEY);
	unusable("payment.paid", "\"payment\":\"p_1\"," MONEY);
	unusable("payment.paid", NAMES);
	unusable("payment.paid", NAMES ",\"amount\":2500");
	unusable("payment.paid", NAMES ",\"currency\":\"EUR\"");
	unusable("payment.pending", "\"payment\":\"p_1\"");
	unusable("payment.changed", "\"payment\":\"p_1\"");
	unusable("refund.updated",
	    "\"payment\":\"p_1\",\"state\":\"pending\"," MONEY);
	unusable("refund.updated",
	    "\"refund\":\"r_1\",\"state\":\"pending\"," MONEY);
	unusable("refund.updated",
	    "\"refund\":\"r_1\",\"payment\":\"p_1\",\"state\":\"failed\"");
	unusable("payment.paid", NAMES "," MONEY ",\"livemode\":\"no\"");
	unusable("payment.paid", NAMES "," MONEY ",\"livemode\":0");
}

static void
only_whole_numbers_are_amounts(void **state)
{
	static const char *const bad[] = {"0", "-1", "1.0", "25.00", "1e3",
	    "\"2500\"", "true", "[2500]", "{}", "9223372036854775808",
	    "99999999999999999999", "null"};
	static const char *const currencies[] = {"\"eur\"", "\"EU\"", "\"\"",
	    "\"EURO\"", "\"E1R\"", "\"\xc3\x84\x41\"", "978", "null"};
	char data[256];

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(data, sizeof(data),
		    NAMES ",\"currency\":\"EUR\",\"amount\":%s", bad[i]);
		unusable("payment.paid", data);
	}
	for (size_t i = 0; i < sizeof(currencies) / sizeof(currencies[0]);
	     i++) {
		snprintf(data, sizeof(data),
		    NAMES ",\"amount\":2500,\"currency\":%s", currencies[i]);
		unusable("payment.paid", data);
	}
	read_data("payment.paid",
	    NAMES ",\"currency\":\"JPY\",\"amount\":9223372036854775807");
	assert_int_equal(event.kind, EVENT_PAID);
	assert_int_equal(event.amount, INT64_MAX);
}

static void
names_have_their_size(void **state)
{
	static const char *const bad[] = {"\"\"", "5", "true", "[]", "{}",
	    "\"a b\"", "\"\\n\"", "\"\xc3\xa9\""};
	static const char *const names[] = {"session", "payment", "refund",
	    "key", "hold"};
	char name[STANDARD_NAME_MAX + 2];
	char data[512];

	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
		for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
			snprintf(data, sizeof(data), "\"%s\":%s", names[n],
			    bad[i]);
			unusable("payment.pending", data);
		}
		snprintf(data, sizeof(data), "\"%s\":\"%s\"", names[n], name);
		unusable("payment.pending", data);
	}
	snprintf(data, sizeof(data), "\"session\":\"%s\"", name + 1);
	read_data("payment.pending", data);
	assert_int_equal(event.kind, EVENT_PENDING);
	assert_int_equal(event.session_id.len, STANDARD_NAME_MAX);
}

/* It is ours by its session; a hold of somebody else's is no reason to lose
 * the money. */
static void
a_foreign_hold_is_not_taken(void **state)
{
	read_data("payment.paid",
	    "\"session\":\"s_1\",\"payment\":\"p_1\",\"hold\":\"order-"
	    "5\"," MONEY);
	assert_int_equal(event.kind, EVENT_PAID);
	text_is(event.hold, "");
}

static void
bodies_that_are_no_events(void **state)
{
	static const char *const bad[] = {
	    "",
	    "x",
	    "[]",
	    "5",
	    "null",
	    "{}",
	    "{\"type\":5,\"data\":{}}",
	    "{\"type\":\"\",\"data\":{}}",
	    "{\"type\":\"payment paid\",\"data\":{}}",
	    "{\"type\":\"payment.changed\"}",
	    "{\"type\":\"payment.changed\",\"data\":null}",
	    "{\"type\":\"payment.changed\",\"data\":[]}",
	    "{\"type\":\"payment.changed\",\"data\":{\"a\":1,\"a\":1}}",
	    "{\"type\":\"payment.changed\",\"data\":{\"session\":\"s\"}}}",
	    "{\"type\":\"payment.changed\",\"data\":{\"session\":\"\xff\"}}",
	    "\xef\xbb\xbf{\"type\":\"x\",\"data\":{}}",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		read_body(bad[i]);
		assert_int_equal(event.kind, EVENT_UNUSABLE);
		assert_true(event.detail.len > 0);
		text_is(event.id, "msg_1");
	}
}

/* A body that was looked up or recorded: it may name itself. */
static void
without_a_header_the_body_names_itself(void **state)
{
	struct conf conf = rig_conf();

	reader = standard_read(&conf, NULL,
	    str_of("{\"id\":\"look.s_1.pending\",\"type\":\"payment.pending\","
		   "\"data\":{\"session\":\"s_1\"}}"));
	assert_true(standard_next(reader, &event));
	text_is(event.id, "look.s_1.pending");
	assert_int_equal(event.kind, EVENT_PENDING);
	standard_read_free(reader);
	reader = standard_read(&conf, NULL,
	    str_of("{\"type\":\"payment.pending\",\"data\":{\"session\":"
		   "\"s_1\"}}"));
	assert_true(standard_next(reader, &event));
	assert_int_equal(event.kind, EVENT_UNUSABLE);
	text_is(event.id, "");
	/* A webhook's is the header's, whatever its body says. */
	read_body("{\"id\":\"other\",\"type\":\"payment.pending\",\"data\":"
		  "{\"session\":\"s_1\"}}");
	text_is(event.id, "msg_1");
}

static void
list_of(enum list list, const char *items)
{
	struct json_doc *doc;
	char text[2048];
	const char *why;

	snprintf(text, sizeof(text), "{\"items\":[%s]}", items);
	doc = json_parse(str_of(text), &why);
	assert_non_null(doc);
	standard_read_free(reader);
	reader = standard_read_list(doc, list);
}

static void
lists_are_events(void **state)
{
	struct event first;

	list_of(LIST_SESSIONS,
	    "{\"session\":\"s_1\",\"state\":\"open\"},"
	    "{\"session\":\"s_2\",\"state\":\"paid\",\"payment\":\"p_2\"," MONEY
	    "},{\"session\":\"s_3\",\"state\":\"pending\"},"
	    "{\"session\":\"s_4\",\"state\":\"odd\"},"
	    "{\"session\":\"s_5\",\"state\":\"open\"}");
	assert_true(standard_next(reader, &first));
	assert_true(standard_next(reader, &event));
	/* The one before keeps what it points to. */
	text_is(first.id, "look.s_2.paid");
	text_is(first.payment_ref, "p_2");
	assert_int_equal(first.kind, EVENT_PAID);
	text_is(event.id, "look.s_3.pending");
	assert_int_equal(event.kind, EVENT_PENDING);
	assert_true(standard_next(reader, &event));
	assert_int_equal(event.kind, EVENT_UNUSABLE);
	assert_false(standard_next(reader, &event));
	list_of(LIST_REFUNDS, "{" REFUND ",\"state\":\"failed\"}");
	assert_true(standard_next(reader, &event));
	text_is(event.id, "look.r_1.failed");
	assert_int_equal(event.kind, EVENT_REFUND);
	text_is(event.state, "failed");
	list_of(LIST_EVENTS,
	    "{\"id\":\"e_1\",\"type\":\"payment.changed\",\"data\":"
	    "{\"session\":\"s_1\"}},5");
	assert_true(standard_next(reader, &event));
	text_is(event.id, "e_1");
	assert_int_equal(event.kind, EVENT_LOOK);
	assert_true(standard_next(reader, &event));
	assert_int_equal(event.kind, EVENT_UNUSABLE);
	assert_false(standard_next(reader, &event));
	list_of(LIST_EVENTS, "");
	assert_false(standard_next(reader, &event));
}

/* A small generator of our own: the same bytes at each run. */
static uint32_t
dice(uint32_t *seed)
{
	*seed = *seed * 1664525U + 1013904223U;
	return *seed >> 8;
}

/* Whatever is read, each text lies within limits and each kind has its due. */
static void
sound(void)
{
	const struct str texts[] = {event.key, event.hold, event.session_id,
	    event.payment_ref, event.refund_ref};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_true(texts[i].len <= STANDARD_NAME_MAX);
	switch (event.kind) {
	case EVENT_PAID:
		assert_true(event.amount > 0 && event.payment_ref.len > 0);
		assert_int_equal(strlen(event.currency), 3);
		/* fallthrough */
	case EVENT_PENDING:
	case EVENT_FAILED:
	case EVENT_EXPIRED:
	case EVENT_LOOK:
		assert_true(event.session_id.len > 0);
		break;
	case EVENT_REFUND:
		assert_true(standard_is_refund_state(event.state));
		break;
	case EVENT_DISPUTE:
		assert_true(event.state.len > 0 && event.payment_ref.len > 0);
		break;
	default:
		assert_true(event.detail.len > 0);
	}
}

static void
mutated(const char *whole, uint32_t *seed)
{
	static const char odd[] = "{}[]\",:\\0123456789ntu.-e \xc3\xa9\xff\x01";
	size_t len = strlen(whole);
	char *body = malloc(len + 1);

	assert_non_null(body);
	memcpy(body, whole, len + 1);
	for (uint32_t n = dice(seed) % 4; n > 0; n--)
		body[dice(seed) % len] = odd[dice(seed) % (sizeof(odd) - 1)];
	if (dice(seed) % 4 == 0)
		body[dice(seed) % len] = '\0';
	read_body(body);
	sound();
	free(body);
}

static void
damaged_bodies_are_taken_or_refused(void **state)
{
	static const char *const bodies[] = {
	    "{\"type\":\"payment.paid\",\"data\":{" NAMES "," MONEY "}}",
	    "{\"type\":\"refund.updated\",\"data\":{" REFUND
	    ",\"state\":\"failed\",\"livemode\":true}}",
	    "{\"type\":\"payment.disputed\",\"data\":{\"payment\":\"p_1\","
	    "\"state\":\"lost\",\"amount\":5,\"currency\":\"USD\"}}",
	};
	uint32_t seed = 7;

	for (int i = 0; i < 20000; i++)
		mutated(bodies[i % 3], &seed);
}

#define TEST(name) cmocka_unit_test_teardown(name, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_payment_has_all_its_names),
	    TEST(each_type_has_its_kind),
	    TEST(refunds_and_disputes_have_states),
	    TEST(what_is_missing_is_said),
	    TEST(only_whole_numbers_are_amounts),
	    TEST(names_have_their_size),
	    TEST(a_foreign_hold_is_not_taken),
	    TEST(bodies_that_are_no_events),
	    TEST(without_a_header_the_body_names_itself),
	    TEST(lists_are_events),
	    TEST(damaged_bodies_are_taken_or_refused),
	};

	return cmocka_run_group_tests_name("pay/standard_event", tests, NULL,
	    NULL);
}
