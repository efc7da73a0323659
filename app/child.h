/*
 * A part that the supervisor keeps played ("worker 3", "cashier"), and the
 * processes that play it: one, or two while one takes the other's place. A
 * worker's successor is started first and the old one ended when the new one
 * is ready, so that somebody serves at every moment; the other parts end
 * before they start again. Belongs to the supervisor's one thread; it forks.
 */
#ifndef CHILD_H
#define CHILD_H

#include "base/conf.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum process_state {
	PROCESS_NONE,
	PROCESS_STARTING, /* has not said yet that it is ready */
	PROCESS_SERVING,
	PROCESS_ENDING, /* is told to, or will be at the next child_signal */
};

struct process {
	enum process_state state;
	pid_t pid; /* 0 exactly when PROCESS_NONE: it has been reaped */
	bool stale; /* has old settings: to be replaced */
	bool told; /* has been sent SIGTERM */
	int64_t started_ms;
	int64_t kill_ms; /* when it has had time enough to start, or to end */
};

struct child {
	char name[24];
	int number; /* of a worker; 0 else */
	int (*run)(const struct conf *conf); /* NULL for a worker */
	bool wanted;
	struct process processes[2];
	int64_t delay_ms; /* before the next start after a death */
	int64_t due_ms; /* of the next start */
	unsigned beats; /* signs of life at the last look */
	int looks; /* since there was a new one; -1: there was never any */
	int64_t looked_ms;
};

/* Its process in that state; NULL: there is none. */
struct process *
child_find(struct child *child, enum process_state state);
bool
child_lives(const struct child *child);
/* Whether it waits to be started, now or at due_ms. */
bool
child_wants_start(struct child *child);
/* Whether one process is taking another's place, or ends. */
bool
child_is_changing(struct child *child);
/* Whether what serves has old settings, and may be replaced now. */
bool
child_is_stale(struct child *child, int64_t now);

/* fork gave this; -1: it failed, and is tried again after a pause. */
void
child_started(struct child *child, pid_t pid, int64_t now);
/*
 * The one that starts is ready; from now on the one before it ends. beats: how
 * many signs of life its number has given by now.
 */
void
child_ready(struct child *child, unsigned beats, int64_t now);
/*
 * A look at how many signs of life what serves has given. One that froze is
 * killed: connections that nginx keeps to it would hang, one closed is an
 * answer.
 */
void
child_look(struct child *child, unsigned beats, int64_t now);
/* All of its processes are to end. */
void
child_end(struct child *child, int64_t now);
/* Sends the signals that are due: SIGTERM, and SIGKILL to the deaf. */
void
child_signal(struct child *child, int64_t now);
/* Whether pid was one of its processes; sets when it is started again. */
bool
child_reaped(struct child *child, pid_t pid, int status, int64_t now);
/* New settings: what runs has the old ones; what failed may be tried again. */
void
child_renew(struct child *child);
/* After how many milliseconds there may be something to do. */
int64_t
child_rest(struct child *child, int64_t now);

#endif
