/* Options of the command line; refusals of item add and split before a call. */
#include "command/command.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The database as the commands see it: what it was asked for. */
static struct item_new added;
static struct item_split parted;
static struct item_edit edited;
static const char *shown; /* item_show's document */
static int calls;

struct db *
db_open(const struct conf *conf, enum db_role role, const char *process)
{
	(void)conf;
	(void)role;
	(void)process;
	return NULL;
}

void
db_close(struct db *db)
{
	(void)db;
}

const char *
db_error(const struct db *db)
{
	(void)db;
	return "";
}

void
answer_init(struct answer *answer)
{
	memset(answer, 0, sizeof(*answer));
}

void
answer_release(struct answer *answer)
{
	(void)answer;
}

enum db_status
db_item_add(struct db *db, const struct item_new *item, struct answer *answer)
{
	(void)db;
	added = *item;
	calls++;
	memcpy(answer->outcome, "added", sizeof("added"));
	return DB_OK;
}

enum db_status
db_item_split(struct db *db, const struct item_split *split,
    struct answer *answer)
{
	(void)db;
	parted = *split;
	calls++;
	memcpy(answer->outcome, "no-such-item", sizeof("no-such-item"));
	return DB_OK;
}

enum db_status
db_item_show(struct db *db, const char *sku, struct buf *document)
{
	(void)db;
	(void)sku;
	buf_str(document, shown);
	return DB_OK;
}

enum db_status
db_item_set(struct db *db, const struct item_edit *edit, struct answer *answer)
{
	(void)db;
	edited = *edit;
	calls++;
	memcpy(answer->outcome, "done", sizeof("done"));
	return DB_OK;
}

/* A command with these words, up to NULL. */
static int
run(int (*command)(const struct conf *conf, int argc, char **argv), ...)
{
	const char *argv[8];
	int argc = 0;
	va_list words;

	va_start(words, command);
	while ((argv[argc] = va_arg(words, const char *)) != NULL)
		argc++;
	va_end(words);
	return command(NULL, argc, (char **)argv);
}

/* item add SKU with the needed options, then what is given up to NULL. */
static int
add(const char *sku, const char *price, const char *currency, ...)
{
	const char *argv[32] = {sku, "--title", "A title", "--price", price,
	    "--currency", currency, "--total", "600"};
	int argc = 9;
	va_list more;

	va_start(more, currency);
	while ((argv[argc] = va_arg(more, const char *)) != NULL)
		argc++;
	va_end(more);
	calls = 0;
	return command_item_add(NULL, argc, (char **)argv);
}

static void
defaults_are_one_each_for_ten_minutes(void **state)
{
	(void)state;
	assert_int_equal(add("RUN", "129.00", "EUR", NULL), EXIT_DONE);
	assert_int_equal(added.price, 12900);
	assert_int_equal(added.hold_seconds, 600);
	assert_int_equal(added.per_buyer, 1);
	assert_int_equal(added.buckets, 1);
	assert_string_equal(added.late, "retake,allowance,refund");
}

static void
c08_no_allowance_and_a_blank_one_both_mean_none(void **state)
{
	(void)state;
	added.allowance = -1;
	assert_int_equal(add("RUN", "1.00", "EUR", "--allowance", "", NULL),
	    EXIT_DONE);
	assert_int_equal(added.allowance, 0);
	assert_int_equal(add("RUN", "1.00", "EUR", "--allowance", "0", NULL),
	    EXIT_DONE);
	assert_int_equal(added.allowance, 0);
	assert_int_equal(add("RUN", "1.00", "EUR", "--allowance", "3", NULL),
	    EXIT_DONE);
	assert_int_equal(added.allowance, 3);
}

static void
times_are_read_with_their_unit(void **state)
{
	(void)state;
	add("RUN", "1.00", "EUR", "--hold", "90s", NULL);
	assert_int_equal(added.hold_seconds, 90);
	add("RUN", "1.00", "EUR", "--hold", "24h", NULL);
	assert_int_equal(added.hold_seconds, 86400);
	add("RUN", "1.00", "EUR", "--hold", "45", NULL);
	assert_int_equal(added.hold_seconds, 45);
	assert_int_equal(add("RUN", "1.00", "EUR", "--hold", "25h", NULL),
	    EXIT_USAGE);
	assert_int_equal(add("RUN", "1.00", "EUR", "--hold", "0", NULL),
	    EXIT_USAGE);
	assert_int_equal(add("RUN", "1.00", "EUR", "--hold", "m", NULL),
	    EXIT_USAGE);
	assert_int_equal(calls, 0);
}

static void
c31_money_is_refused_when_the_item_is_added(void **state)
{
	(void)state;
	assert_int_equal(add("RUN", "500", "JPY", NULL), EXIT_DONE);
	assert_int_equal(added.price, 500);
	assert_int_equal(add("RUN", "18.600", "KWD", NULL), EXIT_DONE);
	assert_int_equal(added.price, 18600);
	assert_int_equal(add("RUN", "5.124", "KWD", NULL), EXIT_USAGE);
	assert_int_equal(add("RUN", "19.99", "EUR", NULL), EXIT_DONE);
	assert_int_equal(added.price, 1999);
	assert_int_equal(add("RUN", "5", "XXQ", NULL), EXIT_USAGE);
	assert_int_equal(add("RUN", "0", "EUR", NULL), EXIT_USAGE);
	assert_int_equal(add("RUN", "1000000.00", "EUR", NULL), EXIT_USAGE);
	assert_int_equal(calls, 0);
}

static void
c31_what_nobody_could_pay_is_refused(void **state)
{
	(void)state;
	assert_int_equal(add("RUN", "0.49", "EUR", NULL), EXIT_USAGE);
	assert_int_equal(add("RUN", "49", "JPY", NULL), EXIT_USAGE);
	assert_int_equal(add("RUN", "5.50", "ISK", NULL), EXIT_USAGE);
	assert_int_equal(calls, 0);
	/* Said, but not refused: it is charged, and paid out in whole units. */
	assert_int_equal(add("RUN", "199.50", "HUF", NULL), EXIT_DONE);
	assert_int_equal(added.price, 19950);
	assert_int_equal(calls, 1);
}

/* item set RUN --price PRICE, of an item of which a buyer may have some. */
static int
reprice(const char *price, const char *currency, int per_buyer)
{
	static char document[128]; /* shown until the next one is */

	snprintf(document, sizeof(document),
	    "{\"version\":7,\"per_buyer\":%d,\"price\":{\"amount\":100,"
	    "\"currency\":\"%s\"}}",
	    per_buyer, currency);
	shown = document;
	calls = 0;
	edited.price = -1;
	return run(command_item_set, "RUN", "--price", price, NULL);
}

static void
c31_a_new_price_keeps_to_the_same_limits(void **state)
{
	(void)state;
	assert_int_equal(reprice("0.49", "EUR", 1), EXIT_USAGE);
	assert_int_equal(reprice("5.124", "KWD", 1), EXIT_USAGE);
	assert_int_equal(reprice("1.5", "JPY", 1), EXIT_USAGE);
	assert_int_equal(reprice("500000", "EUR", 2), EXIT_USAGE);
	assert_int_equal(calls, 0);
	assert_int_equal(reprice("500", "JPY", 1), EXIT_DONE);
	assert_int_equal(edited.price, 500);
	assert_int_equal(edited.version, 7);
	assert_int_equal(reprice("499999.99", "EUR", 2), EXIT_DONE);
	assert_int_equal(edited.price, 49999999);
	/* Without a price there is none to check. */
	assert_int_equal(run(command_item_set, "RUN", "--title", "T", NULL),
	    EXIT_DONE);
	assert_int_equal(edited.price, -1);
}

static void
the_ladder_for_late_money_has_four_forms(void **state)
{
	static const char *const good[] = {"refund", "retake,refund",
	    "allowance,refund", "retake,allowance,refund"};
	static const char *const bad[] = {"", "keep", "retake", "allowance",
	    "refund,retake", "allowance,retake,refund", "retake,,refund",
	    "retake, refund", "refund,refund", "{refund}"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(add("RUN", "1.00", "EUR", "--late", good[i],
				     NULL),
		    EXIT_DONE);
		assert_string_equal(added.late, good[i]);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(add("RUN", "1.00", "EUR", "--late", bad[i],
				     NULL),
		    EXIT_USAGE);
		assert_int_equal(calls, 0);
	}
}

static void
c55_a_moment_must_say_its_zone(void **state)
{
	(void)state;
	assert_int_equal(add("RUN", "1.00", "EUR", "--opens",
			     "2026-10-25T10:00:00+01:00", NULL),
	    EXIT_DONE);
	assert_int_equal(add("RUN", "1.00", "EUR", "--opens",
			     "2026-10-25T10:00:00Z", NULL),
	    EXIT_DONE);
	assert_int_equal(add("RUN", "1.00", "EUR", "--opens",
			     "2026-10-25T10:00:00", NULL),
	    EXIT_USAGE);
	assert_int_equal(add("RUN", "1.00", "EUR", "--opens", "tomorrow", NULL),
	    EXIT_USAGE);
	assert_int_equal(add("RUN", "1.00", "EUR", "--opens", "", NULL),
	    EXIT_USAGE);
}

static void
c49_an_sku_is_a_file_name_and_text(void **state)
{
	char sku[205] = "";

	(void)state;
	assert_int_equal(add("01234", "1.00", "EUR", NULL), EXIT_DONE);
	assert_string_equal(added.sku, "01234");
	assert_int_equal(add("0", "1.00", "EUR", NULL), EXIT_DONE);
	assert_int_equal(add("caf\xc3\xa9", "1.00", "EUR", NULL), EXIT_DONE);
	assert_int_equal(add("1234 ", "1.00", "EUR", NULL), EXIT_USAGE);
	assert_int_equal(add("../etc", "1.00", "EUR", NULL), EXIT_USAGE);
	assert_int_equal(add(".hidden", "1.00", "EUR", NULL), EXIT_USAGE);
	assert_int_equal(add("", "1.00", "EUR", NULL), EXIT_USAGE);
	assert_int_equal(add("\xff", "1.00", "EUR", NULL), EXIT_USAGE);
	/* Nobody could ask for it: a request may name 200 bytes. */
	for (size_t i = 0; i < sizeof(sku) - 1; i++)
		sku[i] = "\xf0\x9f\x91\x9f"[i % 4];
	assert_int_equal(add(sku, "1.00", "EUR", NULL), EXIT_USAGE);
	sku[200] = '\0';
	assert_int_equal(add(sku, "1.00", "EUR", NULL), EXIT_DONE);
}

static void
an_order_of_all_that_a_buyer_may_have_can_be_paid(void **state)
{
	(void)state;
	assert_int_equal(add("RUN", "999999.99", "EUR", "--per-buyer", "1",
			     NULL),
	    EXIT_DONE);
	assert_int_equal(add("RUN", "999999.99", "EUR", "--per-buyer", "2",
			     NULL),
	    EXIT_USAGE);
}

static void
words_that_nobody_knows_are_refused(void **state)
{
	(void)state;
	assert_int_equal(add("RUN", "1.00", "EUR", "--colour", "red", NULL),
	    EXIT_USAGE);
	assert_int_equal(add("RUN", "1.00", "EUR", "another", NULL),
	    EXIT_USAGE);
	assert_int_equal(add("RUN", "1.00", "EUR", "--hold", NULL), EXIT_USAGE);
	assert_int_equal(add("RUN", "1.00", "EUR", "--title", "twice", NULL),
	    EXIT_USAGE);
	assert_int_equal(add("RUN", "1.00", "EUR", "--kind", "unit", NULL),
	    EXIT_USAGE);
	assert_int_equal(add("RUN", "1.00", "EUR", "--late", "keep", NULL),
	    EXIT_USAGE);
	assert_int_equal(calls, 0);
}

static void
a_split_is_over_2_to_1000_buckets(void **state)
{
	static const char *const bad[] = {"0", "1", "1001", "-2", "2.5", "x",
	    "", "2 ", "99999999999999999999"};
	size_t i;

	(void)state;
	calls = 0;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(run(command_item_split, "RUN", bad[i], NULL),
		    EXIT_USAGE);
	assert_int_equal(run(command_item_split, NULL), EXIT_USAGE);
	assert_int_equal(run(command_item_split, "RUN", NULL), EXIT_USAGE);
	assert_int_equal(run(command_item_split, "RUN", "2", "3", NULL),
	    EXIT_USAGE);
	assert_int_equal(run(command_item_merge, NULL), EXIT_USAGE);
	assert_int_equal(run(command_item_merge, "RUN", "2", NULL), EXIT_USAGE);
	assert_int_equal(calls, 0);
	assert_int_equal(run(command_item_split, "RUN", "1000", NULL),
	    EXIT_REFUSED);
	assert_int_equal(parted.buckets, 1000);
	assert_int_equal(run(command_item_split, "--json", "2", "3", NULL),
	    EXIT_REFUSED);
	assert_string_equal(parted.sku, "2");
	assert_int_equal(parted.buckets, 3);
	assert_true(parted.by[0] != '\0');
	assert_int_equal(run(command_item_merge, "RUN", "--json", NULL),
	    EXIT_REFUSED);
	assert_int_equal(parted.buckets, 1);
	assert_int_equal(calls, 3);
}

static void
times_back_and_moments(void **state)
{
	static const char *const bad[] = {"", "d", "30x", "-1d", "1.5h", "400d",
	    "1 d", "99999999999999999999", "9223372036854775807d"};
	int64_t seconds = 0;

	(void)state;
	assert_true(command_duration("--x", "30d", 1, 31536000, &seconds));
	assert_int_equal(seconds, 30 * 86400);
	assert_true(command_duration("--x", "90m", 1, 31536000, &seconds));
	assert_int_equal(seconds, 5400);
	assert_true(command_duration("--x", "45", 1, 31536000, &seconds));
	assert_int_equal(seconds, 45);
	assert_true(command_duration("--x", "0s", 0, 10, &seconds));
	assert_int_equal(seconds, 0);
	assert_false(command_duration("--x", "0", 1, 10, &seconds));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(
		    command_duration("--x", bad[i], 0, 31536000, &seconds));
	assert_true(command_moment("--x", "2026-11-01T10:00:00Z"));
	assert_true(command_moment("--x", "2026-11-01T10:00:00+01:00"));
	assert_false(command_moment("--x", "2026-11-01T10:00:00"));
	assert_false(command_moment("--x", "2026-11-01"));
	assert_false(command_moment("--x", ""));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(defaults_are_one_each_for_ten_minutes),
	    cmocka_unit_test(c08_no_allowance_and_a_blank_one_both_mean_none),
	    cmocka_unit_test(times_are_read_with_their_unit),
	    cmocka_unit_test(c31_money_is_refused_when_the_item_is_added),
	    cmocka_unit_test(c31_what_nobody_could_pay_is_refused),
	    cmocka_unit_test(c31_a_new_price_keeps_to_the_same_limits),
	    cmocka_unit_test(the_ladder_for_late_money_has_four_forms),
	    cmocka_unit_test(c55_a_moment_must_say_its_zone),
	    cmocka_unit_test(c49_an_sku_is_a_file_name_and_text),
	    cmocka_unit_test(an_order_of_all_that_a_buyer_may_have_can_be_paid),
	    cmocka_unit_test(words_that_nobody_knows_are_refused),
	    cmocka_unit_test(a_split_is_over_2_to_1000_buckets),
	    cmocka_unit_test(times_back_and_moments),
	};

	return cmocka_run_group_tests_name("command", tests, NULL, NULL);
}
