/*
 * States of processes, and the pauses between their starts. Invariant: of the
 * two processes of a child at most one is starting and at most one serves.
 */
#include "child.h"

#include "base/log.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* A killed process is missed at once; one that cannot start costs little. */
#define DELAY_MS_FIRST 100
#define DELAY_MS_MAX 30000
/* Who lives that long has not died of its start. */
#define LIFE_MS_GOOD 1000
#define END_MS 10000
/* Longer than a worker waits for a database that does not answer. */
#define START_MS 30000
/* How often to look whether one that starts is ready. */
#define READY_MS 20
/*
 * No sign of life for two seconds is the end: a buyer is to be told "busy"
 * within three. Looks are counted, not time: when the whole machine stood
 * still, nobody is to blame.
 */
#define LOOK_MS 200
#define LOOKS_MAX 10
#define REST_MS_MAX 60000

#define PROCESSES 2

struct process *
child_find(struct child *child, enum process_state state)
{
	for (size_t i = 0; i < PROCESSES; i++) {
		if (child->processes[i].state == state)
			return &child->processes[i];
	}
	return NULL;
}

bool
child_lives(const struct child *child)
{
	return child->processes[0].pid || child->processes[1].pid;
}

bool
child_wants_start(struct child *child)
{
	if (!child->wanted || child_find(child, PROCESS_STARTING) ||
	    child_find(child, PROCESS_SERVING))
		return false;
	return child->number ? child_find(child, PROCESS_NONE) != NULL
			     : !child_lives(child);
}

bool
child_is_changing(struct child *child)
{
	return child_find(child, PROCESS_ENDING) ||
	    (child_find(child, PROCESS_STARTING) &&
		child_find(child, PROCESS_SERVING));
}

bool
child_is_stale(struct child *child, int64_t now)
{
	const struct process *serving = child_find(child, PROCESS_SERVING);

	return serving && serving->stale && child->due_ms <= now;
}

/* Sets when a child that did not start or died is started again. */
static void
child_delay(struct child *child, int64_t lived_ms, int64_t now)
{
	int64_t delay = child->delay_ms * 2;

	if (lived_ms > LIFE_MS_GOOD || delay < DELAY_MS_FIRST)
		delay = DELAY_MS_FIRST;
	if (delay > DELAY_MS_MAX)
		delay = DELAY_MS_MAX;
	child->delay_ms = delay;
	child->due_ms = now + delay;
}

void
child_started(struct child *child, pid_t pid, int64_t now)
{
	struct process *process = child_find(child, PROCESS_NONE);

	if (pid < 0) {
		log_error("could not start %s: %s", child->name,
		    strerror(errno));
		child_delay(child, 0, now);
		return;
	}
	*process = (struct process){
	    .state = child->number ? PROCESS_STARTING : PROCESS_SERVING,
	    .pid = pid,
	    .started_ms = now,
	    .kill_ms = now + START_MS,
	};
	log_info("started %s as pid %ld", child->name, (long)pid);
}

static void
process_end(struct process *process, int64_t now)
{
	if (!process || process->state == PROCESS_NONE ||
	    process->state == PROCESS_ENDING)
		return;
	process->state = PROCESS_ENDING;
	process->kill_ms = now + END_MS;
}

void
child_ready(struct child *child, unsigned beats, int64_t now)
{
	struct process *fresh = child_find(child, PROCESS_STARTING);

	process_end(child_find(child, PROCESS_SERVING), now);
	fresh->state = PROCESS_SERVING;
	child->beats = beats;
	child->looks = -1;
	child->looked_ms = now;
}

void
child_look(struct child *child, unsigned beats, int64_t now)
{
	struct process *serving = child_find(child, PROCESS_SERVING);

	if (!serving || now - child->looked_ms < LOOK_MS)
		return;
	child->looked_ms = now;
	if (beats != child->beats)
		child->looks = 0;
	else if (child->looks >= 0)
		child->looks++;
	child->beats = beats;
	if (child->looks < LOOKS_MAX)
		return;
	log_error("%s shows no sign of life, killing it", child->name);
	process_end(serving, now);
	serving->told = true;
	(void)kill(serving->pid, SIGKILL);
}

void
child_end(struct child *child, int64_t now)
{
	for (size_t i = 0; i < PROCESSES; i++)
		process_end(&child->processes[i], now);
}

static void
process_kill(struct process *process, const char *name, int64_t now)
{
	log_error("%s would not %s, killing it", name,
	    process->state == PROCESS_ENDING ? "end" : "start");
	(void)kill(process->pid, SIGKILL);
	process->kill_ms = now + END_MS;
}

void
child_signal(struct child *child, int64_t now)
{
	struct process *starting = child_find(child, PROCESS_STARTING);

	for (size_t i = 0; i < PROCESSES; i++) {
		struct process *process = &child->processes[i];

		if (process->state != PROCESS_ENDING)
			continue;
		if (!process->told)
			(void)kill(process->pid, SIGTERM);
		else if (process->kill_ms <= now)
			process_kill(process, child->name, now);
		process->told = true;
	}
	/* Without anybody else in its place, late is better than never. */
	if (starting && starting->kill_ms <= now &&
	    child_find(child, PROCESS_SERVING))
		process_kill(starting, child->name, now);
}

/* How a process ended, in words. */
static void
status_words(char *out, size_t n, int status)
{
	if (WIFSIGNALED(status))
		snprintf(out, n, "was killed by signal %d", WTERMSIG(status));
	else if (status)
		snprintf(out, n, "ended with status %d", WEXITSTATUS(status));
	else
		snprintf(out, n, "has ended");
}

bool
child_reaped(struct child *child, pid_t pid, int status, int64_t now)
{
	struct process was;
	char words[40];
	size_t i = 0;

	while (i < PROCESSES && child->processes[i].pid != pid)
		i++;
	if (i == PROCESSES)
		return false;
	was = child->processes[i];
	child->processes[i] = (struct process){0};
	status_words(words, sizeof(words), status);
	if (was.state == PROCESS_ENDING) {
		child->delay_ms = 0;
		child->due_ms = now;
		log_write(status ? LOG_WARN : LOG_INFO, "%s %s", child->name,
		    words);
		return true;
	}
	child_delay(child, now - was.started_ms, now);
	log_error("%s %s, starts again in %" PRId64 " ms", child->name, words,
	    child->delay_ms);
	return true;
}

void
child_renew(struct child *child)
{
	for (size_t i = 0; i < PROCESSES; i++)
		child->processes[i].stale = child->processes[i].pid != 0;
	child->delay_ms = 0;
	child->due_ms = 0;
}

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

int64_t
child_rest(struct child *child, int64_t now)
{
	const struct process *serving = child_find(child, PROCESS_SERVING);
	int64_t rest = REST_MS_MAX;

	if (child->number && serving)
		rest = LOOK_MS;
	if (child_find(child, PROCESS_STARTING))
		rest = READY_MS;
	for (size_t i = 0; i < PROCESSES; i++) {
		const struct process *process = &child->processes[i];

		if (process->state == PROCESS_ENDING)
			rest = least(rest, process->kill_ms - now);
	}
	/* A stale one whose time has come waits for the others' changes. */
	if (child_wants_start(child) ||
	    (serving && serving->stale && child->due_ms > now))
		rest = least(rest, child->due_ms - now);
	return rest > 0 ? rest : 0;
}
