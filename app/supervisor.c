/*
 * Forks the processes, starts again what died, replaces and ends them, and
 * says which worker serves which shard. All signals are blocked but while
 * waiting; each becomes a flag, and the loop looks at the flags one by one, so
 * that no two things happen at once.
 * Invariant: before a worker is told to end, its shards have another owner, if
 * there is one who serves.
 */
#include "supervisor.h"

#include "base/clock.h"
#include "base/log.h"
#include "cashier.h"
#include "child.h"
#include "courier.h"
#include "io/fcgi.h"
#include "io/gate.h"
#include "io/handover.h"
#include "io/mail.h"
#include "io/shard.h"
#include "mail/letter.h"
#include "sweeper.h"
#include "web/page.h"
#include "worker.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORKERS_MAX SHARD_WORKERS_MAX
#define CHILDREN_MAX (WORKERS_MAX + OTHERS)
/* Of each shard: as long as Linux lets a queue be (net.core.somaxconn). */
#define BACKLOG 4096
#define WAIT_MS_MAX 60000
/* For what a busy machine adds to times that are limited. */
#define MARGIN_MS 1000

/* Those that serve nobody: one of each. */
static const struct {
	const char *name;
	int (*run)(const struct conf *conf);
} others[] = {
    {"sweeper", sweeper_run},
    {"cashier", cashier_run},
    {"courier", courier_run},
};
#define OTHERS ((int)(sizeof(others) / sizeof(others[0])))

struct supervisor {
	const struct conf *conf;
	const char *conf_file;
	struct conf fresh[2]; /* read on SIGHUP; conf points to one, or none */
	size_t turn;
	struct worker_shared shared;
	sigset_t signals;
	sigset_t mask; /* as it was before */
	bool got_stop;
	bool got_reload;
	bool stopping;
	struct child children[CHILDREN_MAX];
};

/* The files of shard 0 to n - 1 that the supervisor has made, undone. */
static void
shared_close(struct worker_shared *shared, const char *folder, int n)
{
	for (int s = 0; s < n; s++) {
		struct buf path = {0};

		shard_path(&path, folder, s);
		(void)unlink(buf_text(&path));
		(void)close(shared->listen_fds[s]);
		handover_close(shared->hand_on[s]);
		buf_release(&path);
	}
	shards_free(shared->shards);
	gate_free(shared->gate);
}

static bool
shard_open(struct worker_shared *shared, const char *folder, int s)
{
	struct buf path = {0};
	bool ok = false;

	shard_path(&path, folder, s);
	shared->listen_fds[s] = fcgi_listen(buf_text(&path), BACKLOG);
	if (shared->listen_fds[s] < 0)
		goto out;
	ok = handover_open(shared->hand_on[s]);
	if (!ok) {
		(void)close(shared->listen_fds[s]);
		(void)unlink(buf_text(&path));
	}
out:
	buf_release(&path);
	return ok;
}

static bool
shared_open(struct worker_shared *shared, const struct conf *conf)
{
	const char *folder = conf->server.socket_dir;

	shared->shards = shards_new();
	/* The longest that a hold is under way: its wait, then its statement. */
	/* A hold waits for the lane, then for three tries of its statement. */
	shared->gate = gate_new(conf->server.hold_wait_ms +
	    3 *
		(conf->server.statement_timeout_ms +
		    conf->server.lock_timeout_ms + MARGIN_MS));
	for (int s = 0; s < SHARDS; s++) {
		if (!shard_open(shared, folder, s)) {
			shared_close(shared, folder, s);
			return false;
		}
	}
	return true;
}

/* For the children that serve nobody. */
static void
shared_leave(const struct worker_shared *shared)
{
	for (int s = 0; s < SHARDS; s++) {
		int pair[2] = {shared->hand_on[s][0], shared->hand_on[s][1]};

		(void)close(shared->listen_fds[s]);
		handover_close(pair);
	}
	shards_free(shared->shards);
	gate_free(shared->gate);
}

/* Each kept connection of nginx costs a worker a descriptor: all there are. */
static void
descriptors_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

static void
children_init(struct supervisor *supervisor)
{
	for (int i = 0; i < CHILDREN_MAX; i++) {
		struct child *child = &supervisor->children[i];

		if (i < WORKERS_MAX) {
			child->number = i + 1;
			snprintf(child->name, sizeof(child->name), "worker %d",
			    child->number);
			child->wanted = i < supervisor->conf->server.workers;
			continue;
		}
		child->run = others[i - WORKERS_MAX].run;
		snprintf(child->name, sizeof(child->name), "%s",
		    others[i - WORKERS_MAX].name);
		child->wanted = true;
	}
}

/* The new process; does not return. */
_Noreturn static void
child_main(const struct supervisor *supervisor, const struct child *child,
    pid_t parent)
{
	/* Ctrl-C and a closing terminal reach everybody: the parent decides. */
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)sigprocmask(SIG_SETMASK, &supervisor->mask, NULL);
	log_open(child->name);
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
		exit(1);
	if (child->number)
		exit(worker_run(supervisor->conf, &supervisor->shared,
		    child->number));
	shared_leave(&supervisor->shared);
	exit(child->run(supervisor->conf));
}

static void
child_start(struct supervisor *supervisor, struct child *child, int64_t now)
{
	pid_t self = getpid();
	pid_t pid = fork();

	if (pid == 0)
		child_main(supervisor, child, self);
	child_started(child, pid, now);
}

static void
supervisor_reap(struct supervisor *supervisor)
{
	int64_t now = clock_monotonic_ms();
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		size_t i = 0;

		while (i < CHILDREN_MAX &&
		    !child_reaped(&supervisor->children[i], pid, status, now))
			i++;
	}
}

/* Who has become ready, who is frozen, whom nobody wants. */
static void
supervisor_settle(struct supervisor *supervisor, struct child *child,
    int64_t now)
{
	const struct shards *shards = supervisor->shared.shards;
	const struct process *starting = child_find(child, PROCESS_STARTING);

	if (supervisor->stopping)
		child->wanted = false;
	if (child->number) {
		unsigned beats = shards_beats(shards, child->number);

		if (starting &&
		    shards_is_ready(shards, child->number, starting->pid))
			child_ready(child, beats, now);
		child_look(child, beats, now);
	}
	if (!child->wanted)
		child_end(child, now);
}

/* Replaces one that has old settings: one by one, the others serve. */
static void
supervisor_replace(struct supervisor *supervisor, int64_t now)
{
	struct child *stale = NULL;

	for (size_t i = 0; i < CHILDREN_MAX; i++) {
		struct child *child = &supervisor->children[i];

		if (child_is_changing(child))
			return;
		if (!stale && child_is_stale(child, now))
			stale = child;
	}
	if (stale && stale->number)
		child_start(supervisor, stale, now);
	else if (stale)
		child_end(stale, now);
}

static void
supervisor_spread(struct supervisor *supervisor)
{
	bool serving[WORKERS_MAX];

	for (size_t i = 0; i < WORKERS_MAX; i++)
		serving[i] = child_find(&supervisor->children[i],
				 PROCESS_SERVING) != NULL;
	shards_spread(supervisor->shared.shards, serving);
}

/* Looks at all children; starts, replaces and ends what is due. */
static void
supervisor_step(struct supervisor *supervisor)
{
	int64_t now = clock_monotonic_ms();

	for (size_t i = 0; i < CHILDREN_MAX; i++)
		supervisor_settle(supervisor, &supervisor->children[i], now);
	supervisor_replace(supervisor, now);
	supervisor_spread(supervisor);
	for (size_t i = 0; i < CHILDREN_MAX; i++) {
		struct child *child = &supervisor->children[i];

		child_signal(child, now);
		if (child_wants_start(child) && child->due_ms <= now)
			child_start(supervisor, child, now);
	}
}

/* How long nothing will be due. */
static int64_t
supervisor_rest(struct supervisor *supervisor)
{
	int64_t now = clock_monotonic_ms();
	int64_t rest = WAIT_MS_MAX;

	for (size_t i = 0; i < CHILDREN_MAX; i++) {
		int64_t own = child_rest(&supervisor->children[i], now);

		rest = own < rest ? own : rest;
	}
	return rest;
}

static void
supervisor_wait(struct supervisor *supervisor)
{
	int64_t rest = supervisor_rest(supervisor);
	struct timespec timeout = {(time_t)(rest / 1000),
	    (long)(rest % 1000) * 1000000};
	int signo = sigtimedwait(&supervisor->signals, NULL, &timeout);

	if (signo == SIGTERM || signo == SIGINT)
		supervisor->got_stop = true;
	if (signo == SIGHUP)
		supervisor->got_reload = true;
	/* SIGCHLD is looked after in any case. */
}

/* Whether all that is said to people can be said; if not, why is in the log. */
static bool
texts_check(const struct conf *conf)
{
	const char *why = mail_check(conf);

	if (why)
		log_error("%s", why);
	return !why && pages_check(conf->server.share) &&
	    letters_check(conf->server.share);
}

static void
supervisor_reload(struct supervisor *supervisor)
{
	struct conf *fresh = &supervisor->fresh[supervisor->turn];
	struct conf *old = &supervisor->fresh[1 - supervisor->turn];
	const char *why = conf_read(fresh, supervisor->conf_file);

	if (why)
		log_error("%s", why);
	if (why || !texts_check(fresh)) {
		log_error("cannot take the new settings, keeping the old");
		conf_release(fresh);
		return;
	}
	if (strcmp(fresh->server.socket_dir,
		supervisor->conf->server.socket_dir) != 0)
		log_warn("server.socket_dir stays as it is until the next "
			 "start");
	if (supervisor->conf == old)
		conf_release(old);
	supervisor->conf = fresh;
	supervisor->turn = 1 - supervisor->turn;
	for (size_t i = 0; i < CHILDREN_MAX; i++) {
		struct child *child = &supervisor->children[i];

		child_renew(child);
		if (child->number)
			child->wanted = child->number <= fresh->server.workers;
	}
	log_info("took new settings");
}

static bool
supervisor_has_children(const struct supervisor *supervisor)
{
	for (size_t i = 0; i < CHILDREN_MAX; i++) {
		if (child_lives(&supervisor->children[i]))
			return true;
	}
	return false;
}

static void
supervisor_loop(struct supervisor *supervisor)
{
	while (!supervisor->stopping || supervisor_has_children(supervisor)) {
		supervisor_step(supervisor);
		supervisor_wait(supervisor);
		supervisor_reap(supervisor);
		if (supervisor->got_stop && !supervisor->stopping) {
			supervisor->stopping = true;
			log_info("ending");
		}
		if (supervisor->got_reload && !supervisor->stopping)
			supervisor_reload(supervisor);
		supervisor->got_reload = false;
	}
}

static void
supervisor_signals(struct supervisor *supervisor)
{
	sigset_t *set = &supervisor->signals;

	(void)sigemptyset(set);
	(void)sigaddset(set, SIGTERM);
	(void)sigaddset(set, SIGINT);
	(void)sigaddset(set, SIGHUP);
	(void)sigaddset(set, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, set, &supervisor->mask);
}

int
supervisor_run(const struct conf *conf, const char *conf_file)
{
	struct supervisor supervisor = {.conf = conf, .conf_file = conf_file};
	/* Later settings do not move the sockets. */
	const char *folder = conf->server.socket_dir;

	log_open("supervisor");
	descriptors_raise();
	if (!texts_check(conf) || !shared_open(&supervisor.shared, conf))
		return 1;
	supervisor_signals(&supervisor);
	children_init(&supervisor);
	log_info("serving %d sockets in %s", SHARDS, folder);
	supervisor_loop(&supervisor);
	shared_close(&supervisor.shared, folder, SHARDS);
	if (supervisor.conf != conf)
		conf_release(&supervisor.fresh[1 - supervisor.turn]);
	return 0;
}
