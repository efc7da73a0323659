/* sandbox/control: what each lever asks the database for, and says of it. */
#include "base/conf.h"
#include "io/db_sandbox.h"
#include "sandbox/control.h"

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
	const char *view;
	const char *made;
	const char *problem;
	bool found;
	char called[120];
} fake;

static struct reply reply;

static enum db_status
fake_call(const char *what, struct str id, const char *rest)
{
	snprintf(fake.called, sizeof(fake.called), "%s %.*s%s", what,
	    (int)id.len, id.text ? id.text : "", rest);
	return fake.status;
}

static enum db_status
fake_view(const char *what, struct str id, const char *rest,
    struct sandbox_view *view)
{
	snprintf(view->text, sizeof(view->text), "%s", fake.view);
	return fake_call(what, id, rest);
}

static enum db_status
fake_made(const char *what, struct str id, const char *rest,
    struct sandbox_made *made)
{
	buf_str(&made->id, fake.made);
	buf_str(&made->problem, fake.problem);
	return fake_call(what, id, rest);
}

enum db_status
db_sandbox_session_pay(struct db *db, struct str id,
    const struct sandbox_pay *pay, struct sandbox_view *view)
{
	char rest[40];

	snprintf(rest, sizeof(rest), " %lld %d", (long long)pay->delay_ms,
	    pay->even_if_expired);
	return fake_view("pay", id, rest, view);
}

enum db_status
db_sandbox_session_bank(struct db *db, struct str id,
    const struct sandbox_bank *bank, struct sandbox_view *view)
{
	char rest[40];

	snprintf(rest, sizeof(rest), " %s %lld",
	    bank->outcome ? bank->outcome : "-", (long long)bank->delay_ms);
	return fake_view("bank", id, rest, view);
}

enum db_status
db_sandbox_payment_refund(struct db *db, struct str id, int64_t amount,
    struct sandbox_made *made)
{
	char rest[40];

	snprintf(rest, sizeof(rest), " %lld", (long long)amount);
	return fake_made("refund", id, rest, made);
}

enum db_status
db_sandbox_payment_dispute(struct db *db, struct str id, bool inquiry,
    struct sandbox_made *made)
{
	return fake_made("dispute", id, inquiry ? " asks" : "", made);
}

enum db_status
db_sandbox_dispute_close(struct db *db, struct str id, const char *outcome,
    struct sandbox_made *made)
{
	char rest[40];

	snprintf(rest, sizeof(rest), " %s", outcome);
	return fake_made("close", id, rest, made);
}

enum db_status
db_sandbox_refund_fail(struct db *db, struct str id, bool *found)
{
	*found = fake.found;
	return fake_call("fail", id, "");
}

enum db_status
db_sandbox_clock_forward(struct db *db, int64_t ms, struct buf *document)
{
	char rest[40];

	snprintf(rest, sizeof(rest), "%lld", (long long)ms);
	buf_str(document, "{\"ahead_ms\": 1}");
	return fake_call("forward", (struct str){NULL, 0}, rest);
}

enum db_status
db_sandbox_seed_set(struct db *db, struct str seed, struct buf *now)
{
	buf_add(now, seed.text, seed.len);
	return fake_call("seed", seed, "");
}

enum db_status
db_sandbox_fault_add(struct db *db, const struct sandbox_fault_new *fault,
    int64_t *id)
{
	char rest[80];

	snprintf(rest, sizeof(rest), " %.*s %lld %lld %lld %lld",
	    (int)fault->kind.len, fault->kind.text, (long long)fault->percent,
	    (long long)fault->times, (long long)fault->ms,
	    (long long)fault->timeout_ms);
	*id = 7;
	return fake_call("fault", fault->target, rest);
}

enum db_status
db_sandbox_fault_clear(struct db *db, int64_t id, int64_t *count)
{
	char rest[40];

	snprintf(rest, sizeof(rest), "%lld", (long long)id);
	*count = fake.found;
	return fake_call("clear", (struct str){NULL, 0}, rest);
}

enum db_status
db_sandbox_delivery_flush(struct db *db, bool dropped,
    struct sandbox_flush *flush)
{
	*flush = (struct sandbox_flush){.due = 2, .resent = 3};
	return fake_call("flush", (struct str){NULL, 0}, dropped ? "all" : "");
}

static void
fake_reset(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.view = "";
	fake.made = "";
	fake.problem = "";
}

static void
post(const char *path, const char *body)
{
	struct conf conf = {.stripe.timeout_ms = 20000};
	struct web web = {.conf = &conf};
	struct request request = {
	    .method = str_of("POST"),
	    .path = str_of(path),
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
	sandbox_control(&x);
}

static void
assert_answer(int status, const char *called, const char *body)
{
	assert_string_equal(fake.called, called);
	assert_int_equal(reply.status, status);
	assert_string_equal(buf_text(&reply.body), body);
}

/* Refused before the database is asked. */
static void
assert_refused(const char *path, const char *body)
{
	post(path, body);
	if (reply.status != 400 || fake.called[0])
		fail_msg("%s took %s", path, body);
}

static void
a_session_is_paid(void **state)
{
	(void)state;
	fake_reset();
	fake.view = "paid";
	post("/sandbox/sessions/cs_1/pay", "");
	assert_answer(200, "pay cs_1 0 0",
	    "{\"session\": \"cs_1\", \"view\": \"paid\"}");
	post("/sandbox/sessions/cs_1/pay",
	    "{\"delay_ms\": 5, \"even_if_expired\": true}");
	assert_answer(200, "pay cs_1 5 1",
	    "{\"session\": \"cs_1\", \"view\": \"paid\"}");
	fake.view = "expired";
	post("/sandbox/sessions/cs_1/pay", "");
	assert_int_equal(reply.status, 409);
	fake.view = "";
	post("/sandbox/sessions/cs_1/pay", "");
	assert_int_equal(reply.status, 404);
	assert_refused("/sandbox/sessions/cs_1/pay", "{\"delay_ms\": -1}");
	assert_refused("/sandbox/sessions/cs_1/pay", "{\"delay_ms\": \"1\"}");
	assert_refused("/sandbox/sessions/cs_1/pay", "{");
}

static void
a_debit_is_decided_now_or_later(void **state)
{
	(void)state;
	fake_reset();
	fake.view = "bank";
	post("/sandbox/sessions/cs_1/bank", "{}");
	assert_int_equal(reply.status, 200);
	assert_string_equal(fake.called, "bank cs_1 - 0");
	post("/sandbox/sessions/cs_1/bank",
	    "{\"outcome\": \"failed\", \"delay_ms\": 9}");
	assert_int_equal(reply.status, 200);
	assert_string_equal(fake.called, "bank cs_1 failed 9");
	/* Said to come at once, it did not. */
	post("/sandbox/sessions/cs_1/bank", "{\"outcome\": \"succeeded\"}");
	assert_int_equal(reply.status, 409);
	fake.view = "paid";
	post("/sandbox/sessions/cs_1/bank", "{\"outcome\": \"succeeded\"}");
	assert_int_equal(reply.status, 200);
	assert_refused("/sandbox/sessions/cs_1/bank", "{\"outcome\": \"so\"}");
}

static void
money_goes_back_by_hand(void **state)
{
	(void)state;
	fake_reset();
	fake.made = "re_1";
	post("/sandbox/payments/pi_1/refund", "{\"amount\": 5}");
	assert_answer(200, "refund pi_1 5", "{\"refund\": \"re_1\"}");
	post("/sandbox/payments/pi_1/refund", "");
	assert_string_equal(fake.called, "refund pi_1 0");
	assert_refused("/sandbox/payments/pi_1/refund", "{\"amount\": 0}");
	assert_refused("/sandbox/payments/pi_1/refund", "{\"amount\": 1.5}");
	fake.made = "";
	fake.problem = "too \"much\"";
	post("/sandbox/payments/pi_1/refund", "");
	assert_answer(409, "refund pi_1 0",
	    "{\"error\": \"too \\\"much\\\"\"}");
	fake.problem = "";
	post("/sandbox/payments/pi_1/dispute", "");
	assert_int_equal(reply.status, 404);
	fake.made = "du_1";
	post("/sandbox/payments/pi_1/dispute", "{\"inquiry\": true}");
	assert_string_equal(fake.called, "dispute pi_1 asks");
	post("/sandbox/disputes/du_1/close", "{\"outcome\": \"lost\"}");
	assert_answer(200, "close du_1 lost", "{\"dispute\": \"du_1\"}");
	assert_refused("/sandbox/disputes/du_1/close", "{}");
	post("/sandbox/refunds/re_1/fail", "");
	assert_int_equal(reply.status, 404);
	fake.found = true;
	post("/sandbox/refunds/re_1/fail", "");
	assert_answer(200, "fail re_1", "{}");
}

static void
faults_are_added_and_cleared(void **state)
{
	static const char *const bad[] = {"{}", "{\"target\": \"open\"}",
	    "{\"target\": \"open\", \"kind\": \"slow\", \"percent\": 0}",
	    "{\"target\": \"open\", \"kind\": \"slow\", \"percent\": 101}",
	    "{\"target\": \"open\", \"kind\": \"slow\", \"times\": 0}",
	    "{\"target\": \"open\", \"kind\": \"slow\", \"ms\": -1}"};

	(void)state;
	fake_reset();
	post("/sandbox/faults", "{\"target\": \"open\", \"kind\": \"slow\"}");
	assert_answer(200, "fault open slow 100 0 -1 25000", "{\"fault\": 7}");
	post("/sandbox/faults",
	    "{\"target\": \"any\", \"kind\": \"lost\", \"percent\": 5, "
	    "\"times\": 2, \"ms\": 9}");
	assert_string_equal(fake.called, "fault any lost 5 2 9 25000");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_refused("/sandbox/faults", bad[i]);
	fake.status = DB_REFUSED;
	post("/sandbox/faults", "{\"target\": \"open\", \"kind\": \"drop\"}");
	assert_int_equal(reply.status, 400);
	fake.status = DB_OK;
	post("/sandbox/faults/7/clear", "");
	assert_answer(404, "clear 7", "{\"error\": \"no such thing\"}");
	post("/sandbox/faults/x/clear", "");
	assert_int_equal(reply.status, 404);
	fake.found = true;
	post("/sandbox/faults/7/clear", "");
	assert_answer(200, "clear 7", "{}");
	post("/sandbox/faults/clear", "");
	assert_answer(200, "clear 0", "{\"cleared\": 1}");
}

static void
the_clock_and_the_seed_are_set(void **state)
{
	(void)state;
	fake_reset();
	post("/sandbox/clock", "{\"forward_ms\": 60000}");
	assert_answer(200, "forward 60000", "{\"ahead_ms\": 1}");
	assert_refused("/sandbox/clock", "{\"forward_ms\": -1}");
	post("/sandbox/seed", "{\"seed\": \"a\\\"b\"}");
	assert_answer(200, "seed a\"b", "{\"seed\": \"a\\\"b\"}");
	assert_refused("/sandbox/seed", "{\"seed\": \"\"}");
	assert_refused("/sandbox/seed", "");
}

static void
deliveries_are_flushed(void **state)
{
	(void)state;
	fake_reset();
	post("/sandbox/deliveries/flush", "");
	assert_answer(200, "flush ", "{\"due\": 2, \"resent\": 3}");
	post("/sandbox/deliveries/flush", "{\"dropped\": true}");
	assert_answer(200, "flush all", "{\"due\": 2, \"resent\": 3}");
	fake.status = DB_DOWN;
	post("/sandbox/deliveries/flush", "");
	assert_answer(503, "flush ", "{\"error\": \"busy\"}");
}

static void
other_paths_are_unknown(void **state)
{
	(void)state;
	fake_reset();
	post("/sandbox/sessions/cs_1/look", "");
	assert_answer(404, "", "{\"error\": \"no such route\"}");
	post("/sandbox/sessions/cs/1/pay", "");
	assert_int_equal(reply.status, 404);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_session_is_paid),
	    cmocka_unit_test(a_debit_is_decided_now_or_later),
	    cmocka_unit_test(money_goes_back_by_hand),
	    cmocka_unit_test(faults_are_added_and_cleared),
	    cmocka_unit_test(the_clock_and_the_seed_are_set),
	    cmocka_unit_test(deliveries_are_flushed),
	    cmocka_unit_test(other_paths_are_unknown),
	};
	int failed =
	    cmocka_run_group_tests_name("sandbox/control", tests, NULL, NULL);

	buf_release(&reply.headers);
	buf_release(&reply.body);
	return failed;
}
