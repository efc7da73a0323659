/*
 * Connections that any call may take: those that are idle in a stack, calls
 * that wait in a queue. Invariant: never both.
 */
#include "base/log.h"
#include "conn.h"

#include <stdlib.h>

struct client_pool *
client_pool_new(struct client *client, size_t n)
{
	struct client_pool *pool = client_memory(sizeof(*pool));

	pool->client = client;
	pool->n = n;
	pool->conns = client_memory((n ? n : 1) * sizeof(struct client_conn *));
	for (size_t i = 0; i < n; i++) {
		pool->conns[i] = client_conn_new(client);
		pool->conns[i]->pool = pool;
		client_idle(pool->conns[i]);
	}
	return pool;
}

void
client_pool_free(struct client_pool *pool)
{
	if (!pool)
		return;
	for (size_t i = 0; i < pool->n; i++)
		client_conn_free(pool->conns[i]);
	free(pool->conns);
	free(pool);
}

void
client_idle(struct client_conn *conn)
{
	struct client_pool *pool = conn->pool;
	struct client_call *call = pool->first;

	if (!call) {
		conn->next = pool->idle;
		pool->idle = conn;
		return;
	}
	pool->first = call->next;
	if (!pool->first)
		pool->last = NULL;
	client_send(conn, call);
}

void
client_put(struct client_pool *pool, struct client_call *call)
{
	struct client_conn *conn = pool->idle;

	if (!call->intended_us)
		call->intended_us = client_now_us();
	if (conn) {
		pool->idle = conn->next;
		client_send(conn, call);
		return;
	}
	call->next = NULL;
	if (pool->last)
		pool->last->next = call;
	else
		pool->first = call;
	pool->last = call;
}
