/* reconcile: what its options ask for, and what each end exits with. */
#include "command/command.h"
#include "reconcile.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct reconcile asked;
static int runs;
static enum reconcile_result result;
static int64_t differ;
static const char *answered;
static int64_t shown;
static bool interrupted;

static const struct provider fake = {.name = "fake"};
static const struct provider other = {.name = "other"};

const struct provider *
provider_current(const struct conf *conf)
{
	(void)conf;
	return &fake;
}

const struct provider *
provider_find(struct str name)
{
	return str_is(name, "other") ? &other : NULL;
}

struct db *
db_open(const struct conf *conf, enum db_role role, const char *process)
{
	(void)conf;
	(void)process;
	assert_int_equal(role, DB_OPERATOR);
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
	return "why";
}

enum reconcile_result
reconcile_run(struct reconcile *r)
{
	asked = *r;
	runs++;
	if (interrupted) {
		raise(SIGINT);
		assert_true(atomic_load(r->stopping));
	}
	r->lease.run = 7;
	r->end.differ = differ;
	r->status = DB_DOWN;
	snprintf(r->error, sizeof(r->error), "no answer");
	r->result = result;
	return result;
}

enum db_status
db_reconcile_show(struct db *db, const char *provider, int64_t run,
    struct buf *document)
{
	(void)db;
	assert_non_null(provider);
	shown = run;
	buf_str(document, answered);
	return DB_OK;
}

static char printed[4096];

/* Runs the command with these words, up to NULL; what it prints is kept. */
static int
run(const char *first, ...)
{
	const char *argv[8] = {first};
	FILE *file = tmpfile();
	int out = dup(STDOUT_FILENO), argc = 0, status;
	size_t len;
	va_list words;

	va_start(words, first);
	while (argv[argc] != NULL)
		argv[++argc] = va_arg(words, const char *);
	va_end(words);
	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	status = command_reconcile(NULL, argc, (char **)argv);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	rewind(file);
	len = fread(printed, 1, sizeof(printed) - 1, file);
	printed[len] = '\0';
	fclose(file);
	return status;
}

static int
fresh(void **state)
{
	(void)state;
	runs = 0;
	shown = -1;
	result = RECONCILE_AGREES;
	differ = 0;
	interrupted = false;
	answered =
	    "{\"provider\":\"fake\",\"since\":\"2026-11-01T00:00:00.000Z\","
	    "\"started_at\":\"2026-12-01T00:00:00.000Z\","
	    "\"sessions\":3,\"refunds\":2,\"events\":1,"
	    "\"differences\":[]}";
	return 0;
}

static void
it_looks_back_as_far_as_it_is_told(void **state)
{
	(void)state;
	assert_int_equal(run(NULL), EXIT_DONE);
	assert_int_equal(asked.start.back_s, 30 * 86400);
	assert_null(asked.start.since);
	assert_int_equal(asked.start.rest_s, 0);
	assert_int_equal(asked.grace_ms, 60000);
	assert_false(asked.start.repair || asked.start.restart);
	assert_true(asked.wait);
	assert_string_equal(asked.start.provider, "fake");
	assert_true(asked.start.by[0] != '\0');
	assert_int_equal(run("--since", "90d", "--grace", "5s", "--repair",
			     "--restart", NULL),
	    EXIT_DONE);
	assert_int_equal(asked.start.back_s, 90 * 86400);
	assert_int_equal(asked.grace_ms, 5000);
	assert_true(asked.start.repair && asked.start.restart);
	assert_int_equal(run("--since", "2026-11-01T10:00:00+01:00",
			     "--provider", "other", NULL),
	    EXIT_DONE);
	assert_string_equal(asked.start.since, "2026-11-01T10:00:00+01:00");
	assert_int_equal(asked.start.back_s, -1);
	assert_string_equal(asked.start.provider, "other");
}

static void
what_is_typed_wrong_asks_nobody(void **state)
{
	(void)state;
	assert_int_equal(run("--since", "0d", NULL), EXIT_USAGE);
	assert_int_equal(run("--since", "soon", NULL), EXIT_USAGE);
	assert_int_equal(run("--since", "2026-11-01T10:00:00", NULL),
	    EXIT_USAGE);
	assert_int_equal(run("--grace", "2h", NULL), EXIT_USAGE);
	assert_int_equal(run("--provider", "nobody", NULL), EXIT_USAGE);
	assert_int_equal(run("now", NULL), EXIT_USAGE);
	assert_int_equal(runs, 0);
}

static void
each_end_has_its_status(void **state)
{
	static const struct {
		enum reconcile_result result;
		int status;
	} ends[] = {
	    {RECONCILE_AGREES, EXIT_DONE},
	    {RECONCILE_DIFFERS, EXIT_REFUSED},
	    {RECONCILE_TAKEN, EXIT_REFUSED},
	    {RECONCILE_STOPPED, EXIT_REFUSED},
	    {RECONCILE_DATABASE, EXIT_UNREACHABLE},
	    {RECONCILE_PROVIDER, EXIT_UNREACHABLE},
	    {RECONCILE_REFUSED, EXIT_REFUSED},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		result = ends[i].result;
		differ = result == RECONCILE_DIFFERS;
		assert_int_equal(run(NULL), ends[i].status);
	}
}

static void
the_rows_are_printed_and_then_the_sum(void **state)
{
	(void)state;
	run(NULL);
	assert_string_equal(printed,
	    "the books agree\n"
	    "fake from 2026-11-01T00:00:00.000Z to 2026-12-01T00:00:00.000Z: "
	    "3 sessions, 2 refunds, "
	    "1 events read\n");
	assert_int_equal(shown, 7);
	run("--json", NULL);
	assert_memory_equal(printed, "{\"provider\"", 11);
	answered = "{\"provider\":\"fake\",\"since\":\"x\",\"started_at\":"
		   "\"y\",\"differences\":[{"
		   "\"words\":\"paid there, not here\",\"order\":\"ord_1001\","
		   "\"here\":\"open\",\"there\":\"paid 2500 EUR\","
		   "\"subject\":\"cs_1\",\"state\":\"open\",\"task\":null}]}";
	result = RECONCILE_DIFFERS;
	differ = 1;
	assert_int_equal(run(NULL), EXIT_REFUSED);
	assert_non_null(strstr(printed,
	    "paid there, not here  ord_1001  open  paid 2500 EUR  cs_1  open"));
}

static void
the_last_one_is_shown_without_a_run(void **state)
{
	(void)state;
	assert_int_equal(run("--last", NULL), EXIT_DONE);
	assert_int_equal(runs, 0);
	assert_int_equal(shown, 0);
	answered = "";
	assert_int_equal(run("--last", NULL), EXIT_REFUSED);
}

static void
an_interrupt_stops_it_in_order(void **state)
{
	(void)state;
	interrupted = true;
	result = RECONCILE_STOPPED;
	assert_int_equal(run(NULL), EXIT_REFUSED);
	assert_string_equal(printed, "");
	signal(SIGINT, SIG_DFL);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, fresh)
	const struct CMUnitTest tests[] = {
	    TEST(it_looks_back_as_far_as_it_is_told),
	    TEST(what_is_typed_wrong_asks_nobody),
	    TEST(each_end_has_its_status),
	    TEST(the_rows_are_printed_and_then_the_sum),
	    TEST(the_last_one_is_shown_without_a_run),
	    TEST(an_interrupt_stops_it_in_order),
	};

	return cmocka_run_group_tests_name("reconcile", tests, NULL, NULL);
}
