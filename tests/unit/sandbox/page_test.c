/* sandbox/page: what a shopper sees and where each button leads. */
#include "base/conf.h"
#include "io/db_sandbox.h"
#include "sandbox/page.h"

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
	const char *view; /* before and after each act; "" for none */
	const char *name;
	const char *error;
	int64_t refunded;
	char called[60];
	const char *origin; /* as a browser sends it */
} fake;

static struct pages pages;
static struct reply reply;

struct str
fcgi_param(const struct fcgi *fcgi, const char *name)
{
	(void)fcgi;
	return str_of(strcmp(name, "HTTP_ORIGIN") == 0 ? fake.origin : "");
}

enum db_status
db_sandbox_session_page(struct db *db, struct str id,
    struct sandbox_session *session)
{
	(void)db;
	(void)id;
	snprintf(session->view.text, sizeof(session->view.text), "%s",
	    fake.view);
	buf_str(&session->name, fake.name);
	buf_str(&session->error, fake.error);
	session->quantity = 2;
	session->amount = 4999;
	session->refunded = fake.refunded;
	memcpy(session->currency, "EUR", 4);
	session->left_ms = 90000;
	session->pay_in_ms = strcmp(fake.view, "held") == 0 ? 3000 : -1;
	buf_str(&session->success_url,
	    "http://shop/o?cs={CHECKOUT_SESSION_ID}");
	buf_str(&session->back_url, "http://shop/back");
	return fake.status;
}

void
sandbox_session_release(struct sandbox_session *session)
{
	buf_release(&session->error);
	buf_release(&session->name);
	buf_release(&session->success_url);
	buf_release(&session->back_url);
}

static enum db_status
fake_act(struct sandbox_view *view, const char *called)
{
	snprintf(fake.called, sizeof(fake.called), "%s", called);
	snprintf(view->text, sizeof(view->text), "%s", fake.view);
	return fake.status;
}

enum db_status
db_sandbox_session_pay(struct db *db, struct str id,
    const struct sandbox_pay *pay, struct sandbox_view *view)
{
	char called[40];

	(void)db;
	(void)id;
	snprintf(called, sizeof(called), "pay %lld %d",
	    (long long)pay->delay_ms, pay->even_if_expired);
	return fake_act(view, called);
}

enum db_status
db_sandbox_session_decline(struct db *db, struct str id,
    struct sandbox_view *view)
{
	(void)db;
	(void)id;
	return fake_act(view, "decline");
}

enum db_status
db_sandbox_session_bank(struct db *db, struct str id,
    const struct sandbox_bank *bank, struct sandbox_view *view)
{
	char called[40];

	(void)db;
	(void)id;
	snprintf(called, sizeof(called), "bank %s %lld",
	    bank->outcome ? bank->outcome : "-", (long long)bank->delay_ms);
	return fake_act(view, called);
}

enum db_status
db_sandbox_session_pay_then(struct db *db, struct str id,
    const struct sandbox_then *then, struct sandbox_view *view)
{
	char called[60];

	(void)db;
	(void)id;
	snprintf(called, sizeof(called), "then %s %lld", then->what,
	    (long long)then->after_ms);
	return fake_act(view, called);
}

static void
ask(const char *method, const char *body)
{
	static char origin[] = "http://shop";
	static char pay[] = "http://pay";
	struct conf conf = {.server.public_url = origin,
	    .sandbox.pay_url = pay};
	struct web web = {.conf = &conf, .pages = &pages};
	struct request request = {
	    .method = str_of(method),
	    .path = str_of("/c/pay/cs_test_1"),
	    .body = str_of(body),
	};
	struct exchange x = {
	    .web = &web,
	    .request = &request,
	    .reply = &reply,
	};

	fake.called[0] = '\0';
	buf_reset(&reply.headers);
	buf_reset(&reply.body);
	sandbox_page(&x);
}

static void
assert_page(const char *part)
{
	if (!strstr(buf_text(&reply.body), part))
		fail_msg("no \"%s\" in:\n%s", part, buf_text(&reply.body));
}

/* A POST that does `called` and leads to location. */
static void
assert_leads(const char *body, const char *called, const char *location)
{
	struct buf header = {0};

	ask("POST", body);
	assert_int_equal(reply.status, 303);
	assert_string_equal(fake.called, called);
	buf_printf(&header, "Location: %s\r\n", location);
	if (!strstr(buf_text(&reply.headers), buf_text(&header)))
		fail_msg("no %s in:\n%s", buf_text(&header),
		    buf_text(&reply.headers));
	buf_release(&header);
}

static void
an_open_page_offers_to_pay(void **state)
{
	(void)state;
	fake.name = "Lamp <b>";
	ask("GET", "");
	assert_int_equal(reply.status, 200);
	assert_page("2 x Lamp &lt;b&gt;");
	assert_page("Pay 49.99 EUR");
	assert_page("1 min 30 s");
	assert_page("Test mode");
	assert_page("role=\"status\"></p>");
	assert_non_null(strstr(buf_text(&reply.headers),
	    "form-action 'self' http://shop http://shop;"));
}

static void
a_declined_card_is_said(void **state)
{
	(void)state;
	fake.error = "card_declined";
	ask("GET", "");
	assert_page("The card was declined");
}

static void
other_states_are_said(void **state)
{
	(void)state;
	fake.view = "paid";
	ask("GET", "");
	assert_page("This is paid");
	assert_page("href=\"http://shop/o?cs=cs_test_1\"");
	fake.refunded = 4999;
	ask("GET", "");
	assert_page("sent back");
	fake.refunded = 0;
	fake.view = "expired";
	ask("GET", "");
	assert_page("This pay page is closed");
	assert_page("href=\"http://shop/back\"");
	fake.view = "failed";
	ask("GET", "");
	assert_page("refused the debit");
	fake.view = "bank";
	ask("GET", "");
	assert_page("value=\"settle\"");
	fake.view = "held";
	ask("GET", "");
	assert_page("carried out in 3 s");
}

static void
each_button_leads_on(void **state)
{
	(void)state;
	assert_leads("do=decline", "decline", "/c/pay/cs_test_1");
	assert_leads("do=leave", "", "http://shop/back");
	fake.view = "bank";
	assert_leads("do=later", "bank - 0", "/c/pay/cs_test_1");
	fake.view = "held";
	assert_leads("do=debit&what=failed&days=3", "bank failed 259200000",
	    "/c/pay/cs_test_1");
	assert_leads("do=late&seconds=620", "pay 620000 1", "/c/pay/cs_test_1");
	fake.view = "failed";
	assert_leads("do=fail", "bank failed 0", "/c/pay/cs_test_1");
	fake.view = "paid";
	assert_leads("do=pay", "pay 0 0", "http://shop/o?cs=cs_test_1");
	assert_leads("do=then&what=refund_pending_fails&days=0",
	    "then refund_pending_fails 0", "http://shop/o?cs=cs_test_1");
	assert_leads("do=then&what=dispute&days=365",
	    "then dispute 31536000000", "http://shop/o?cs=cs_test_1");
	assert_leads("do=settle", "bank succeeded 0",
	    "http://shop/o?cs=cs_test_1");
}

static void
too_late_to_pay_shows_the_page(void **state)
{
	(void)state;
	fake.view = "expired";
	assert_leads("do=pay", "pay 0 0", "/c/pay/cs_test_1");
}

static void
nonsense_does_nothing(void **state)
{
	static const char *const bodies[] = {
	    "",
	    "do=",
	    "do=steal",
	    "do=late",
	    "do=late&seconds=",
	    "do=late&seconds=-1",
	    "do=late&seconds=1.5",
	    "do=late&seconds=86401",
	    "do=late&seconds=1&seconds=2",
	    "do=then&what=dispute",
	    "do=then&what=dispute&days=366",
	    "do=then&what=succeeded&days=1",
	    "do=then&days=1",
	    "do=debit&what=dispute&days=1",
	    "do=debit&what=failed&days=",
	    "do=%zz",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		ask("POST", bodies[i]);
		assert_int_equal(reply.status, 400);
		assert_string_equal(fake.called, "");
	}
}

static void
a_form_of_another_site_does_nothing(void **state)
{
	(void)state;
	fake.origin = "http://shop";
	ask("POST", "do=pay");
	assert_int_equal(reply.status, 403);
	assert_string_equal(fake.called, "");
	assert_page("sent by a page of another site");
	fake.origin = "http://pay";
	fake.view = "paid";
	assert_leads("do=pay", "pay 0 0", "http://shop/o?cs=cs_test_1");
}

static void
what_is_wrong_is_named(void **state)
{
	(void)state;
	ask("POST", "do=late&seconds=86401");
	assert_page("“Seconds” is a whole number from 0 to 86400.");
	assert_page("href=\"/c/pay/cs_test_1\"");
	ask("POST", "do=debit&what=&days=1");
	assert_page("Choose from the list");
}

static void
every_page_leads_to_the_faults(void **state)
{
	static const char *const views[] = {"open", "bank", "held", "paid",
	    "failed", "expired", ""};

	(void)state;
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		fake.view = views[i];
		ask("GET", "");
		assert_page("href=\"/faults\"");
	}
}

static void
no_session_and_no_database(void **state)
{
	(void)state;
	fake.view = "";
	ask("GET", "");
	assert_int_equal(reply.status, 404);
	ask("POST", "do=pay");
	assert_int_equal(reply.status, 404);
	fake.status = DB_DOWN;
	ask("GET", "");
	assert_int_equal(reply.status, 503);
	ask("POST", "do=pay");
	assert_int_equal(reply.status, 503);
}

static int
set_up(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	fake.view = "open";
	fake.name = "Lamp";
	fake.error = "";
	fake.origin = "";
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
	    cmocka_unit_test_setup(an_open_page_offers_to_pay, set_up),
	    cmocka_unit_test_setup(a_declined_card_is_said, set_up),
	    cmocka_unit_test_setup(other_states_are_said, set_up),
	    cmocka_unit_test_setup(each_button_leads_on, set_up),
	    cmocka_unit_test_setup(too_late_to_pay_shows_the_page, set_up),
	    cmocka_unit_test_setup(nonsense_does_nothing, set_up),
	    cmocka_unit_test_setup(a_form_of_another_site_does_nothing, set_up),
	    cmocka_unit_test_setup(what_is_wrong_is_named, set_up),
	    cmocka_unit_test_setup(every_page_leads_to_the_faults, set_up),
	    cmocka_unit_test_setup(no_session_and_no_database, set_up),
	};

	return cmocka_run_group_tests_name("sandbox/page", tests, load,
	    release);
}
