/* sandbox/index: what the page of payments shows, and what its forms do. */
#include "base/conf.h"
#include "io/db_sandbox.h"
#include "sandbox/index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

/* What the database would say, and what it was asked. */
static struct {
	enum db_status status;
	const char *sessions;
	const char *deliveries;
	const char *books;
	const char *made;
	const char *problem;
	bool found;
	char called[120];
} fake;

static struct pages pages;
static struct reply reply;

struct str
fcgi_param(const struct fcgi *fcgi, const char *name)
{
	(void)fcgi;
	(void)name;
	return (struct str){NULL, 0};
}

enum db_status
db_sandbox_desk(struct db *db, int limit, struct buf *document)
{
	(void)db;
	(void)limit;
	buf_printf(document,
	    "{\"sessions\": [%s], \"deliveries\": [%s], \"unsent\": 4, "
	    "\"books\": {%s}, \"faults\": 1, "
	    "\"clock\": {\"now\": \"2026-11-30T12:00:00.000Z\"}}",
	    fake.sessions, fake.deliveries, fake.books);
	return fake.status;
}

static enum db_status
fake_call(const char *what, struct str id)
{
	snprintf(fake.called, sizeof(fake.called), "%s %.*s", what, (int)id.len,
	    id.text ? id.text : "");
	return fake.status;
}

static enum db_status
fake_made(const char *what, struct str id, struct sandbox_made *made)
{
	buf_str(&made->id, fake.made);
	buf_str(&made->problem, fake.problem);
	return fake_call(what, id);
}

enum db_status
db_sandbox_payment_refund(struct db *db, struct str id, int64_t amount,
    struct sandbox_made *made)
{
	char what[40];

	(void)db;
	snprintf(what, sizeof(what), "refund %lld", (long long)amount);
	return fake_made(what, id, made);
}

enum db_status
db_sandbox_payment_dispute(struct db *db, struct str id, bool inquiry,
    struct sandbox_made *made)
{
	(void)db;
	return fake_made(inquiry ? "inquiry" : "dispute", id, made);
}

enum db_status
db_sandbox_dispute_close(struct db *db, struct str id, const char *outcome,
    struct sandbox_made *made)
{
	(void)db;
	return fake_made(outcome, id, made);
}

enum db_status
db_sandbox_refund_fail(struct db *db, struct str id, bool *found)
{
	(void)db;
	*found = fake.found;
	return fake_call("fail", id);
}

enum db_status
db_sandbox_event_resend(struct db *db, struct str id, bool *found)
{
	(void)db;
	*found = fake.found;
	return fake_call("resend", id);
}

enum db_status
db_sandbox_delivery_flush(struct db *db, bool dropped,
    struct sandbox_flush *flush)
{
	(void)db;
	*flush = (struct sandbox_flush){0, 0};
	return fake_call("flush", str_of(dropped ? "dropped" : "waiting"));
}

static void
ask(const char *method, const char *text)
{
	static char shop[] = "http://shop";
	static char pay[] = "http://pay";
	struct conf conf = {.server.public_url = shop, .sandbox.pay_url = pay};
	struct web web = {.conf = &conf, .pages = &pages};
	bool post = strcmp(method, "POST") == 0;
	struct request request = {
	    .method = str_of(method),
	    .path = str_of("/"),
	    .query = str_of(post ? "" : text),
	    .body = str_of(post ? text : ""),
	};
	struct exchange x = {
	    .web = &web,
	    .request = &request,
	    .reply = &reply,
	};

	fake.called[0] = '\0';
	buf_reset(&reply.headers);
	buf_reset(&reply.body);
	sandbox_index(&x);
}

static bool
has(const char *part)
{
	return strstr(buf_text(&reply.body), part) != NULL;
}

static void
assert_page(const char *part)
{
	if (!has(part))
		fail_msg("no \"%s\" in:\n%s", part, buf_text(&reply.body));
}

static void
assert_does(const char *body, const char *called, const char *location)
{
	struct buf header = {0};

	ask("POST", body);
	assert_string_equal(fake.called, called);
	assert_int_equal(reply.status, 303);
	buf_printf(&header, "Location: %s\r\n", location);
	assert_non_null(strstr(buf_text(&reply.headers), buf_text(&header)));
	buf_release(&header);
}

#define SESSION \
	"{\"id\": \"cs_1\", \"created\": \"2026-11-30T11:00:00.000Z\", " \
	"\"name\": \"Lamp <b>\", \"amount\": 4999, \"currency\": \"EUR\", " \
	"\"reference\": \"ord_7\", "

static void
nothing_so_far(void **state)
{
	(void)state;
	ask("GET", "");
	assert_int_equal(reply.status, 200);
	assert_page("<p>None so far.</p>");
	assert_page("<strong>1 fault is switched on.</strong>");
	assert_page("2026-11-30 12:00:00 UTC");
	assert_page("Send what was dropped (4)");
	assert_page("<dt>Paid</dt><dd>nothing</dd>");
	fake.status = DB_DOWN;
	ask("GET", "");
	assert_int_equal(reply.status, 503);
}

static void
a_payment_offers_what_can_be_done(void **state)
{
	(void)state;
	fake.sessions =
	    SESSION "\"view\": \"paid\", \"refunded\": 1000, "
		    "\"payment\": \"pi_1\", \"left\": 3999, "
		    "\"dispute\": null, \"dispute_in_ms\": 86400000,"
		    " \"refunds\": [{\"id\": \"re_1\", "
		    "\"amount\": 1000, \"status\": \"pending\", "
		    "\"turn_to\": \"failed\", "
		    "\"turns_in_ms\": 3600000}]}";
	ask("GET", "");
	assert_page("Lamp &lt;b&gt;");
	assert_page("<details class=\"fold\" id=\"cs_1\">");
	assert_page("49.99 EUR");
	assert_page("10.00 EUR refunded");
	assert_page("Refund of 10.00 EUR");
	assert_page("It is to be failed in 1 h.");
	assert_page("The bank disputes it in 1 day.");
	assert_page("name=\"refund\" value=\"re_1\"");
	assert_page("name=\"currency\" value=\"EUR\"");
	assert_page("value=\"dispute\"");
	ask("GET", "show=cs_1");
	assert_page("id=\"cs_1\" open>");
}

static void
what_cannot_be_is_not_offered(void **state)
{
	static const char *const rests[] = {
	    "\"view\": \"open\", \"payment\": null}",
	    "\"view\": \"bank\", \"payment\": null, \"left\": 4999, "
	    "\"settle_to\": \"failed\", \"settle_in_ms\": 1000}",
	    "\"view\": \"paid\", \"payment\": \"pi_1\", \"left\": 0, "
	    "\"refunds\": [{\"id\": \"re_1\", \"amount\": 1, "
	    "\"status\": \"failed\"}]}",
	    "\"view\": \"paid\", \"payment\": \"pi_1\", \"left\": 9, "
	    "\"dispute\": {\"id\": \"du_1\", \"amount\": 9, "
	    "\"status\": \"lost\"}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rests) / sizeof(rests[0]); i++) {
		char text[500];

		snprintf(text, sizeof(text), SESSION "%s", rests[i]);
		fake.sessions = text;
		ask("GET", "");
		assert_false(has("value=\"refund\""));
		assert_false(has("value=\"dispute\""));
		assert_false(has("value=\"fail\""));
		assert_false(has("value=\"won\""));
	}
}

static void
disputes_are_decided(void **state)
{
	(void)state;
	fake.sessions = SESSION "\"view\": \"paid\", \"payment\": \"pi_1\", "
				"\"left\": 4999, \"dispute\": {\"id\": "
				"\"du_1\", \"amount\": 4999, \"status\": "
				"\"needs_response\"}}";
	ask("GET", "");
	assert_page("value=\"won\"");
	assert_page("value=\"lost\"");
	assert_page("name=\"dispute\" value=\"du_1\"");
	assert_false(has("value=\"refund\""));
	assert_false(has("value=\"inquiry\""));
}

/* The bank has asked: it may be content, or dispute the payment after all. */
static void
inquiries_are_closed_or_become_disputes(void **state)
{
	(void)state;
	fake.sessions = SESSION "\"view\": \"paid\", \"payment\": \"pi_1\", "
				"\"left\": 4999, \"dispute\": {\"id\": "
				"\"du_1\", \"amount\": 4999, \"status\": "
				"\"warning_needs_response\"}}";
	ask("GET", "");
	assert_page("the bank asks</span>");
	assert_page("Inquiry about");
	assert_page("name=\"dispute\" value=\"du_1\"");
	assert_page("value=\"won\"");
	assert_false(has("value=\"lost\""));
	assert_page("value=\"dispute\"");
	assert_page("value=\"refund\"");
	assert_false(has("value=\"inquiry\""));
	fake.sessions = SESSION "\"view\": \"paid\", \"payment\": \"pi_1\", "
				"\"left\": 4999, \"dispute\": {\"id\": "
				"\"du_1\", \"amount\": 4999, \"status\": "
				"\"warning_closed\"}}";
	ask("GET", "");
	assert_page("inquiry closed</span>");
	assert_false(has("value=\"won\""));
	assert_page("value=\"dispute\"");
	assert_page("value=\"inquiry\"");
}

static void
webhooks_and_books(void **state)
{
	(void)state;
	fake.deliveries =
	    "{\"event\": \"evt_1\", \"type\": \"a.b\", \"tries\": 2, "
	    "\"created\": \"2026-11-30T11:00:00.000Z\", \"status\": 503, "
	    "\"error\": null, \"state\": \"waiting\", \"next_try_in_ms\": "
	    "5000}";
	fake.books = "\"captured\": {\"EUR\": 1250, \"JPY\": 500}, "
		     "\"deliveries_waiting\": 3, \"disputes_open\": 2";
	ask("GET", "");
	assert_page("2026-11-30 11:00:00 UTC, 2 tries, 503, next in 5 s");
	assert_page("name=\"event\" value=\"evt_1\"");
	assert_page("<dt>Paid</dt><dd>12.50 EUR, 500 JPY</dd>");
	assert_page("<dt>Disputes open</dt><dd>2</dd>");
	assert_page("Send what waits (3)");
}

static void
each_form_does_what_it_says(void **state)
{
	(void)state;
	fake.made = "x_1";
	fake.found = true;
	assert_does("do=refund&payment=pi_1&currency=EUR&amount=12.5",
	    "refund 1250 pi_1", "/");
	assert_does("do=refund&payment=pi_1&currency=EUR&amount=&session=cs_1",
	    "refund 0 pi_1", "/?show=cs_1#cs_1");
	assert_does("do=dispute&payment=pi_1&session=%22%0d", "dispute pi_1",
	    "/?show=%22%0D#%22%0D");
	assert_does("do=inquiry&payment=pi_1", "inquiry pi_1", "/");
	assert_does("do=won&dispute=du_1", "won du_1", "/");
	assert_does("do=lost&dispute=du_1", "lost du_1", "/");
	assert_does("do=fail&refund=re_1", "fail re_1", "/");
	assert_does("do=resend&event=evt_1", "resend evt_1", "/#deliveries");
	assert_does("do=flush", "flush waiting", "/#deliveries");
	assert_does("do=flush_dropped", "flush dropped", "/#deliveries");
}

static void
what_is_wrong_is_said(void **state)
{
	(void)state;
	ask("POST", "do=refund&payment=pi_1&currency=EUR&amount=1.234");
	assert_int_equal(reply.status, 400);
	assert_string_equal(fake.called, "");
	assert_page("too many decimals");
	ask("POST", "do=fly");
	assert_int_equal(reply.status, 400);
	ask("POST", "do=dispute&payment=pi_1");
	assert_int_equal(reply.status, 404);
	ask("POST", "do=fail&refund=re_1");
	assert_int_equal(reply.status, 404);
	ask("POST", "do=resend");
	assert_int_equal(reply.status, 404);
	fake.problem = "it is <not> paid";
	ask("POST", "do=dispute&payment=pi_1&session=cs_1");
	assert_int_equal(reply.status, 409);
	assert_page("The provider refuses: it is &lt;not&gt; paid.");
	assert_page("href=\"/?show=cs_1#cs_1\"");
	fake.status = DB_REFUSED;
	ask("POST", "do=dispute&payment=pi_1");
	assert_int_equal(reply.status, 400);
}

static int
set_up(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	fake.sessions = "";
	fake.deliveries = "";
	fake.books = "";
	fake.made = "";
	fake.problem = "";
	return 0;
}

static int
load(void **state)
{
	(void)state;
	/* Tests run in the project's folder. */
	return pages_load(&pages, ".") ? -1 : 0;
}

static int
release(void **state)
{
	(void)state;
	pages_release(&pages);
	buf_release(&reply.headers);
	buf_release(&reply.body);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(nothing_so_far, set_up),
	    cmocka_unit_test_setup(a_payment_offers_what_can_be_done, set_up),
	    cmocka_unit_test_setup(what_cannot_be_is_not_offered, set_up),
	    cmocka_unit_test_setup(disputes_are_decided, set_up),
	    cmocka_unit_test_setup(inquiries_are_closed_or_become_disputes,
		set_up),
	    cmocka_unit_test_setup(webhooks_and_books, set_up),
	    cmocka_unit_test_setup(each_form_does_what_it_says, set_up),
	    cmocka_unit_test_setup(what_is_wrong_is_said, set_up),
	};

	return cmocka_run_group_tests_name("sandbox/index", tests, load,
	    release);
}
