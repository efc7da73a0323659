/*
 * What the tests of the standard adapter's calls share: one work, its requests
 * looked at and its answers given by hand.
 */
#ifndef UNIT_PAY_STANDARD_WORK_H
#define UNIT_PAY_STANDARD_WORK_H

#include "pay/standard_rig.h"

#define SESSION \
	"{\"session\":\"s_1\",\"state\":\"%s\",\"payment\":\"p_1\"," \
	"\"amount\":2500,\"currency\":\"EUR\",\"key\":\"cs-" HOLD \
	"\",\"hold\":\"" HOLD "\"}"
#define REFUND \
	"{\"refund\":\"r_1\",\"state\":\"%s\",\"payment\":\"p_1\"," \
	"\"amount\":2500,\"currency\":\"EUR\",\"key\":\"refund-" HOLD "-2\"}"

static struct conf conf;
static struct call call;
static struct work work;

static inline int
setup(void **state)
{
	conf = rig_conf();
	call = (struct call){
	    .key = str_of("cs-" HOLD),
	    .payment_key = str_of("cs-" HOLD),
	    .hold = str_of(HOLD),
	    .number = 42,
	    .amount = 2500,
	    .currency = str_of("EUR"),
	    .title = str_of("1 x Lamp \"24\" \xe2\x80\x94 gr\xc3\xbcn"),
	    .return_url = str_of("https://shop.test/order/" HOLD),
	    .session_expires_at = NOW + 660,
	    .try = 1,
	};
	return 0;
}

static inline int
teardown(void **state)
{
	work_release(&work);
	return 0;
}

static inline void
begin(enum act act)
{
	work_release(&work);
	call.act = act;
	work_init(&work, &conf, &standard_provider, &call);
	work.now = NOW;
}

/* The value of one of the request's headers. */
static inline struct str
header(const char *name)
{
	char start[64];
	const char *at;

	snprintf(start, sizeof(start), "%s: ", name);
	at = strstr(buf_text(&work.http.request.headers), start);
	if (!at) {
		fail_msg("no header %s", name);
		return (struct str){NULL, 0};
	}
	at += strlen(start);
	return (struct str){at, strcspn(at, "\n")};
}

/* The next request is a signed one, of this type, with these data. */
static inline void
asks(const char *type, enum endpoint endpoint, const char *data)
{
	char body[1024];
	struct hook hook;

	assert_true(standard_provider.step(&work));
	snprintf(body, sizeof(body),
	    "{\"type\":\"%s\",\"timestamp\":\"2026-11-30T15:00:00Z\","
	    "\"data\":{%s}}",
	    type, data);
	assert_string_equal(buf_text(&work.http.request.body), body);
	assert_string_equal(work.http.request.method, "POST");
	assert_string_equal(buf_text(&work.http.request.url),
	    "http://127.0.0.1:9/pay");
	assert_int_equal(work.http.request.timeout_ms, 5000);
	assert_int_equal(work.endpoint, endpoint);
	hook = (struct hook){
	    .signature = header("webhook-signature"),
	    .id = header("webhook-id"),
	    .timestamp = header("webhook-timestamp"),
	    .body = str_view(&work.http.request.body),
	    .now = NOW,
	    .tolerance_s = 0,
	};
	assert_int_equal(standard_provider.verify(&conf, &hook), VERDICT_OK);
	assert_true(str_is(header("Content-Type"), "application/json"));
}

/* The answer; whether the work goes on. */
static inline bool
answer(int status, const char *body)
{
	struct http_answer *to = &work.http.answer;

	to->status = status;
	buf_reset(&to->body);
	buf_str(&to->body, body);
	if (status == 0)
		snprintf(to->error, sizeof(to->error), "connection refused");
	return !standard_provider.step(&work);
}

static inline bool
answer_with(const char *format, const char *state)
{
	char body[512];
	const char *at = strstr(format, "%s");

	snprintf(body, sizeof(body), "%.*s%s%s", (int)(at - format), format,
	    state, at + 2);
	return answer(200, body);
}

static inline void
ends(enum call_result result, const char *error)
{
	assert_int_equal(work.result, result);
	assert_string_equal(buf_text(&work.outcome.error), error);
}

/* The news as read() gives it. */
static inline void
news_is(enum event_kind kind, const char *id)
{
	struct event_reader *reader =
	    standard_provider.read(&conf, NULL, str_view(&work.outcome.body));
	struct event event;

	assert_true(standard_provider.next(reader, &event));
	assert_int_equal(event.kind, kind);
	assert_true(str_is(event.id, id));
	assert_true(str_is(event.payment_ref, "p_1"));
	assert_int_equal(event.amount, 2500);
	standard_provider.read_free(reader);
}

#define OURS \
	"\"key\":\"cs-" HOLD "\",\"hold\":\"" HOLD "\",\"order\":\"ord_42\""

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
