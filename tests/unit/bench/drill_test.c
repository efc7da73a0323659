/*
 * bench/drill: the verdict of a drill. Each promise is broken by changing one
 * number of a clean run: a check that cannot fail would be none.
 */
#include "drill.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct number {
	const char *name;
	int64_t value;
};

/* 10 units for 100 buyers; 13 holds, 12 charged, 2 of them sent back. */
static const struct number clean_run[] = {
    {"buyers", 100},
    {"units", 10},
    {"seconds", 5},
    {"early", 30},
    {"hold_seconds", 25},
    {"seed", 7},
    {"end_away", 87},
    {"end_paid", 8},
    {"end_retaken", 2},
    {"end_refunded", 2},
    {"end_expired", 1},
    {"end_dropped", 0},
    {"end_unpaid", 0},
    {"end_unanswered", 0},
    {"end_wrong", 0},
    {"status_200", 300},
    {"status_409", 87},
    {"charged", 12},
    {"known_holds", 13},
    {"differ", 0},
    {"shared", 0},
    {"peak", 10},
    {"all_held_us", 500000},
};

static const struct number clean_books[] = {
    {"total", 10},
    {"allowance", 0},
    {"held", 0},
    {"sold", 10},
    {"free", 0},
    {"lost", 0},
    {"foreign", 0},
    {"live", 0},
    {"paid_orders", 10},
    {"ends_differ", 0},
    {"charges_differ", 0},
    {"provider_charged", 12},
    {"provider_refunded", 2},
    {"neither", 0},
    {"both", 0},
    {"given_away", 0},
    {"refunds", 2},
    {"owed", 0},
    {"stuck", 0},
    {"person", 0},
    {"audit", 0},
    {"kills", 0},
};

#define RUN (sizeof(clean_run) / sizeof(clean_run[0]))
#define BOOKS (sizeof(clean_books) / sizeof(clean_books[0]))

/* change: takes the place of the number of its name, or comes in addition;
 * leave_out: a number that is not written. Either may be NULL. */
struct damage {
	const struct number *change;
	const char *leave_out;
};

static void
file_write(const char *path, const struct number *numbers, size_t n,
    const struct damage *damage)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	for (size_t i = 0; i < n; i++) {
		int64_t value = numbers[i].value;

		if (damage->leave_out &&
		    strcmp(numbers[i].name, damage->leave_out) == 0)
			continue;
		if (damage->change &&
		    strcmp(numbers[i].name, damage->change->name) == 0)
			value = damage->change->value;
		fprintf(file, "%s=%" PRId64 "\n", numbers[i].name, value);
	}
	assert_int_equal(fclose(file), 0);
}

/* How many promises are broken by that. */
static int
verdict(const struct number *run, size_t n, const struct damage *damage)
{
	char folder[] = "/tmp/lastpair-drill-XXXXXX";
	char path[3][64];
	FILE *out = tmpfile();
	int broken;

	assert_non_null(out);
	assert_non_null(mkdtemp(folder));
	snprintf(path[0], sizeof(path[0]), "%s/run", folder);
	snprintf(path[1], sizeof(path[1]), "%s/books", folder);
	snprintf(path[2], sizeof(path[2]), "%s/json", folder);
	file_write(path[0], run, n, damage);
	file_write(path[1], clean_books, BOOKS, damage);
	broken = report_run(out, path[0], path[1], path[2]);
	for (int i = 0; i < 3; i++)
		(void)unlink(path[i]);
	(void)rmdir(folder);
	(void)fclose(out);
	return broken;
}

static int
verdict_with(const char *name, int64_t value)
{
	const struct number change = {name, value};

	return verdict(clean_run, RUN, &(struct damage){.change = &change});
}

static void
a_clean_run_breaks_nothing(void **state)
{
	(void)state;
	assert_int_equal(verdict(clean_run, RUN, &(struct damage){0}), 0);
}

static void
each_wrong_number_breaks_a_promise(void **state)
{
	static const struct number wrong[] = {
	    {"end_unanswered", 1},
	    {"end_wrong", 1},
	    {"differ", 1},
	    {"shared", 1},
	    {"peak", 11},
	    {"peak", 9},
	    {"total", 11},
	    {"allowance", 1},
	    {"lost", 1},
	    {"foreign", 1},
	    {"ends_differ", 1},
	    {"held", 1},
	    {"live", 1},
	    {"sold", 9},
	    {"sold", 11},
	    {"paid_orders", 9},
	    {"free", 1},
	    {"charges_differ", 1},
	    {"provider_charged", 13},
	    {"charged", 11},
	    {"neither", 1},
	    {"both", 1},
	    {"given_away", 1},
	    {"refunds", 1},
	    {"provider_refunded", 1},
	    {"provider_refunded", 3},
	    {"end_refunded", 3},
	    {"owed", 1},
	    {"stuck", 1},
	    {"person", 1},
	    {"audit", 1},
	    {"audit", 3},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		int broken = verdict_with(wrong[i].name, wrong[i].value);

		if (broken < 1)
			print_error("%s=%" PRId64 " breaks nothing\n",
			    wrong[i].name, wrong[i].value);
		assert_true(broken >= 1);
	}
}

static void
a_number_that_is_missing_breaks_a_promise(void **state)
{
	static const char *const names[] = {"units", "end_unanswered",
	    "end_wrong", "differ", "shared", "peak", "charged", "total",
	    "allowance", "held", "sold", "free", "lost", "foreign", "live",
	    "paid_orders", "ends_differ", "charges_differ", "provider_charged",
	    "provider_refunded", "neither", "both", "given_away", "refunds",
	    "owed", "stuck", "person", "audit"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct damage damage = {.leave_out = names[i]};
		int broken = verdict(clean_run, RUN, &damage);

		if (broken < 1)
			print_error("without %s nothing is broken\n", names[i]);
		assert_true(broken >= 1);
	}
}

/* The clean run and one status more. */
static int
verdict_status(const char *name, int64_t kills)
{
	struct number run[RUN + 1];
	const struct number change = {"kills", kills};

	memcpy(run, clean_run, sizeof(clean_run));
	run[RUN] = (struct number){name, 3};
	return verdict(run, RUN + 1, &(struct damage){.change = &change});
}

static void
errors_are_allowed_only_where_processes_are_killed(void **state)
{
	(void)state;
	assert_int_equal(verdict_status("status_202", 0), 0);
	assert_int_equal(verdict_status("status_503", 0), 1);
	assert_int_equal(verdict_status("status_0", 0), 1);
	assert_int_equal(verdict_status("status_500", 0), 1);
	assert_int_equal(verdict_status("status_503", 2), 0);
	assert_int_equal(verdict_status("status_0", 2), 0);
	assert_int_equal(verdict_status("status_500", 2), 1);
	assert_int_equal(verdict_status("status_502", 2), 1);
}

static void
few_buyers_need_not_take_all(void **state)
{
	struct number run[RUN];
	const struct number change = {"peak", 9};

	(void)state;
	memcpy(run, clean_run, sizeof(clean_run));
	run[0].value = 10;
	assert_int_equal(verdict(run, RUN, &(struct damage){.change = &change}),
	    0);
}

static void
files_that_are_none_are_refused(void **state)
{
	FILE *out = tmpfile();

	(void)state;
	assert_non_null(out);
	assert_int_equal(report_run(out, "/nowhere/run", "/nowhere/books",
			     "/nowhere/json"),
	    -1);
	(void)fclose(out);
}

/* --- how many were out at once */

/* Three buyers of two units; times in seconds after the opening at 100. */
static int64_t
peak_of(struct buyer *buyers, size_t n, int64_t *all_us)
{
	struct buyer *holders[8];
	struct drill drill = {
	    .options = {.units = 2},
	    .holders = holders,
	    .held = n,
	    .opening_us = 100 * SECOND,
	};

	for (size_t i = 0; i < n; i++)
		holders[i] = &buyers[i];
	return count_peak(&drill, all_us);
}

static void
a_hold_counts_until_its_end(void **state)
{
	struct buyer after[] = {
	    {.granted_us = 101 * SECOND, .surely_us = 110 * SECOND},
	    {.granted_us = 102 * SECOND, .surely_us = 112 * SECOND},
	    {.granted_us = 110 * SECOND, .surely_us = 120 * SECOND},
	};
	struct buyer during[] = {
	    {.granted_us = 101 * SECOND, .surely_us = 110 * SECOND},
	    {.granted_us = 102 * SECOND, .surely_us = 112 * SECOND},
	    {.granted_us = 109 * SECOND, .surely_us = 120 * SECOND},
	};
	int64_t all_us;

	(void)state;
	assert_int_equal(peak_of(after, 3, &all_us), 2);
	assert_int_equal(all_us, 2 * SECOND);
	assert_int_equal(peak_of(during, 3, &all_us), 3);
	assert_int_equal(peak_of(after, 1, &all_us), 1);
	assert_int_equal(all_us, -1);
	assert_int_equal(peak_of(after, 0, &all_us), 0);
}

static void
giving_up_frees_and_paying_keeps(void **state)
{
	struct buyer dropped[] = {
	    {.granted_us = 101 * SECOND,
		.surely_us = 130 * SECOND,
		.dropped_us = 104 * SECOND},
	    {.granted_us = 102 * SECOND, .surely_us = 130 * SECOND},
	    {.granted_us = 104 * SECOND, .surely_us = 130 * SECOND},
	};
	struct buyer paid[] = {
	    {.granted_us = 101 * SECOND,
		.surely_us = 110 * SECOND,
		.paid_us = 103 * SECOND},
	    {.granted_us = 102 * SECOND, .surely_us = 130 * SECOND},
	    {.granted_us = 120 * SECOND, .surely_us = 130 * SECOND},
	};
	struct buyer late[] = {
	    {.granted_us = 101 * SECOND,
		.surely_us = 110 * SECOND,
		.paid_us = 115 * SECOND},
	    {.granted_us = 102 * SECOND, .surely_us = 130 * SECOND},
	    {.granted_us = 111 * SECOND, .surely_us = 130 * SECOND},
	};
	int64_t all_us;

	(void)state;
	assert_int_equal(peak_of(dropped, 3, &all_us), 2);
	assert_int_equal(peak_of(paid, 3, &all_us), 3);
	assert_int_equal(peak_of(late, 3, &all_us), 3);
	late[2].surely_us = 114 * SECOND;
	assert_int_equal(peak_of(late, 3, &all_us), 2);
}

static void
a_hold_of_two_buyers_is_seen(void **state)
{
	struct buyer buyers[] = {{.id = "hld_b"}, {.id = "hld_a"},
	    {.id = "hld_b"}};
	struct buyer *holders[] = {&buyers[0], &buyers[1], &buyers[2]};
	struct drill drill = {.holders = holders, .held = 3};

	(void)state;
	assert_int_equal(count_shared(&drill), 1);
	drill.held = 2;
	assert_int_equal(count_shared(&drill), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_clean_run_breaks_nothing),
	    cmocka_unit_test(each_wrong_number_breaks_a_promise),
	    cmocka_unit_test(a_number_that_is_missing_breaks_a_promise),
	    cmocka_unit_test(
		errors_are_allowed_only_where_processes_are_killed),
	    cmocka_unit_test(few_buyers_need_not_take_all),
	    cmocka_unit_test(files_that_are_none_are_refused),
	    cmocka_unit_test(a_hold_counts_until_its_end),
	    cmocka_unit_test(giving_up_frees_and_paying_keeps),
	    cmocka_unit_test(a_hold_of_two_buyers_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
