/*
 * hold.c and the gate: what is refused without the database, what the gate is
 * told of the database's answers, and who is passed on.
 */
#include "base/clock.h"
#include "web/fakes.h"

#define ITEM "{\"item\":\"RUN-42\",\"qty\":1}"
#define BASKET \
	"{\"lines\":[{\"item\":\"RUN-42\",\"qty\":1}," \
	"{\"item\":\"RUN-43\",\"qty\":1}]}"

static void
refuses_what_the_gate_refuses(void **state)
{
	(void)state;
	fake.gate.refusal =
	    (struct gate_refusal){.outcome = "sold-out", .held = 3};
	assert_int_equal(fake_json("/hold", ITEM), 409);
	assert_body("\"type\":\"/problems/sold-out\"");
	assert_body("3 are in other people's baskets");
	assert_body("\"free\" : 0, \"held\" : 3");
	assert_int_equal(fake.calls, 0);
	assert_int_equal(fake.gate.passed, 0);
	assert_int_equal(fake.gate.tells, 0);
	fake.gate.refusal =
	    (struct gate_refusal){.outcome = "not-open", .opens_in_ms = 65000};
	assert_int_equal(fake_json("/hold", ITEM), 409);
	assert_body("The sale opens in 1 min 5 s.");
	assert_body("\"opens_in_ms\" : 65000");
	fake.gate.refusal = (struct gate_refusal){.outcome = "closed"};
	assert_int_equal(fake_json("/hold", ITEM), 410);
	assert_int_equal(fake_form("/hold", "item=RUN-42&qty=1"), 303);
	assert_header("Location: /problems/closed?item=RUN-42\r\n");
	assert_int_equal(fake.calls, 0);
}

static void
asks_the_database_about_baskets(void **state)
{
	(void)state;
	fake.gate.refusal = (struct gate_refusal){.outcome = "sold-out"};
	fake.outcome = "sold-out";
	fake.document = "{\"free\":0,\"held\":1,\"item\":\"RUN-43\"}";
	assert_int_equal(fake_json("/hold", BASKET), 409);
	assert_int_equal(fake.calls, 1);
	assert_int_equal(fake.gate.passed, 2);
	assert_int_equal(fake.gate.tells, 0);
}

static void
tells_the_gate_of_refusals(void **state)
{
	(void)state;
	fake.outcome = "sold-out";
	fake.document = "{\"free\":0,\"held\":7}";
	assert_int_equal(fake_json("/hold", ITEM), 409);
	assert_int_equal(fake.gate.passed, 1);
	assert_int_equal(fake.gate.tells, 1);
	assert_string_equal(fake.gate.told.outcome, "sold-out");
	assert_int_equal(fake.gate.told.free, 0);
	assert_int_equal(fake.gate.told.held, 7);
	fake.outcome = "not-open";
	fake.document = "{\"opens_in_ms\":5000}";
	assert_int_equal(fake_json("/hold", ITEM), 409);
	assert_int_equal(fake.gate.told.opens_in_ms, 5000);
	fake.outcome = "created";
	fake.document = "{\"id\":\"" FAKE_HOLD "\"}";
	assert_int_equal(fake_json("/hold", ITEM), 201);
	fake.status = DB_DOWN;
	assert_int_equal(fake_json("/hold", ITEM), 503);
	assert_int_equal(fake.gate.tells, 2);
}

static void
opens_the_gate_for_what_comes_back(void **state)
{
	(void)state;
	fake.outcome = "done";
	fake.document =
	    "{\"id\":\"" FAKE_HOLD "\",\"lines\":[{\"item\":\"RUN-42\"}]}";
	assert_int_equal(fake_json("/hold/drop", "{\"id\":\"" FAKE_HOLD "\"}"),
	    200);
	assert_string_equal(fake.gate.opened, "RUN-42");
	fake.gate.opened[0] = '\0';
	fake.outcome = "not-yours";
	assert_int_equal(fake_json("/hold/drop", "{\"id\":\"" FAKE_HOLD "\"}"),
	    403);
	assert_string_equal(fake.gate.opened, "");
}

static void
waits_no_longer_than_it_may(void **state)
{
	int64_t before = clock_monotonic_ms();

	(void)state;
	fake.conf.server.hold_wait_ms = 3000;
	fake.outcome = "created";
	fake.document = "{}";
	assert_int_equal(fake_json("/hold", ITEM), 201);
	assert_in_range(fake.until_ms - 3000, before, clock_monotonic_ms());
	fake.until_ms = 0;
	assert_int_equal(fake_get("/hold", "id=" FAKE_HOLD), 200);
	assert_int_equal(fake.until_ms, 0);
}

static void
knows_what_never_waits(void **state)
{
	static const struct {
		const char *method;
		const char *path;
		bool quick;
	} cases[] = {
	    {"POST", "/hold", true},
	    {"GET", "/hold", false},
	    {"POST", "/hold/drop", false},
	    {"GET", "/healthz", true},
	    {"HEAD", "/healthz", true},
	    {"GET", "/readyz", false},
	    {"GET", "/problems/busy", true},
	    {"POST", "/problems/busy", false},
	    {"POST", "/pay-callback", false},
	    {"GET", "/nothing", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake.request.method = str_of(cases[i].method);
		fake.request.path = str_of(cases[i].path);
		assert_int_equal(route_is_quick(&fake.request), cases[i].quick);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fake_setup, fake_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(refuses_what_the_gate_refuses),
	    TEST(asks_the_database_about_baskets),
	    TEST(tells_the_gate_of_refusals),
	    TEST(opens_the_gate_for_what_comes_back),
	    TEST(waits_no_longer_than_it_may),
	    TEST(knows_what_never_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
