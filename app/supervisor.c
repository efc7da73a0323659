/*
 * Forks the processes, starts again what died, replaces and ends them. All
 * signals are blocked but while waiting; each becomes a flag, and the loop
 * looks at the flags one by one, so that no two things happen at once.
 * Invariant: a child has pid 0 exactly when it has been reaped.
 */
#include "supervisor.h"

#include "base/clock.h"
#include "base/log.h"
#include "cashier.h"
#include "io/fcgi.h"
#include "sweeper.h"
#include "web/page.h"
#include "worker.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORKERS_MAX 64 /* of server.workers */
#define CHILDREN_MAX (WORKERS_MAX + 2)
/* As long as Linux lets a queue be (net.core.somaxconn). */
#define BACKLOG 4096
#define DELAY_MS_FIRST 1000
#define DELAY_MS_MAX 30000
/* Who lives that long has not died of its start. */
#define LIFE_MS_GOOD 10000
#define PATIENCE_MS 10000
#define WAIT_MS_MAX 60000

struct child {
	char name[24];
	int number; /* of a worker; 0 else */
	int (*run)(const struct conf *conf);
	bool wanted;
	bool stale; /* has old settings: to be replaced */
	bool ending; /* has been sent SIGTERM */
	pid_t pid;
	int64_t started_ms;
	int64_t delay_ms; /* before the next start after a death */
	int64_t due_ms; /* of the next start; or of SIGKILL when ending */
};

struct supervisor {
	const struct conf *conf;
	const char *conf_file;
	struct conf fresh[2]; /* read on SIGHUP; conf points to one, or none */
	size_t turn;
	int fd;
	sigset_t signals;
	sigset_t mask; /* as it was before */
	bool got_stop;
	bool got_reload;
	bool stopping;
	struct child children[CHILDREN_MAX];
};

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
		child->run = i == WORKERS_MAX ? sweeper_run : cashier_run;
		snprintf(child->name, sizeof(child->name), "%s",
		    i == WORKERS_MAX ? "sweeper" : "cashier");
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
		exit(worker_run(supervisor->conf, supervisor->fd,
		    child->number));
	(void)close(supervisor->fd);
	exit(child->run(supervisor->conf));
}

/* Sets when a child that did not start or died is started again. */
static void
child_delay(struct child *child, int64_t now)
{
	bool lived =
	    child->started_ms && now - child->started_ms > LIFE_MS_GOOD;
	int64_t delay = child->delay_ms * 2;

	if (lived || delay < DELAY_MS_FIRST)
		delay = DELAY_MS_FIRST;
	if (delay > DELAY_MS_MAX)
		delay = DELAY_MS_MAX;
	child->delay_ms = delay;
	child->due_ms = now + delay;
}

static void
child_start(struct supervisor *supervisor, struct child *child, int64_t now)
{
	pid_t self = getpid();
	pid_t pid = fork();

	if (pid == 0)
		child_main(supervisor, child, self);
	if (pid < 0) {
		log_error("could not start %s: %s", child->name,
		    strerror(errno));
		child_delay(child, now);
		return;
	}
	child->pid = pid;
	child->started_ms = now;
	child->stale = false;
	child->ending = false;
	log_info("started %s as pid %ld", child->name, (long)pid);
}

static void
child_end(struct child *child, int64_t now)
{
	if (child->ending)
		return;
	(void)kill(child->pid, SIGTERM);
	child->ending = true;
	child->due_ms = now + PATIENCE_MS;
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

static void
child_reaped(struct child *child, int status, int64_t now, bool stopping)
{
	bool asked = child->ending || stopping;
	char words[40];

	child->pid = 0;
	child->ending = false;
	status_words(words, sizeof(words), status);
	if (asked) {
		child->due_ms = now;
		child->delay_ms = 0;
		log_write(status ? LOG_WARN : LOG_INFO, "%s %s", child->name,
		    words);
		return;
	}
	child_delay(child, now);
	log_error("%s %s, starts again in %" PRId64 " ms", child->name, words,
	    child->delay_ms);
}

static void
supervisor_reap(struct supervisor *supervisor)
{
	int64_t now = clock_monotonic_ms();
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (size_t i = 0; i < CHILDREN_MAX; i++) {
			struct child *child = &supervisor->children[i];

			if (child->pid == pid)
				child_reaped(child, status, now,
				    supervisor->stopping);
		}
	}
}

/* Starts what is due, kills what would not end, ends what nobody wants. */
static void
supervisor_step(struct supervisor *supervisor)
{
	int64_t now = clock_monotonic_ms();
	struct child *stale = NULL;
	bool one_ends = false;

	for (size_t i = 0; i < CHILDREN_MAX; i++) {
		struct child *child = &supervisor->children[i];

		if (supervisor->stopping)
			child->wanted = false;
		if (child->pid == 0 && child->wanted && child->due_ms <= now)
			child_start(supervisor, child, now);
		if (child->pid == 0)
			continue;
		if (!child->wanted)
			child_end(child, now);
		if (child->ending && child->due_ms <= now) {
			log_error("%s would not end, killing it", child->name);
			(void)kill(child->pid, SIGKILL);
			child->due_ms = now + PATIENCE_MS;
		}
		one_ends |= child->ending;
		if (child->stale && !stale)
			stale = child;
	}
	/* One by one: meanwhile the others serve. */
	if (stale && !one_ends)
		child_end(stale, now);
}

/* How long nothing will be due. */
static int64_t
supervisor_rest(const struct supervisor *supervisor)
{
	int64_t now = clock_monotonic_ms();
	int64_t rest = WAIT_MS_MAX;

	for (size_t i = 0; i < CHILDREN_MAX; i++) {
		const struct child *child = &supervisor->children[i];

		if (child->pid ? !child->ending : !child->wanted)
			continue;
		if (child->due_ms - now < rest)
			rest = child->due_ms - now;
	}
	return rest > 0 ? rest : 0;
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

static void
supervisor_reload(struct supervisor *supervisor)
{
	struct conf *fresh = &supervisor->fresh[supervisor->turn];
	struct conf *old = &supervisor->fresh[1 - supervisor->turn];
	const char *why = conf_read(fresh, supervisor->conf_file);

	if (why)
		log_error("%s", why);
	if (why || !pages_check(fresh->server.share)) {
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

		child->stale = child->pid != 0;
		child->delay_ms = 0;
		if (child->pid == 0)
			child->due_ms = 0;
		if (child->number)
			child->wanted = child->number <= fresh->server.workers;
	}
	log_info("took new settings");
}

static bool
supervisor_has_children(const struct supervisor *supervisor)
{
	for (size_t i = 0; i < CHILDREN_MAX; i++) {
		if (supervisor->children[i].pid)
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
	struct buf path = {0};
	int result = 0;

	log_open("supervisor");
	buf_printf(&path, "%s/web.sock", conf->server.socket_dir);
	if (!pages_check(conf->server.share)) {
		result = 1;
		goto out;
	}
	supervisor.fd = fcgi_listen(buf_text(&path), BACKLOG);
	if (supervisor.fd < 0) {
		result = 1;
		goto out;
	}
	supervisor_signals(&supervisor);
	children_init(&supervisor);
	log_info("serving %s", buf_text(&path));
	supervisor_loop(&supervisor);
	(void)unlink(buf_text(&path));
	(void)close(supervisor.fd);
	if (supervisor.conf != conf)
		conf_release(&supervisor.fresh[1 - supervisor.turn]);
out:
	buf_release(&path);
	return result;
}
