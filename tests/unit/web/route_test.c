/*
 * route.c with the small handlers: addresses, methods, origins, whom an
 * answer is for; items, orders, problems, health.
 */
#include "web/fakes.h"

static void
knows_its_addresses(void **state)
{
	static const char *const unknown[] = {"", "/", "/holdx", "/hold/",
	    "/hold/extend", "/order", "/order/", "/order/a/b", "/problems/",
	    "/pay-callback/", "/Availability", "//hold"};

	(void)state;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		assert_int_equal(fake_get(unknown[i], ""), 404);
		assert_body("/problems/not-found");
		assert_header("Cache-Control: no-store\r\n");
	}
	fake.request.content_type = (struct str){NULL, 0};
	fake.request.path = (struct str){NULL, 0};
	assert_int_equal(fake_send("", "", ""), 404);
}

static void
names_the_methods_of_an_address(void **state)
{
	static const struct {
		const char *path;
		const char *allow;
	} cases[] = {
	    {"/availability", "Allow: GET, HEAD\r\n"},
	    {"/hold", "Allow: GET, HEAD, POST\r\n"},
	    {"/hold/drop", "Allow: POST\r\n"},
	    {"/pay", "Allow: GET, HEAD, POST\r\n"},
	    {"/pay-callback", "Allow: POST\r\n"},
	    {"/order/x", "Allow: GET, HEAD\r\n"},
	    {"/problems/x", "Allow: GET, HEAD\r\n"},
	    {"/healthz", "Allow: GET, HEAD\r\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake.request.content_type = (struct str){NULL, 0};
		assert_int_equal(fake_send("PUT", cases[i].path, ""), 405);
		assert_header(cases[i].allow);
		assert_int_equal(fake_send("get", cases[i].path, ""), 405);
		if (!strstr(cases[i].allow, "POST")) {
			assert_int_equal(fake_json(cases[i].path, "{}"), 405);
			assert_body("/problems/method\"");
		}
		if (!strstr(cases[i].allow, "GET"))
			assert_int_equal(fake_get(cases[i].path, ""), 405);
	}
}

static void
refuses_other_sites(void **state)
{
	static const struct {
		const char *site; /* Sec-Fetch-Site */
		const char *origin;
		bool ours;
	} cases[] = {
	    {NULL, NULL, true},
	    {NULL, "https://shop.example", true},
	    {NULL, "HTTPS://Shop.Example", true},
	    {NULL, "https://shop.example.evil", false},
	    {NULL, "https://shop.exampl", false},
	    {NULL, "http://shop.example", false},
	    {NULL, "https://shop.example:444", false},
	    {NULL, "null", false},
	    {"same-origin", "null", true},
	    {"same-origin", "https://other.name.of.the.shop", true},
	    {"same-site", "https://evil.shop.example", false},
	    {"cross-site", NULL, false},
	    {"cross-site", "https://shop.example", false},
	    {"none", NULL, true},
	};

	(void)state;
	fake.outcome = "no-such-hold";
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(fake.params, 0, sizeof(fake.params));
		if (cases[i].site)
			fake_param("HTTP_SEC_FETCH_SITE", cases[i].site);
		if (cases[i].origin)
			fake_param("HTTP_ORIGIN", cases[i].origin);
		assert_int_equal(fake_json("/pay", "{\"id\":\"x\"}"),
		    cases[i].ours ? 404 : 403);
		if (!cases[i].ours) {
			assert_body("/problems/cross-site");
			assert_int_equal(fake_form("/hold", ""), 403);
			assert_body("problem cross-site|");
		}
		/* Reading is harmless. */
		assert_int_equal(fake_get("/healthz", ""), 200);
	}
}

static void
tells_how_items_stand(void **state)
{
	struct buf query = {0};

	(void)state;
	fake.document = "{\"items\":[]}";
	for (int n = 0; n <= 51; n++) {
		assert_int_equal(fake_get("/availability",
				     query.data ? query.data : ""),
		    n >= 1 && n <= 50 ? 200 : 400);
		if (n >= 1 && n <= 50) {
			assert_int_equal(fake.items, n);
			assert_lacks(&fake.reply.headers, "no-store");
			assert_lacks(&fake.reply.headers, "Set-Cookie");
			assert_header("Cache-Control: public, max-age=1\r\n");
		} else {
			assert_header("Cache-Control: no-store\r\n");
		}
		buf_printf(&query, "%sitem=%d", n ? "&" : "", n);
	}
	assert_int_equal(fake_get("/availability", "item=a&x=b"), 400);
	assert_int_equal(fake_get("/availability", "item="), 400);
	assert_int_equal(fake_get("/availability", "item=%00"), 400);
	assert_int_equal(fake_get("/availability", "item=%ff"), 400);
	fake.status = DB_DOWN;
	assert_int_equal(fake_get("/availability", "item=a"), 503);
	assert_header("Cache-Control: no-store\r\n");
	assert_header("Retry-After: 1\r\n");
	buf_release(&query);
}

static void
renders_an_order(void **state)
{
	(void)state;
	fake.document =
	    "{\"id\":\"" FAKE_HOLD "\",\"order\":\"ord_1\",\"state\":\"held\","
	    "\"view\":\"held\",\"lines\":[{\"item\":\"RUN 42\",\"title\":"
	    "\"<Runner>\",\"qty\":2},{\"item\":\"b\",\"title\":\"B\","
	    "\"qty\":1}],\"price\":{\"amount\":12900,\"currency\":\"EUR\"},"
	    "\"expires_in_ms\":598001,\"refund\":{\"reason\":\"paid_late\"}}";
	assert_int_equal(fake_get("/order/" FAKE_HOLD, ""), 200);
	assert_string_equal(fake.reply.body.data,
	    "order " FAKE_HOLD " held 9 min 59 s 129.00 EUR "
	    "2 x &lt;Runner&gt;, 1 x B /item/RUN%2042 10 paid_late.");
	assert_header("Content-Type: text/html; charset=utf-8\r\n");
	assert_header("Cache-Control: no-store\r\n");
	assert_int_equal(fake_send("HEAD", "/order/" FAKE_HOLD, ""), 200);
	assert_int_equal(fake_get("/order/ord_1", ""), 404);
	assert_body("problem no-such-hold|");
	fake.document = NULL;
	assert_int_equal(fake_get("/order/" FAKE_HOLD, ""), 404);
	fake.status = DB_DOWN;
	assert_int_equal(fake_get("/order/" FAKE_HOLD, ""), 503);
	assert_body("problem busy|");
}

static void
shows_a_problem(void **state)
{
	static const char *const names[] = {"malformed", "not-yours",
	    "not-admitted", "no-such-item", "no-such-hold", "method",
	    "too-large", "length-required", "content-type", "sold-out", "taken",
	    "limit", "not-open", "paused", "closed", "ended", "key-reused",
	    "slow-down", "busy", "not-found", "cross-site", "provider"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char path[64];

		snprintf(path, sizeof(path), "/problems/%s", names[i]);
		assert_int_equal(fake_get(path, "item=a%22b%2F.."), 200);
		assert_body("|a&quot;b/..|/item/a%22b%2F..");
	}
	assert_int_equal(fake_get("/problems/busy", ""), 200);
	assert_body("||/");
	assert_int_equal(fake_get("/problems/busy", "item=%zz"), 200);
	assert_int_equal(fake_get("/problems/none", ""), 404);
	assert_body("problem not-found|");
}

static void
says_how_it_is(void **state)
{
	(void)state;
	fake.status = DB_DOWN;
	assert_int_equal(fake_get("/healthz", ""), 200);
	assert_string_equal(fake.reply.body.data, "{\"status\":\"ok\"}");
	assert_int_equal(fake.calls, 0);
	assert_int_equal(fake_get("/readyz", ""), 503);
	fake.status = DB_OK;
	assert_int_equal(fake_get("/readyz", ""), 200);
}

static void
answers_a_person_with_a_page(void **state)
{
	(void)state;
	fake_param("HTTP_ACCEPT", "text/HTML,*/*");
	assert_int_equal(fake_get("/nowhere", ""), 404);
	assert_body("problem not-found|");
	assert_int_equal(fake_post("/hold", "text/plain", ""), 415);
	assert_body("problem content-type|");
	/* These are for scripts. */
	assert_int_equal(fake_get("/availability", ""), 400);
	assert_body("/problems/malformed");
	assert_int_equal(fake_json("/hold", "{}"), 400);
	assert_body("/problems/malformed");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fake_setup, fake_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(knows_its_addresses),
	    TEST(names_the_methods_of_an_address),
	    TEST(refuses_other_sites),
	    TEST(tells_how_items_stand),
	    TEST(renders_an_order),
	    TEST(shows_a_problem),
	    TEST(says_how_it_is),
	    TEST(answers_a_person_with_a_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
