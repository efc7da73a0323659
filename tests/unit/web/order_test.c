/*
 * order.c: what the order page is told of late money, of money that goes back,
 * and how soon it asks again.
 */
#include "web/fakes.h"

#define DOCUMENT(more) \
	"{\"id\":\"" FAKE_HOLD "\",\"order\":\"ord_1\"," \
	"\"lines\":[{\"item\":\"RUN-42\",\"title\":\"Runner\",\"qty\":1}]," \
	"\"price\":{\"amount\":12900,\"currency\":\"EUR\"}," \
	"\"expires_in_ms\":0," more "}"

static int
setup(void **state)
{
	struct buf *page = &fake.pages.text[PAGE_ORDER];

	fake_setup(state);
	buf_reset(page);
	buf_str(page,
	    "{{state}}|{{refresh}}|{{late}}|{{refund_state}}|"
	    "{{refund_reason}}|{{refund_part}}|{{refunded}}");
	return 0;
}

static void
fills_in_what_is_true_of_the_order(void **state)
{
	static const struct {
		const char *document;
		const char *page;
	} cases[] = {
	    {DOCUMENT("\"view\":\"pending\",\"late\":null,\"refund\":null"),
		"pending|300|||||"},
	    {DOCUMENT("\"view\":\"checking\",\"late\":null,\"refund\":null"),
		"checking|10|||||"},
	    {DOCUMENT("\"view\":\"paid\",\"late\":\"allowance\","
		      "\"refund\":null"),
		"paid|3600|allowance||||"},
	    {DOCUMENT("\"view\":\"paid\",\"late\":null,\"refund\":"
		      "{\"state\":\"pending\",\"reason\":\"asked_for\","
		      "\"amount\":2500}"),
		"paid|3600||pending|asked_for|some|25.00 EUR"},
	    {DOCUMENT("\"view\":\"refunded\",\"late\":null,\"refund\":"
		      "{\"state\":\"succeeded\",\"reason\":\"paid_late\","
		      "\"amount\":12900}"),
		"refunded|3600||succeeded|paid_late|all|129.00 EUR"},
	    {DOCUMENT("\"view\":\"refund_owed\",\"late\":null,\"refund\":"
		      "{\"state\":\"owed\",\"reason\":\"paid_twice\","
		      "\"amount\":25800}"),
		"refund_owed|60||owed|paid_twice|all|258.00 EUR"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake.document = cases[i].document;
		assert_int_equal(fake_get("/order/" FAKE_HOLD, ""), 200);
		assert_string_equal(fake.reply.body.data, cases[i].page);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(fills_in_what_is_true_of_the_order,
		setup, fake_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
