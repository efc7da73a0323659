/*
 * The list of a front's connections; see fcgi_conn.h for the invariant. As all
 * may stay in a place for the same time, the first there is the first late.
 */
#include "io/fcgi_conn.h"
#include "base/log.h"
#include "io/fcgi.h"

#include <stdlib.h>

const int conn_ms[CONN_PLACES] = {
    [CONN_BEGUN] = FCGI_PEER_MS,
    [CONN_LONG] = FCGI_PEER_MS,
    [CONN_LINGER] = 2000,
};

void
conns_init(struct conns *conns)
{
	for (int i = 0; i < CONN_PLACES; i++)
		TAILQ_INIT(&conns->places[i]);
	TAILQ_INIT(&conns->queue);
}

void
conns_release(struct conns *conns)
{
	free(conns->by_fd);
	conns->by_fd = NULL;
	conns->fds = 0;
}

struct conn *
conns_find(const struct conns *conns, int fd)
{
	return fd >= 0 && (size_t)fd < conns->fds ? conns->by_fd[fd] : NULL;
}

struct conn *
conns_next(struct conns *conns)
{
	struct conn *conn = TAILQ_FIRST(&conns->queue);

	if (conn) {
		TAILQ_REMOVE(&conns->queue, conn, in_queue);
		conn->noted = false;
	}
	return conn;
}

struct conn *
conns_late(const struct conns *conns, enum conn_place place, int64_t now_ms)
{
	struct conn *conn = TAILQ_FIRST(&conns->places[place]);

	return conn && conn_ms[place] && conn->until_ms <= now_ms ? conn : NULL;
}

int64_t
conns_until(const struct conns *conns, int64_t until_ms)
{
	for (int i = 0; i < CONN_PLACES; i++) {
		const struct conn *conn = TAILQ_FIRST(&conns->places[i]);

		if (conn && conn_ms[i] && conn->until_ms < until_ms)
			until_ms = conn->until_ms;
	}
	return until_ms;
}

static void
conns_grow(struct conns *conns, size_t fd)
{
	size_t fds = conns->fds ? conns->fds : 64;

	while (fds <= fd)
		fds *= 2;
	if (fds == conns->fds)
		return;
	conns->by_fd = reallocarray(conns->by_fd, fds, sizeof(void *));
	if (!conns->by_fd)
		log_bug("out of memory");
	while (conns->fds < fds)
		conns->by_fd[conns->fds++] = NULL;
}

struct conn *
conn_new(struct conns *conns, int fd)
{
	struct conn *conn = calloc(1, sizeof(*conn));

	if (!conn)
		log_bug("out of memory");
	conns_grow(conns, (size_t)fd);
	conn->fd = fd;
	conns->by_fd[fd] = conn;
	conns->count++;
	TAILQ_INSERT_TAIL(&conns->places[CONN_IDLE], conn, in_place);
	return conn;
}

static bool
place_is_out(enum conn_place place)
{
	return place == CONN_OUT || place == CONN_LONG;
}

void
conn_free(struct conns *conns, struct conn *conn)
{
	if (conn->noted && !place_is_out(conn->place))
		TAILQ_REMOVE(&conns->queue, conn, in_queue);
	TAILQ_REMOVE(&conns->places[conn->place], conn, in_place);
	conns->by_fd[conn->fd] = NULL;
	conns->count--;
	free(conn);
}

void
conn_move(struct conns *conns, struct conn *conn, enum conn_place place,
    int64_t now_ms)
{
	bool was_out = place_is_out(conn->place);

	TAILQ_REMOVE(&conns->places[conn->place], conn, in_place);
	TAILQ_INSERT_TAIL(&conns->places[place], conn, in_place);
	conn->place = place;
	conn->until_ms = now_ms + conn_ms[place];
	if (!conn->noted || was_out == place_is_out(place))
		return;
	if (was_out)
		TAILQ_INSERT_TAIL(&conns->queue, conn, in_queue);
	else
		TAILQ_REMOVE(&conns->queue, conn, in_queue);
}

void
conn_note(struct conns *conns, struct conn *conn)
{
	if (conn->noted)
		return;
	conn->noted = true;
	if (!place_is_out(conn->place))
		TAILQ_INSERT_TAIL(&conns->queue, conn, in_queue);
}
