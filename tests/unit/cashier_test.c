/*
 * The cashier's loop: claim, call, record. The database, the clock and the
 * provider's answers are made up here; the adapter is the real one.
 */
#include "pay/script.h"

#include "base/clock.h"
#include "cashier.h"
#include "io/db.h"

#include <signal.h>

#define JOBS_MAX 32
#define SESSION "cs_test_1"

/* What the database does, in order. */
enum step_kind { STEP_JOB, STEP_NONE, STEP_DOWN, STEP_REFUSED };

struct step {
	enum step_kind kind;
	const char *job; /* open, expire, refund */
	int try;
};

static struct step steps[JOBS_MAX];
static size_t step_count;
static size_t step_next;
static int record_failures; /* how many records fail before one works */
static enum db_status record_failure;
static bool stop_at_record;
static bool stuck_next;
static struct buf seen; /* what was recorded, a line each */
static int64_t delay_seen;
static int lease_seen;
static int64_t fake_ms;
static int64_t slept_ms;
static int64_t claimed_ms[JOBS_MAX];

void
clock_iso(char out[25])
{
	snprintf(out, 25, "2026-11-30T15:00:00.000Z");
}

int64_t
clock_unix(void)
{
	return 1796050800;
}

int64_t
clock_monotonic_ms(void)
{
	return fake_ms;
}

void
clock_sleep_ms(int64_t ms)
{
	fake_ms += ms;
	slept_ms += ms;
}

struct db *
db_open(const struct conf *conf, enum db_role role, const char *process)
{
	static char token;

	assert_int_equal(role, DB_CASHIER);
	return (struct db *)(void *)&token;
}

void
db_close(struct db *db)
{
}

const char *
db_error(const struct db *db)
{
	return "it says no";
}

void
job_init(struct job *job)
{
	memset(job, 0, sizeof(*job));
}

void
job_release(struct job *job)
{
	buf_release(&job->key);
	buf_release(&job->hold);
	buf_release(&job->session_id);
	buf_release(&job->payment_ref);
	buf_release(&job->currency);
	buf_release(&job->title);
	buf_release(&job->return_url);
}

void
answer_init(struct answer *answer)
{
	memset(answer, 0, sizeof(*answer));
}

void
answer_release(struct answer *answer)
{
}

static void
job_fill(struct job *job, const struct step *step)
{
	job->id = 7;
	snprintf(job->kind, sizeof(job->kind), "%s", step->job);
	job->try = step->try;
	buf_printf(&job->key, "%s-" HOLD, step->job);
	buf_str(&job->hold, HOLD);
	buf_str(&job->session_id, SESSION);
	buf_str(&job->payment_ref, "pi_1");
	buf_str(&job->currency, "EUR");
	buf_str(&job->title, "1 x Lamp");
	buf_str(&job->return_url, "https://shop.test/order/" HOLD);
	job->number = 42;
	job->amount = 12900;
	job->session_expires_at = 1796052660;
}

enum db_status
db_cashier_claim(struct db *db, int lease_ms, struct job *job, bool *found)
{
	const struct step *step = &steps[step_next];

	*found = false;
	lease_seen = lease_ms;
	if (step_next == step_count) {
		raise(SIGTERM);
		return DB_OK;
	}
	claimed_ms[step_next++] = fake_ms;
	if (step->kind == STEP_DOWN)
		return DB_DOWN;
	if (step->kind == STEP_REFUSED)
		return DB_REFUSED;
	*found = step->kind == STEP_JOB;
	if (*found)
		job_fill(job, step);
	return DB_OK;
}

void
db_cashier_wait(struct db *db, int most_ms)
{
	buf_printf(&seen, "wait %d\n", most_ms);
}

/* Whether this record works. */
static enum db_status
record(void)
{
	if (stop_at_record)
		raise(SIGTERM);
	if (record_failures > 0) {
		record_failures--;
		buf_str(&seen, "not ");
		return record_failure;
	}
	return DB_OK;
}

enum db_status
db_cashier_opened(struct db *db, const struct job *job, const char *session_id,
    const char *url)
{
	enum db_status status = record();

	assert_int_equal(job->id, 7);
	buf_printf(&seen, "opened %s %s\n", session_id, url);
	return status;
}

enum db_status
db_cashier_expired(struct db *db, const struct job *job)
{
	enum db_status status = record();

	buf_str(&seen, "expired\n");
	return status;
}

enum db_status
db_cashier_refunded(struct db *db, const struct job *job,
    const char *refund_ref, const char *state)
{
	enum db_status status = record();

	buf_printf(&seen, "refunded %s %s\n", refund_ref, state);
	return status;
}

enum db_status
db_cashier_retry(struct db *db, const struct job *job,
    const struct job_retry *retry, bool *stuck)
{
	enum db_status status = record();

	assert_int_equal(retry->tries, 3);
	delay_seen = retry->delay_ms;
	*stuck = stuck_next;
	buf_printf(&seen, "retry %s\n", retry->error);
	return status;
}

enum db_status
db_cashier_refused(struct db *db, const struct job *job, const char *error)
{
	enum db_status status = record();

	buf_printf(&seen, "refused %s\n", error);
	return status;
}

enum db_status
db_payment_settle(struct db *db, const struct settlement *settlement,
    struct answer *answer)
{
	enum db_status status = record();

	assert_string_equal(settlement->provider, "stripe");
	assert_true(str_is(settlement->hold, HOLD));
	assert_true(str_is(settlement->session_id, SESSION));
	assert_true(str_is(settlement->payment_ref, "pi_1"));
	assert_true(str_is(settlement->currency, "EUR"));
	assert_true(str_is(settlement->type, "checkout.session.completed"));
	assert_true(settlement->body.len > 0);
	buf_printf(&seen, "settled %s %.*s %lld\n", settlement->kind,
	    (int)settlement->event_id.len, settlement->event_id.text,
	    (long long)settlement->amount);
	return status;
}

static void
step_add(enum step_kind kind, const char *job, int try)
{
	steps[step_count++] = (struct step){kind, job, try};
}

static int
setup(void **state)
{
	script_clear();
	step_count = 0;
	step_next = 0;
	record_failures = 0;
	record_failure = DB_DOWN;
	stop_at_record = false;
	stuck_next = false;
	delay_seen = -1;
	fake_ms = 1000000;
	slept_ms = 0;
	buf_init(&seen);
	return 0;
}

static int
teardown(void **state)
{
	buf_release(&seen);
	return script_next == script_count ? 0 : -1;
}

static void
run(const char *expected)
{
	struct conf conf = fixture_conf();

	assert_int_equal(cashier_run(&conf), 0);
	assert_string_equal(buf_text(&seen), expected);
}

/* The loop asks once more, and hears SIGTERM there. */
#define END "wait 1000\n"

static const char session_open[] = "{\"id\":\"cs_test_1\",\"status\":\"open\","
				   "\"url\":\"https://pay.test/c/1\"}";
static const char session_expired[] =
    "{\"id\":\"cs_test_1\",\"status\":\"expired\"}";
static const char session_complete[] =
    "{\"id\":\"cs_test_1\",\"status\":\"complete\",\"payment_status\":\"%s\","
    "\"livemode\":false,\"mode\":\"payment\",\"amount_total\":12900,"
    "\"currency\":\"eur\",\"payment_intent\":\"pi_1\",\"metadata\":"
    "{\"hold_id\":\"" HOLD "\"}}";
static const char refund[] = "{\"id\":\"re_1\",\"status\":\"pending\"}";
static const char no[] = "{\"error\":{\"type\":\"invalid_request_error\"}}";

static void
sessions_are_opened(void **state)
{
	step_add(STEP_JOB, "open", 1);
	script_add(200, session_open, NULL);
	run("opened cs_test_1 https://pay.test/c/1\n" END);
	assert_int_equal(lease_seen, 60000);
	assert_true(script_header_is(0, "Idempotency-Key: open-" HOLD));
	assert_non_null(
	    strstr(script_asked[0].body, "client_reference_id=ord_42&"));
	assert_non_null(strstr(script_asked[0].body, "unit_amount]=12900&"));
	assert_non_null(strstr(script_asked[0].body, "expires_at=1796052660&"));
}

static void
sessions_are_ended(void **state)
{
	step_add(STEP_JOB, "expire", 1);
	script_add(200, session_expired, NULL);
	run("expired\n" END);
}

static void
refunds_are_sent(void **state)
{
	step_add(STEP_JOB, "refund", 1);
	script_add(200, refund, NULL);
	run("refunded re_1 pending\n" END);
}

static void
an_idle_cashier_waits(void **state)
{
	step_add(STEP_NONE, "", 0);
	step_add(STEP_NONE, "", 0);
	run("wait 1000\nwait 1000\n" END);
}

static void
complete(const char *payment_status, const char *session, const char *expected)
{
	char body[512];

	snprintf(body, sizeof(body), session, payment_status);
	step_add(STEP_JOB, "expire", 1);
	script_add(400, no, NULL);
	script_add(200, body, NULL);
	script_add(200, body, NULL);
	run(expected);
}

static void
a_session_that_was_paid_is_settled(void **state)
{
	complete("paid", session_complete,
	    "settled paid fetch-cs_test_1-complete-paid 12900\n"
	    "retry the payment is under way\n" END);
	assert_int_equal(delay_seen, 60000);
}

static void
money_under_way_is_looked_at_again(void **state)
{
	complete("unpaid", session_complete,
	    "settled pending fetch-cs_test_1-complete-unpaid 12900\n"
	    "retry the payment is under way\n" END);
	assert_int_equal(delay_seen, 60000);
}

static void
a_session_that_cannot_be_read_is_kept(void **state)
{
	stuck_next = true;
	complete("odd", session_complete,
	    "retry the session cannot be read\n" END);
}

static void
a_lost_look_is_tried_again(void **state)
{
	char body[512];

	snprintf(body, sizeof(body), session_complete, "paid");
	step_add(STEP_JOB, "expire", 1);
	script_add(400, no, NULL);
	script_add(200, body, NULL);
	script_add(503, "", NULL);
	run("retry status 503 request req_1\n" END);
}

static void
delays_double_up_to_a_minute(void **state)
{
	static const int64_t most[] = {500, 1000, 2000, 4000, 8000, 16000,
	    32000, 60000, 60000};

	for (int try = 1; try <= 9; try++) {
		setup(NULL);
		step_add(STEP_JOB, "open", try);
		script_add(503, "", NULL);
		run("retry status 503 request req_1\n" END);
		assert_in_range(delay_seen, most[try - 1] / 2, most[try - 1]);
		buf_release(&seen);
	}
}

static void
a_refusal_is_recorded(void **state)
{
	step_add(STEP_JOB, "open", 1);
	script_add(400, no, NULL);
	run("refused status 400 invalid_request_error request req_1\n" END);
}

static void
the_last_try_is_stuck(void **state)
{
	stuck_next = true;
	step_add(STEP_JOB, "refund", 1);
	script_add(0, "", NULL);
	run("retry no answer: connection reset\n" END);
}

static void
a_database_that_is_away_is_waited_for(void **state)
{
	step_add(STEP_DOWN, "", 0);
	step_add(STEP_DOWN, "", 0);
	step_add(STEP_JOB, "open", 1);
	script_add(200, session_open, NULL);
	run("opened cs_test_1 https://pay.test/c/1\n" END);
	assert_in_range(claimed_ms[1] - claimed_ms[0], 250, 500);
	assert_in_range(claimed_ms[2] - claimed_ms[1], 500, 1000);
}

static void
an_outcome_is_kept_while_the_database_is_away(void **state)
{
	record_failures = 2;
	step_add(STEP_JOB, "open", 1);
	script_add(200, session_open, NULL);
	run("not opened cs_test_1 https://pay.test/c/1\n"
	    "not opened cs_test_1 https://pay.test/c/1\n"
	    "opened cs_test_1 https://pay.test/c/1\n" END);
}

static void
an_outcome_is_given_up_with_the_lease(void **state)
{
	record_failures = 1000;
	step_add(STEP_JOB, "expire", 1);
	step_add(STEP_NONE, "", 0);
	script_add(200, session_expired, NULL);
	{
		struct conf conf = fixture_conf();

		assert_int_equal(cashier_run(&conf), 0);
	}
	assert_in_range(claimed_ms[1] - claimed_ms[0], 60000, 65000);
	assert_int_equal(step_next, 2);
}

static void
an_outcome_that_cannot_be_stored_is_put_off(void **state)
{
	record_failures = 1;
	record_failure = DB_REFUSED;
	step_add(STEP_JOB, "open", 1);
	script_add(200, session_open, NULL);
	run("not opened cs_test_1 https://pay.test/c/1\n"
	    "retry the outcome cannot be recorded\n" END);
}

static void
a_claim_that_is_refused_does_not_spin(void **state)
{
	step_add(STEP_REFUSED, "", 0);
	step_add(STEP_NONE, "", 0);
	run("wait 1000\n" END);
	assert_true(claimed_ms[1] - claimed_ms[0] >= 1000);
}

static void
it_stops_after_the_call_at_hand(void **state)
{
	stop_at_record = true;
	step_add(STEP_JOB, "open", 1);
	step_add(STEP_JOB, "open", 1);
	script_add(200, session_open, NULL);
	run("opened cs_test_1 https://pay.test/c/1\n");
	assert_int_equal(step_next, 1);
}

static void
calls_of_a_kind_keep_their_pace(void **state)
{
	for (int i = 0; i < 21; i++) {
		step_add(STEP_JOB, "open", 1);
		script_add(200, session_open, NULL);
	}
	step_add(STEP_JOB, "expire", 1);
	script_add(200, session_expired, NULL);
	{
		struct conf conf = fixture_conf();

		assert_int_equal(cashier_run(&conf), 0);
	}
	/* 20 a second: the last of 21 goes out a second after the first. */
	assert_int_equal(claimed_ms[21] - claimed_ms[0], 1000);
	/* Another kind need not wait. */
	assert_int_equal(slept_ms, 1000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(sessions_are_opened),
	    TEST(sessions_are_ended),
	    TEST(refunds_are_sent),
	    TEST(an_idle_cashier_waits),
	    TEST(a_session_that_was_paid_is_settled),
	    TEST(money_under_way_is_looked_at_again),
	    TEST(a_session_that_cannot_be_read_is_kept),
	    TEST(a_lost_look_is_tried_again),
	    TEST(delays_double_up_to_a_minute),
	    TEST(a_refusal_is_recorded),
	    TEST(the_last_try_is_stuck),
	    TEST(a_database_that_is_away_is_waited_for),
	    TEST(an_outcome_is_kept_while_the_database_is_away),
	    TEST(an_outcome_is_given_up_with_the_lease),
	    TEST(an_outcome_that_cannot_be_stored_is_put_off),
	    TEST(a_claim_that_is_refused_does_not_spin),
	    TEST(it_stops_after_the_call_at_hand),
	    TEST(calls_of_a_kind_keep_their_pace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
