/*
 * A web process. One thread, the loop, has all connections: it begins each
 * request, runs what waits for nothing, gives what may wait to the pool and
 * holds to the lane, and sends the answers of the lane. A connection is in the
 * front, in one task of the loop's, or in one of the pool's.
 */
#include "worker.h"

#include "base/clock.h"
#include "base/log.h"
#include "io/fcgi_front.h"
#include "io/gate.h"
#include "io/handover.h"
#include "pool.h"
#include "task.h"
#include "web/event.h"
#include "web/route.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/*
 * Requests under way at once. Each has some 20 KiB; what comes beyond waits
 * in its connection. The lane is fed well with two batches.
 */
#define TASKS_MAX 512
/* Of these, those that request threads have or will have: the rest is kept for
 * holds, and who comes beyond is told that the shop is busy. */
#define POOL_MAX 384
/* Begun in one turn, so that answers are not kept waiting. */
#define TURN_MAX 128
/* The longest wait, so that the supervisor sees signs of life. */
#define WAIT_MS 100
/* How often the table of shards and the handovers are looked at. */
#define TICK_MS 20
/* Idle connections looked through at once when shards have moved. */
#define MOVE_MAX 1024
/* For how long after that those that were busy are looked at; longer than any
 * request takes. */
#define STRAY_MS 20000
/* How long the others may take to have room for a connection. */
#define HAND_ON_MS 1000

struct worker {
	const struct conf *conf;
	const struct worker_shared *shared;
	int number;
	char name[32];
	struct web web; /* without a database */
	struct front *front;
	struct lane *lane;
	struct pool *pool;
	int wake_fd;
	struct task_list spare;
	size_t tasks; /* under way */
	size_t pooled; /* of these, the pool's */
	bool serves[SHARDS];
	int64_t strays_until_ms; /* connections may be here of others' shards */
	bool ending;
	int64_t tick_ms;
};

static void
worker_on_term(int signo)
{
	(void)signo;
	front_stop();
}

/* libfcgi takes an interrupted read for a lost peer: hence SA_RESTART. */
static void
worker_signals(void)
{
	struct sigaction term = {.sa_handler = worker_on_term,
	    .sa_flags = SA_RESTART};
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	(void)sigaction(SIGTERM, &term, NULL);
	(void)sigaction(SIGPIPE, &ignore, NULL);
}

static void
worker_spare(struct worker *worker, struct task *task)
{
	task_list_add(&worker->spare, task);
	worker->tasks--;
}

/* Gives a connection, which is not the front's any more, to its shard. */
static void
worker_give(const struct worker *worker, int fd, int64_t until)
{
	int shard = shard_of(fd);

	if (shard < 0)
		(void)close(fd);
	else
		(void)handover_give(worker->shared->hand_on[shard][1], fd,
		    until);
}

/* Whether the shard of this connection is another worker's by now. */
static bool
worker_is_stray(const struct worker *worker, int fd)
{
	int shard;

	if (worker->tick_ms >= worker->strays_until_ms)
		return false;
	shard = shard_of(fd);
	return shard >= 0 && !worker->serves[shard];
}

/* The task is answered: its connection goes back. */
static void
worker_end_task(struct worker *worker, struct task *task)
{
	if (!task->keeps) {
		front_drop(worker->front, task->fd);
	} else if (worker_is_stray(worker, task->fd)) {
		front_release(worker->front, task->fd);
		worker_give(worker, task->fd, worker->tick_ms + WAIT_MS);
	} else {
		front_keep(worker->front, task->fd);
	}
	worker_spare(worker, task);
}

static void
worker_answer(struct worker *worker, struct task *task)
{
	task_finish(task);
	worker_end_task(worker, task);
}

/* Begins the request on fd. A hold is added to calls, for the lane. */
static void
worker_begin(struct worker *worker, int fd, struct lane_call **calls)
{
	struct task *task = task_list_take(&worker->spare);

	if (!task)
		task = task_new();
	worker->tasks++;
	if (!task_begin(task, fd)) {
		/* libfcgi has closed it. */
		front_forget(worker->front, fd);
		worker_spare(worker, task);
	} else if (route_is_quick(&task->request)) {
		if (task_run(task, &worker->web))
			worker_answer(worker, task);
		else
			*calls = &task->x.call;
	} else if (worker->pooled < POOL_MAX) {
		worker->pooled++;
		pool_put(worker->pool, task);
	} else {
		task_refuse(task, &worker->web);
		worker_answer(worker, task);
	}
}

/* Requests that have arrived. Holds among them go to the lane together. */
static void
worker_requests(struct worker *worker, int wait_ms)
{
	int ready[TURN_MAX];
	size_t room = TASKS_MAX - worker->tasks;
	struct lane_call *first = NULL;
	struct lane_call **end = &first;
	size_t count;

	count = front_wait(worker->front, ready,
	    room < TURN_MAX ? room : TURN_MAX, wait_ms);
	for (size_t i = 0; i < count; i++) {
		worker_begin(worker, ready[i], end);
		if (*end)
			end = &(*end)->next;
	}
	if (first)
		lane_put(worker->lane, first);
}

static void
worker_answers(struct worker *worker)
{
	struct lane_call *call = lane_done(worker->lane);
	struct task_list done = {NULL, NULL};
	struct task *task;

	while (call) {
		task = task_of(call);
		call = call->next;
		task_resume(task);
		worker_answer(worker, task);
	}
	pool_done(worker->pool, &done);
	while ((task = task_list_take(&done))) {
		worker->pooled--;
		worker_end_task(worker, task);
	}
}

/* Hands the connections on that no request is open on. */
static void
worker_hand_on(struct worker *worker)
{
	int64_t until = clock_monotonic_ms() + HAND_ON_MS;
	int fd;

	while ((fd = front_release_idle(worker->front)) >= 0)
		worker_give(worker, fd, until);
}

/* Shards have moved: their idle connections follow now, the others when they
 * are answered. */
static void
worker_hand_moved(struct worker *worker)
{
	int fds[MOVE_MAX];
	int count = 0;

	worker->strays_until_ms = worker->tick_ms + STRAY_MS;
	while (count < MOVE_MAX &&
	    (fds[count] = front_release_idle(worker->front)) >= 0)
		count++;
	for (int i = 0; i < count; i++) {
		if (worker_is_stray(worker, fds[i]))
			worker_give(worker, fds[i], worker->tick_ms + WAIT_MS);
		else
			front_adopt(worker->front, fds[i]);
	}
}

/* Serves the shards that are this worker's now, and takes over what others
 * hand on for them. */
static void
worker_shards(struct worker *worker)
{
	const struct worker_shared *shared = worker->shared;
	bool moved = false;
	int fd;

	for (int s = 0; s < SHARDS; s++) {
		bool mine = !worker->ending &&
		    shards_owner(shared->shards, s) == worker->number;

		if (mine && !worker->serves[s])
			front_listen(worker->front, shared->listen_fds[s]);
		else if (!mine && worker->serves[s])
			front_unlisten(worker->front, shared->listen_fds[s]);
		moved |= !mine && worker->serves[s];
		worker->serves[s] = mine;
		while (mine && (fd = handover_take(shared->hand_on[s][0])) >= 0)
			front_adopt(worker->front, fd);
	}
	if (moved && !worker->ending)
		worker_hand_moved(worker);
}

static void
worker_tick(struct worker *worker)
{
	int64_t now = clock_monotonic_ms();

	shards_beat(worker->shared->shards, worker->number);
	if (front_stopped() && !worker->ending) {
		worker->ending = true;
		worker->tick_ms = 0;
	}
	if (now - worker->tick_ms >= TICK_MS) {
		worker->tick_ms = now;
		worker_shards(worker);
	}
	if (worker->ending)
		worker_hand_on(worker);
}

static void
worker_loop(struct worker *worker)
{
	shards_ready(worker->shared->shards, worker->number);
	worker_tick(worker);
	while (!worker->ending || worker->tasks > 0 ||
	    front_count(worker->front) > 0) {
		worker_requests(worker, WAIT_MS);
		worker_answers(worker);
		worker_tick(worker);
	}
}

/* In a request thread. */
_Static_assert(POOL_GATHER_MAX <= EVENT_GATHER_MAX,
    "they are recorded at once");

/* Webhooks that wait are recorded in one transaction. */
static void
worker_run_tasks(struct task *const *tasks, size_t count, const struct web *web)
{
	struct exchange *open[POOL_GATHER_MAX];
	size_t left;

	for (size_t i = 0; i < count; i++)
		(void)task_run(tasks[i], web);
	do {
		left = 0;
		for (size_t i = 0; i < count; i++) {
			if (tasks[i]->x.resume)
				open[left++] = &tasks[i]->x;
		}
		if (left)
			event_record(open, left);
	} while (left);
	for (size_t i = 0; i < count; i++)
		task_finish(tasks[i]);
}

static void
worker_open(struct worker *worker)
{
	char name[48];
	struct pool_options pool = {.web = &worker->web,
	    .name = worker->name,
	    .role = DB_WEB,
	    .threads = (size_t)worker->conf->server.threads,
	    .run = worker_run_tasks,
	    .gathers = route_gathers};
	struct lane_options lane = {.conf = worker->conf,
	    .gate = worker->shared->gate,
	    .process = name};

	worker->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (worker->wake_fd < 0)
		log_bug("cannot make an eventfd: %s", strerror(errno));
	lane.wake_fd = worker->wake_fd;
	worker->front = front_open();
	front_wake(worker->front, worker->wake_fd);
	for (int s = 0; s < SHARDS; s++)
		front_wake(worker->front, worker->shared->hand_on[s][0]);
	snprintf(name, sizeof(name), "%s lane", worker->name);
	worker->lane = lane_open(&lane);
	pool.wake_fd = worker->wake_fd;
	worker->pool = pool_open(&pool);
}

static void
worker_close(struct worker *worker)
{
	struct task *task;

	lane_stop(worker->lane);
	lane_close(worker->lane);
	pool_close(worker->pool);
	front_close(worker->front);
	(void)close(worker->wake_fd);
	while ((task = task_list_take(&worker->spare)))
		task_free(task);
}

/* Whether this is a database to work with, or may yet become one. */
static bool
worker_check(const struct worker *worker)
{
	struct db *db = db_open(worker->conf, DB_WEB, worker->name);
	enum db_status status = db_check(db);

	/* Each later call tries again, at most every so often: see pg.c. */
	if (status == DB_DOWN)
		log_warn("could not reach the database: until that works, "
			 "each request is told that the shop is busy");
	if (status == DB_REFUSED)
		log_error("cannot work with this database: %s", db_error(db));
	db_close(db);
	return status != DB_REFUSED;
}

int
worker_run(const struct conf *conf, const struct worker_shared *shared,
    int number)
{
	struct pages pages;
	struct worker worker = {.conf = conf,
	    .shared = shared,
	    .number = number};
	const char *why;
	int result = 1;

	snprintf(worker.name, sizeof(worker.name), "lastpair worker %d",
	    number);
	worker_signals();
	worker.web =
	    (struct web){.conf = conf, .pages = &pages, .gate = shared->gate};
	why = pages_load(&pages, conf->server.share);
	if (why) {
		log_error("%s", why);
	} else if (worker_check(&worker)) {
		worker_open(&worker);
		worker_loop(&worker);
		worker_close(&worker);
		result = 0;
	}
	pages_release(&pages);
	return result;
}
