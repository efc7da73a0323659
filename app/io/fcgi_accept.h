/*
 * The listening sockets of a front, for fcgi_front.c alone.
 */
#ifndef IO_FCGI_ACCEPT_H
#define IO_FCGI_ACCEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FCGI_LISTENERS_MAX 64
/* How long nothing is accepted when there are no descriptors left. */
#define FCGI_ACCEPT_PAUSE_MS 100

/* What an event of epoll is about: the upper half of its data. The lower half
 * is the descriptor. */
enum fcgi_kind { FCGI_CONN, FCGI_LISTENER, FCGI_WAKE };

struct fcgi_accept {
	int epoll_fd;
	int fds[FCGI_LISTENERS_MAX];
	size_t count;
	int64_t resume_ms; /* accepts nothing until then; 0: does */
	bool crowded; /* said in the log that there are no descriptors */
};

/* Has epoll watch a descriptor; false with errno. */
bool
fcgi_watch(int epoll_fd, int fd, enum fcgi_kind kind, uint32_t events);
void
fcgi_unwatch(int epoll_fd, int fd);

/* Makes fd non-blocking; does nothing when it has it already. */
void
fcgi_accept_add(struct fcgi_accept *from, int fd);
void
fcgi_accept_remove(struct fcgi_accept *from, int fd);
/* A connection that waits at fd, -1: none, or it pauses. */
int
fcgi_accept_next(struct fcgi_accept *from, int fd, int64_t now_ms);
/* Ends the pause when it is over. */
void
fcgi_accept_resume(struct fcgi_accept *from, int64_t now_ms);

#endif
