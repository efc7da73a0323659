/*
 * Kept connections on their way from one worker to another. nginx keeps its
 * connections open and may send the next request at any moment, so a worker
 * that ends does not close them: it hands their descriptors on, and what has
 * arrived on them meanwhile goes along. A handover is a pair of sockets, made
 * before the workers are forked: [0] is read, [1] written, each by any
 * process. What was given and not yet taken waits, also when the taker dies.
 */
#ifndef IO_HANDOVER_H
#define IO_HANDOVER_H

#include <stdbool.h>
#include <stdint.h>

/* Both ends, closed on exec; false with a line in the log. */
bool
handover_open(int pair[2]);
void
handover_close(int pair[2]);

/*
 * Gives connection fd away through end `to`. Waits for room until until_ms
 * (clock_monotonic_ms) at most; false when there was none: then the peer sees
 * the connection closed. fd is closed here in either case. An epoll that
 * watches fd goes on doing so after that: take it out before.
 */
bool
handover_give(int to, int fd, int64_t until_ms);
/* The next connection that was given, closed on exec; -1: none now. */
int
handover_take(int from);

#endif
