/*
 * event replay: reads stored bytes once more with the adapter that this
 * version has, and acts on what they say. What has been done is not done
 * again, so it is safe at any time; a run that was broken off is simply begun
 * anew.
 */
#include "command/command.h"

#include "pay/provider.h"
#include "web/settlement.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Events that are read in one call of the database. */
#define PAGE 100
/* Progress is told each so many events. */
#define TELL 100
/* What the inbox calls an event that could not be read: this, its id if it
 * said one and a colon, and a hash. */
#define UNUSABLE "unusable:"
#define TALLY_MAX 16

/* How many came to what. */
struct tally {
	char outcome[24];
	int64_t count;
};

struct replay_run {
	const struct conf *conf;
	struct db *db;
	struct replay_ask ask;
	bool json;
	int64_t count;
	struct tally tallies[TALLY_MAX];
	enum db_status status; /* the first that is not DB_OK */
};

static void
tally_add(struct replay_run *run, const char *outcome)
{
	for (int i = 0; i < TALLY_MAX; i++) {
		struct tally *tally = &run->tallies[i];

		if (tally->count > 0 && strcmp(tally->outcome, outcome) != 0)
			continue;
		snprintf(tally->outcome, sizeof(tally->outcome), "%s", outcome);
		tally->count++;
		return;
	}
}

/* The id that the event came under. */
static struct str
replay_name(struct str id)
{
	const size_t len = strlen(UNUSABLE);
	const char *end;

	if (id.len < len || memcmp(id.text, UNUSABLE, len) != 0)
		return id;
	id.text += len;
	id.len -= len;
	for (end = id.text + id.len; end > id.text && end[-1] != ':'; end--)
		continue;
	id.len = end > id.text ? (size_t)(end - id.text) - 1 : 0;
	return id;
}

/*
 * The one event of the stored bytes that came under this name; of bytes with
 * a single event that one, whatever its name.
 */
static bool
replay_find(const struct provider *provider, struct event_reader *reader,
    struct str name, struct event *found)
{
	struct event event;
	size_t count = 0;

	while (provider->next(reader, &event)) {
		if (count++ == 0 || str_equal(event.id, name))
			*found = event;
		if (str_equal(event.id, name))
			return true;
	}
	return count == 1;
}

/* What comes of an event that is read again: an outcome, or why not. */
static void
replay_one(struct replay_run *run, const struct replay *replay,
    struct answer *answer)
{
	const struct provider *provider = provider_find(replay->provider);
	struct hook hook = {.id = replay_name(replay->event_id)};
	struct event_reader *reader;
	struct settlement reading;
	struct event event;

	if (provider == NULL) {
		snprintf(answer->outcome, sizeof(answer->outcome),
		    "no such provider");
		return;
	}
	hook.body = str_view(&replay->body);
	reader = provider->read(run->conf, &hook, hook.body);
	if (!replay_find(provider, reader, hook.id, &event)) {
		snprintf(answer->outcome, sizeof(answer->outcome),
		    "not in its bytes");
	} else {
		if (event.id.len == 0)
			event.id = replay->event_id;
		settlement_fill(&reading, provider, &event, hook.body);
		run->status =
		    db_event_replay(run->db, replay->seq, &reading, answer);
		if (run->status == DB_REFUSED) {
			snprintf(answer->outcome, sizeof(answer->outcome),
			    "refused");
			run->status = DB_OK;
		}
	}
	provider->read_free(reader);
}

static void
replay_tell(struct replay_run *run, const struct replay *replay,
    const char *outcome)
{
	struct buf line = {0};

	if (run->json) {
		buf_printf(&line, "%s{\"seq\":%" PRId64 ",\"event_id\":",
		    run->count == 0 ? "[" : ",", replay->seq);
		str_json(&line, replay->event_id);
		buf_str(&line, ",\"outcome\":");
		str_json(&line, str_of(outcome));
		buf_char(&line, '}');
	} else {
		buf_printf(&line, "%-8" PRId64 " %-10s ", replay->seq, outcome);
		buf_add(&line, replay->event_id.text, replay->event_id.len);
	}
	puts(buf_text(&line));
	buf_release(&line);
	tally_add(run, outcome);
	run->count++;
	if (run->count % TELL == 0 && !isatty(STDOUT_FILENO))
		command_progress("replayed %" PRId64 " events", run->count);
}

/* One page; false after the last, or when the database is away. */
static bool
replay_page(struct replay_run *run)
{
	struct replay replay = {0};
	struct replay_list list;
	struct answer answer;
	size_t i, count;

	run->status = db_event_replay_list(run->db, &run->ask, &list);
	if (run->status != DB_OK)
		return false;
	count = list.count;
	for (i = 0; i < count && run->status == DB_OK; i++) {
		replay_read(&list, i, &replay);
		answer_init(&answer);
		replay_one(run, &replay, &answer);
		if (run->status == DB_OK)
			replay_tell(run, &replay, answer.outcome);
		answer_release(&answer);
		run->ask.after = replay.seq;
	}
	buf_release(&replay.body);
	replay_list_release(&list);
	return run->status == DB_OK && count == (size_t)run->ask.limit;
}

static int
replay_end(const struct replay_run *run)
{
	command_progress(NULL);
	if (run->json && run->status == DB_OK)
		puts(run->count == 0 ? "[]" : "]");
	if (run->status != DB_OK)
		return command_db_fail(run->db, run->status);
	if (run->count == 0 && run->ask.name != NULL)
		return command_fail(EXIT_REFUSED, "no event %s", run->ask.name);
	if (run->json)
		return EXIT_DONE;
	printf("%" PRId64 " read again", run->count);
	for (int i = 0; i < TALLY_MAX && run->tallies[i].count > 0; i++)
		printf("%s %" PRId64 " %s", i == 0 ? ":" : ",",
		    run->tallies[i].count, run->tallies[i].outcome);
	putchar('\n');
	return EXIT_DONE;
}

int
command_event_replay(const struct conf *conf, int argc, char **argv)
{
	struct replay_run run = {.conf = conf, .ask = {.limit = PAGE}};
	bool all = false;
	const struct option_spec specs[] = {{"--json", NULL, &run.json},
	    {"--outcome", &run.ask.outcome, NULL}, {"--all", NULL, &all},
	    {NULL, NULL, NULL}};
	int result;

	if (!command_options(specs, &run.ask.name, argc, argv) ||
	    !command_outcome(run.ask.outcome))
		return EXIT_USAGE;
	if ((run.ask.name != NULL) + (run.ask.outcome != NULL) + all != 1)
		return command_fail(EXIT_USAGE,
		    "event replay needs an event's id or number, --outcome or "
		    "--all");
	run.db = db_open(conf, DB_OPERATOR, "lastpair event replay");
	while (replay_page(&run))
		continue;
	result = replay_end(&run);
	db_close(run.db);
	return result;
}
