/*
 * The list of a front's connections, for fcgi_front.c alone: which there are,
 * where each is, and on which something has happened. Calls nothing outside
 * and closes nothing.
 */
#ifndef IO_FCGI_CONN_H
#define IO_FCGI_CONN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

enum conn_place {
	CONN_IDLE, /* no request has begun */
	CONN_BEGUN, /* a part of one has arrived */
	CONN_OUT, /* handed out */
	CONN_LONG, /* handed out, with a body of which more is to come */
	CONN_LINGER, /* dropped while its peer sends: it shall read our answer */
	CONN_PLACES,
};

struct conn {
	int fd;
	enum conn_place place;
	bool noted; /* something has happened since it was looked at */
	bool hung_up; /* the peer will send no more */
	int64_t until_ms; /* may stay in its place until then; or see conn_ms */
	TAILQ_ENTRY(conn) in_place;
	TAILQ_ENTRY(conn) in_queue;
};

TAILQ_HEAD(conn_list, conn);

/*
 * Each is in the list of its place. It is in the queue, too, when it is noted
 * and not handed out. All zeros but for conns_init.
 */
struct conns {
	struct conn **by_fd;
	size_t fds; /* length of by_fd */
	size_t count;
	struct conn_list places[CONN_PLACES]; /* longest there first */
	struct conn_list queue; /* noted first, first */
};

/* How long a connection may stay in a place; 0: for ever. */
extern const int conn_ms[CONN_PLACES];

void
conns_init(struct conns *conns);
/* There must be none left. */
void
conns_release(struct conns *conns);
/* NULL: there is none. */
struct conn *
conns_find(const struct conns *conns, int fd);
/* The connection next in the queue, taken from it; NULL: none. */
struct conn *
conns_next(struct conns *conns);
/* One that has been in this place for too long; NULL: none. */
struct conn *
conns_late(const struct conns *conns, enum conn_place place, int64_t now_ms);
/* The moment when one has been in its place for too long, at most until. */
int64_t
conns_until(const struct conns *conns, int64_t until_ms);

/* An idle connection. */
struct conn *
conn_new(struct conns *conns, int fd);
/* Takes it off the list and frees it; its descriptor stays open. */
void
conn_free(struct conns *conns, struct conn *conn);
void
conn_move(struct conns *conns, struct conn *conn, enum conn_place place,
    int64_t now_ms);
/* Something has happened on it. */
void
conn_note(struct conns *conns, struct conn *conn);

#endif
