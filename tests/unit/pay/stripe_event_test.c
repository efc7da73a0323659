/* pay/stripe: events in our words; what is foreign, and what is unusable. */
#include "pay/reading.h"

#include <stdlib.h>

#define SESSION_ID \
	"cs_test_a1Q7flashsale0000000000000000000000000000000000000001"
#define INTENT_ID "pi_3QFlashSale0000000000001"
#define DISPUTE_ID "du_1QFlashSale0000000000001"
#define REFUND_ID "re_3QFlashSale0000000000001"

struct sample {
	const char *name;
	enum event_kind kind;
	const char *session;
	const char *payment;
	const char *refund; /* or the dispute */
	const char *state;
	int64_t amount;
	const char *currency;
};

static const struct sample samples[] = {
    {"checkout.session.completed.paid", EVENT_PAID, SESSION_ID, INTENT_ID, "",
	"", 4999, "EUR"},
    {"checkout.session.completed.paid.after_hold", EVENT_PAID, SESSION_ID,
	INTENT_ID, "", "", 4999, "EUR"},
    {"checkout.session.completed.adaptive_pricing", EVENT_PAID, SESSION_ID,
	INTENT_ID, "", "", 4999, "EUR"},
    {"checkout.session.completed.jpy", EVENT_PAID, SESSION_ID, INTENT_ID, "",
	"", 8000, "JPY"},
    {"checkout.session.completed.unpaid", EVENT_PENDING, SESSION_ID, INTENT_ID,
	"", "", 4999, "EUR"},
    {"checkout.session.async_payment_succeeded", EVENT_PAID, SESSION_ID,
	INTENT_ID, "", "", 4999, "EUR"},
    {"checkout.session.async_payment_failed", EVENT_FAILED, SESSION_ID,
	INTENT_ID, "", "", 4999, "EUR"},
    {"checkout.session.expired.by_time", EVENT_EXPIRED, SESSION_ID, "", "", "",
	4999, "EUR"},
    {"checkout.session.expired.by_us", EVENT_EXPIRED, SESSION_ID, "", "", "",
	4999, "EUR"},
    {"payment_intent.succeeded", EVENT_PAID, "", INTENT_ID, "", "", 4999,
	"EUR"},
    {"payment_intent.payment_failed", EVENT_IGNORE, "", INTENT_ID, "", "", 4999,
	"EUR"},
    {"payment_intent.created", EVENT_IGNORE, "", "", "", "", -1, ""},
    {"payment_intent.canceled", EVENT_IGNORE, "", "", "", "", -1, ""},
    {"payment_intent.processing", EVENT_IGNORE, "", "", "", "", -1, ""},
    {"payment_intent.requires_action", EVENT_IGNORE, "", "", "", "", -1, ""},
    {"charge.succeeded", EVENT_IGNORE, "", "", "", "", -1, ""},
    {"charge.refunded", EVENT_IGNORE, "", INTENT_ID, "", "", 4999, "EUR"},
    {"charge.dispute.created", EVENT_DISPUTE, "", INTENT_ID, DISPUTE_ID, "open",
	4999, "EUR"},
    {"refund.created", EVENT_REFUND, "", INTENT_ID, REFUND_ID, "succeeded",
	4999, "EUR"},
    {"refund.created.pending", EVENT_REFUND, "", INTENT_ID, REFUND_ID,
	"pending", 4999, "EUR"},
    {"refund.updated.pending_to_succeeded", EVENT_REFUND, "", INTENT_ID,
	REFUND_ID, "succeeded", 4999, "EUR"},
    {"refund.updated.reference", EVENT_REFUND, "", INTENT_ID, REFUND_ID,
	"succeeded", 4999, "EUR"},
    {"refund.failed", EVENT_REFUND, "", INTENT_ID, REFUND_ID, "failed", 4999,
	"EUR"},
    {"thin.v1.checkout.session.completed", EVENT_UNUSABLE, "", "", "", "", -1,
	""},
};

static void
every_sample_is_read(void **state)
{
	struct reading r;

	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		const struct sample *s = &samples[i];

		read_sample(&r, s->name);
		if (r.event.kind != s->kind)
			fail_msg("%s is %d", s->name, (int)r.event.kind);
		assert_memory_equal(r.event.id.text, "evt_", 4);
		assert_true(r.event.type.len > 0);
		/* The samples' hold is not of our shape: foreign. */
		assert_text(r.event.hold, "");
		assert_text(r.event.session_id, s->session);
		assert_text(r.event.payment_ref, s->payment);
		assert_text(r.event.refund_ref, s->refund);
		assert_text(r.event.key, "");
		assert_text(r.event.state, s->state);
		assert_int_equal(r.event.amount, s->amount);
		assert_string_equal(r.event.currency, s->currency);
		assert_true((r.event.detail.len > 0) ==
		    (s->kind == EVENT_IGNORE || s->kind == EVENT_UNUSABLE));
		reading_free(&r);
	}
}

#define PAID "checkout.session.completed.paid"

static void
the_hold_comes_from_the_metadata(void **state)
{
	struct reading r;

	read_changed(&r, PAID, "hld_01J9ZC3V8T", HOLD);
	assert_text(r.event.hold, HOLD);
	reading_free(&r);
	read_changed(&r, "refund.created", "hld_01J9ZC3V8T",
	    "hld_abcdefghij0123456789-_");
	assert_text(r.event.hold, "hld_abcdefghij0123456789-_");
	reading_free(&r);
}

static void
what_is_no_hold_of_ours_counts_as_none(void **state)
{
	static const char *const foreign[] = {"", "h_0001",
	    "hld_AAAAAAAAAAAAAAAAAAAAA", "hld_AAAAAAAAAAAAAAAAAAAAAAA",
	    "HLD_AAAAAAAAAAAAAAAAAAAAAA", "hld_AAAAAAAAAAAAAAAAAAAAA+",
	    "hld_AAAAAAAAAAAAAAAAAAAAA=", " " HOLD, HOLD "\\n"};
	struct reading r;

	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++) {
		read_changed(&r, PAID, "hld_01J9ZC3V8T", foreign[i]);
		assert_int_equal(r.event.kind, EVENT_PAID);
		assert_text(r.event.hold, "");
		reading_free(&r);
	}
	read_changed(&r, PAID, "\"hld_01J9ZC3V8T\"", "12345");
	assert_int_equal(r.event.kind, EVENT_PAID);
	assert_text(r.event.hold, "");
	reading_free(&r);
}

static void
payment_status_decides(void **state)
{
	changed_is(PAID, "\"payment_status\":\"paid\"",
	    "\"payment_status\":\"no_payment_required\"", EVENT_PAID);
	changed_is(PAID, "\"payment_status\":\"paid\"",
	    "\"payment_status\":\"unpaid\"", EVENT_PENDING);
	changed_is(PAID, "\"payment_status\":\"paid\"",
	    "\"payment_status\":\"maybe\"", EVENT_UNUSABLE);
	changed_is(PAID, "\"payment_status\":\"paid\",", "", EVENT_UNUSABLE);
}

static void
the_other_mode_and_other_uses_are_ignored(void **state)
{
	struct reading r;

	changed_is(PAID, "\"livemode\":false,\"pending",
	    "\"livemode\":true,\"pending", EVENT_IGNORE);
	read_changed(&r, PAID, "\"livemode\":false,\"pending",
	    "\"livemode\":true,\"pending");
	assert_text(r.event.detail, "other mode");
	reading_free(&r);
	changed_is(PAID, "\"livemode\":false,\"pending",
	    "\"livemode\":0,\"pending", EVENT_UNUSABLE);
	changed_is(PAID, "\"mode\":\"payment\"", "\"mode\":\"setup\"",
	    EVENT_IGNORE);
	changed_is(PAID, "\"type\":\"checkout.session.completed\"",
	    "\"type\":\"foo.bar\"", EVENT_IGNORE);
	changed_is(PAID, "\"amount_total\":4999", "\"amount_total\":0",
	    EVENT_IGNORE);
}

static void
refund_states_are_ours(void **state)
{
	static const struct {
		const char *theirs;
		const char *ours;
	} states[] = {{"pending", "pending"}, {"requires_action", "pending"},
	    {"succeeded", "succeeded"}, {"failed", "failed"},
	    {"canceled", "failed"}};
	struct reading r;
	char to[64];

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		snprintf(to, sizeof(to), "\"status\":\"%s\"", states[i].theirs);
		read_changed(&r, "refund.created", "\"status\":\"succeeded\"",
		    to);
		assert_text(r.event.state, states[i].ours);
		reading_free(&r);
	}
	changed_is("refund.created", "\"status\":\"succeeded\"",
	    "\"status\":\"strange\"", EVENT_UNUSABLE);
	changed_is("refund.created", "\"status\":\"succeeded\"",
	    "\"status\":null", EVENT_UNUSABLE);
	changed_is("refund.created", "\"id\":\"" REFUND_ID "\",", "",
	    EVENT_UNUSABLE);
	changed_is("refund.created", "\"object\":{\"id\"", "\"x\":{\"id\"",
	    EVENT_UNUSABLE);
}

static void
read_text(struct reading *r, const char *text)
{
	read_body(r, str_of(text), false);
}

static void
misshapen_bodies_are_unusable(void **state)
{
	static const char *const bodies[] = {"", "null", "[]", "{}", "7",
	    "\"evt_1\"", "id=tr_5B8cwPMGnU6qLbRvo7qEZo", "{\"type\":5}",
	    "{\"id\":\"evt_1\"}", "{\"type\":\"checkout.session.completed\"}",
	    "{\"id\":\"\",\"type\":\"x\"}", "{\"id\":5,\"type\":\"x\"}",
	    "{\"id\":\"evt_1\",\"type\":\"\"}",
	    "{\"id\":\"evt_1\",\"type\":\"checkout.session.completed\"}",
	    "{\"id\":\"e\",\"type\":\"refund.failed\",\"data\":7}",
	    "{\"id\":\"e\",\"type\":\"refund.failed\",\"data\":{}}",
	    "{\"id\":\"\",\"type\":\"refund.failed\",\"data\":[]}",
	    "{\"id\":\"evt_1\",\"object\":\"refund\",\"type\":\"x\"}",
	    "{\"id\":\"evt_1\",\"type\":\"x\",\"type\":\"y\"}",
	    "{\"id\":\"evt_1\",\"type\":\"x\"}}",
	    "\xef\xbb\xbf{\"id\":\"evt_1\"", "{\"x\":{\"y\":true \"z\":[1,}}"};
	struct reading r;

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		read_text(&r, bodies[i]);
		if (r.event.kind != EVENT_UNUSABLE)
			fail_msg("%s is %d", bodies[i], (int)r.event.kind);
		assert_true(r.event.detail.len > 0);
		reading_free(&r);
	}
}

static void
an_unusable_event_keeps_its_id(void **state)
{
	struct reading r;

	read_text(&r, "{\"id\":\"evt_1\",\"type\":\"refund.created\"}");
	assert_text(r.event.id, "evt_1");
	assert_text(r.event.type, "refund.created");
	reading_free(&r);
	read_text(&r, "{\"id\":\"evt_1\",\"type\":5}");
	assert_int_equal(r.event.kind, EVENT_UNUSABLE);
	assert_text(r.event.id, "evt_1");
	reading_free(&r);
}

/* The sample as if its id were n characters long. */
static void
read_long(struct reading *r, const char *id, int n)
{
	char *to = malloc((size_t)n + 16);

	assert_non_null(to);
	snprintf(to, (size_t)n + 16, "\"%0*d\"", n, 0);
	read_changed(r, PAID, id, to);
	free(to);
}

static void
long_ids_are_unusable(void **state)
{
	struct reading r;

	read_long(&r, "\"evt_1QFlash00000000000000001\"", 255);
	assert_int_equal(r.event.kind, EVENT_PAID);
	reading_free(&r);
	read_long(&r, "\"evt_1QFlash00000000000000001\"", 256);
	assert_int_equal(r.event.kind, EVENT_UNUSABLE);
	assert_text(r.event.id, "");
	reading_free(&r);
	read_long(&r, "\"" SESSION_ID "\"", 256);
	assert_int_equal(r.event.kind, EVENT_UNUSABLE);
	reading_free(&r);
	read_long(&r, "\"" INTENT_ID "\"", 256);
	assert_int_equal(r.event.kind, EVENT_UNUSABLE);
	reading_free(&r);
}

static void
c64_deep_nesting_is_unusable(void **state)
{
	struct buf b = {0};
	struct reading r;

	for (int i = 0; i < 100000; i++)
		buf_char(&b, '[');
	read_body(&r, fixture_view(&b), false);
	assert_int_equal(r.event.kind, EVENT_UNUSABLE);
	reading_free(&r);
	buf_reset(&b);
	for (int i = 0; i < 20000; i++)
		buf_str(&b, "{\"a\":");
	read_body(&r, fixture_view(&b), false);
	assert_int_equal(r.event.kind, EVENT_UNUSABLE);
	reading_free(&r);
	buf_release(&b);
}

static void
c65_texts_have_a_length_and_no_nul(void **state)
{
	static const char broken[] = "{\"id\":\"evt_1\0x\",\"type\":\"x\"}";
	struct reading r;

	changed_is(PAID, "\"hold_id\"", "\"hold_id\\u0000x\"", EVENT_UNUSABLE);
	changed_is(PAID, "hld_01J9ZC3V8T", HOLD "\\u0000zz", EVENT_UNUSABLE);
	changed_is(PAID, "hld_01J9ZC3V8T", "\\uD800", EVENT_UNUSABLE);
	changed_is(PAID, "hld_01J9ZC3V8T", "\\uDBFF\xf0\x9f\x8e\xab",
	    EVENT_UNUSABLE);
	changed_is(PAID, "hld_01J9ZC3V8T", "\xff", EVENT_UNUSABLE);
	changed_is(PAID, "hld_01J9ZC3V8T", "\xc0\x80", EVENT_UNUSABLE);
	read_body(&r, (struct str){broken, sizeof(broken) - 1}, false);
	assert_int_equal(r.event.kind, EVENT_UNUSABLE);
	reading_free(&r);
	changed_is(PAID, "Zoë Müller", "\xf0\x9f\x8e\xab caf\xc3\xa9",
	    EVENT_PAID);
}

static void
c67_only_whole_numbers_are_amounts(void **state)
{
	static const char *const bad[] = {"2500.0", "2.5e3", "2500.5",
	    "9223372036854775808", "-9223372036854775808", "-1", "1e999",
	    "00012", "\"2500\"", "true", "[]", "{}", "null"};
	char to[64];
	struct reading r;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(to, sizeof(to), "\"amount_total\":%s", bad[i]);
		changed_is(PAID, "\"amount_total\":4999", to, EVENT_UNUSABLE);
		snprintf(to, sizeof(to), "\"amount_received\":%s", bad[i]);
		/* Without it the amount asked for stands in. */
		changed_is("payment_intent.succeeded",
		    "\"amount_received\":4999", to,
		    strcmp(bad[i], "null") == 0 ? EVENT_PAID : EVENT_UNUSABLE);
	}
	changed_is(PAID, "\"amount_total\":4999,", "", EVENT_UNUSABLE);
	read_changed(&r, PAID, "\"amount_total\":4999",
	    "\"amount_total\":9223372036854775807");
	assert_int_equal(r.event.kind, EVENT_PAID);
	assert_true(r.event.amount == INT64_MAX);
	reading_free(&r);
}

static void
currencies_are_three_letters(void **state)
{
	changed_is(PAID, "\"currency\":\"eur\"", "\"currency\":\"EUR\"",
	    EVENT_PAID);
	changed_is(PAID, "\"currency\":\"eur\"", "\"currency\":\"eu\"",
	    EVENT_UNUSABLE);
	changed_is(PAID, "\"currency\":\"eur\"", "\"currency\":\"euro\"",
	    EVENT_UNUSABLE);
	changed_is(PAID, "\"currency\":\"eur\"", "\"currency\":\"e1r\"",
	    EVENT_UNUSABLE);
	changed_is(PAID, "\"currency\":\"eur\"", "\"currency\":7",
	    EVENT_UNUSABLE);
	changed_is(PAID, "\"currency\":\"eur\",", "", EVENT_UNUSABLE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_sample_is_read),
	    cmocka_unit_test(the_hold_comes_from_the_metadata),
	    cmocka_unit_test(what_is_no_hold_of_ours_counts_as_none),
	    cmocka_unit_test(payment_status_decides),
	    cmocka_unit_test(the_other_mode_and_other_uses_are_ignored),
	    cmocka_unit_test(refund_states_are_ours),
	    cmocka_unit_test(misshapen_bodies_are_unusable),
	    cmocka_unit_test(an_unusable_event_keeps_its_id),
	    cmocka_unit_test(long_ids_are_unusable),
	    cmocka_unit_test(c64_deep_nesting_is_unusable),
	    cmocka_unit_test(c65_texts_have_a_length_and_no_nul),
	    cmocka_unit_test(c67_only_whole_numbers_are_amounts),
	    cmocka_unit_test(currencies_are_three_letters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
