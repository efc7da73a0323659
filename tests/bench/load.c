/*
 * load KIND port=N path=/hold [NAME=VALUE...]: one measurement, a closed loop:
 * each of conns connections asks again as soon as it is answered. Prints
 * "name value" lines; what went wrong first, as a sentence, on standard error.
 *
 * After warm_ms of the same load come ms that count. Answers are counted when
 * they come within these ms; times, of every request that was begun within
 * them, however late it is answered. Whatever is not the expected answer is an
 * error, in the warm-up and after the end, too.
 */
#include "ask.h"
#include "base/log.h"
#include "client.h"
#include "hist.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHY_BYTES 200

struct options {
	struct ask_options ask;
	int conns;
	int ms;
	int warm_ms;
	int timeout_ms;
	int expect; /* status */
	const char *within; /* a text in each expected answer, or NULL */
};

struct load {
	struct options options;
	struct client *client;
	struct client_pool *pool;
	struct asks *asks;
	struct alarm begin;
	struct alarm end;
	int64_t from_us; /* the window; 0: not yet */
	int64_t until_us; /* 0: not yet */
	uint64_t all; /* expected answers, ever */
	uint64_t counted; /* those within the window */
	uint64_t errors;
	struct hist hist;
	char why[WHY_BYTES * 2];
};

/* A connection's worth of work. */
struct slot {
	struct client_call call; /* first */
	struct load *load;
	struct ask ask;
};

static bool
str_has(struct str s, const char *text)
{
	size_t n = strlen(text);
	const char *at = s.text;
	const char *end = s.len ? s.text + s.len : s.text;

	while ((size_t)(end - at) >= n &&
	    (at = memchr(at, text[0], (size_t)(end - at) - n + 1))) {
		if (memcmp(at, text, n) == 0)
			return true;
		at++;
	}
	return false;
}

static void
load_error(struct load *load, const struct client_call *call)
{
	int n = call->body.len < WHY_BYTES ? (int)call->body.len : WHY_BYTES;

	if (load->errors++)
		return;
	if (call->failure)
		snprintf(load->why, sizeof(load->why), "no answer: %s",
		    client_failure_text(call->failure));
	else
		snprintf(load->why, sizeof(load->why), "%d: %.*s", call->status,
		    n, call->body.text ? call->body.text : "");
}

static void
slot_ask(struct slot *slot)
{
	struct load *load = slot->load;

	if (load->until_us)
		return;
	if (!asks_next(load->asks, &slot->ask, &slot->call.request)) {
		/* A list has come to its end: so does the window. */
		client_cancel(load->client, &load->end);
		load->until_us = client_now_us();
		return;
	}
	slot->call.intended_us = 0;
	client_put(load->pool, &slot->call);
}

static void
slot_done(struct client_call *call)
{
	struct slot *slot = (struct slot *)call;
	struct load *load = slot->load;

	if (call->status != load->options.expect ||
	    (load->options.within &&
		!str_has(call->body, load->options.within))) {
		load_error(load, call);
	} else {
		load->all++;
		if (load->from_us && !load->until_us)
			load->counted++;
		if (load->from_us && call->intended_us >= load->from_us)
			hist_add(&load->hist, call->latency_us);
	}
	slot_ask(slot);
}

static void
window_begin(struct alarm *alarm)
{
	struct load *load = alarm->owner;

	if (!load->until_us)
		load->from_us = client_now_us();
}

static void
window_end(struct alarm *alarm)
{
	struct load *load = alarm->owner;

	load->until_us = client_now_us();
}

static void
load_open(struct load *load)
{
	const struct options *options = &load->options;
	const struct client_options client = {.port = options->ask.port,
	    .timeout_ms = options->timeout_ms};
	int64_t now = client_now_us();

	load->asks = asks_open(&options->ask);
	load->client = client_open(&client);
	load->pool = client_pool_new(load->client, (size_t)options->conns);
	load->begin = (struct alarm){.owner = load,
	    .fire = window_begin,
	    .due_us = now + options->warm_ms * INT64_C(1000)};
	load->end = (struct alarm){.owner = load,
	    .fire = window_end,
	    .due_us = load->begin.due_us + options->ms * INT64_C(1000)};
	client_at(load->client, &load->begin);
	client_at(load->client, &load->end);
}

static void
load_run(struct load *load)
{
	size_t n = (size_t)load->options.conns;
	struct slot *slots = calloc(n, sizeof(*slots));

	if (!slots)
		log_bug("out of memory");
	load_open(load);
	for (size_t i = 0; i < n; i++) {
		slots[i].load = load;
		slots[i].call.done = slot_done;
		slots[i].call.owner = load;
		slot_ask(&slots[i]);
	}
	client_run(load->client);
	client_pool_free(load->pool);
	client_close(load->client);
	asks_close(load->asks);
	for (size_t i = 0; i < n; i++)
		ask_release(&slots[i].ask);
	free(slots);
}

static int
load_tell(const struct load *load)
{
	double seconds = (double)(load->until_us - load->from_us) / 1e6;
	const struct hist *hist = &load->hist;

	if (!load->from_us || seconds <= 0) {
		fprintf(stderr, "load: the list was over before the warm-up\n");
		return 1;
	}
	printf("rps %.1f\nseconds %.3f\ncount %llu\nall %llu\nerrors %llu\n",
	    (double)load->counted / seconds, seconds,
	    (unsigned long long)load->counted, (unsigned long long)load->all,
	    (unsigned long long)load->errors);
	printf("mean_ms %.3f\np50_ms %.3f\np99_ms %.3f\nmax_ms %.3f\n",
	    hist_mean(hist) / 1e3, (double)hist_quantile(hist, 0.5) / 1e3,
	    (double)hist_quantile(hist, 0.99) / 1e3,
	    (double)hist->max_us / 1e3);
	if (load->errors)
		fprintf(stderr, "load: %llu wrong answers, the first is %s\n",
		    (unsigned long long)load->errors, load->why);
	return 0;
}

/* One NAME=VALUE; false: there is no such name, or the value is none. */
static bool
option_read(struct options *options, const char *word)
{
	const struct {
		const char *name;
		const char **text;
		int *number;
	} known[] = {
	    {"port=", NULL, &options->ask.port},
	    {"path=", &options->ask.path, NULL},
	    {"item=", &options->ask.item, NULL},
	    {"event=", &options->ask.event, NULL},
	    {"list=", &options->ask.list, NULL},
	    {"conns=", NULL, &options->conns},
	    {"ms=", NULL, &options->ms},
	    {"warm_ms=", NULL, &options->warm_ms},
	    {"timeout_ms=", NULL, &options->timeout_ms},
	    {"expect=", NULL, &options->expect},
	    {"within=", &options->within, NULL},
	};
	int64_t number;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t n = strlen(known[i].name);

		if (strncmp(word, known[i].name, n) != 0)
			continue;
		if (known[i].text) {
			*known[i].text = word + n;
			return true;
		}
		if (!str_int(str_of(word + n), &number) || number < 0 ||
		    number > 3600000)
			return false;
		*known[i].number = (int)number;
		return true;
	}
	return false;
}

int
main(int argc, char **argv)
{
	static struct load load;
	struct options *options = &load.options;

	*options = (struct options){.conns = 64,
	    .ms = 8000,
	    .warm_ms = 1000,
	    .timeout_ms = 20000,
	    .expect = 200};
	options->ask.kind = argc > 1 ? argv[1] : "";
	options->ask.secret = getenv("BENCH_SECRET");
	for (int i = 2; i < argc; i++) {
		if (!option_read(options, argv[i])) {
			fprintf(stderr, "load: what is %s?\n", argv[i]);
			return 2;
		}
	}
	if (!options->ask.port || !options->ask.path || !options->conns) {
		fprintf(stderr,
		    "usage: load get|hold|callback port=N "
		    "path=/... [conns=N] [ms=N] ...\n");
		return 2;
	}
	load_run(&load);
	return load_tell(&load);
}
