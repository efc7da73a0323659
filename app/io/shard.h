/*
 * Who serves which shard. The web's requests are cut into shards by their
 * item, so that all holds of one item reach one worker and share its
 * transactions. A shard is a listening socket; its owner is a worker by its
 * number, written down in memory that supervisor and workers share. The table
 * only says who accepts: whichever worker answers a request, answers it right.
 * Each entry is one atomic word, so a process may be killed at any moment.
 */
#ifndef IO_SHARD_H
#define IO_SHARD_H

#include "base/buf.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * More than workers, so that the others share a dead one's evenly; each is a
 * socket that nginx has to know (nginx/http.conf.in).
 */
#define SHARDS 16
/* Of server.workers; more could not all have a shard. */
#define SHARD_WORKERS_MAX 16

struct shards;

/* In anonymous shared memory: to be made before the workers are forked. */
struct shards *
shards_new(void);
/* Unmaps it here; the other processes keep it. */
void
shards_free(struct shards *shards);

/* The number of the worker that serves shard 0..SHARDS-1; 0: nobody yet. */
int
shards_owner(const struct shards *shards, int shard);
void
shards_give(struct shards *shards, int shard, int worker);

/* Called by a worker when its loop begins: it may be given shards. */
void
shards_ready(struct shards *shards, int worker);
/* Whether this process has said so; an earlier one of its number is not it. */
bool
shards_is_ready(const struct shards *shards, int worker, pid_t pid);

/*
 * A sign of life: a worker gives one in each turn of its loop, several times a
 * second. Who has begun to and stops is taken for frozen, and killed.
 */
void
shards_beat(struct shards *shards, int worker);
/* How many it has given; only whether that changes says something. */
unsigned
shards_beats(const struct shards *shards, int worker);

/*
 * Gives every shard to one of the workers that serve (serving[0] is worker 1),
 * evenly, moving as few as possible. When none serves, all stay where they
 * are: what waits in the sockets waits for its worker.
 */
void
shards_spread(struct shards *shards, const bool serving[SHARD_WORKERS_MAX]);

/* Appends the path of a shard's socket: FOLDER/web.0.sock and so on. */
void
shard_path(struct buf *out, const char *folder, int shard);
/* The shard whose socket this connection was accepted from; -1: of none. */
int
shard_of(int fd);

#endif
