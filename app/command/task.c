/* task list, settle, retry: what waits for a person. */
#include "command/command.h"
#include "command/listing.h"

#include <stdio.h>
#include <string.h>

const struct table_column task_columns[] = {{"TASK", "task"}, {"KIND", "kind"},
    {"ORDER", "order"}, {"SINCE", "created_at"}, {"DETAIL", "detail"},
    {"ABOUT", "subject"}, {NULL, NULL}};

int
command_task_list(const struct conf *conf, int argc, char **argv)
{
	static const struct table_column settled[] = {{"TASK", "task"},
	    {"KIND", "kind"}, {"ORDER", "order"}, {"SINCE", "created_at"},
	    {"DETAIL", "detail"}, {"ABOUT", "subject"},
	    {"SETTLED", "settled_at"}, {"BY", "settled_by"}, {"NOTE", "note"},
	    {NULL, NULL}};
	struct listing listing = {.columns = task_columns,
	    .none = "nothing waits for a person",
	    .process = "lastpair task list"};
	bool all = false;
	const struct option_spec specs[] = {{"--json", NULL, &listing.json},
	    {"--all", NULL, &all}, {NULL, NULL, NULL}};

	if (!command_options(specs, NULL, argc, argv))
		return EXIT_USAGE;
	if (all)
		listing.columns = settled;
	listing_open(&listing, conf);
	listing.status = db_task_list(listing.db, all, &listing.document);
	return listing_close(&listing);
}

/* "12" to a task's number; false with the reason told. */
static bool
task_number(const char *verb, const char *text, int64_t *task)
{
	if (text == NULL) {
		command_fail(EXIT_USAGE,
		    "task %s needs a task's number, as task list shows it",
		    verb);
		return false;
	}
	return command_number("the task's number", text, 1, INT64_MAX, task);
}

static int
task_result(const struct answer *answer, int64_t task, const char *done)
{
	const char *outcome = answer->outcome;

	if (strcmp(outcome, "done") == 0) {
		printf("task %lld: %s\n", (long long)task, done);
		return EXIT_DONE;
	}
	if (strcmp(outcome, "mail") == 0) {
		printf("task %lld: the mail is sent again\n", (long long)task);
		return EXIT_DONE;
	}
	if (strcmp(outcome, "settled") == 0)
		return command_fail(EXIT_REFUSED,
		    "task %lld was settled before", (long long)task);
	if (strcmp(outcome, "not-a-call") == 0)
		return command_fail(EXIT_REFUSED,
		    "task %lld is no call that was given up: settle it with a "
		    "note",
		    (long long)task);
	return command_fail(EXIT_REFUSED, "no task %lld", (long long)task);
}

int
command_task_settle(const struct conf *conf, int argc, char **argv)
{
	const char *number = NULL, *note = NULL;
	const struct option_spec specs[] = {{"--note", &note, NULL},
	    {NULL, NULL, NULL}};
	struct answer answer;
	enum db_status status;
	struct db *db;
	int64_t task;
	int result;

	if (!command_options(specs, &number, argc, argv) ||
	    !task_number("settle", number, &task))
		return EXIT_USAGE;
	if (note == NULL || note[0] == '\0')
		return command_fail(EXIT_USAGE,
		    "task settle needs a --note that says how it was settled");
	db = db_open(conf, DB_OPERATOR, "lastpair task settle");
	answer_init(&answer);
	status = db_task_settle(db, task, note, command_operator(), &answer);
	result = status == DB_OK ? task_result(&answer, task, "settled")
				 : command_db_fail(db, status);
	answer_release(&answer);
	db_close(db);
	return result;
}

int
command_task_retry(const struct conf *conf, int argc, char **argv)
{
	const char *number = NULL;
	const struct option_spec specs[] = {{NULL, NULL, NULL}};
	struct answer answer;
	enum db_status status;
	struct db *db;
	int64_t task;
	int result;

	if (!command_options(specs, &number, argc, argv) ||
	    !task_number("retry", number, &task))
		return EXIT_USAGE;
	db = db_open(conf, DB_OPERATOR, "lastpair task retry");
	answer_init(&answer);
	status = db_task_retry(db, task, command_operator(), &answer);
	result = status == DB_OK
	    ? task_result(&answer, task, "the call is made again")
	    : command_db_fail(db, status);
	answer_release(&answer);
	db_close(db);
	return result;
}
