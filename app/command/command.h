/*
 * The operator's commands: one file per noun, one function per command. A
 * command prints its answer on standard output and its reason for not doing
 * it, in one line, on standard error.
 */
#ifndef COMMAND_COMMAND_H
#define COMMAND_COMMAND_H

#include "base/conf.h"
#include "io/db.h"

#include <stdbool.h>

/* Exit status, as scripts rely on it. */
enum {
	EXIT_DONE = 0,
	EXIT_REFUSED = 1, /* or a check failed */
	EXIT_USAGE = 2,
	EXIT_UNREACHABLE = 3, /* the database or the provider */
};

/* What a stock row can count, at most. */
#define UNITS_MAX 1000000000
/* How many stock rows an item has, at most. */
#define BUCKETS_MAX 1000

struct command {
	const char *noun;
	const char *verb; /* NULL: the noun is the whole command */
	const char *usage; /* what may follow */
	const char *help; /* one line */
	int (*run)(const struct conf *conf, int argc, char **argv);
};

/* All of them, up to one without a noun. */
extern const struct command commands[];

int
command_serve(const struct conf *conf, int argc, char **argv);
int
command_sandbox(const struct conf *conf, int argc, char **argv);
int
command_setup(const struct conf *conf, int argc, char **argv);
int
command_migrate(const struct conf *conf, int argc, char **argv);
int
command_item_add(const struct conf *conf, int argc, char **argv);
int
command_item_set(const struct conf *conf, int argc, char **argv);
int
command_item_show(const struct conf *conf, int argc, char **argv);
int
command_item_list(const struct conf *conf, int argc, char **argv);
int
command_item_split(const struct conf *conf, int argc, char **argv);
int
command_item_merge(const struct conf *conf, int argc, char **argv);
int
command_page(const struct conf *conf, int argc, char **argv);
int
command_hold_list(const struct conf *conf, int argc, char **argv);
int
command_order_show(const struct conf *conf, int argc, char **argv);
int
command_order_list(const struct conf *conf, int argc, char **argv);
int
command_order_refund(const struct conf *conf, int argc, char **argv);
int
command_event_list(const struct conf *conf, int argc, char **argv);
int
command_event_show(const struct conf *conf, int argc, char **argv);
int
command_event_replay(const struct conf *conf, int argc, char **argv);
int
command_task_list(const struct conf *conf, int argc, char **argv);
int
command_task_settle(const struct conf *conf, int argc, char **argv);
int
command_task_retry(const struct conf *conf, int argc, char **argv);
int
command_reconcile(const struct conf *conf, int argc, char **argv);
int
command_audit(const struct conf *conf, int argc, char **argv);

/* Says why on standard error and gives the status to return. */
int
command_fail(int status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same for a call that did not come through. */
int
command_db_fail(const struct db *db, enum db_status status);
/* Who is at the terminal, for the record of changes. */
const char *
command_operator(void);

/*
 * An option of a command. A value is stored at text; an option without one
 * (flag not NULL) sets *flag. A name without dashes is that of a further word,
 * stored at text.
 */
struct option_spec {
	const char *name; /* "--title", "N" */
	const char **text;
	bool *flag;
};

/*
 * Sorts argv into options (up to a spec without a name) and words: the first
 * is stored at *word (NULL: none is taken), others as the specs name them.
 * False, with the reason told, when anything is unknown, doubled or lacks its
 * value.
 */
bool
command_options(const struct option_spec *specs, const char **word, int argc,
    char **argv);
/* A whole number from least to most, or false with the reason told. */
bool
command_number(const char *name, const char *text, int64_t least, int64_t most,
    int64_t *out);
/* A time like 30d, 12h, 90m, 45s or plain seconds, in seconds; the same. */
bool
command_duration(const char *name, const char *text, int64_t least,
    int64_t most, int64_t *seconds);
/* A moment must say its zone: 10:00 is another moment in each of them. */
bool
command_moment(const char *name, const char *text);
/* --limit of a listing; NULL: as many as one wants to look through. */
bool
command_limit(const char *text, int64_t *most);
/* --outcome: one that an event can have, or NULL. */
bool
command_outcome(const char *text);
/*
 * How far something is, on the last line of a terminal, which the next one
 * replaces; NULL clears it. Elsewhere it is not said.
 */
void
command_progress(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
