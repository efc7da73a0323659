/* pay/stripe: what objects say of our keys, and how disputes end. */
#include "pay/reading.h"

#define PAID "checkout.session.completed.paid"
#define METADATA "\"hold_id\":\"hld_01J9ZC3V8T\""

static void
key_is(const char *sample, const char *json, const char *key)
{
	struct reading r;
	struct buf to = {0};

	buf_printf(&to, METADATA ",\"key\":%s", json);
	read_changed(&r, sample, METADATA, to.data);
	assert_true(r.event.kind == EVENT_PAID || r.event.kind == EVENT_REFUND);
	assert_text(r.event.key, key);
	reading_free(&r);
	buf_release(&to);
}

static void
the_key_comes_from_the_metadata(void **state)
{
	key_is(PAID, "\"cs-" HOLD "\"", "cs-" HOLD);
	key_is("payment_intent.succeeded", "\"cs-" HOLD "\"", "cs-" HOLD);
	key_is("refund.created", "\"refund-" HOLD "-2\"", "refund-" HOLD "-2");
}

static void
what_is_no_key_counts_as_none(void **state)
{
	static const char *const foreign[] = {"\"\"", "7", "null", "{}",
	    "\"a b\"", "\"a\\n\"", "\"caf\xc3\xa9\"", "\"\\u007f\""};
	struct buf zeros = {0};

	for (size_t i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		key_is(PAID, foreign[i], "");
	buf_printf(&zeros, "\"%0*d\"", 256, 0);
	key_is(PAID, zeros.data, "");
	buf_release(&zeros);
}

static void
a_key_has_at_most_255_characters(void **state)
{
	struct buf zeros = {0};
	struct buf quoted = {0};

	buf_printf(&zeros, "%0*d", 255, 0);
	buf_printf(&quoted, "\"%s\"", zeros.data);
	key_is(PAID, quoted.data, zeros.data);
	buf_release(&zeros);
	buf_release(&quoted);
}

/* Not "none is said". */
static void
an_amount_below_nothing_is_unusable(void **state)
{
	struct reading r;

	read_body(&r,
	    str_of("{\"id\":\"evt_1\",\"type\":\"refund.updated\",\"data\":"
		   "{\"object\":{\"id\":\"re_1\",\"status\":\"succeeded\","
		   "\"amount\":-1,\"currency\":\"eur\","
		   "\"payment_intent\":\"pi_1\"}}}"),
	    false);
	assert_int_equal(r.event.kind, EVENT_UNUSABLE);
	reading_free(&r);
}

#define DISPUTE_HEAD \
	"{\"id\":\"evt_1\",\"object\":\"event\",\"livemode\":false,\"type\":" \
	"\""
#define DISPUTE_TAIL \
	"\"id\":\"du_1\",\"object\":\"dispute\",\"amount\":4999," \
	"\"currency\":\"eur\",\"payment_intent\":\"pi_1\",\"metadata\":{}}}}"

static void
dispute_read(struct reading *r, const char *type, const char *status)
{
	struct buf body = {0};

	buf_printf(&body,
	    DISPUTE_HEAD
	    "%s\",\"data\":{\"object\":{\"status\":%s," DISPUTE_TAIL,
	    type, status);
	read_body(r, fixture_view(&body), false);
	buf_release(&body);
}

static void
a_dispute_is_what_its_status_says(void **state)
{
	static const struct {
		const char *type;
		const char *status;
		const char *state;
	} disputes[] = {
	    {"created", "\"needs_response\"", "open"},
	    {"created", "\"under_review\"", "open"},
	    {"created", "\"warning_needs_response\"", "inquiry"},
	    {"created", "\"warning_under_review\"", "inquiry"},
	    {"created", "\"warning_closed\"", "inquiry_closed"},
	    {"created", "\"lost\"", "lost"},
	    {"created", "\"prevented\"", "lost"},
	    {"created", "\"new\"", "open"},
	    {"created", "null", "open"},
	    {"updated", "\"warning_under_review\"", "inquiry"},
	    {"updated", "\"needs_response\"", "open"},
	    {"updated", "\"won\"", "won"},
	    {"funds_withdrawn", "\"needs_response\"", "open"},
	    {"funds_withdrawn", "\"lost\"", "lost"},
	    {"funds_reinstated", "\"won\"", "won"},
	    {"funds_reinstated", "\"lost\"", "lost"},
	    {"closed", "\"won\"", "won"},
	    {"closed", "\"warning_closed\"", "inquiry_closed"},
	    {"closed", "\"lost\"", "lost"},
	    {"closed", "\"prevented\"", "lost"},
	};
	struct reading r;
	char type[60];

	for (size_t i = 0; i < sizeof(disputes) / sizeof(disputes[0]); i++) {
		snprintf(type, sizeof(type), "charge.dispute.%s",
		    disputes[i].type);
		dispute_read(&r, type, disputes[i].status);
		assert_int_equal(r.event.kind, EVENT_DISPUTE);
		assert_text(r.event.refund_ref, "du_1");
		assert_text(r.event.state, disputes[i].state);
		assert_text(r.event.payment_ref, "pi_1");
		assert_int_equal(r.event.amount, 4999);
		assert_string_equal(r.event.currency, "EUR");
		assert_text(r.event.detail, "");
		reading_free(&r);
	}
}

/* Kept from being raised: blocked, or the buyer has the money back. */
static void
a_dispute_that_was_prevented_may_cost_nothing(void **state)
{
	struct reading r;

	dispute_read(&r, "charge.dispute.created",
	    "\"prevented\",\"payment_method_details\":{\"card\":"
	    "{\"case_type\":\"block\"}}");
	assert_text(r.event.state, "won");
	reading_free(&r);
	dispute_read(&r, "charge.dispute.created",
	    "\"prevented\",\"payment_method_details\":{\"card\":"
	    "{\"case_type\":\"resolution\"}}");
	assert_text(r.event.state, "lost");
	reading_free(&r);
}

/* Neither won nor lost by a guess. */
static void
a_strange_status_of_a_dispute_is_unusable(void **state)
{
	static const char *const strange[] = {"\"\"", "null", "7", "\"WON\"",
	    "\"warning\""};
	static const char *const open[] = {"\"under_review\"",
	    "\"needs_response\"", "\"warning_under_review\""};
	struct reading r;

	for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
		dispute_read(&r, "charge.dispute.closed", strange[i]);
		assert_int_equal(r.event.kind, EVENT_UNUSABLE);
		assert_text(r.event.id, "evt_1");
		reading_free(&r);
		dispute_read(&r, "charge.dispute.updated", strange[i]);
		assert_int_equal(r.event.kind, EVENT_UNUSABLE);
		reading_free(&r);
	}
	for (size_t i = 0; i < sizeof(open) / sizeof(open[0]); i++) {
		dispute_read(&r, "charge.dispute.closed", open[i]);
		assert_int_equal(r.event.kind, EVENT_UNUSABLE);
		reading_free(&r);
	}
}

static void
a_dispute_has_an_id(void **state)
{
	static const char body[] =
	    DISPUTE_HEAD "charge.dispute.created\",\"data\":{\"object\":{"
			 "\"status\":\"needs_response\",\"amount\":1,"
			 "\"payment_intent\":\"pi_1\"}}}";
	struct reading r;

	read_body(&r, str_of(body), false);
	assert_int_equal(r.event.kind, EVENT_UNUSABLE);
	reading_free(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_key_comes_from_the_metadata),
	    cmocka_unit_test(what_is_no_key_counts_as_none),
	    cmocka_unit_test(a_key_has_at_most_255_characters),
	    cmocka_unit_test(an_amount_below_nothing_is_unusable),
	    cmocka_unit_test(a_dispute_is_what_its_status_says),
	    cmocka_unit_test(a_dispute_that_was_prevented_may_cost_nothing),
	    cmocka_unit_test(a_strange_status_of_a_dispute_is_unusable),
	    cmocka_unit_test(a_dispute_has_an_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
