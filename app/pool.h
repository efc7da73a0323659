/*
 * The request threads of a worker: they run what may wait, that is everything
 * but taking a hold. Each has a connection to the database of its own, so that
 * holds never keep a question or a webhook waiting for theirs.
 */
#ifndef POOL_H
#define POOL_H

#include "task.h"

struct pool;

/* The threads share web's parts but its db. wake_fd, an eventfd, is written to
 * when pool_done has something; name is the process's. */
struct pool *
pool_open(const struct web *web, const char *name, int wake_fd);
/* The task is a thread's until pool_done gives it back, answered. */
void
pool_put(struct pool *pool, struct task *task);
/* Moves the tasks that have been answered since to the end of list. */
void
pool_done(struct pool *pool, struct task_list *list);
/* None may be under way. Ends the threads. */
void
pool_close(struct pool *pool);

#endif
