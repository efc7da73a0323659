/*
 * order refund, event replay, task and their words: what is asked of the
 * database, what is refused before it is asked, what is printed.
 */
#include "command/command.h"
#include "pay/provider.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The database as the commands see it. */
static const char *order_document;
static const char *outcome;
static struct order_refund refunded;
static int refund_calls;
static struct replay replays[4];
static size_t replay_count;
static size_t replay_pages;
static struct replay_ask replay_asked;
static char read_ids[4][32]; /* as the readings had them */
static size_t read_count;
static enum db_status replay_status;
static int64_t task_asked;
static char note_asked[32];
static bool terminal;

int
isatty(int fd)
{
	return fd == STDIN_FILENO && terminal;
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

enum db_status
db_order_show(struct db *db, const char *name, struct buf *document)
{
	(void)db;
	(void)name;
	buf_str(document, order_document);
	return DB_OK;
}

static enum db_status
say(struct answer *to, const char *document)
{
	snprintf(to->outcome, sizeof(to->outcome), "%s", outcome);
	buf_str(&to->document, document);
	return DB_OK;
}

enum db_status
db_order_refund(struct db *db, const struct order_refund *refund,
    struct answer *answer)
{
	(void)db;
	refunded = *refund;
	refund_calls++;
	return say(answer,
	    "{\"order\":\"ord_1001\",\"refunded\":500,\"left\":2000,"
	    "\"currency\":\"EUR\"}");
}

enum db_status
db_event_replay_list(struct db *db, const struct replay_ask *ask,
    struct replay_list *list)
{
	(void)db;
	replay_asked = *ask;
	*list =
	    (struct replay_list){NULL, replay_pages++ == 0 ? replay_count : 0};
	return DB_OK;
}

void
replay_read(const struct replay_list *list, size_t i, struct replay *replay)
{
	assert_true(i < list->count);
	replay->seq = replays[i].seq;
	replay->provider = replays[i].provider;
	replay->event_id = replays[i].event_id;
	buf_reset(&replay->body);
	buf_str(&replay->body, buf_text(&replays[i].body));
}

void
replay_list_release(struct replay_list *list)
{
	list->count = 0;
}

enum db_status
db_event_replay(struct db *db, int64_t seq, const struct settlement *reading,
    struct answer *answer)
{
	(void)db;
	(void)seq;
	snprintf(read_ids[read_count++], sizeof(read_ids[0]), "%.*s",
	    (int)reading->event_id.len, reading->event_id.text);
	if (replay_status != DB_OK)
		return replay_status;
	return say(answer, "");
}

enum db_status
db_task_settle(struct db *db, int64_t task, const char *note, const char *by,
    struct answer *answer)
{
	(void)db;
	assert_true(by[0] != '\0');
	task_asked = task;
	snprintf(note_asked, sizeof(note_asked), "%s", note);
	return say(answer, "");
}

enum db_status
db_task_retry(struct db *db, int64_t task, const char *by,
    struct answer *answer)
{
	(void)db;
	assert_true(by[0] != '\0');
	task_asked = task;
	return say(answer, "");
}

/* A provider whose bytes are ids parted by blanks; hook->id names the only
 * event of bytes that are "?". */
struct event_reader {
	char text[64];
	char *at;
	struct str name;
};

static struct event_reader *
words_read(const struct conf *conf, const struct hook *hook, struct str body)
{
	struct event_reader *reader = calloc(1, sizeof(*reader));

	(void)conf;
	snprintf(reader->text, sizeof(reader->text), "%.*s", (int)body.len,
	    body.text);
	reader->at = reader->text;
	reader->name = hook->id;
	return reader;
}

static bool
words_next(struct event_reader *reader, struct event *event)
{
	char *word = strtok_r(NULL, " ", &reader->at);

	if (word == NULL)
		return false;
	*event = (struct event){
	    .kind = EVENT_PAID,
	    .id = strcmp(word, "?") == 0 ? reader->name : str_of(word),
	    .amount = -1,
	};
	return true;
}

static void
words_free(struct event_reader *reader)
{
	free(reader);
}

static const struct provider words_provider = {
    .name = "words",
    .read = words_read,
    .next = words_next,
    .read_free = words_free,
};

const struct provider *
provider_find(struct str name)
{
	return str_is(name, "words") ? &words_provider : NULL;
}

static char printed[4096];

/* Runs a command with these words, up to NULL; what it prints is kept. */
static int
run(int (*command)(const struct conf *conf, int argc, char **argv), ...)
{
	const char *argv[8];
	FILE *file = tmpfile();
	int out = dup(STDOUT_FILENO), argc = 0, result;
	size_t len;
	va_list words;

	va_start(words, command);
	while ((argv[argc] = va_arg(words, const char *)) != NULL)
		argc++;
	va_end(words);
	fflush(stdout);
	dup2(fileno(file), STDOUT_FILENO);
	result = command(NULL, argc, (char **)argv);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(out);
	rewind(file);
	len = fread(printed, 1, sizeof(printed) - 1, file);
	printed[len] = '\0';
	fclose(file);
	return result;
}

static int
fresh(void **state)
{
	(void)state;
	order_document = "{\"hold\":{\"order\":\"ord_1001\",\"state\":\"paid\","
			 "\"price\":{\"amount\":2500,\"currency\":\"EUR\"}},"
			 "\"payments\":[{\"captured\":2500,\"refunds\":["
			 "{\"state\":\"succeeded\",\"amount\":300},"
			 "{\"state\":\"void\",\"amount\":900},"
			 "{\"state\":\"failed\",\"amount\":700}]}]}";
	outcome = "done";
	refund_calls = 0;
	replay_count = replay_pages = read_count = 0;
	replay_status = DB_OK;
	task_asked = 0;
	terminal = false;
	return 0;
}

static int
over(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(replays) / sizeof(replays[0]); i++)
		buf_release(&replays[i].body);
	return 0;
}

static void
a_refund_says_what_will_happen_in_the_orders_currency(void **state)
{
	(void)state;
	assert_int_equal(run(command_order_refund, "ord_1001", "--amount",
			     "5.00", "--yes", NULL),
	    EXIT_DONE);
	assert_int_equal(refunded.amount, 500);
	assert_string_equal(refunded.name, "ord_1001");
	assert_non_null(strstr(printed,
	    "ord_1001 was paid with 25.00 EUR, of which 3.00 EUR went back "
	    "before.\n5.00 EUR of it go back now, and 17.00 EUR stay."));
	assert_non_null(strstr(printed, "20.00 EUR are left"));
	assert_int_equal(run(command_order_refund, "ord_1001", "--yes", NULL),
	    EXIT_DONE);
	assert_int_equal(refunded.amount, -1);
	assert_non_null(strstr(printed, "22.00 EUR go back now: that is all"));
	assert_non_null(strstr(printed, "on sale again"));
	/* As much as is left is all, however it is typed. */
	run(command_order_refund, "x", "--amount", "22.00", "--yes", NULL);
	assert_non_null(strstr(printed, "on sale again"));
	/* In JSON it is said to nobody. */
	run(command_order_refund, "x", "--json", "--yes", NULL);
	assert_memory_equal(printed, "{\"order\"", 8);
}

static void
a_refund_is_asked_about_where_somebody_can_answer(void **state)
{
	FILE *answers = tmpfile();
	int in = dup(STDIN_FILENO);

	(void)state;
	assert_int_equal(run(command_order_refund, "ord_1001", NULL),
	    EXIT_USAGE);
	fputs("n\n\nyes please\ny\n", answers);
	rewind(answers);
	dup2(fileno(answers), STDIN_FILENO);
	terminal = true;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(run(command_order_refund, "ord_1001", NULL),
		    EXIT_REFUSED);
		assert_int_equal(refund_calls, 0);
	}
	assert_int_equal(run(command_order_refund, "ord_1001", NULL),
	    EXIT_DONE);
	assert_int_equal(refund_calls, 1);
	dup2(in, STDIN_FILENO);
	close(in);
	fclose(answers);
	/* A question in the middle of JSON would spoil it. */
	assert_int_equal(run(command_order_refund, "x", "--json", NULL),
	    EXIT_USAGE);
}

static void
a_refund_that_cannot_be_is_refused(void **state)
{
	static const char *const outcomes[] = {"not-paid", "disputed",
	    "nothing-left", "too-much", "no-such-order"};
	static const char *const amounts[] = {"5", "0", "-1", "5.001", "x",
	    "1000000.00", "5,00"};

	(void)state;
	for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
		outcome = outcomes[i];
		assert_int_equal(run(command_order_refund, "x", "--yes", NULL),
		    EXIT_REFUSED);
	}
	refund_calls = 0;
	for (size_t i = 1; i < sizeof(amounts) / sizeof(amounts[0]); i++)
		assert_int_equal(run(command_order_refund, "x", "--yes",
				     "--amount", amounts[i], NULL),
		    EXIT_USAGE);
	order_document = "";
	assert_int_equal(run(command_order_refund, "x", "--yes", NULL),
	    EXIT_REFUSED);
	assert_int_equal(run(command_order_refund, "--yes", NULL), EXIT_USAGE);
	assert_int_equal(refund_calls, 0);
}

static void
replay_add(const char *provider, const char *id, const char *body)
{
	struct replay *replay = &replays[replay_count++];

	replay->seq = (int64_t)replay_count;
	replay->provider = str_of(provider);
	replay->event_id = str_of(id);
	buf_reset(&replay->body);
	buf_str(&replay->body, body);
}

static void
an_event_is_found_again_in_its_bytes(void **state)
{
	(void)state;
	outcome = "repeat";
	/* One of several; the only one; one that its header names. */
	replay_add("words", "b", "a b c");
	replay_add("words", "unusable:9:00ff", "z");
	replay_add("words", "unusable:header:00ff", "?");
	replay_add("words", "unusable:00ff", "?");
	assert_int_equal(run(command_event_replay, "--all", NULL), EXIT_DONE);
	assert_int_equal(read_count, 4);
	assert_string_equal(read_ids[0], "b");
	assert_string_equal(read_ids[1], "z");
	assert_string_equal(read_ids[2], "header");
	/* Nothing says how it is called: it keeps its name. */
	assert_string_equal(read_ids[3], "unusable:00ff");
	assert_non_null(strstr(printed, "4 read again: 4 repeat\n"));
}

static void
what_cannot_be_read_again_is_said(void **state)
{
	(void)state;
	replay_add("words", "x", "a b");
	replay_add("nobody", "y", "y");
	assert_int_equal(run(command_event_replay, "--all", "--json", NULL),
	    EXIT_DONE);
	assert_int_equal(read_count, 0);
	assert_string_equal(printed,
	    "[{\"seq\":1,\"event_id\":\"x\",\"outcome\":\"not in its bytes\"}\n"
	    ",{\"seq\":2,\"event_id\":\"y\",\"outcome\":\"no such provider\"}\n"
	    "]\n");
	/* One that the database refuses does not stop the others. */
	fresh(NULL);
	replay_add("words", "x", "x");
	replay_add("words", "y", "y");
	replay_status = DB_REFUSED;
	assert_int_equal(run(command_event_replay, "--all", NULL), EXIT_DONE);
	assert_int_equal(read_count, 2);
	assert_non_null(strstr(printed, "2 read again: 2 refused\n"));
	/* Without a database nothing can be read. */
	fresh(NULL);
	replay_add("words", "x", "x");
	replay_add("words", "y", "y");
	replay_status = DB_DOWN;
	assert_int_equal(run(command_event_replay, "--all", NULL),
	    EXIT_UNREACHABLE);
	assert_int_equal(read_count, 1);
}

static void
replay_is_of_one_or_of_an_outcome_or_of_all(void **state)
{
	(void)state;
	assert_int_equal(run(command_event_replay, NULL), EXIT_USAGE);
	assert_int_equal(run(command_event_replay, "evt_1", "--all", NULL),
	    EXIT_USAGE);
	assert_int_equal(run(command_event_replay, "--outcome", "odd", NULL),
	    EXIT_USAGE);
	assert_int_equal(replay_pages, 0);
	assert_int_equal(run(command_event_replay, "evt_1", NULL),
	    EXIT_REFUSED);
	assert_string_equal(replay_asked.name, "evt_1");
	assert_int_equal(run(command_event_replay, "--outcome", "person", NULL),
	    EXIT_DONE);
	assert_string_equal(replay_asked.outcome, "person");
	assert_null(replay_asked.name);
	assert_int_equal(run(command_event_replay, "--all", "--json", NULL),
	    EXIT_DONE);
	assert_string_equal(printed, "[]\n");
}

static void
a_task_has_a_number_and_settling_it_a_note(void **state)
{
	(void)state;
	assert_int_equal(run(command_task_settle, NULL), EXIT_USAGE);
	assert_int_equal(run(command_task_settle, "7", NULL), EXIT_USAGE);
	assert_int_equal(run(command_task_settle, "x", "--note", "n", NULL),
	    EXIT_USAGE);
	assert_int_equal(run(command_task_settle, "0", "--note", "n", NULL),
	    EXIT_USAGE);
	assert_int_equal(run(command_task_retry, NULL), EXIT_USAGE);
	assert_int_equal(task_asked, 0);
	assert_int_equal(run(command_task_settle, "7", "--note", "paid", NULL),
	    EXIT_DONE);
	assert_int_equal(task_asked, 7);
	assert_string_equal(note_asked, "paid");
	assert_int_equal(run(command_task_retry, "8", NULL), EXIT_DONE);
	assert_int_equal(task_asked, 8);
	outcome = "settled";
	assert_int_equal(run(command_task_retry, "8", NULL), EXIT_REFUSED);
	outcome = "not-a-call";
	assert_int_equal(run(command_task_retry, "8", NULL), EXIT_REFUSED);
	outcome = "no-such-task";
	assert_int_equal(run(command_task_settle, "8", "--note", "n", NULL),
	    EXIT_REFUSED);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, fresh, over)
	const struct CMUnitTest tests[] = {
	    TEST(a_refund_says_what_will_happen_in_the_orders_currency),
	    TEST(a_refund_is_asked_about_where_somebody_can_answer),
	    TEST(a_refund_that_cannot_be_is_refused),
	    TEST(an_event_is_found_again_in_its_bytes),
	    TEST(what_cannot_be_read_again_is_said),
	    TEST(replay_is_of_one_or_of_an_outcome_or_of_all),
	    TEST(a_task_has_a_number_and_settling_it_a_note),
	};

	return cmocka_run_group_tests_name("operator", tests, NULL, NULL);
}
