/*
 * A web process: serves the shards that the table of owners gives it, and has
 * connections of its own to the database. Without the database it lives on and
 * answers that the shop is busy.
 */
#ifndef WORKER_H
#define WORKER_H

#include "base/conf.h"
#include "io/shard.h"

struct gate;

/* What the supervisor makes before it forks; the same for all workers. */
struct worker_shared {
	struct gate *gate;
	struct shards *shards;
	/* One of each for every shard, for its owner alone. */
	int listen_fds[SHARDS];
	int hand_on[SHARDS][2]; /* see io/handover.h */
};

/*
 * Serves as worker number 1..SHARD_WORKERS_MAX until SIGTERM; the process's
 * exit status. Says shards_ready when its loop begins. After SIGTERM, when its
 * shards have been given to others already, it accepts nothing, finishes what
 * it has begun and hands its idle connections on. Two processes of one number
 * run for a moment when one takes the other's place.
 */
int
worker_run(const struct conf *conf, const struct worker_shared *shared,
    int number);

#endif
