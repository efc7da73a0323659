/* io/db: which failures are tried again, and how a batch becomes arrays. */
#include "io/db.h"
#include "io/pg.h"

#include "base/clock.h"
#include "base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define BUYER "6ba7b810-9dad-81d1-80b4-00c04fd430c8"

/* A row of hold_take's: request, outcome, buyer, document. */
struct fake_row {
	const char *values[4];
};

static struct {
	const enum pg_status *statuses; /* of the calls to come */
	int calls;
	int slept;
	int errors;
	const struct fake_row *rows;
	size_t count;
	char name[32];
	struct buf values; /* a line each */
	int freed;
} fake;

void
log_write(enum log_level level, const char *format, ...)
{
	fake.errors += level == LOG_ERROR;
}

void
clock_sleep_ms(int64_t ms)
{
	assert_in_range(ms, 0, 49);
	fake.slept++;
}

struct pg *
pg_open(const struct pg_options *options)
{
	static char token;

	assert_string_equal(options->role, "lastpair_web");
	assert_int_equal(options->lock_timeout_ms, 2000);
	assert_int_equal(options->statement_timeout_ms, 5000);
	return (struct pg *)(void *)&token;
}

void
pg_close(struct pg *pg)
{
}

enum pg_status
pg_connect(struct pg *pg)
{
	return fake.statuses[0];
}

const char *
pg_error(const struct pg *pg)
{
	return "it says no";
}

enum pg_status
pg_call(struct pg *pg, const char *name, const char *const *values,
    size_t count, struct pg_rows **rows)
{
	static char token;

	snprintf(fake.name, sizeof(fake.name), "%s", name);
	buf_reset(&fake.values);
	for (size_t i = 0; i < count; i++)
		buf_printf(&fake.values, "%s\n", values[i]);
	*rows = (struct pg_rows *)(void *)&token;
	return fake.statuses[fake.calls++];
}

void
pg_rows_free(struct pg_rows *rows)
{
	fake.freed += rows != NULL;
}

size_t
pg_rows_count(const struct pg_rows *rows)
{
	return fake.count;
}

struct str
pg_value(const struct pg_rows *rows, size_t row, size_t column)
{
	const char *value = fake.rows[row].values[column];

	return value ? str_of(value) : (struct str){NULL, 0};
}

int64_t
pg_int(const struct pg_rows *rows, size_t row, size_t column)
{
	int64_t n = 0;

	assert_true(str_int(pg_value(rows, row, column), &n));
	return n;
}

static struct db *db;

static int
setup(void **state)
{
	static struct conf conf;

	memset(&fake, 0, sizeof(fake));
	conf.server.lock_timeout_ms = 2000;
	conf.server.statement_timeout_ms = 5000;
	db = db_open(&conf, DB_WEB, "db_test");
	return 0;
}

static int
teardown(void **state)
{
	db_close(db);
	buf_release(&fake.values);
	return 0;
}

static enum db_status
show(const enum pg_status *statuses)
{
	struct buf document = {0};
	enum db_status status;

	fake.statuses = statuses;
	status = db_hold_show(db, str_of("hld_x"), NULL, &document);
	buf_release(&document);
	return status;
}

static void
failures_keep_their_meaning(void **state)
{
	static const struct {
		enum pg_status statuses[4];
		enum db_status status;
		int calls;
		int errors;
	} cases[] = {
	    {{PG_OK}, DB_OK, 1, 0},
	    {{PG_DOWN}, DB_DOWN, 1, 0},
	    {{PG_LOST}, DB_LOST, 1, 0},
	    {{PG_REFUSED}, DB_REFUSED, 1, 0},
	    {{PG_BUG}, DB_BUG, 1, 1},
	    {{PG_RETRY, PG_OK}, DB_OK, 2, 0},
	    {{PG_RETRY, PG_RETRY, PG_OK}, DB_OK, 3, 0},
	    {{PG_RETRY, PG_RETRY, PG_RETRY, PG_OK}, DB_CONFLICT, 3, 0},
	    {{PG_RETRY, PG_LOST}, DB_LOST, 2, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		fake.calls = fake.slept = fake.errors = 0;
		assert_int_equal(show(cases[i].statuses), cases[i].status);
		assert_int_equal(fake.calls, cases[i].calls);
		assert_int_equal(fake.slept, cases[i].calls - 1);
		assert_int_equal(fake.errors, cases[i].errors);
	}
}

static void
a_database_that_does_not_fit_is_refused(void **state)
{
	static const enum pg_status bug = PG_BUG, down = PG_DOWN, ok = PG_OK;

	fake.statuses = &bug;
	assert_int_equal(db_check(db), DB_REFUSED);
	fake.statuses = &down;
	assert_int_equal(db_check(db), DB_DOWN);
	fake.statuses = &ok;
	assert_int_equal(db_check(db), DB_OK);
}

static const struct hold_request ann = {
    .id = "hld_ann",
    .buyer = {BUYER},
    .known = true,
    .lines = {{{"RUN-42", 6}, 2}, {{"RUN-43", 6}, 1}},
    .count = 2,
};
static const struct hold_request ben = {
    .id = "hld_ben",
    .buyer = {"00000000-0000-4000-8000-000000000000"},
    .key = {"key-of-ben", 10},
    .email = {"b\"en@shop.test", 14},
    .lines = {{{"RUN-42", 6}, 1}},
    .count = 1,
};

static void
a_batch_becomes_arrays_and_finds_its_answers(void **state)
{
	static const struct fake_row rows[] = {
	    {{"2", "sold-out", NULL, "{\"free\":0}"}},
	    {{"1", "created", BUYER, "{\"id\":\"hld_ann\"}"}},
	};
	static const enum pg_status ok = PG_OK;
	const struct hold_request *requests[] = {&ann, &ben};
	struct answer first, second, *answers[] = {&first, &second};

	answer_init(&first);
	answer_init(&second);
	buf_str(&first.document, "of an earlier try");
	fake.statuses = &ok;
	fake.rows = rows;
	fake.count = 2;
	assert_int_equal(db_hold_take(db, requests, answers, 2), DB_OK);
	assert_string_equal(fake.name, "hold_take");
	assert_string_equal(buf_text(&fake.values),
	    "{\"hld_ann\",\"hld_ben\"}\n"
	    "{\"" BUYER "\",\"00000000-0000-4000-8000-000000000000\"}\n"
	    "{\"t\",\"f\"}\n"
	    "{NULL,\"key-of-ben\"}\n"
	    "{NULL,\"b\\\"en@shop.test\"}\n"
	    "{\"1\",\"1\",\"2\"}\n"
	    "{\"RUN-42\",\"RUN-43\",\"RUN-42\"}\n"
	    "{\"2\",\"1\",\"1\"}\n");
	assert_string_equal(first.outcome, "created");
	assert_string_equal(first.buyer.text, BUYER);
	assert_string_equal(buf_text(&first.document), "{\"id\":\"hld_ann\"}");
	assert_string_equal(second.outcome, "sold-out");
	assert_string_equal(buf_text(&second.document), "{\"free\":0}");
	assert_int_equal(fake.freed, 1);
	answer_release(&first);
	answer_release(&second);
}

static void
a_batch_that_failed_has_no_answers(void **state)
{
	static const enum pg_status lost = PG_LOST;
	const struct hold_request *requests[] = {&ann};
	struct answer answer, *answers[] = {&answer};

	answer_init(&answer);
	fake.statuses = &lost;
	assert_int_equal(db_hold_take(db, requests, answers, 1), DB_LOST);
	assert_string_equal(answer.outcome, "");
	assert_int_equal(answer.document.len, 0);
	answer_release(&answer);
}

static void
members_are_read_in_place(void **state)
{
	static const struct fake_row rows[] = {
	    {{BUYER, NULL}},
	    {{"", "key-of-ben"}},
	};
	static const enum pg_status ok = PG_OK;
	struct gate_members members;

	fake.statuses = &ok;
	fake.rows = rows;
	fake.count = 2;
	assert_int_equal(db_gate_members(db, str_of("RUN-42"), &members),
	    DB_OK);
	assert_string_equal(fake.name, "gate_members");
	assert_string_equal(buf_text(&fake.values), "RUN-42\n");
	assert_int_equal(members.count, 2);
	assert_true(str_is(gate_member_buyer(&members, 0), BUYER));
	assert_int_equal(gate_member_key(&members, 0).len, 0);
	assert_int_equal(gate_member_buyer(&members, 1).len, 0);
	assert_true(str_is(gate_member_key(&members, 1), "key-of-ben"));
	gate_members_release(&members);
	assert_int_equal(fake.freed, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(failures_keep_their_meaning),
	    TEST(a_database_that_does_not_fit_is_refused),
	    TEST(a_batch_becomes_arrays_and_finds_its_answers),
	    TEST(a_batch_that_failed_has_no_answers),
	    TEST(members_are_read_in_place),
	};

	return cmocka_run_group_tests_name("io/db", tests, NULL, NULL);
}
