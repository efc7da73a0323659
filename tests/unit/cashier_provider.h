/*
 * Two providers for the cashier alone, "stripe" and "standard", that do what
 * the rows of cashier_fake.h say, and the requests to them: each takes as long
 * as its row says. Waiting for requests is what moves the clock on.
 */
#ifndef UNIT_CASHIER_PROVIDER_H
#define UNIT_CASHIER_PROVIDER_H

#include "cashier_fake.h"

#include "cashier.h"
#include "reconcile.h"

#include <sched.h>

#define SENT_MAX 5000

/* Requests as they went out. */
struct sent {
	int64_t ms;
	enum endpoint endpoint;
	size_t row;
};

static struct sent sent[SENT_MAX];
static size_t sent_count;
static size_t flying_most; /* requests at once */
static struct provider_pace fake_pace;

static char fake_name[] = "stripe", fake_key[] = "sk_test", fake_none[] = "";
static struct conf fake_conf;

/* The world and its providers as each test finds them. */
static int
setup(void **state)
{
	fake_clear();
	sent_count = 0;
	fake_pace = (struct provider_pace){
	    .per_second = {20, 20, 20, 20},
	    .calls_per_second = 80,
	    .at_once = 32,
	    .timeout_ms = 20000,
	    .tries = 3,
	};
	fake_conf = (struct conf){
	    .payment = {.provider = fake_name},
	    .stripe = {.open_key = fake_key, .refund_key = fake_key},
	    .standard = {.url = fake_none, .webhook_secret = fake_none},
	};
	flying_most = 0;
	return 0;
}

static int
teardown(void **state)
{
	buf_release(&seen);
	/* No address of a pay page is in the log. */
	return strstr(log_lines, "https:") ? -1 : 0;
}

static void
run(void)
{
	assert_int_equal(cashier_run(&fake_conf), 0);
}

/* requests ---------------------------------------------------------------- */

struct http_transfer {
	int64_t end_ms;
};

/* All that are under way; those whose time has come have ended. */
static struct http_call *flying[ROWS_MAX];
static struct http_transfer transfers[ROWS_MAX];
static size_t flying_count;
static int idle_waits; /* in a row, that took no time */

struct http *
http_open(const char *user_agent)
{
	static char token;

	return (struct http *)(void *)&token;
}

void
http_close(struct http *http)
{
	assert_int_equal(flying_count, 0);
}

void
http_call_release(struct http_call *call)
{
	assert_null(call->transfer);
	buf_release(&call->request.url);
	buf_release(&call->answer.retry_after);
}

void
http_start(struct http *http, struct http_call *call)
{
	struct work *work =
	    (struct work *)(void *)((char *)call - offsetof(struct work, http));
	size_t nr = strtoul(buf_text(&call->request.url), NULL, 10);

	assert_true(sent_count < SENT_MAX);
	assert_null(call->transfer);
	sent[sent_count++] = (struct sent){fake_ms, work->endpoint, nr};
	call->transfer = &transfers[nr];
	call->transfer->end_ms = rows[nr].try <= rows[nr].frozen
	    ? NEVER
	    : fake_ms + rows[nr].latency_ms;
	flying[flying_count++] = call;
	if (flying_count > flying_most)
		flying_most = flying_count;
}

void
http_cancel(struct http *http, struct http_call *call)
{
	size_t i = 0;

	if (!call->transfer)
		return;
	while (flying[i] != call)
		i++;
	flying[i] = flying[--flying_count];
	call->transfer = NULL;
}

struct http_call *
http_next(struct http *http)
{
	for (size_t i = 0; i < flying_count; i++) {
		struct http_call *call = flying[i];

		if (call->transfer->end_ms <= fake_ms) {
			http_cancel(http, call);
			call->answer.status = 200;
			return call;
		}
	}
	return NULL;
}

void
http_wait(struct http *http, int fd, int ms)
{
	int64_t end = fake_ms + ms;

	assert_int_equal(fd, 1000);
	assert_true(ms >= 0);
	for (size_t i = 0; i < flying_count; i++) {
		if (flying[i]->transfer->end_ms < end)
			end = flying[i]->transfer->end_ms;
	}
	if (!notice_heard && notice_ms < end)
		end = notice_ms;
	if (stop_ms < end)
		end = stop_ms;
	idle_waits = end > fake_ms ? 0 : idle_waits + 1;
	if (idle_waits > 100)
		fail_msg("it spins at %lld ms", (long long)fake_ms);
	if (end > fake_ms)
		fake_ms = end;
	if (fake_ms >= stop_ms) {
		stop_ms = NEVER;
		raise(SIGTERM);
	}
}

/* provider ---------------------------------------------------------------- */

static void
fake_pace_of(const struct conf *conf, struct provider_pace *pace)
{
	*pace = fake_pace;
}

static void
fake_end(struct work *work, const struct row *row)
{
	struct call_outcome *outcome = &work->outcome;

	if (row->retry_after)
		buf_str(&work->http.answer.retry_after, row->retry_after);
	if (row->try <= row->failures) {
		work->result = CALL_RETRY;
		buf_str(&outcome->error, "status 503");
		return;
	}
	work->result = row->result;
	outcome->key_is_used = row->key_is_used;
	buf_str(&outcome->id, "id_1");
	buf_str(&outcome->url, "https://pay.test/c/1");
	buf_str(&outcome->state, row->news ? row->news : "pending");
	buf_str(&outcome->body, row->news ? row->news : "");
	if (row->result != CALL_DONE)
		buf_str(&outcome->error, "status 400");
}

/* The call says all that its job does: how old it is decides whether what it
 * asks for is looked for first. */
static void
call_is_of(const struct call *call, size_t nr)
{
	const struct {
		const char *prefix;
		struct str text;
	} numbered[] = {{"key-", call->key}, {"cs-", call->payment_key},
	    {"hold-", call->hold}, {"pi_", call->payment_ref},
	    {"re_", call->refund_ref}};
	char text[32];

	for (size_t i = 0; i < sizeof(numbered) / sizeof(numbered[0]); i++) {
		snprintf(text, sizeof(text), "%s%zu", numbered[i].prefix, nr);
		assert_true(str_is(numbered[i].text, text));
	}
	assert_true(str_is(call->session_id, "cs_1"));
	assert_true(str_is(call->currency, "EUR"));
	assert_true(str_is(call->title, "1 x Lamp"));
	assert_true(str_is(call->return_url, "https://shop.test/"));
	assert_int_equal(call->number, 42);
	assert_int_equal(call->amount, 12900);
	assert_int_equal(call->session_expires_at, 1796052660);
	assert_int_equal(call->age_s, 86399);
}

/* The first request goes where the call belongs, the others look. */
static bool
fake_step(struct work *work)
{
	static const enum endpoint first[] = {
	    [ACT_OPEN] = ENDPOINT_OPEN,
	    [ACT_END] = ENDPOINT_END,
	    [ACT_REFUND] = ENDPOINT_REFUND,
	    [ACT_FETCH] = ENDPOINT_LOOK,
	};
	size_t nr = strtoul(work->call->key.text + 4, NULL, 10);
	const struct row *row = &rows[nr];

	assert_int_equal(work->now, clock_unix());
	assert_int_equal(work->call->try, row->try);
	call_is_of(work->call, nr);
	assert_string_equal(work->provider->name, row->provider);
	if (work->stage == row->requests) {
		fake_end(work, row);
		return false;
	}
	work->endpoint =
	    work->stage == 0 ? first[work->call->act] : ENDPOINT_LOOK;
	work->stage++;
	buf_reset(&work->http.request.url);
	buf_printf(&work->http.request.url, "%zu", nr);
	return true;
}

struct event_reader {
	struct str body;
	char id[8];
};

static struct event_reader *
fake_read(const struct conf *conf, const struct hook *hook, struct str body)
{
	static struct event_reader reader;

	assert_null(hook);
	reader.body = body;
	return &reader;
}

/* Each letter is an event, evt_ and it; u cannot be read. */
static bool
fake_next(struct event_reader *reader, struct event *event)
{
	if (reader->body.len == 0)
		return false;
	snprintf(reader->id, sizeof(reader->id), "evt_%c", *reader->body.text);
	*event = (struct event){
	    .kind = *reader->body.text == 'u' ? EVENT_UNUSABLE : EVENT_PAID,
	    .id = str_of(reader->id),
	    .key = str_of("cs-key"),
	    .amount = 12900,
	};
	reader->body.text++;
	reader->body.len--;
	return true;
}

static void
fake_read_free(struct event_reader *reader)
{
}

static const struct provider providers[] = {
    {
	.name = "stripe",
	.pace = fake_pace_of,
	.read = fake_read,
	.next = fake_next,
	.read_free = fake_read_free,
	.step = fake_step,
    },
    {
	.name = "standard",
	.pace = fake_pace_of,
	.read = fake_read,
	.next = fake_next,
	.read_free = fake_read_free,
	.step = fake_step,
    },
};

const struct provider *
provider_find(struct str name)
{
	for (size_t i = 0; i < 2; i++) {
		if (str_is(name, providers[i].name))
			return &providers[i];
	}
	return NULL;
}

const struct provider *
provider_current(const struct conf *conf)
{
	return provider_find(str_of(conf->payment.provider));
}

bool
provider_is_set_up(const struct conf *conf, const struct provider *provider)
{
	return provider == provider_current(conf) ||
	    conf->standard.url[0] != '\0';
}

const char *
event_kind_name(enum event_kind kind)
{
	return kind == EVENT_PAID ? "paid" : "another";
}

/* the books --------------------------------------------------------------- */

static atomic_bool books_compared;

void
reconcile_loop(const struct conf *conf, const atomic_bool *stopping)
{
	sigset_t mask;

	assert_ptr_equal(conf, &fake_conf);
	/* Who is to stop is the other thread. */
	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	assert_true(sigismember(&mask, SIGTERM));
	while (!*stopping)
		sched_yield();
	books_compared = true;
}

#endif
