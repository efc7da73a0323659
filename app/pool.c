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
	const struct web *web;
	int wake_fd;
	char name[32];
	pthread_mutex_t mutex;
	pthread_cond_t work;
	struct task_list waiting;
	struct task_list done;
	bool ending;
	size_t idle; /* threads that wait for work */
	size_t count;
	pthread_t threads[]; /* conf->server.threads */
};

static void
pool_answered(struct pool *pool, struct task *task)
{
	const uint64_t one = 1;
	bool wakes;

	(void)pthread_mutex_lock(&pool->mutex);
	wakes = !pool->done.first;
	task_list_add(&pool->done, task);
	(void)pthread_mutex_unlock(&pool->mutex);
	/* It can only fail when it is readable already. */
	if (wakes && write(pool->wake_fd, &one, sizeof(one)) < 0)
		return;
}

/* The next task; NULL: the thread is to end. */
static struct task *
pool_next(struct pool *pool)
{
	struct task *task;

	(void)pthread_mutex_lock(&pool->mutex);
	while (!(task = task_list_take(&pool->waiting)) && !pool->ending) {
		pool->idle++;
		(void)pthread_cond_wait(&pool->work, &pool->mutex);
		pool->idle--;
	}
	(void)pthread_mutex_unlock(&pool->mutex);
	return task;
}

static void *
pool_thread(void *argument)
{
	struct pool *pool = argument;
	struct web web = *pool->web;
	struct task *task;

	web.db = db_open(web.conf, DB_WEB, pool->name);
	while ((task = pool_next(pool))) {
		(void)task_run(task, &web);
		task_finish(task);
		pool_answered(pool, task);
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
	for (size_t i = 0; i < pool->count; i++) {
		error =
		    pthread_create(&pool->threads[i], NULL, pool_thread, pool);
		if (error)
			log_bug("cannot start a thread: %s", strerror(error));
	}
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
}

struct pool *
pool_open(const struct web *web, const char *name, int wake_fd)
{
	size_t count = (size_t)web->conf->server.threads;
	struct pool *pool =
	    calloc(1, sizeof(*pool) + count * sizeof(pool->threads[0]));

	if (!pool)
		log_bug("out of memory");
	pool->web = web;
	pool->wake_fd = wake_fd;
	pool->count = count;
	snprintf(pool->name, sizeof(pool->name), "%s", name);
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
	for (size_t i = 0; i < pool->count; i++)
		(void)pthread_join(pool->threads[i], NULL);
	(void)pthread_cond_destroy(&pool->work);
	(void)pthread_mutex_destroy(&pool->mutex);
	free(pool);
}
