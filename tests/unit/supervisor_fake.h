/*
 * Processes that only count themselves and note what they find, in memory
 * that all of them share. Defines the functions that supervisor.c starts, in
 * place of the real ones.
 */
#ifndef UNIT_SUPERVISOR_FAKE_H
#define UNIT_SUPERVISOR_FAKE_H

#include "base/clock.h"
#include "cashier.h"
#include "courier.h"
#include "io/shard.h"
#include "mail/letter.h"
#include "sweeper.h"
#include "web/page.h"
#include "worker.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define WORKERS 4
#define SWEEPER WORKERS
#define CASHIER (WORKERS + 1)
#define COURIER (WORKERS + 2)
#define PLACES (WORKERS + 3)

static struct seen {
	_Atomic int starts[PLACES];
	_Atomic int ended[PLACES]; /* by SIGTERM, in good order */
	_Atomic int pids[PLACES]; /* the latest */
	_Atomic int serve[WORKERS]; /* processes that are ready */
	_Atomic int alone[WORKERS]; /* told to end without a successor */
	_Atomic int kept[WORKERS]; /* shards that such a one still had */
	_Atomic int owners[SHARDS]; /* as a worker has seen them last */
	_Atomic int sockets[PLACES]; /* listening ones that it has */
	_Atomic int few_files;
	_Atomic int bad_pages;
	_Atomic int bad_letters;
	_Atomic int bad_start; /* workers end with a failure */
	_Atomic int slow_start; /* workers are not ready while this is so */
} * seen;

static volatile sig_atomic_t told;

static void
on_term(int signo)
{
	(void)signo;
	told = 1;
}

/* How many listening sockets this process has. */
static int
sockets_count(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++) {
		int is = 0;
		socklen_t len = sizeof(is);

		if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is, &len) == 0)
			n += is != 0;
	}
	return n;
}

static void
pretend_begin(int place)
{
	struct rlimit limit;

	(void)signal(SIGTERM, on_term);
	seen->sockets[place] = sockets_count();
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
	    limit.rlim_cur != limit.rlim_max)
		seen->few_files = 1;
	seen->pids[place] = getpid();
	seen->starts[place]++;
}

static int
pretend(int place)
{
	pretend_begin(place);
	while (!told)
		clock_sleep_ms(5);
	seen->ended[place]++;
	return 0;
}

/* What a worker finds when it is told to end. */
static void
pretend_end(const struct shards *shards, int number)
{
	if (--seen->serve[number - 1] > 0)
		return;
	seen->alone[number - 1]++;
	for (int s = 0; s < SHARDS; s++)
		seen->kept[number - 1] += shards_owner(shards, s) == number;
}

int
worker_run(const struct conf *conf, const struct worker_shared *shared,
    int number)
{
	(void)conf;
	pretend_begin(number - 1);
	if (seen->bad_start)
		return 1;
	while (seen->slow_start && !told)
		clock_sleep_ms(5);
	/* Before it is said, so that nobody is told to end before. */
	seen->serve[number - 1]++;
	shards_ready(shared->shards, number);
	while (!told) {
		for (int s = 0; s < SHARDS; s++)
			seen->owners[s] = shards_owner(shared->shards, s);
		shards_beat(shared->shards, number);
		clock_sleep_ms(5);
	}
	pretend_end(shared->shards, number);
	seen->ended[number - 1]++;
	return 0;
}

int
sweeper_run(const struct conf *conf)
{
	(void)conf;
	return pretend(SWEEPER);
}

int
cashier_run(const struct conf *conf)
{
	(void)conf;
	return pretend(CASHIER);
}

int
courier_run(const struct conf *conf)
{
	(void)conf;
	return pretend(COURIER);
}

bool
letters_check(const char *share)
{
	(void)share;
	return !seen->bad_letters;
}

bool
pages_check(const char *share)
{
	(void)share;
	return !seen->bad_pages;
}

#endif
