/* sandbox/panel: what the page of faults shows, and what each form asks for. */
#include "base/conf.h"
#include "io/db_sandbox.h"
#include "sandbox/panel.h"
#include "sandbox/panel_fault.h"

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
	const char *document;
	const char *origin;
	int64_t count;
	int timeout_ms;
	char called[120];
} fake;

static struct pages pages;
static struct reply reply;

static const char empty[] =
    "{\"clock\": {\"now\": \"2026-11-30T12:00:00.000Z\", \"ahead_ms\": 0}, "
    "\"seed\": \"<seed>\", \"faults\": []}";
static const char full[] =
    "{\"clock\": {\"now\": \"2026-12-07T12:00:00.000Z\","
    " \"ahead_ms\": 608400000}, \"seed\": \"s\", \"faults\": ["
    "{\"fault\": 9, \"target\": \"look\", \"kind\": \"slow\","
    " \"percent\": 5, \"times\": 3, \"ms\": 1500, \"struck\": 1,"
    " \"active\": true},"
    "{\"fault\": 8, \"target\": \"refund\", \"kind\": \"refund_fails\","
    " \"percent\": 100, \"times\": null, \"ms\": 259200000, \"struck\": 0,"
    " \"active\": true},"
    "{\"fault\": 7, \"target\": \"moon\", \"kind\": \"<b>\","
    " \"percent\": 100, \"times\": null, \"ms\": 0, \"struck\": 2,"
    " \"active\": false}]}";

struct str
fcgi_param(const struct fcgi *fcgi, const char *name)
{
	(void)fcgi;
	return str_of(strcmp(name, "HTTP_ORIGIN") == 0 ? fake.origin : "");
}

enum db_status
db_sandbox_panel(struct db *db, int limit, struct buf *document)
{
	(void)db;
	(void)limit;
	buf_str(document, fake.document);
	return fake.status;
}

enum db_status
db_sandbox_fault_add(struct db *db, const struct sandbox_fault_new *fault,
    int64_t *id)
{
	(void)db;
	*id = 1;
	snprintf(fake.called, sizeof(fake.called),
	    "add %.*s %.*s %lld %lld %lld %lld", (int)fault->target.len,
	    fault->target.text, (int)fault->kind.len, fault->kind.text,
	    (long long)fault->percent, (long long)fault->times,
	    (long long)fault->ms, (long long)fault->timeout_ms);
	return fake.status;
}

enum db_status
db_sandbox_fault_clear(struct db *db, int64_t id, int64_t *count)
{
	(void)db;
	*count = fake.count;
	snprintf(fake.called, sizeof(fake.called), "end %lld", (long long)id);
	return fake.status;
}

enum db_status
db_sandbox_clock_forward(struct db *db, int64_t ms, struct buf *document)
{
	(void)db;
	(void)document;
	snprintf(fake.called, sizeof(fake.called), "forward %lld",
	    (long long)ms);
	return fake.status;
}

enum db_status
db_sandbox_seed_set(struct db *db, struct str seed, struct buf *now)
{
	(void)db;
	buf_add(now, seed.text, seed.len);
	snprintf(fake.called, sizeof(fake.called), "seed %.*s", (int)seed.len,
	    seed.text);
	return fake.status;
}

static void
ask(const char *method, const char *body)
{
	static char shop[] = "http://shop";
	static char pay[] = "http://pay";
	struct conf conf = {.server.public_url = shop,
	    .sandbox.pay_url = pay,
	    .stripe.timeout_ms = fake.timeout_ms};
	struct web web = {.conf = &conf, .pages = &pages};
	struct request request = {
	    .method = str_of(method),
	    .path = str_of("/faults"),
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
	sandbox_panel(&x);
}

static void
assert_page(const char *part)
{
	if (!strstr(buf_text(&reply.body), part))
		fail_msg("no \"%s\" in:\n%s", part, buf_text(&reply.body));
}

static void
assert_does(const char *body, const char *called)
{
	ask("POST", body);
	assert_string_equal(fake.called, called);
	assert_int_equal(reply.status, 303);
	assert_non_null(strstr(buf_text(&reply.headers), "Location: /faults#"));
}

static void
assert_refused(const char *body, int status, const char *why)
{
	ask("POST", body);
	assert_string_equal(fake.called, "");
	assert_int_equal(reply.status, status);
	assert_page(why);
	assert_page("href=\"/faults\"");
}

static void
the_page_offers_every_fault(void **state)
{
	(void)state;
	ask("GET", "");
	assert_int_equal(reply.status, 200);
	assert_page("2026-11-30 12:00:00 UTC");
	assert_page("the real time");
	assert_page("Nothing goes wrong.");
	assert_page("value=\"&lt;seed&gt;\"");
	assert_page("name=\"kind\" value=\"lost\"");
	assert_page("name=\"kind\" value=\"drop\"");
	assert_page("name=\"kind\" value=\"refund_pending_fails\"");
	assert_page("name=\"target\" value=\"payment\"");
	assert_page("value=\"25000\"");
	assert_null(strstr(buf_text(&reply.body), "Over by now"));
}

static void
the_page_lists_what_is_on_and_over(void **state)
{
	const char *over;

	(void)state;
	fake.document = full;
	ask("GET", "");
	assert_page("7 days 1 h ahead of the real time");
	assert_page("<strong>Slow answer</strong> <span>questions</span>");
	assert_page("5 of a hundred, 3 times in all, for 1500 ms. "
		    "<strong>Struck 1 time.");
	assert_page("100 of a hundred, after 3 days. <strong>Struck 0 times.");
	assert_page("name=\"fault\" value=\"9\"");
	assert_page("value=\"end_all\"");
	over = strstr(buf_text(&reply.body), "Over by now");
	assert_non_null(over);
	assert_non_null(strstr(over, "&lt;b&gt;</strong> <span>moon"));
	assert_null(
	    strstr(buf_text(&reply.body), "name=\"fault\" value=\"7\""));
}

static void
a_fault_is_added_as_filled_in(void **state)
{
	(void)state;
	assert_does("do=add&kind=slow&target=open&percent=7&times=3&ms=40",
	    "add open slow 7 3 40 25000");
	assert_does("do=add&kind=lost&target=any&percent=&times=&ms=",
	    "add any lost 100 0 -1 25000");
	assert_does("do=add&kind=dispute&target=payment&days=365",
	    "add payment dispute 100 0 31536000000 25000");
	assert_does("do=add&kind=delay&target=delivery&ms=86400000",
	    "add delivery delay 100 0 86400000 25000");
	/* No answer is later than nginx waits. */
	fake.timeout_ms = 120000;
	assert_does("do=add&kind=timeout&target=any",
	    "add any timeout 100 0 -1 100000");
}

static void
what_cannot_be_is_named(void **state)
{
	(void)state;
	assert_refused("", 400, "nothing that this page can do");
	assert_refused("do=%zz", 400, "The form is damaged");
	assert_refused("do=add&kind=fire&target=any", 400, "no such fault");
	assert_refused("do=add&kind=conflict&target=look", 400,
	    "cannot happen to that");
	assert_refused("do=add&kind=slow&target=any&percent=101", 400,
	    "“Of a hundred” is a whole number from 1 to 100, or empty.");
	assert_refused("do=add&kind=slow&target=any&percent=1&percent=2", 400,
	    "“Of a hundred”");
	assert_refused("do=add&kind=slow&target=any&times=0", 400,
	    "“Times in all”");
	assert_refused("do=add&kind=slow&target=any&ms=100001", 400,
	    "from 0 to 100000");
	assert_refused("do=add&kind=delay&target=delivery&ms=86400001", 400,
	    "from 0 to 86400000");
	assert_refused("do=add&kind=dispute&target=payment&days=1.5", 400,
	    "“After days”");
	assert_refused("do=end&fault=x", 400, "fault&#39;s number");
	assert_refused("do=forward", 400, "“Hours” is a whole number");
	assert_refused("do=seed", 400, "1 to 200");
}

static void
faults_clock_and_seed(void **state)
{
	(void)state;
	fake.count = 1;
	assert_does("do=end&fault=12", "end 12");
	assert_does("do=forward&hours=168", "forward 604800000");
	assert_does("do=seed&seed=a+b", "seed a b");
	fake.count = 0;
	assert_does("do=end_all", "end 0");
	ask("POST", "do=end&fault=13");
	assert_int_equal(reply.status, 404);
	fake.status = DB_DOWN;
	ask("POST", "do=end_all");
	assert_int_equal(reply.status, 503);
	ask("GET", "");
	assert_int_equal(reply.status, 503);
	fake.status = DB_REFUSED;
	ask("POST", "do=end_all");
	assert_int_equal(reply.status, 400);
}

static void
another_site_cannot(void **state)
{
	(void)state;
	fake.origin = "http://pay.evil";
	assert_refused("do=end_all", 403, "another site");
}

static int
set_up(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	fake.document = empty;
	fake.origin = "http://pay";
	fake.timeout_ms = 20000;
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
	    cmocka_unit_test_setup(the_page_offers_every_fault, set_up),
	    cmocka_unit_test_setup(the_page_lists_what_is_on_and_over, set_up),
	    cmocka_unit_test_setup(a_fault_is_added_as_filled_in, set_up),
	    cmocka_unit_test_setup(what_cannot_be_is_named, set_up),
	    cmocka_unit_test_setup(faults_clock_and_seed, set_up),
	    cmocka_unit_test_setup(another_site_cannot, set_up),
	};

	return cmocka_run_group_tests_name("sandbox/panel", tests, load,
	    release);
}
