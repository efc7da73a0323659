/*
 * A queue in and a list out under one mutex. Invariant: a task is in the queue,
 * in one thread's hands, or in the list.
 */
#include "pool.h"

#include "base/log.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct pool {
	struct pool_options options;
	char name[32];
	pthread_mutex_t mutex;
	pthread_cond_t work;
	struct task_list waiting;
	struct task_list done;
	bool ending;
	size_t idle; /* threads that wait for work */
	pthread_t threads[]; /* options.threads */
};

static void
pool_ran(struct pool *pool, struct task *task)
{
	const uint64_t one = 1;
	bool wakes;

	(void)pthread_mutex_lock(&pool->mutex);
	wakes = !pool->done.first;
	task_list_add(&pool->done, task);
	(void)pthread_mutex_unlock(&pool->mutex);
	/* It can only fail when it is readable already. */
	if (wakes && write(pool->options.wake_fd, &one, sizeof(one)) < 0)
		return;
}

/* Takes what else waits and goes with the first; how many that are. */
static size_t
pool_gather(struct pool *pool, struct task **batch)
{
	bool (*gathers)(const struct request *) = pool->options.gathers;
	struct task_list others = {NULL, NULL};
	struct task *task;
	size_t n = 1;

	if (!gathers || !gathers(&batch[0]->request))
		return 1;
	while ((task = task_list_take(&pool->waiting))) {
		if (n < POOL_GATHER_MAX && gathers(&task->request))
			batch[n++] = task;
		else
			task_list_add(&others, task);
	}
	pool->waiting = others;
	return n;
}

/* The next task, or several that go together; 0: the thread is to end. */
static size_t
pool_next(struct pool *pool, struct task **batch)
{
	size_t n = 0;

	(void)pthread_mutex_lock(&pool->mutex);
	while (!(batch[0] = task_list_take(&pool->waiting)) && !pool->ending) {
		pool->idle++;
		(void)pthread_cond_wait(&pool->work, &pool->mutex);
		pool->idle--;
	}
	if (batch[0])
		n = pool_gather(pool, batch);
	(void)pthread_mutex_unlock(&pool->mutex);
	return n;
}

static void *
pool_thread(void *argument)
{
	struct task *batch[POOL_GATHER_MAX];
	struct pool *pool = argument;
	struct web web = *pool->options.web;
	size_t n;

	web.db = db_open(web.conf, pool->options.role, pool->name);
	while ((n = pool_next(pool, batch)) > 0) {
		pool->options.run(batch, n, &web);
		for (size_t i = 0; i < n; i++)
			pool_ran(pool, batch[i]);
	}
	db_close(web.db);
	return NULL;
}

/* Signals are for the thread that owns the loop. */
static void
pool_start(struct pool *pool)
{
	sigset_t all;
	sigset_t old;
	int error;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	for (size_t i = 0; i < pool->options.threads; i++) {
		error =
		    pthread_create(&pool->threads[i], NULL, pool_thread, pool);
		if (error)
			log_bug("cannot start a thread: %s", strerror(error));
	}
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
}

struct pool *
pool_open(const struct pool_options *options)
{
	struct pool *pool = calloc(1,
	    sizeof(*pool) + options->threads * sizeof(pool->threads[0]));

	if (!pool)
		log_bug("out of memory");
	pool->options = *options;
	snprintf(pool->name, sizeof(pool->name), "%s", options->name);
	pool->options.name = pool->name;
	if (pthread_mutex_init(&pool->mutex, NULL) != 0 ||
	    pthread_cond_init(&pool->work, NULL) != 0)
		log_bug("cannot make a mutex");
	pool_start(pool);
	return pool;
}

void
pool_put(struct pool *pool, struct task *task)
{
	bool wakes;

	(void)pthread_mutex_lock(&pool->mutex);
	task_list_add(&pool->waiting, task);
	wakes = pool->idle > 0;
	(void)pthread_mutex_unlock(&pool->mutex);
	if (wakes)
		(void)pthread_cond_signal(&pool->work);
}

void
pool_done(struct pool *pool, struct task_list *list)
{
	(void)pthread_mutex_lock(&pool->mutex);
	task_list_move(list, &pool->done);
	(void)pthread_mutex_unlock(&pool->mutex);
}

void
pool_close(struct pool *pool)
{
	(void)pthread_mutex_lock(&pool->mutex);
	pool->ending = true;
	(void)pthread_mutex_unlock(&pool->mutex);
	(void)pthread_cond_broadcast(&pool->work);
	for (size_t i = 0; i < pool->options.threads; i++)
		(void)pthread_join(pool->threads[i], NULL);
	(void)pthread_cond_destroy(&pool->work);
	(void)pthread_mutex_destroy(&pool->mutex);
	free(pool);
}
