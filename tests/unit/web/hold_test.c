/*
 * hold.c by way of route.c: what POST /hold understands, what it hands down,
 * and what it answers to each outcome.
 */
#include "web/fakes.h"

#define DOCUMENT \
	"{\"id\":\"" FAKE_HOLD "\",\"state\":\"held\",\"lines\":" \
	"[{\"item\":\"RUN 42\"}]}"
#define ITEM "{\"item\":\"RUN-42\",\"qty\":1}"

static void
takes_an_item(void **state)
{
	(void)state;
	fake.outcome = "created";
	fake.document = DOCUMENT;
	assert_int_equal(fake_json("/hold",
			     "{\"item\":\"RUN-42\",\"qty\":2,\"email\":\"a@b."
			     "c\",\"x\":[]}"),
	    201);
	assert_string_equal(fake.reply.body.data, DOCUMENT);
	assert_header("Content-Type: application/json\r\n");
	assert_header("Cache-Control: no-store\r\n");
	assert_header("Set-Cookie: lp_buyer=buyer.");
	assert_header(
	    "; Path=/; Max-Age=34560000; HttpOnly; SameSite=Lax; Secure\r\n");
	assert_int_equal(fake.taken.count, 1);
	assert_true(str_is(fake.taken.lines[0].sku, "RUN-42"));
	assert_int_equal(fake.taken.lines[0].qty, 2);
	assert_true(str_is(fake.taken.email, "a@b.c"));
	assert_int_equal(fake.taken.key.len, 0);
	assert_false(fake.taken.known);
	assert_int_equal(strlen(fake.taken.id), HOLD_ID_LEN);
	assert_memory_equal(fake.taken.id, "hld_", 4);
}

static void
takes_lines(void **state)
{
	(void)state;
	fake.outcome = "created";
	fake.document = DOCUMENT;
	assert_int_equal(fake_json("/hold",
			     "{\"lines\":[{\"item\":\"b\",\"qty\":1},"
			     "{\"item\":\"a\",\"qty\":99999999999999999999}]}"),
	    201);
	assert_int_equal(fake.taken.count, 2);
	assert_true(str_is(fake.taken.lines[1].sku, "a"));
	/* Over any limit, so that the answer names the real one. */
	assert_int_equal(fake.taken.lines[1].qty, INT64_MAX);
}

static void
takes_a_form(void **state)
{
	(void)state;
	fake.outcome = "created";
	fake.document = DOCUMENT;
	assert_int_equal(fake_post("/hold",
			     "Application/X-WWW-Form-Urlencoded; charset=UTF-8",
			     "item=RUN+42&qty=1&email="),
	    303);
	assert_header("Location: /order/" FAKE_HOLD "\r\n");
	assert_int_equal(fake.reply.body.len, 0);
	assert_true(str_is(fake.taken.lines[0].sku, "RUN 42"));
}

static void
refuses_what_it_does_not_understand(void **state)
{
	static const struct {
		const char *body;
		const char *part; /* of the answer */
	} cases[] = {
	    {"", "JSON object"},
	    {"null", "no object"},
	    {"[]", "no object"},
	    {"{", "JSON object"},
	    {"{\"item\":\"a\",\"item\":\"a\",\"qty\":1}", "JSON object"},
	    {"{\"item\":\"a\\u0000\",\"qty\":1}", "JSON object"},
	    {"{\"item\":\"\xff\",\"qty\":1}", "JSON object"},
	    {"{}", "item"},
	    {"{\"qty\":1}", "item"},
	    {"{\"item\":\"\",\"qty\":1}", "item"},
	    {"{\"item\":7,\"qty\":1}", "item must be a string"},
	    {"{\"item\":\"a\"}", "qty is missing"},
	    {"{\"item\":\"a\",\"qty\":0}", "qty must be a whole"},
	    {"{\"item\":\"a\",\"qty\":-1}", "qty must be a whole"},
	    {"{\"item\":\"a\",\"qty\":1.0}", "qty must be a whole"},
	    {"{\"item\":\"a\",\"qty\":1e0}", "qty must be a whole"},
	    {"{\"item\":\"a\",\"qty\":1e3}", "qty must be a whole"},
	    {"{\"item\":\"a\",\"qty\":\"1\"}", "qty must be a number"},
	    {"{\"item\":\"a\",\"qty\":null}", "qty must be a number"},
	    {"{\"item\":\"a\",\"qty\":true}", "qty must be a number"},
	    {"{\"item\":\"a\",\"qty\":1,\"units\":[\"A-1\"]}", "units"},
	    {"{\"item\":\"a\",\"qty\":1,\"best\":true}", "best"},
	    {"{\"item\":\"a\",\"qty\":1,\"lines\":[]}", "lines"},
	    {"{\"lines\":[]}", "lines"},
	    {"{\"lines\":{}}", "lines"},
	    {"{\"lines\":[1]}", "lines"},
	    {"{\"lines\":[{\"item\":\"a\"}]}", "qty"},
	    {"{\"lines\":[{\"item\":\"a\",\"qty\":5},"
	     "{\"item\":\"b\",\"qty\":-4}]}",
		"qty"},
	    {"{\"lines\":[{\"item\":\"a\",\"qty\":1},"
	     "{\"item\":\"a\",\"qty\":1}]}",
		"more than once"},
	    {"{\"lines\":[{\"item\":\"a\",\"qty\":1,\"units\":[]}]}", "units"},
	    {"{\"item\":\"a\",\"qty\":1,\"email\":7}", "email"},
	    {"{\"item\":\"a\",\"qty\":1,\"email\":\"a\"}", "email"},
	    {"{\"item\":\"a\",\"qty\":1,\"email\":\"a@b@c\"}", "email"},
	    {"{\"item\":\"a\",\"qty\":1,\"email\":\"@b\"}", "email"},
	    {"{\"item\":\"a\",\"qty\":1,\"email\":\"a@b\\n\"}", "email"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(fake_json("/hold", cases[i].body), 400);
		assert_header("Content-Type: application/problem+json\r\n");
		assert_body("\"type\":\"/problems/malformed\"");
		assert_body("\"status\":400");
		assert_body(cases[i].part);
	}
	assert_int_equal(fake.calls, 0);
}

static void
refuses_forms_that_it_does_not_understand(void **state)
{
	static const char *const cases[] = {"", "item=a", "qty=1",
	    "item=&qty=1", "item=a&qty=", "item=a&qty=+1", "item=a&qty=%201",
	    "item=a&qty=1%20", "item=a&qty=01", "item=a&qty=0x10",
	    "item=a&qty=1e3", "item=a&qty=0", "item=a&qty=-5",
	    "item=a&item=b&qty=1", "item=a&qty=1&qty=2", "item=a&qty=1&email=x",
	    "item=a&qty=1&units=A-1", "item=a&qty=1&best=1",
	    "item=a&qty=1&lines=x", "item=%00&qty=1", "item=%ff&qty=1",
	    "item=%&qty=1"};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(fake_form("/hold", cases[i]), 400);
		assert_header("Content-Type: text/html; charset=utf-8\r\n");
		assert_body("problem malformed|");
	}
	assert_int_equal(fake.calls, 0);
}

static void
refuses_too_many_lines_and_long_values(void **state)
{
	struct buf body = {0};

	(void)state;
	fake.outcome = "created";
	fake.document = DOCUMENT;
	for (int lines = 20; lines <= 21; lines++) {
		buf_reset(&body);
		buf_str(&body, "{\"lines\":[");
		for (int i = 0; i < lines; i++)
			buf_printf(&body, "%s{\"item\":\"%d\",\"qty\":1}",
			    i ? "," : "", i);
		buf_str(&body, "]}");
		assert_int_equal(fake_json("/hold", body.data),
		    lines == 20 ? 201 : 400);
	}
	for (int n = 200; n <= 201; n++) {
		buf_reset(&body);
		buf_printf(&body, "{\"qty\":1,\"item\":\"%0*d\"}", n, 0);
		assert_int_equal(fake_json("/hold", body.data),
		    n == 200 ? 201 : 400);
	}
	for (int n = 254; n <= 255; n++) {
		buf_reset(&body);
		buf_printf(&body,
		    "{\"qty\":1,\"item\":\"a\",\"email\":\"a@%0*d\"}", n - 2,
		    0);
		assert_int_equal(fake_json("/hold", body.data),
		    n == 254 ? 201 : 400);
	}
	buf_release(&body);
}

static void
refuses_bodies_by_their_shape(void **state)
{
	(void)state;
	assert_int_equal(fake_post("/hold", "text/plain", ITEM), 415);
	assert_body("/problems/content-type");
	assert_int_equal(fake_post("/hold", "", ITEM), 415);
	assert_int_equal(fake_post("/hold", "application/jsonx", ITEM), 415);
	fake.body = FCGI_BODY_TOO_LONG;
	assert_int_equal(fake_json("/hold", ITEM), 413);
	assert_int_equal(fake.body_max, 16384);
	assert_int_equal(fake_form("/hold", ""), 413);
	assert_body("problem too-large|");
	fake.body = FCGI_BODY_NO_LENGTH;
	assert_int_equal(fake_json("/hold", ITEM), 411);
	fake.body = FCGI_BODY_BAD;
	assert_int_equal(fake_json("/hold", ITEM), 400);
	assert_int_equal(fake.calls, 0);
}

static void
wants_a_proper_key(void **state)
{
	char key[300] = "";

	(void)state;
	fake.outcome = "existing";
	fake.document = DOCUMENT;
	fake_param("HTTP_IDEMPOTENCY_KEY", key);
	for (size_t n = 0; n <= 256; n++) {
		int expected = n >= 16 && n <= 255 ? 200 : 400;

		memset(key, 'k', n);
		assert_int_equal(fake_json("/hold", ITEM), expected);
		if (expected == 400)
			assert_body("Idempotency-Key");
		else
			assert_int_equal(fake.taken.key.len, n);
	}
	fake_param("HTTP_IDEMPOTENCY_KEY", "0123456789abcdef ");
	assert_int_equal(fake_json("/hold", ITEM), 400);
	fake_param("HTTP_IDEMPOTENCY_KEY", "0123456789abcdef\xc3\xa9");
	assert_int_equal(fake_json("/hold", ITEM), 400);
}

static void
says_why_nothing_was_taken(void **state)
{
	static const struct {
		const char *outcome;
		const char *members;
		int status;
		const char *part;
	} cases[] = {
	    {"sold-out", "{\"free\" : 4, \"held\" : 9}", 409,
		"\"detail\":\"Only 4 are left.\",\"free\" : 4, \"held\" : 9}"},
	    {"sold-out", "{\"free\":1,\"held\":9}", 409, "Only 1 is left."},
	    {"sold-out", "{\"free\":0,\"held\":5}", 409,
		"All are taken at the moment; 5 are in other people's"},
	    {"sold-out", "{\"free\":0,\"held\":1}", 409,
		"1 is in another person's basket"},
	    {"sold-out", "{\"free\":0,\"held\":0}", 409, "\"Sold out.\""},
	    {"limit", "{\"limit\":1,\"have\":0,\"hold\":null}", 409,
		"at most 1.\""},
	    {"limit", "{\"limit\":3,\"have\":2,\"hold\":null}", 409,
		"at most 3, and you have 2 already."},
	    {"limit", "{\"item\":\"a\"}", 409, "more than one order can cost"},
	    {"not-open", "{\"opens_in_ms\":61000}", 409, "in 1 min 1 s."},
	    {"paused", NULL, 409, "paused"},
	    {"closed", NULL, 410, "over"},
	    {"no-such-item", NULL, 404, "There is no item RUN-42 here."},
	    {"key-reused", NULL, 422, "Idempotency-Key"},
	    {"mixed-currencies", NULL, 400, "currencies"},
	    {"something-new", NULL, 400, "something-new"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake.outcome = cases[i].outcome;
		fake.document = cases[i].members;
		assert_int_equal(fake_json("/hold", ITEM), cases[i].status);
		assert_header("Content-Type: application/problem+json\r\n");
		assert_body(cases[i].part);
	}
}

static void
sends_a_form_to_the_page_that_helps(void **state)
{
	(void)state;
	fake.outcome = "sold-out";
	fake.document = "{\"free\":0,\"held\":0}";
	assert_int_equal(fake_form("/hold", "item=a%26b%2Fc&qty=1"), 303);
	assert_header("Location: /problems/sold-out?item=a%26b%2Fc\r\n");
	fake.outcome = "limit";
	fake.document = "{\"limit\":1,\"have\":1,\"hold\":\"" FAKE_HOLD "\"}";
	assert_int_equal(fake_form("/hold", "item=a&qty=1"), 303);
	assert_header("Location: /order/" FAKE_HOLD "\r\n");
	fake.document = "{\"limit\":1,\"have\":1,\"hold\":null}";
	assert_int_equal(fake_form("/hold", "item=a&qty=1"), 303);
	assert_header("Location: /problems/limit?item=a\r\n");
	fake.outcome = "mixed-currencies";
	assert_int_equal(fake_form("/hold", "item=a&qty=1"), 400);
}

static void
says_busy_without_a_database(void **state)
{
	(void)state;
	fake.status = DB_DOWN;
	assert_int_equal(fake_json("/hold", ITEM), 503);
	assert_header("Retry-After: 1\r\n");
	assert_body("/problems/busy");
	assert_int_equal(fake_form("/hold", "item=a&qty=1"), 303);
	assert_header("Location: /problems/busy?item=a\r\n");
	fake.status = DB_REFUSED;
	assert_int_equal(fake_json("/hold", ITEM), 400);
}

static void
knows_its_buyer(void **state)
{
	struct buf cookie = {0};
	char first[37];

	(void)state;
	fake.outcome = "created";
	fake.document = DOCUMENT;
	fake_sign_in(&cookie);
	assert_int_equal(fake_json("/hold", ITEM), 201);
	assert_true(fake.taken.known);
	assert_string_equal(fake.asked.text, FAKE_BUYER);
	assert_lacks(&fake.reply.headers, "Set-Cookie");
	/* The key's hold belongs to somebody: this browser becomes him. */
	fake.buyer = "aaaaaaaa-9dad-81d1-80b4-00c04fd430c8";
	assert_int_equal(fake_json("/hold", ITEM), 201);
	assert_header("Set-Cookie: lp_buyer=buyer.aaaaaaaa9dad81d180b400c0");
	/* A visit is always the same buyer, known but not yet signed. */
	fake.buyer = NULL;
	fake.request.cookie =
	    str_of("lp_visit=0123456789abcdef0123456789abcdef");
	assert_int_equal(fake_json("/hold", ITEM), 201);
	assert_true(fake.taken.known);
	assert_header("Set-Cookie: lp_buyer=");
	memcpy(first, fake.asked.text, sizeof(first));
	assert_int_equal(fake_json("/hold", ITEM), 201);
	assert_string_equal(fake.asked.text, first);
	buf_release(&cookie);
}

static void
shows_a_hold(void **state)
{
	struct buf cookie = {0};

	(void)state;
	fake.document = DOCUMENT;
	assert_int_equal(fake_get("/hold", "id=" FAKE_HOLD), 200);
	assert_string_equal(fake.reply.body.data, DOCUMENT);
	assert_header("Cache-Control: no-store\r\n");
	assert_false(fake.has_viewer);
	fake_sign_in(&cookie);
	assert_int_equal(fake_get("/hold", "id=" FAKE_HOLD), 200);
	assert_true(fake.has_viewer);
	fake.calls = 0;
	/* JSON whatever is welcome. */
	fake_param("HTTP_ACCEPT", "text/html");
	assert_int_equal(fake_get("/hold", "id=nonsense"), 404);
	assert_body("/problems/no-such-hold");
	assert_int_equal(fake_get("/hold", ""), 400);
	assert_int_equal(fake_get("/hold", "id="), 400);
	assert_int_equal(fake_get("/hold", "id=a&id=b"), 400);
	assert_int_equal(fake_get("/hold", "id=%zz"), 400);
	assert_int_equal(fake.calls, 0);
	fake.document = NULL;
	assert_int_equal(fake_get("/hold", "id=" FAKE_HOLD), 404);
	fake.status = DB_DOWN;
	assert_int_equal(fake_get("/hold", "id=" FAKE_HOLD), 503);
	buf_release(&cookie);
}

static void
drops_a_hold(void **state)
{
	(void)state;
	fake.outcome = "done";
	fake.document = DOCUMENT;
	assert_int_equal(fake_json("/hold/drop", "{\"id\":\"" FAKE_HOLD "\"}"),
	    200);
	assert_string_equal(fake.reply.body.data, DOCUMENT);
	assert_int_equal(fake_form("/hold/drop", "id=" FAKE_HOLD), 303);
	assert_header("Location: /order/" FAKE_HOLD "\r\n");
	fake.outcome = "ended";
	assert_int_equal(fake_json("/hold/drop", "{\"id\":\"" FAKE_HOLD "\"}"),
	    410);
	assert_body("\"hold\":" DOCUMENT "}");
	assert_int_equal(fake_form("/hold/drop", "id=" FAKE_HOLD), 303);
	assert_header("Location: /problems/ended?item=RUN%2042\r\n");
	fake.document = NULL;
	fake.outcome = "not-yours";
	assert_int_equal(fake_json("/hold/drop", "{\"id\":\"" FAKE_HOLD "\"}"),
	    403);
	fake.outcome = "no-such-hold";
	assert_int_equal(fake_json("/hold/drop", "{\"id\":\"" FAKE_HOLD "\"}"),
	    404);
	assert_int_equal(fake_json("/hold/drop", "{\"id\":\"x\"}"), 404);
	assert_int_equal(fake_json("/hold/drop", "{\"id\":7}"), 400);
	assert_int_equal(fake_json("/hold/drop", "{}"), 400);
	assert_int_equal(fake_form("/hold/drop", "id=a&id=b"), 400);
	fake.status = DB_DOWN;
	assert_int_equal(fake_json("/hold/drop", "{\"id\":\"" FAKE_HOLD "\"}"),
	    503);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fake_setup, fake_teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(takes_an_item),
	    TEST(takes_lines),
	    TEST(takes_a_form),
	    TEST(refuses_what_it_does_not_understand),
	    TEST(refuses_forms_that_it_does_not_understand),
	    TEST(refuses_too_many_lines_and_long_values),
	    TEST(refuses_bodies_by_their_shape),
	    TEST(wants_a_proper_key),
	    TEST(says_why_nothing_was_taken),
	    TEST(sends_a_form_to_the_page_that_helps),
	    TEST(says_busy_without_a_database),
	    TEST(knows_its_buyer),
	    TEST(shows_a_hold),
	    TEST(drops_a_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
