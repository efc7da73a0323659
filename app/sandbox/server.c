/*
 * One thread, the loop, has all connections: it begins each request, gives it
 * to the pool, and keeps those that pause until their time has come. An errand
 * is the pool's, or pauses, or is spare.
 */
#include "sandbox/server.h"

#include "base/clock.h"
#include "base/log.h"
#include "io/fcgi_front.h"
#include "pool.h"
#include "sandbox/errand.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* Each has a connection to the database, of which the demo has 100. */
#define THREADS 8
/* Requests under way at once, those that pause among them; what comes beyond
 * waits in the backlog. The shop itself has at most some 200. */
#define ERRANDS_MAX 1024
/* Begun in one turn. */
#define TURN_MAX 64

struct server {
	struct web web; /* without a database */
	struct front *front;
	struct pool *pool;
	int wake_fd;
	size_t errands; /* under way */
	struct task_list pauses;
	struct task_list spare;
};

static void
on_term(int signo)
{
	(void)signo;
	front_stop();
}

static void
server_spare(struct server *server, struct errand *errand)
{
	task_list_add(&server->spare, &errand->task);
	server->errands--;
}

static void
server_begin(struct server *server, int fd)
{
	struct task *task = task_list_take(&server->spare);
	struct errand *errand = task ? errand_of(task) : errand_new();

	server->errands++;
	if (errand_begin(errand, fd)) {
		pool_put(server->pool, &errand->task);
		return;
	}
	front_forget(server->front, fd);
	server_spare(server, errand);
}

/* A step of it has been made. */
static void
server_ran(struct server *server, struct errand *errand)
{
	if (!errand->sent) {
		errand->due_ms = clock_monotonic_ms() + errand->fault.wait_ms;
		task_list_add(&server->pauses, &errand->task);
		return;
	}
	if (errand->task.keeps)
		front_keep(server->front, errand->task.fd);
	else
		front_drop(server->front, errand->task.fd);
	server_spare(server, errand);
}

/* Ends the pauses that are over, all of them when the server is to end: it
 * does what it has promised. Milliseconds until the next one, or -1. */
static int
server_pauses(struct server *server)
{
	int64_t now = clock_monotonic_ms();
	struct task_list pauses = server->pauses;
	struct task *task;
	int64_t next = -1;

	server->pauses = (struct task_list){NULL, NULL};
	while ((task = task_list_take(&pauses))) {
		struct errand *errand = errand_of(task);
		int64_t left = errand->due_ms - now;

		if (left > 0 && !front_stopped()) {
			task_list_add(&server->pauses, task);
			next = next < 0 || left < next ? left : next;
			continue;
		}
		errand->fault.wait_ms = 0;
		errand->fault.unanswered = false;
		pool_put(server->pool, task);
	}
	return (int)next;
}

/* Requests that have come; how many. */
static size_t
server_requests(struct server *server, int wait_ms)
{
	int ready[TURN_MAX];
	size_t room = ERRANDS_MAX - server->errands;
	size_t count = front_wait(server->front, ready,
	    room < TURN_MAX ? room : TURN_MAX, wait_ms);

	for (size_t i = 0; i < count; i++)
		server_begin(server, ready[i]);
	return count;
}

/* Until it is to end, has answered what had come by then, and nothing is under
 * way. The rest stays in the backlog. */
static void
server_loop(struct server *server, int fd)
{
	struct task_list done = {NULL, NULL};
	struct task *task;
	bool ending = false;
	size_t came = 1;

	front_listen(server->front, fd);
	while (!ending || came || server->errands) {
		int wait_ms = server_pauses(server);

		if (front_stopped() && !ending) {
			ending = true;
			front_unlisten(server->front, fd);
		}
		if (ending && !server->errands)
			wait_ms = 0;
		came = server_requests(server, wait_ms);
		pool_done(server->pool, &done);
		while ((task = task_list_take(&done)))
			server_ran(server, errand_of(task));
	}
}

static void
serve_errands(struct task *const *tasks, size_t count, const struct web *web)
{
	for (size_t i = 0; i < count; i++)
		errand_run(tasks[i], web);
}

static void
serve(struct server *server, int fd)
{
	struct pool_options pool = {.web = &server->web,
	    .name = "lastpair sandbox",
	    .role = DB_SANDBOX,
	    .threads = THREADS,
	    .run = serve_errands};
	struct task *task;

	server->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (server->wake_fd < 0)
		log_bug("cannot make an eventfd: %s", strerror(errno));
	server->front = front_open();
	front_wake(server->front, server->wake_fd);
	pool.wake_fd = server->wake_fd;
	server->pool = pool_open(&pool);
	server_loop(server, fd);
	pool_close(server->pool);
	front_close(server->front);
	(void)close(server->wake_fd);
	while ((task = task_list_take(&server->spare)))
		errand_free(errand_of(task));
}

int
sandbox_serve(const struct conf *conf, int fd)
{
	/* libfcgi takes an interrupted read for a lost peer. */
	struct sigaction term = {.sa_handler = on_term, .sa_flags = SA_RESTART};
	struct pages pages;
	const char *why = pages_load(&pages, conf->server.share);
	struct server server = {.web = {.conf = conf, .pages = &pages}};

	if (why) {
		log_error("%s", why);
		pages_release(&pages);
		return 1;
	}
	(void)sigaction(SIGTERM, &term, NULL);
	serve(&server, fd);
	pages_release(&pages);
	return 0;
}
