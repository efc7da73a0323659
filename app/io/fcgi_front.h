/*
 * All FastCGI connections of a process: accepts them and waits until a whole
 * request has arrived on one. A connection that waits costs a descriptor.
 * One thread calls all of this, but for front_stop.
 *
 * A connection is either here or handed out: front_wait hands it out, and
 * front_keep, front_drop, front_release or front_forget ends that. Until then
 * its descriptor is the front's, which alone closes it. A second request that a peer sends before
 * it has its answer to the first, against the specification, may be lost.
 */
#ifndef IO_FCGI_FRONT_H
#define IO_FCGI_FRONT_H

#include <stdbool.h>
#include <stddef.h>

struct front;

struct front *
front_open(void);
/* Closes all connections; none may be in use. Listening sockets and wake
 * descriptors stay the caller's. */
void
front_close(struct front *front);

/* Serves this listening socket, too, which becomes non-blocking; at most 64.
 * Does nothing when it does so already. */
void
front_listen(struct front *front, int fd);
/* What waits in its backlog stays there. */
void
front_unlisten(struct front *front, int fd);
/* An eventfd: each write to it ends a front_wait. Nobody needs to read it. */
void
front_wake(struct front *front, int fd);
/* A connection that another process hands on, perhaps with a request in it;
 * it becomes this front's. */
void
front_adopt(struct front *front, int fd);

/*
 * Waits at most ms milliseconds (-1: for ever) for requests. Fills ready with
 * connections that have a whole one, at most max, those first that have waited
 * longest, and hands them out; the rest come first at the next call. 0: the
 * time is over, a wake descriptor was written to, or a signal arrived; not
 * that connections have ended.
 */
size_t
front_wait(struct front *front, int *ready, size_t max, int ms);
/* The request on fd is answered: waits for the next one. */
void
front_keep(struct front *front, int fd);
/* Closes fd. */
void
front_drop(struct front *front, int fd);
/* Takes fd, handed out and answered, out of here: it becomes the caller's. */
void
front_release(struct front *front, int fd);
/* fcgi_begin has closed fd. */
void
front_forget(struct front *front, int fd);
/*
 * Takes a connection out that is not handed out, those first on which nothing
 * has arrived; what has arrived is still to be read from it. -1: there is
 * none. It becomes the caller's.
 */
int
front_release_idle(struct front *front);
/* Connections, also those that are handed out. */
size_t
front_count(const struct front *front);

/* Async-signal-safe: ends the front_wait that is under way, or the next one,
 * in every front of the process; front_stopped is true from then on. */
void
front_stop(void);
bool
front_stopped(void);

#endif
