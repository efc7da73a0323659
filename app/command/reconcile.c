/* reconcile: this database against the provider's books, both directions. */
#include "reconcile.h"

#include "base/json.h"
#include "base/log.h"
#include "command/command.h"
#include "command/table.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define DAY_S ((int64_t)86400)
/* Longer ago than any shop that this can be. */
#define SINCE_MAX_S (3650 * DAY_S)
#define GRACE_MAX_S ((int64_t)3600)

/* The options as typed. */
struct reconcile_words {
	const char *since, *grace, *provider;
	bool repair, restart, last, json;
};

static atomic_bool stopping;

static void
reconcile_on_signal(int signo)
{
	signal(signo, SIG_DFL);
	atomic_store(&stopping, true);
}

/* Ctrl-C lets the run be gone on with at once, by whoever is next; a second one
 * ends it at once. */
static void
reconcile_signals(void)
{
	struct sigaction action = {.sa_handler = reconcile_on_signal};

	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	action.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &action, NULL);
}

static void
reconcile_say(const char *line)
{
	command_progress("%s", line);
}

static bool
words_read(const struct reconcile_words *words, struct reconcile *r)
{
	int64_t seconds;

	r->start = (struct reconcile_start){
	    .provider = r->provider->name,
	    .back_s = RECONCILE_BACK_S,
	    .repair = words->repair,
	    .restart = words->restart,
	    .by = command_operator(),
	};
	r->grace_ms = RECONCILE_GRACE_MS;
	if (words->grace != NULL) {
		if (!command_duration("--grace", words->grace, 0, GRACE_MAX_S,
			&seconds))
			return false;
		r->grace_ms = seconds * 1000;
	}
	if (words->since == NULL)
		return true;
	/* A moment begins with a year and has a T; a time back has neither. */
	if (strchr(words->since, 'T') == NULL)
		return command_duration("--since", words->since, 1, SINCE_MAX_S,
		    &r->start.back_s);
	r->start.since = words->since;
	r->start.back_s = -1;
	return command_moment("--since", words->since);
}

/* "stripe from 2026-11-01T… to 2026-12-01T…: 120 sessions, 3 refunds, …" */
static void
document_sum(const struct json *root)
{
	static const char *const counts[] = {"sessions", "refunds", "events"};
	struct str provider = json_text(json_get(root, "provider"));
	struct str since = json_text(json_get(root, "since"));
	struct str until = json_text(json_get(root, "started_at"));
	int64_t n;

	printf("%.*s from %.*s to %.*s:", (int)provider.len, provider.text,
	    (int)since.len, since.text, (int)until.len, until.text);
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		n = 0;
		json_int(json_get(root, counts[i]), &n);
		printf("%s %" PRId64 " %s", i == 0 ? "" : ",", n, counts[i]);
	}
	puts(" read");
}

static void
document_print(const struct buf *document)
{
	static const struct table_column columns[] = {{"WHAT", "words"},
	    {"ORDER", "order"}, {"HERE", "here"}, {"THERE", "there"},
	    {"NAME", "subject"}, {"STATE", "state"}, {"TASK", "task"},
	    {NULL, NULL}};
	const char *why = "";
	struct json_doc *doc = json_parse(str_view(document), &why);

	if (doc == NULL)
		log_bug("the database's JSON is %s", why);
	table_print_at(json_get(json_root(doc), "differences"), columns,
	    "the books agree");
	document_sum(json_root(doc));
	json_free(doc);
}

/* Prints a run (0: the last that was finished); DB_OK or why not. */
static enum db_status
reconcile_print(const struct reconcile *r, bool json, bool *found)
{
	struct buf document = {0};
	enum db_status status = db_reconcile_show(r->db, r->provider->name,
	    r->lease.run, &document);

	*found = document.len > 0;
	if (*found && json)
		puts(buf_text(&document));
	else if (*found)
		document_print(&document);
	buf_release(&document);
	return status;
}

static int
reconcile_last(const struct reconcile *r, bool json)
{
	bool found;
	enum db_status status = reconcile_print(r, json, &found);

	if (status != DB_OK)
		return command_db_fail(r->db, status);
	if (!found)
		return command_fail(EXIT_REFUSED,
		    "no comparison with %s was finished yet",
		    r->provider->name);
	return EXIT_DONE;
}

/* The books were compared: the rows, then the verdict. */
static int
reconcile_verdict(const struct reconcile *r, bool json)
{
	bool found;
	enum db_status status = reconcile_print(r, json, &found);

	if (status != DB_OK)
		return command_db_fail(r->db, status);
	if (r->result == RECONCILE_AGREES)
		return EXIT_DONE;
	return command_fail(EXIT_REFUSED,
	    "the books differ in %" PRId64 " place%s%s", r->end.differ,
	    r->end.differ == 1 ? "" : "s",
	    r->start.repair ? ", see task list"
			    : "; --repair applies what was missed");
}

static int
reconcile_result(const struct reconcile *r, bool json)
{
	const char *name = r->provider->name;

	switch (r->result) {
	case RECONCILE_AGREES:
	case RECONCILE_DIFFERS:
		return reconcile_verdict(r, json);
	case RECONCILE_DATABASE:
		return command_db_fail(r->db, r->status);
	case RECONCILE_PROVIDER:
		return command_fail(EXIT_UNREACHABLE,
		    "%s cannot be reached: %s; the next run goes on where this "
		    "one was",
		    name, r->error);
	case RECONCILE_REFUSED:
		return command_fail(EXIT_REFUSED,
		    "%s does not show its books: %s", name, r->error);
	case RECONCILE_STOPPED:
		return command_fail(EXIT_REFUSED,
		    "stopped; the next run goes on where this one was");
	default:
		return command_fail(EXIT_REFUSED,
		    "another comparison goes on with this one");
	}
}

int
command_reconcile(const struct conf *conf, int argc, char **argv)
{
	struct reconcile_words w = {0};
	struct reconcile r = {.conf = conf,
	    .wait = true,
	    .stopping = &stopping,
	    .say = reconcile_say};
	const struct option_spec specs[] = {{"--since", &w.since, NULL},
	    {"--repair", NULL, &w.repair}, {"--restart", NULL, &w.restart},
	    {"--last", NULL, &w.last}, {"--grace", &w.grace, NULL},
	    {"--provider", &w.provider, NULL}, {"--json", NULL, &w.json},
	    {NULL, NULL, NULL}};
	int result;

	if (!command_options(specs, NULL, argc, argv))
		return EXIT_USAGE;
	r.provider = w.provider == NULL ? provider_current(conf)
					: provider_find(str_of(w.provider));
	if (r.provider == NULL)
		return command_fail(EXIT_USAGE, "no provider %s", w.provider);
	if (!words_read(&w, &r))
		return EXIT_USAGE;
	r.db = db_open(conf, DB_OPERATOR, "lastpair reconcile");
	if (w.last) {
		result = reconcile_last(&r, w.json);
	} else {
		reconcile_signals();
		reconcile_run(&r);
		command_progress(NULL);
		result = reconcile_result(&r, w.json);
	}
	db_close(r.db);
	return result;
}
