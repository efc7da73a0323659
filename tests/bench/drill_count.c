/*
 * What came of it, counted on the buyers' side alone. A hold lives for sure
 * from the moment at which its buyer has read of it until giving it up is sent
 * or its time, counted from when the request left, is over; one that was paid
 * lives for ever. So many at most were out at a moment that never more were.
 */
#include "drill.h"

#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The database's milliseconds are rounded up, and ours are another clock's. */
#define SLACK (5 * MS)

/* At that moment one more or one less is out. */
struct change {
	int64_t at_us;
	int change;
};

struct changes {
	struct change *list;
	size_t n;
};

static const char *const end_names[ENDS] = {
    [END_NONE] = "none",
    [END_AWAY] = "away",
    [END_PAID] = "paid",
    [END_RETAKEN] = "retaken",
    [END_REFUNDED] = "refunded",
    [END_EXPIRED] = "expired",
    [END_DROPPED] = "dropped",
    [END_UNPAID] = "unpaid",
    [END_UNANSWERED] = "unanswered",
    [END_WRONG] = "wrong",
};

/* --- how many were out */

static void
change_add(struct changes *changes, int64_t at_us, int change)
{
	changes->list[changes->n++] = (struct change){at_us, change};
}

/* When the hold is not known to live any more. */
static int64_t
hold_until(const struct buyer *buyer)
{
	int64_t until = buyer->surely_us - SLACK;

	if (buyer->dropped_us && buyer->dropped_us < until)
		until = buyer->dropped_us;
	return until > buyer->granted_us ? until : buyer->granted_us;
}

static void
changes_of(struct changes *changes, const struct buyer *buyer)
{
	int64_t until = hold_until(buyer);

	change_add(changes, buyer->granted_us, 1);
	if (buyer->paid_us && buyer->paid_us <= until)
		return;
	change_add(changes, until, -1);
	if (buyer->paid_us)
		change_add(changes, buyer->paid_us, 1);
}

/* By time; at the same moment those first that are one less. */
static int
change_order(const void *a, const void *b)
{
	const struct change *x = a;
	const struct change *y = b;

	if (x->at_us != y->at_us)
		return x->at_us < y->at_us ? -1 : 1;
	return x->change - y->change;
}

int64_t
count_peak(const struct drill *drill, int64_t *all_us)
{
	struct changes changes = {0};
	int64_t out = 0;
	int64_t peak = 0;

	*all_us = -1;
	changes.list = calloc(3 * drill->held + 1, sizeof(*changes.list));
	if (!changes.list)
		log_bug("out of memory");
	for (size_t i = 0; i < drill->held; i++)
		changes_of(&changes, drill->holders[i]);
	qsort(changes.list, changes.n, sizeof(*changes.list), change_order);
	for (size_t i = 0; i < changes.n; i++) {
		out += changes.list[i].change;
		if (out > peak)
			peak = out;
		if (out >= drill->options.units && *all_us < 0)
			*all_us = changes.list[i].at_us - drill->opening_us;
	}
	free(changes.list);
	return peak;
}

static int
id_order(const void *a, const void *b)
{
	const struct buyer *const *x = a;
	const struct buyer *const *y = b;

	return strcmp((*x)->id, (*y)->id);
}

int64_t
count_shared(const struct drill *drill)
{
	size_t n = drill->held;
	int64_t shared = 0;
	struct buyer **list = calloc(n + 1, sizeof(struct buyer *));

	if (!list)
		log_bug("out of memory");
	memcpy(list, drill->holders, n * sizeof(struct buyer *));
	qsort(list, n, sizeof(struct buyer *), id_order);
	for (size_t i = 1; i < n; i++)
		shared += strcmp(list[i - 1]->id, list[i]->id) == 0;
	free(list);
	return shared;
}

/* --- the file of numbers */

static void
write_number(FILE *file, const char *name, int64_t value)
{
	fprintf(file, "%s=%" PRId64 "\n", name, value);
}

static void
write_hist(FILE *file, const char *name, const struct hist *hist)
{
	fprintf(file,
	    "%s_n=%" PRIu64 "\n%s_p50_us=%" PRId64 "\n%s_p99_us=%" PRId64
	    "\n%s_max_us=%" PRId64 "\n",
	    name, hist->count, name, hist_quantile(hist, 0.5), name,
	    hist_quantile(hist, 0.99), name, hist->max_us);
}

static void
write_options(FILE *file, const struct drill_options *options)
{
	write_number(file, "buyers", options->buyers);
	write_number(file, "units", options->units);
	write_number(file, "seconds", options->seconds);
	write_number(file, "early", options->early);
	write_number(file, "hold_seconds", options->hold);
	write_number(file, "seed", options->seed);
}

static void
write_tally(FILE *file, const struct tally *tally)
{
	for (int end = END_AWAY; end < ENDS; end++)
		fprintf(file, "end_%s=%" PRIu64 "\n", end_names[end],
		    tally->ends[end]);
	for (int status = 0; status < 600; status++) {
		if (tally->statuses[status])
			fprintf(file, "status_%d=%" PRIu64 "\n", status,
			    tally->statuses[status]);
	}
	write_number(file, "none_connected",
	    (int64_t)tally->failures[CLIENT_REFUSED]);
	write_number(file, "none_closed",
	    (int64_t)tally->failures[CLIENT_CLOSED]);
	write_number(file, "none_in_time",
	    (int64_t)tally->failures[CLIENT_TIMEOUT]);
	write_number(file, "none_http",
	    (int64_t)tally->failures[CLIENT_GARBLED]);
	write_number(file, "asked", (int64_t)tally->asked);
	write_number(file, "presses", (int64_t)tally->presses);
	write_number(file, "granted", (int64_t)tally->granted);
	write_number(file, "refused", (int64_t)tally->refused);
	write_number(file, "charged", (int64_t)tally->charged);
	write_number(file, "retries", (int64_t)tally->retries);
	write_number(file, "hangups", (int64_t)tally->hangups);
	write_number(file, "repeats", (int64_t)tally->repeats);
	write_number(file, "differ", (int64_t)tally->differ);
	write_hist(file, "page", &tally->page);
	write_hist(file, "look", &tally->look);
	write_hist(file, "hold", &tally->grant);
	write_hist(file, "refusal", &tally->refusal);
	write_hist(file, "order", &tally->order);
	write_hist(file, "pay", &tally->pay);
}

/* Closes; false when not all of it could be written. */
static bool
file_done(FILE *file, const char *name)
{
	bool bad = ferror(file) != 0;

	if (fclose(file) != 0 || bad) {
		fprintf(stderr, "drill: cannot write %s\n", name);
		return false;
	}
	return true;
}

static FILE *
file_begin(const char *name)
{
	FILE *file = fopen(name, "we");

	if (!file)
		fprintf(stderr, "drill: cannot write %s: %s\n", name,
		    strerror(errno));
	return file;
}

/* One line for each hold: its id, how it ended, whether it was charged. */
static bool
write_holds(const struct drill *drill)
{
	FILE *file = file_begin(drill->options.holds.text);

	if (!file)
		return false;
	for (size_t i = 0; i < drill->held; i++)
		fprintf(file, "%s\t%s\t%d\n", drill->holders[i]->id,
		    end_names[drill->holders[i]->end],
		    drill->holders[i]->charged);
	return file_done(file, drill->options.holds.text);
}

bool
count_write(const struct drill *drill)
{
	FILE *file = file_begin(drill->options.out.text);
	int64_t all_us;

	if (!file)
		return false;
	write_options(file, &drill->options);
	write_tally(file, &drill->tally);
	write_number(file, "known_holds", (int64_t)drill->held);
	write_number(file, "shared", count_shared(drill));
	write_number(file, "peak", count_peak(drill, &all_us));
	write_number(file, "all_held_us", all_us);
	write_number(file, "connections",
	    (int64_t)client_opened(drill->client));
	write_number(file, "resent", (int64_t)client_resent(drill->client));
	return file_done(file, drill->options.out.text) && write_holds(drill);
}

/* --- the lines of progress */

/* Holds that live now, as far as this side can know. */
static int64_t
count_live(const struct drill *drill)
{
	int64_t now = client_now_us();
	int64_t live = 0;

	for (size_t i = 0; i < drill->held; i++)
		live += !drill->holders[i]->paid_us &&
		    now < hold_until(drill->holders[i]);
	return live;
}

void
count_title(void)
{
	printf("%6s %8s %8s %8s %8s %8s %8s %8s\n", "second", "came", "asked",
	    "held", "paid", "refused", "waiting", "errors");
	(void)fflush(stdout);
}

void
count_line(const struct drill *drill)
{
	const struct tally *tally = &drill->tally;
	int64_t since = client_now_us() - drill->opening_us;
	uint64_t errors = tally->statuses[0];

	for (int status = 500; status < 600; status++)
		errors += tally->statuses[status];
	printf("%6" PRId64 " %8" PRIu64 " %8" PRIu64 " %8" PRId64 " %8" PRIu64
	       " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 "\n",
	    since / SECOND - (since < 0), tally->pages, tally->asked,
	    count_live(drill), tally->paid, tally->refused, tally->waiting,
	    errors);
	(void)fflush(stdout);
}
