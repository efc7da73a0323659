/*
 * One request of the sandbox from its arrival to its answer, with the pauses
 * that a fault asks for. While it pauses it has no thread and no connection
 * to the database.
 */
#ifndef SANDBOX_ERRAND_H
#define SANDBOX_ERRAND_H

#include "sandbox/fault.h"
#include "task.h"

/* Of a pool: a list of tasks is a list of these. */
struct errand {
	struct task task; /* first */
	struct fault fault;
	bool begun; /* its body has been read */
	bool answered; /* but perhaps not sent yet */
	bool sent;
	int64_t due_ms; /* clock_monotonic_ms: the end of its pause */
};

struct errand *
errand_new(void);
void
errand_free(struct errand *errand);
/* As task_begin. */
bool
errand_begin(struct errand *errand, int fd);
/* A step of the errand that is this task, in a request thread: either it is
 * sent then, or fault.wait_ms says how long to pause before the next one. */
void
errand_run(struct task *task, const struct web *web);
struct errand *
errand_of(struct task *task);

#endif
