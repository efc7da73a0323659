/*
 * Request threads: they run what may wait; of a worker, that is everything but
 * taking a hold. Each has a connection to the database of its own, so that
 * holds never keep a question or a webhook waiting for theirs.
 */
#ifndef POOL_H
#define POOL_H

#include "task.h"

struct pool;

/* Tasks that are run together, at most. */
#define POOL_GATHER_MAX 64

struct pool_options {
	const struct web *web; /* the threads share its parts, but not db */
	const char *name; /* the process's */
	enum db_role role;
	size_t threads;
	int wake_fd; /* an eventfd, written to when pool_done has something */
	/* Runs one task, or several that go together. */
	void (*run)(struct task *const *tasks, size_t count,
	    const struct web *web);
	/* Whether tasks of this kind go together; NULL: none does. */
	bool (*gathers)(const struct request *request);
};

struct pool *
pool_open(const struct pool_options *options);
/* The task is a thread's, which runs it, until pool_done gives it back. */
void
pool_put(struct pool *pool, struct task *task);
/* Moves the tasks that have been run since to the end of list. */
void
pool_done(struct pool *pool, struct task_list *list);
/* None may be under way. Ends the threads. */
void
pool_close(struct pool *pool);

#endif
