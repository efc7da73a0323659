/*
 * The verdict, from numbers alone: what the buyers saw (the run) against what
 * the shop and the provider have written down (the books). A number that is
 * missing breaks the promise that asks for it.
 */
#include "drill.h"

#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FACTS_MAX 400
/* Smaller than any number there is. */
#define MISSING INT64_MIN

struct fact {
	char name[32];
	int64_t value;
};

struct facts {
	struct fact list[FACTS_MAX];
	size_t n;
};

struct report {
	FILE *out;
	struct facts facts;
	int broken;
};

/* --- the numbers */

static int64_t
fact(const struct report *report, const char *name)
{
	for (size_t i = 0; i < report->facts.n; i++) {
		if (strcmp(report->facts.list[i].name, name) == 0)
			return report->facts.list[i].value;
	}
	return MISSING;
}

/* 0 when there is none: for what only shows up when it has happened. */
static int64_t
fact_or_0(const struct report *report, const char *name)
{
	int64_t value = fact(report, name);

	return value == MISSING ? 0 : value;
}

static bool
fact_read(struct facts *facts, const char *line)
{
	struct fact *fact = &facts->list[facts->n];
	const char *equals = strchr(line, '=');
	size_t len = equals ? (size_t)(equals - line) : 0;
	struct str value;

	if (len == 0 || len >= sizeof(fact->name) || facts->n >= FACTS_MAX)
		return false;
	value = (struct str){equals + 1, strcspn(equals + 1, "\n")};
	memcpy(fact->name, line, len);
	fact->name[len] = '\0';
	if (!str_int(value, &fact->value))
		return false;
	facts->n++;
	return true;
}

static bool
facts_read(struct facts *facts, const char *name)
{
	FILE *file = fopen(name, "re");
	bool good = true;
	char line[128];

	if (!file) {
		fprintf(stderr, "drill: cannot read %s: %s\n", name,
		    strerror(errno));
		return false;
	}
	while (good && fgets(line, sizeof(line), file)) {
		good = fact_read(facts, line);
		if (!good)
			fprintf(stderr, "drill: %s: cannot take %s", name,
			    line);
	}
	(void)fclose(file);
	return good;
}

static bool
facts_write(const struct report *report, const char *name)
{
	FILE *file = fopen(name, "we");
	bool bad;

	if (!file) {
		fprintf(stderr, "drill: cannot write %s: %s\n", name,
		    strerror(errno));
		return false;
	}
	fprintf(file, "{");
	for (size_t i = 0; i < report->facts.n; i++)
		fprintf(file, "\"%s\": %" PRId64 ", ",
		    report->facts.list[i].name, report->facts.list[i].value);
	fprintf(file, "\"broken\": %d}\n", report->broken);
	bad = ferror(file) != 0;
	return fclose(file) == 0 && !bad;
}

/* --- the table */

static void
row(const struct report *report, const char *name, const char *words)
{
	int64_t value = fact(report, name);

	if (value != 0 && value != MISSING)
		fprintf(report->out, "  %8" PRId64 "  %s\n", value, words);
}

static void
table_buyers(const struct report *report)
{
	fprintf(report->out,
	    "\n%" PRId64 " buyers, %" PRId64 " %% of them there at the "
	    "opening, the others within %" PRId64 " s; seed %" PRId64 "\n",
	    fact(report, "buyers"), fact(report, "early"),
	    fact(report, "seconds"), fact(report, "seed"));
	row(report, "end_paid", "paid and got one");
	row(report, "end_retaken", "paid too late and got one all the same");
	row(report, "end_refunded", "paid too late and got the money back");
	row(report, "end_dropped", "gave theirs up");
	row(report, "end_expired", "let their time pass");
	row(report, "end_unpaid", "were not charged before their time was up");
	row(report, "end_away", "were told that none is left, and went away");
	row(report, "end_unanswered", "GOT NO ANSWER");
	row(report, "end_wrong", "GOT AN ANSWER THAT MUST NOT BE");
	fprintf(report->out, "%" PRId64 " units\n", fact(report, "units"));
	row(report, "sold", "sold");
	row(report, "free", "free at the end");
	row(report, "held", "held at the end");
	row(report, "known_holds", "holds in all");
	row(report, "peak", "held or sold at once, at most");
}

static void
time_row(const struct report *report, const char *name, const char *words)
{
	char key[48];
	int64_t value[4];
	static const char *const parts[] = {"_n", "_p50_us", "_p99_us",
	    "_max_us"};

	for (int i = 0; i < 4; i++) {
		snprintf(key, sizeof(key), "%s%s", name, parts[i]);
		value[i] = fact(report, key);
	}
	fprintf(report->out, "%-30s %8" PRId64 " %9.1f %9.1f %9.1f\n", words,
	    value[0], (double)value[1] / 1000, (double)value[2] / 1000,
	    (double)value[3] / 1000);
}

static void
table_times(const struct report *report)
{
	int64_t all_us = fact(report, "all_held_us");

	fprintf(report->out, "\n%-30s %8s %9s %9s %9s\n", "milliseconds",
	    "times", "middle", "99 %", "longest");
	time_row(report, "page", "the product page");
	time_row(report, "look", "a look at the stock");
	time_row(report, "hold", "from Buy to the hold");
	time_row(report, "refusal", "from Buy to the refusal");
	time_row(report, "order", "the order page");
	time_row(report, "pay", "the provider's page");
	if (all_us >= 0)
		fprintf(report->out,
		    "all units were held %.2f s after the opening\n",
		    (double)all_us / 1e6);
}

static void
table_wire(const struct report *report)
{
	fprintf(report->out, "\nanswers:");
	for (size_t i = 0; i < report->facts.n; i++) {
		const struct fact *one = &report->facts.list[i];

		if (strncmp(one->name, "status_", 7) == 0 &&
		    strcmp(one->name, "status_0") != 0)
			fprintf(report->out, "  %s %" PRId64, one->name + 7,
			    one->value);
	}
	fprintf(report->out, "\n");
	row(report, "none_connected", "times no connection");
	row(report, "none_closed",
	    "times a connection closed before the answer");
	row(report, "none_in_time", "times no answer in time");
	row(report, "none_http", "times an answer that is no HTTP");
	row(report, "presses", "times Buy");
	row(report, "retries", "requests sent again");
	row(report, "hangups", "of them because the buyer hung up");
	row(report, "repeats", "holds asked for once more with the same key");
	row(report, "connections", "connections");
	row(report, "kills", "processes of the shop were killed");
}

/* --- the promises */

static void
promise(struct report *report, bool kept, const char *words)
{
	fprintf(report->out, "%-6s  %s\n", kept ? "ok" : "FAILED", words);
	report->broken += !kept;
}

/* Both are there and the same. */
static bool
equal(const struct report *report, const char *a, const char *b)
{
	return fact(report, a) != MISSING && fact(report, a) == fact(report, b);
}

static bool
zero(const struct report *report, const char *name)
{
	return fact(report, name) == 0;
}

/* No answer, or one that says that the shop is at fault. */
static int64_t
errors(const struct report *report, bool only_odd)
{
	int64_t sum = 0;

	for (size_t i = 0; i < report->facts.n; i++) {
		const struct fact *one = &report->facts.list[i];
		const char *status = one->name + 7;

		if (strncmp(one->name, "status_", 7) != 0)
			continue;
		if (only_odd && (*status == '0' || strcmp(status, "503") == 0))
			continue;
		if (*status == '0' || *status == '5')
			sum += one->value;
	}
	return sum;
}

static void
promises_answers(struct report *report)
{
	promise(report,
	    zero(report, "end_unanswered") && zero(report, "end_wrong"),
	    "every buyer was answered");
	if (fact_or_0(report, "kills"))
		promise(report, errors(report, true) == 0,
		    "no 5xx but 503, and the same request again found an "
		    "answer");
	else
		promise(report, errors(report, false) == 0,
		    "no 5xx, no connection lost");
	promise(report, zero(report, "differ") && zero(report, "shared"),
	    "the same key led to the same hold, and no hold to two buyers");
}

/* Whether so many come before the first holds end that all must go. */
static bool
enough_buyers(const struct report *report)
{
	double buyers = (double)fact(report, "buyers");
	double early = buyers * (double)fact(report, "early") / 100;
	double seconds = (double)fact(report, "seconds");
	double first = (double)fact(report, "hold_seconds") / 5;
	double share = first < seconds ? first / seconds : 1;

	return early + (buyers - early) * share >=
	    1.1 * (double)fact(report, "units");
}

static void
promises_units(struct report *report)
{
	int64_t units = fact(report, "units");
	int64_t peak = fact(report, "peak");

	promise(report,
	    peak != MISSING && peak <= units &&
		equal(report, "units", "total") && zero(report, "allowance"),
	    "never were more units out than there are");
	if (enough_buyers(report))
		promise(report, peak >= units,
		    "at one moment all of them were out");
	promise(report, zero(report, "lost") && zero(report, "foreign"),
	    "each hold that a buyer was told of is in the books, and no other");
	promise(report,
	    zero(report, "ends_differ") && zero(report, "held") &&
		zero(report, "live"),
	    "every hold ended, paid or returned, as its buyer was told");
	promise(report,
	    fact(report, "sold") ==
		    fact_or_0(report, "end_paid") +
			fact_or_0(report, "end_retaken") &&
		equal(report, "sold", "paid_orders"),
	    "units sold are the orders that buyers have paid");
	promise(report, fact(report, "sold") + fact(report, "free") == units,
	    "units sold and units free are all there are");
}

static void
promises_money(struct report *report)
{
	promise(report,
	    equal(report, "charged", "provider_charged") &&
		zero(report, "charges_differ") && zero(report, "neither") &&
		zero(report, "both") && zero(report, "given_away"),
	    "everybody who was charged has goods or the money back, not both, "
	    "and nobody else");
	promise(report,
	    equal(report, "end_refunded", "refunds") &&
		equal(report, "end_refunded", "provider_refunded"),
	    "refunds are those who paid too late and got nothing");
	promise(report,
	    zero(report, "owed") && zero(report, "stuck") &&
		zero(report, "person"),
	    "nothing is owed, stuck or left to a person");
	promise(report, zero(report, "audit"), "lastpair audit finds nothing");
}

int
report_run(FILE *out, const char *run, const char *books, const char *json)
{
	struct report *report = calloc(1, sizeof(*report));
	int broken = -1;

	if (!report)
		log_bug("out of memory");
	report->out = out;
	if (!facts_read(&report->facts, run) ||
	    !facts_read(&report->facts, books))
		goto out;
	table_buyers(report);
	table_times(report);
	table_wire(report);
	fprintf(report->out, "\n");
	promises_answers(report);
	promises_units(report);
	promises_money(report);
	if (facts_write(report, json))
		broken = report->broken;
out:
	free(report);
	return broken;
}
