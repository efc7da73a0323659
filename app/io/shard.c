/*
 * The table of owners. Invariant: only the supervisor writes owners, only a
 * worker its own readiness; everybody reads at any time.
 */
#include "io/shard.h"

#include "base/log.h"
#include "base/str.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define NAME_BEGIN "web."
#define NAME_END ".sock"

struct shards {
	_Atomic int owner[SHARDS];
	_Atomic int ready[SHARD_WORKERS_MAX]; /* the pid that said so */
	_Atomic unsigned beats[SHARD_WORKERS_MAX];
};

/* A lock could be held by a process that is killed. */
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "int must be atomic by itself");

struct shards *
shards_new(void)
{
	struct shards *shards = mmap(NULL, sizeof(*shards),
	    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shards == MAP_FAILED)
		log_bug("cannot share memory: %s", strerror(errno));
	/* It comes zeroed: nobody owns anything. */
	return shards;
}

void
shards_free(struct shards *shards)
{
	if (shards)
		(void)munmap(shards, sizeof(*shards));
}

int
shards_owner(const struct shards *shards, int shard)
{
	return atomic_load(&shards->owner[shard]);
}

void
shards_give(struct shards *shards, int shard, int worker)
{
	atomic_store(&shards->owner[shard], worker);
}

void
shards_ready(struct shards *shards, int worker)
{
	atomic_store(&shards->ready[worker - 1], (int)getpid());
}

bool
shards_is_ready(const struct shards *shards, int worker, pid_t pid)
{
	return atomic_load(&shards->ready[worker - 1]) == (int)pid;
}

void
shards_beat(struct shards *shards, int worker)
{
	/* Who reads it waits for nothing else that was written. */
	atomic_fetch_add_explicit(&shards->beats[worker - 1], 1,
	    memory_order_relaxed);
}

unsigned
shards_beats(const struct shards *shards, int worker)
{
	return atomic_load(&shards->beats[worker - 1]);
}

/* The index of the worker that owns shard s; -1: there is none that serves. */
static int
shard_server(const struct shards *shards, int s, const bool *serving)
{
	int i = shards_owner(shards, s) - 1;

	return i >= 0 && i < SHARD_WORKERS_MAX && serving[i] ? i : -1;
}

/* The worker that serves and has the fewest or the most shards; -1: none. */
static int
loads_find(const int *loads, const bool *serving, bool most)
{
	int found = -1;

	for (int i = 0; i < SHARD_WORKERS_MAX; i++) {
		if (!serving[i])
			continue;
		if (found < 0 ||
		    (most ? loads[i] > loads[found] : loads[i] < loads[found]))
			found = i;
	}
	return found;
}

/* Gives those to somebody whose owner does not serve. */
static void
shards_place(struct shards *shards, int *loads, const bool *serving)
{
	for (int s = 0; s < SHARDS; s++) {
		int least;

		if (shard_server(shards, s, serving) >= 0)
			continue;
		least = loads_find(loads, serving, false);
		shards_give(shards, s, least + 1);
		loads[least]++;
	}
}

static void
shards_move_one(struct shards *shards, int from, int to)
{
	int s = SHARDS - 1;

	while (s > 0 && shards_owner(shards, s) != from + 1)
		s--;
	shards_give(shards, s, to + 1);
}

void
shards_spread(struct shards *shards, const bool serving[SHARD_WORKERS_MAX])
{
	int loads[SHARD_WORKERS_MAX] = {0};

	if (loads_find(loads, serving, false) < 0)
		return;
	for (int s = 0; s < SHARDS; s++) {
		int i = shard_server(shards, s, serving);

		if (i >= 0)
			loads[i]++;
	}
	shards_place(shards, loads, serving);
	for (;;) {
		int most = loads_find(loads, serving, true);
		int least = loads_find(loads, serving, false);

		if (loads[most] - loads[least] < 2)
			return;
		shards_move_one(shards, most, least);
		loads[most]--;
		loads[least]++;
	}
}

void
shard_path(struct buf *out, const char *folder, int shard)
{
	buf_printf(out, "%s/" NAME_BEGIN "%d" NAME_END, folder, shard);
}

int
shard_of(int fd)
{
	struct sockaddr_un address = {0};
	socklen_t len = sizeof(address);
	const char *name;
	const char *end;
	int64_t n;

	/* An accepted connection has the name of the socket it came by. */
	if (getsockname(fd, (struct sockaddr *)&address, &len) < 0 ||
	    address.sun_family != AF_UNIX)
		return -1;
	address.sun_path[sizeof(address.sun_path) - 1] = '\0';
	name = strrchr(address.sun_path, '/');
	name = name ? name + 1 : address.sun_path;
	if (strncmp(name, NAME_BEGIN, strlen(NAME_BEGIN)) != 0)
		return -1;
	name += strlen(NAME_BEGIN);
	end = strstr(name, NAME_END);
	if (!end || strcmp(end, NAME_END) != 0 ||
	    !str_int((struct str){name, (size_t)(end - name)}, &n) || n < 0 ||
	    n >= SHARDS)
		return -1;
	return (int)n;
}
