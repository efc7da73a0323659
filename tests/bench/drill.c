/*
 * drill sell NAME=VALUE...: a crowd of buyers against a shop; ends when each
 * of them has come to an end. drill report RUN BOOKS JSON: the table and the
 * verdict. The loop and the options; see drill.h. One thread.
 */
#include "drill.h"

#include "base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* What a page waits for an answer: PATIENCE_MS of static/js/api.js. */
#define TIMEOUT_MS 20000
/* Addresses to call from: a sale has more connections than one has ports. */
#define SOURCES 8
/* Files that are not connections. */
#define FILES_OTHER 64
/* Refunds that go out in a second, with room: the cashier's pace is 20. */
#define REFUNDS_PER_SECOND 10

static const struct {
	const char *name;
	size_t at;
	int64_t low;
	int64_t high;
} numbers[] = {
    {"port", offsetof(struct drill_options, port), 1, 65535},
    {"pay_port", offsetof(struct drill_options, pay_port), 1, 65535},
    {"buyers", offsetof(struct drill_options, buyers), 1, 10000000},
    {"units", offsetof(struct drill_options, units), 1, 1000000000},
    {"seconds", offsetof(struct drill_options, seconds), 1, 86400},
    {"early", offsetof(struct drill_options, early), 0, 100},
    {"lead", offsetof(struct drill_options, lead), 1, 86400},
    {"hold", offsetof(struct drill_options, hold), 5, 86400},
    {"opens_ms", offsetof(struct drill_options, opens_ms), 1, INT64_MAX},
    {"seed", offsetof(struct drill_options, seed), 0, INT64_MAX},
    {"connections", offsetof(struct drill_options, connections), 1, 1000000},
};

static const struct {
	const char *name;
	size_t at;
} texts[] = {
    {"item", offsetof(struct drill_options, item)},
    {"out", offsetof(struct drill_options, out)},
    {"holds", offsetof(struct drill_options, holds)},
};

/* --- options */

static bool
option_number(struct drill_options *options, struct str name, struct str value)
{
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		int64_t number;

		if (!str_is(name, numbers[i].name))
			continue;
		if (!str_int(value, &number) || number < numbers[i].low ||
		    number > numbers[i].high)
			return false;
		memcpy((char *)options + numbers[i].at, &number,
		    sizeof(number));
		return true;
	}
	return false;
}

static bool
option_text(struct drill_options *options, struct str name, struct str value)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (str_is(name, texts[i].name)) {
			memcpy((char *)options + texts[i].at, &value,
			    sizeof(value));
			return true;
		}
	}
	return false;
}

/* Its SKU goes into paths and JSON as it is. */
static bool
item_is_plain(struct str item)
{
	for (size_t i = 0; i < item.len; i++) {
		char c = item.text[i];

		if (!(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z') &&
		    !(c >= '0' && c <= '9') && c != '-')
			return false;
	}
	return item.len > 0 && item.len <= 40;
}

/* False, and a sentence, when a word is wrong or one is missing. */
static bool
options_read(struct drill_options *options, int n, char **words)
{
	for (int i = 0; i < n; i++) {
		const char *equals = strchr(words[i], '=');
		struct str name = {words[i],
		    equals ? (size_t)(equals - words[i]) : 0};
		struct str value = str_of(equals ? equals + 1 : "");

		if (!option_number(options, name, value) &&
		    !option_text(options, name, value)) {
			fprintf(stderr, "drill: cannot take %s\n", words[i]);
			return false;
		}
	}
	if (!options->port || !options->pay_port || !options->buyers ||
	    !options->units || !options->seconds || !options->hold ||
	    !options->lead || !options->opens_ms || !options->connections ||
	    !options->out.len || !options->holds.len ||
	    !item_is_plain(options->item)) {
		fprintf(stderr, "drill: a word is missing\n");
		return false;
	}
	return true;
}

/* No more connections than the files that the engine could get. */
static void
options_cap(struct drill_options *options)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	    limit.rlim_cur != RLIM_INFINITY &&
	    options->connections > (int64_t)limit.rlim_cur - FILES_OTHER)
		options->connections = (int64_t)limit.rlim_cur - FILES_OTHER;
}

/* --- the loop */

/* Who has no end by now will have none. */
static void
drill_give_up(struct drill *drill)
{
	for (int64_t i = 0; i < drill->options.buyers; i++) {
		struct buyer *buyer = &drill->buyers[i];

		if (buyer->end != END_NONE)
			continue;
		buyer_say(buyer, "no end in all that time");
		buyer_end(buyer, END_UNANSWERED);
	}
}

static void
drill_progress(struct alarm *alarm)
{
	struct drill *drill = alarm->owner;

	count_line(drill);
	if (client_now_us() > drill->deadline_us) {
		drill_give_up(drill);
		return;
	}
	alarm->due_us += SECOND;
	client_at(drill->client, alarm);
}

/* The opening and the deadline, on this process's clock. */
static void
drill_times(struct drill *drill)
{
	const struct drill_options *options = &drill->options;
	struct timespec now;
	int64_t opens_in_us;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	opens_in_us = options->opens_ms * MS - (int64_t)now.tv_sec * SECOND -
	    now.tv_nsec / 1000;
	drill->opening_us = client_now_us() + opens_in_us;
	/* The last comes, waits for what comes back, holds that, pays late. */
	drill->deadline_us = drill->opening_us +
	    (options->seconds + 3 * options->hold + 60 +
		options->units / REFUNDS_PER_SECOND) *
		SECOND;
}

static bool
drill_sell(const struct drill_options *options)
{
	struct drill *drill = calloc(1, sizeof(*drill));
	struct client_options client = {
	    .port = (int)options->port,
	    .timeout_ms = TIMEOUT_MS,
	    .sources = SOURCES,
	};
	bool written;

	if (!drill)
		log_bug("out of memory");
	drill->options = *options;
	drill->buyers = calloc((size_t)options->buyers, sizeof(struct buyer));
	drill->holders =
	    calloc((size_t)options->buyers, sizeof(struct buyer *));
	if (!drill->buyers || !drill->holders)
		log_bug("out of memory");
	drill->client = client_open(&client);
	options_cap(&drill->options);
	drill->left = options->buyers;
	drill_times(drill);
	for (int64_t i = 0; i < options->buyers; i++)
		buyer_start(&drill->buyers[i], drill, (uint32_t)i);
	drill->progress.fire = drill_progress;
	drill->progress.owner = drill;
	drill->progress.due_us = client_now_us() + SECOND;
	client_at(drill->client, &drill->progress);
	count_title();
	client_run(drill->client);
	count_line(drill);
	written = count_write(drill);
	client_close(drill->client);
	free(drill->holders);
	free(drill->buyers);
	free(drill);
	return written;
}

int
main(int argc, char **argv)
{
	struct drill_options options = {0};
	int broken;

	log_open("drill");
	if (argc > 2 && strcmp(argv[1], "sell") == 0) {
		if (!options_read(&options, argc - 2, argv + 2))
			return 2;
		return drill_sell(&options) ? 0 : 1;
	}
	if (argc == 5 && strcmp(argv[1], "report") == 0) {
		broken = report_run(stdout, argv[2], argv[3], argv[4]);
		return broken == 0 ? 0 : 1;
	}
	fprintf(stderr,
	    "usage: drill sell NAME=VALUE...\n"
	    "       drill report RUN BOOKS JSON\n");
	return 2;
}
