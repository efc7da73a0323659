/*
 * Watches two processes: one answers requests, one delivers webhooks. One
 * that dies is started again; both die with this one, however it ends.
 */
#include "sandbox.h"

#include "base/clock.h"
#include "base/log.h"
#include "io/fcgi.h"
#include "sandbox/hooks.h"
#include "sandbox/server.h"
#include "web/page.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define BACKLOG 1024
/* Before a process that died is started again. */
#define PAUSE_MS 500
/* What a process may take to finish its request or delivery. */
#define STOP_MS 3000

struct part {
	const char *name;
	int (*run)(const struct conf *conf, int fd);
	pid_t pid; /* 0: not running */
};

static sigset_t watched;

/* The child's side of a fork: it ends with its parent. */
static _Noreturn void
part_run(const struct part *part, const struct conf *conf, int fd, pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGTERM) < 0 || getppid() != parent)
		_exit(1);
	/* Ctrl-C goes to all; the parent says when it is time. */
	(void)signal(SIGINT, SIG_IGN);
	log_open(part->name);
	(void)sigprocmask(SIG_UNBLOCK, &watched, NULL);
	exit(part->run(conf, fd));
}

static void
part_start(struct part *part, const struct conf *conf, int fd)
{
	pid_t parent = getpid();

	part->pid = fork();
	if (part->pid == 0)
		part_run(part, conf, fd, parent);
	if (part->pid < 0) {
		log_error("could not start %s: %s", part->name,
		    strerror(errno));
		part->pid = 0;
	}
}

/* Collects those that have ended; how many still run. */
static int
parts_reap(struct part *parts, int count, bool expected)
{
	int alive = 0;

	for (int i = 0; i < count; i++) {
		int status = 0;

		if (parts[i].pid > 0 &&
		    waitpid(parts[i].pid, &status, WNOHANG) == parts[i].pid) {
			if (!expected)
				log_error("%s has ended with status 0x%x",
				    parts[i].name, (unsigned)status);
			parts[i].pid = 0;
		}
		alive += parts[i].pid > 0;
	}
	return alive;
}

static void
parts_signal(const struct part *parts, int count, int signo)
{
	for (int i = 0; i < count; i++) {
		if (parts[i].pid > 0)
			(void)kill(parts[i].pid, signo);
	}
}

static void
parts_stop(struct part *parts, int count)
{
	int64_t end = clock_monotonic_ms() + STOP_MS;

	parts_signal(parts, count, SIGTERM);
	while (parts_reap(parts, count, true) > 0 && clock_monotonic_ms() < end)
		clock_sleep_ms(10);
	parts_signal(parts, count, SIGKILL);
	while (parts_reap(parts, count, true) > 0)
		clock_sleep_ms(10);
}

/* Until a signal to stop. */
static void
parts_watch(struct part *parts, int count, const struct conf *conf, int fd)
{
	const struct timespec pause = {
	    .tv_nsec = PAUSE_MS * 1000000L,
	};
	int signo = 0;

	while (signo != SIGTERM && signo != SIGINT) {
		if (parts_reap(parts, count, false) == count) {
			signo = sigwaitinfo(&watched, NULL);
			continue;
		}
		signo = sigtimedwait(&watched, NULL, &pause);
		for (int i = 0; i < count && signo < 0; i++) {
			if (parts[i].pid == 0)
				part_start(&parts[i], conf, fd);
		}
	}
}

int
sandbox_run(const struct conf *conf)
{
	struct part parts[] = {
	    {"sandbox server", sandbox_serve, 0},
	    {"sandbox hooks", sandbox_hooks, 0},
	};
	const int count = sizeof(parts) / sizeof(parts[0]);
	struct buf path = {0};
	int fd;

	log_open("sandbox");
	if (!pages_check(conf->server.share))
		return 1;
	(void)sigemptyset(&watched);
	(void)sigaddset(&watched, SIGTERM);
	(void)sigaddset(&watched, SIGINT);
	(void)sigaddset(&watched, SIGCHLD);
	(void)sigprocmask(SIG_BLOCK, &watched, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	buf_printf(&path, "%s/sandbox.sock", conf->server.socket_dir);
	fd = fcgi_listen(buf_text(&path), BACKLOG);
	if (fd < 0) {
		buf_release(&path);
		return 1;
	}
	for (int i = 0; i < count; i++)
		part_start(&parts[i], conf, fd);
	log_info("the sandbox is ready at %s", conf->sandbox.pay_url);
	parts_watch(parts, count, conf, fd);
	parts_stop(parts, count);
	(void)close(fd);
	(void)unlink(buf_text(&path));
	buf_release(&path);
	log_info("the sandbox has stopped");
	return 0;
}
