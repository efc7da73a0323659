/*
 * io/pg: what it makes of values on their way to the server, and what it says
 * of a server that fails: not carried out, or not known.
 */
#include "io/pg.h"
#include "io/pg_fake.h"

#include "base/clock.h"

static void
an_empty_array_is_a_pair_of_braces(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b);
	assert_string_equal(pg_array_end(&b), "{}");
	buf_release(&b);
}

static void
an_array_keeps_null_apart_from_the_word(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b);
	pg_array_add(&b, "NULL", 4);
	pg_array_add(&b, NULL, 0);
	pg_array_add(&b, "", 0);
	assert_string_equal(pg_array_end(&b), "{\"NULL\",NULL,\"\"}");
	buf_release(&b);
}

static void
an_array_element_cannot_end_the_array(void **state)
{
	const char *evil = "a\",\"b}\\{,";
	struct buf b;

	(void)state;
	buf_init(&b);
	pg_array_add(&b, evil, strlen(evil));
	assert_string_equal(pg_array_end(&b), "{\"a\\\",\\\"b}\\\\{,\"}");
	buf_release(&b);
}

static void
bytes_travel_as_hex(void **state)
{
	struct str bytes = {"\x00\xff{", 3};
	struct buf b;

	(void)state;
	buf_init(&b);
	pg_bytea(&b, bytes);
	assert_string_equal(buf_text(&b), "\\x00ff7b");
	buf_release(&b);
}

static void
sqlstates_say_what_to_do(void **state)
{
	static const struct {
		const char *state;
		enum pg_status status;
	} cases[] = {
	    {"40001", PG_RETRY},
	    {"40P01", PG_RETRY},
	    {"23505", PG_RETRY},
	    {"0A000", PG_RETRY},
	    {"23514", PG_REFUSED},
	    {"22021", PG_REFUSED},
	    {"57014", PG_DOWN},
	    {"55P03", PG_DOWN},
	    {"53300", PG_DOWN},
	    {"25006", PG_DOWN},
	    {"26000", PG_DOWN},
	    {"55000", PG_BUG},
	    {"42883", PG_BUG},
	    {"P0001", PG_BUG},
	    {"0A001", PG_BUG},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(pg_status_of(cases[i].state), cases[i].status);
	assert_true(pg_must_reconnect("25006"));
	assert_true(pg_must_reconnect("26000"));
	assert_true(pg_must_reconnect("0A000"));
	assert_false(pg_must_reconnect("57014"));
}

/* A server that fails ------------------------------------------------------- */

/* A call has this and a second. */
#define TIMEOUT_MS 500
#define CALL_MS (2 * TIMEOUT_MS + 1000)

static struct pg *pg;

static void
begin(const char *connects, const char *calls)
{
	struct pg_options options = {.role = "lastpair_web",
	    .process = "pg_test",
	    .lock_timeout_ms = TIMEOUT_MS,
	    .statement_timeout_ms = TIMEOUT_MS};

	fake_start(connects, calls);
	options.url = fake.url;
	pg = pg_open(&options);
}

static int
teardown(void **state)
{
	(void)state;
	pg_close(pg);
	fake_stop();
	return 0;
}

static enum pg_status
call(const char *const *values, size_t count)
{
	struct pg_rows *rows = NULL;
	enum pg_status status = pg_call(pg, "some", values, count, &rows);

	if (status == PG_OK) {
		assert_int_equal(pg_rows_count(rows), 1);
		assert_int_equal(pg_int(rows, 0, 0), 1);
	}
	pg_rows_free(rows);
	return status;
}

#define assert_call(expected) assert_int_equal(call(NULL, 0), expected)

static void
calls_bring_rows_over_one_connection(void **state)
{
	(void)state;
	begin("", "rr");
	assert_call(PG_OK);
	assert_call(PG_OK);
	assert_int_equal(fake.connections, 1);
}

static void
the_servers_own_refusal_is_certain(void **state)
{
	(void)state;
	begin("", "tlr");
	assert_call(PG_DOWN);
	assert_non_null(strstr(pg_error(pg), "the fake server says so"));
	assert_call(PG_RETRY);
	assert_call(PG_OK);
	assert_int_equal(fake.connections, 1);
}

static void
a_row_before_a_refusal_is_no_success(void **state)
{
	(void)state;
	begin("", "er");
	assert_call(PG_REFUSED);
	assert_call(PG_OK);
	assert_int_equal(fake.connections, 1);
}

static void
a_connection_that_breaks_leaves_it_open(void **state)
{
	(void)state;
	begin("", "cufr");
	assert_call(PG_LOST);
	/* The row has come, but not that it is committed. */
	assert_call(PG_LOST);
	assert_call(PG_LOST);
	assert_non_null(strstr(pg_error(pg), "the fake server says so"));
	assert_call(PG_OK);
	assert_int_equal(fake.connections, 4);
}

static void
a_silent_server_is_lost_when_the_time_is_over(void **state)
{
	int64_t start;

	(void)state;
	begin("", "rshr");
	assert_call(PG_OK);
	start = clock_monotonic_ms();
	assert_call(PG_LOST);
	assert_true(clock_monotonic_ms() - start >= CALL_MS);
	assert_non_null(strstr(pg_error(pg), "no answer in time"));
	assert_call(PG_LOST);
	assert_call(PG_OK);
	assert_int_equal(fake.connections, 3);
}

/* More than any socket takes in before its reader reads. */
static void
a_server_that_does_not_even_read_is_lost_too(void **state)
{
	enum { LARGE = 8 << 20 };
	char *large = calloc(1, LARGE);
	const char *values[1] = {large};

	(void)state;
	assert_non_null(large);
	memset(large, 'x', LARGE - 1);
	begin("", "nrr");
	assert_int_equal(call(values, 1), PG_LOST);
	assert_call(PG_OK);
	assert_int_equal(fake.connections, 2);
	/* It can be sent, in parts. */
	memset(large + (1 << 20), 0, LARGE - (1 << 20));
	assert_int_equal(call(values, 1), PG_OK);
	free(large);
}

static void
a_restart_between_calls_goes_unseen(void **state)
{
	(void)state;
	begin("", "Rr");
	assert_call(PG_OK);
	while (fake.closed == 0)
		clock_sleep_ms(1);
	assert_call(PG_OK);
	assert_int_equal(fake.connections, 2);
}

static void
what_the_server_tells_by_itself_is_noticed_once(void **state)
{
	struct pollfd ready = {.events = POLLIN};

	(void)state;
	begin("", "aArR");
	assert_int_equal(pg_fd(pg), -1);
	assert_false(pg_noticed(pg));
	/* Along with an answer: there is nothing left to be read. */
	assert_call(PG_OK);
	assert_true(pg_noticed(pg));
	assert_false(pg_noticed(pg));
	/* After it: the descriptor says so, unless it was read by then. */
	assert_call(PG_OK);
	ready.fd = pg_fd(pg);
	while (!pg_noticed(pg))
		assert_int_equal(poll(&ready, 1, 10000), 1);
	assert_false(pg_noticed(pg));
	assert_int_equal(poll(&ready, 1, 0), 0);
}

/* Who notified meanwhile was not heard. */
static void
a_lost_connection_counts_as_noticed(void **state)
{
	bool noticed = false;

	(void)state;
	begin("", "Rrcr");
	assert_call(PG_OK);
	while (fake.closed == 0)
		clock_sleep_ms(1);
	while (pg_fd(pg) >= 0)
		noticed |= pg_noticed(pg);
	assert_true(noticed);
	assert_false(pg_noticed(pg));
	/* Lost in a call, and made anew by the next. */
	assert_call(PG_OK);
	assert_call(PG_LOST);
	assert_call(PG_OK);
	assert_true(pg_noticed(pg));
	assert_false(pg_noticed(pg));
}

/* Nothing was sent, so nothing can have been carried out. */
static void
who_does_not_let_us_in_is_down_not_lost(void **state)
{
	enum pg_status status;

	(void)state;
	begin("sq", "r");
	/* Tries again now and then, not at every call. */
	while ((status = call(NULL, 0)) == PG_DOWN)
		clock_sleep_ms(20);
	assert_int_equal(status, PG_OK);
	assert_int_equal(fake.connections, 3);
}

/* libpq repeats what it cannot read. */
static void
a_password_is_not_repeated(void **state)
{
	static const char *const urls[] = {
	    "postgresql://a:hush@[::1]x/db",
	    "host=/nonexistent password=very hush dbname=x",
	    "hush=1",
	};
	struct pg_options options = {.role = "r", .process = "pg_test"};

	(void)state;
	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		options.url = urls[i];
		pg = pg_open(&options);
		assert_int_equal(pg_connect(pg), PG_DOWN);
		assert_string_equal(pg_error(pg),
		    "database.url is no connection string");
		pg_close(pg);
	}
	options.url = "host=/nonexistent dbname=x";
	pg = pg_open(&options);
	assert_int_equal(pg_connect(pg), PG_DOWN);
	assert_non_null(strstr(pg_error(pg), "/nonexistent"));
	pg_close(pg);
}

#define TEST(f) cmocka_unit_test_teardown(f, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(an_empty_array_is_a_pair_of_braces),
	    cmocka_unit_test(an_array_keeps_null_apart_from_the_word),
	    cmocka_unit_test(an_array_element_cannot_end_the_array),
	    cmocka_unit_test(bytes_travel_as_hex),
	    cmocka_unit_test(sqlstates_say_what_to_do),
	    cmocka_unit_test(a_password_is_not_repeated),
	    TEST(calls_bring_rows_over_one_connection),
	    TEST(the_servers_own_refusal_is_certain),
	    TEST(a_row_before_a_refusal_is_no_success),
	    TEST(a_connection_that_breaks_leaves_it_open),
	    TEST(a_silent_server_is_lost_when_the_time_is_over),
	    TEST(a_server_that_does_not_even_read_is_lost_too),
	    TEST(a_restart_between_calls_goes_unseen),
	    TEST(what_the_server_tells_by_itself_is_noticed_once),
	    TEST(a_lost_connection_counts_as_noticed),
	    TEST(who_does_not_let_us_in_is_down_not_lost),
	};

	return cmocka_run_group_tests_name("pg", tests, NULL, NULL);
}
