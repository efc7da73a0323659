/*
 * One buyer's way to the shop: a connection while there is something to do,
 * cookies as a browser keeps them, and the pages' rule for a request that got
 * no answer that decides: the same again, later each time.
 */
#include "drill.h"

#include "base/log.h"

#include <string.h>

/* static/js/buy.js: tries of one press, and the pauses between them. */
#define TRIES 6
#define PAUSE_FIRST (1000 * MS)
#define PAUSE_MOST (8000 * MS)
/* Who asks until the drill ends. */
#define PAUSE_STUBBORN (15000 * MS)
/* A browser's connection is closed when it has nothing to do for so long. */
#define IDLE (3 * SECOND)

static void
wire_put(struct buyer *buyer);

/* The next in the line gets a place, if there is one. */
static void
line_serve(struct drill *drill)
{
	while (drill->first && drill->open < drill->options.connections) {
		struct buyer *buyer = drill->first;

		drill->first = buyer->next;
		if (!drill->first)
			drill->last = NULL;
		buyer->queued = false;
		if (buyer->sending)
			wire_put(buyer);
	}
}

static void
wire_close(struct buyer *buyer)
{
	if (!buyer->conn)
		return;
	client_conn_free(buyer->conn);
	buyer->conn = NULL;
	buyer->drill->open--;
	line_serve(buyer->drill);
}

/* Nothing to do for a while, or others have no place. */
static void
wire_rest(struct buyer *buyer)
{
	bool idle =
	    !buyer->alarm.place || buyer->alarm.due_us - client_now_us() > IDLE;

	if (!buyer->sending && (idle || buyer->drill->first))
		wire_close(buyer);
}

/* Asks when it is this buyer's turn to have a connection. */
static void
wire_put(struct buyer *buyer)
{
	struct drill *drill = buyer->drill;

	if (!buyer->conn && drill->open >= drill->options.connections) {
		if (buyer->queued)
			return;
		buyer->queued = true;
		buyer->next = NULL;
		if (drill->last)
			drill->last->next = buyer;
		else
			drill->first = buyer;
		drill->last = buyer;
		return;
	}
	if (!buyer->conn) {
		buyer->conn = client_conn_new(drill->client);
		drill->open++;
	}
	client_conn_port(buyer->conn, (int)buyer->port);
	buyer->sent_us = client_now_us();
	client_send(buyer->conn, &buyer->call);
}

bool
wire_undecided(const struct buyer *buyer)
{
	int status = buyer->call.status;

	return status == 0 || status == 429 || status >= 500;
}

/* The call again, or for the first time. */
static void
wire_try(struct buyer *buyer)
{
	buyer->sending = true;
	buyer->tries++;
	buyer->call.intended_us = buyer->due_us;
	wire_put(buyer);
}

static void
wire_again(struct buyer *buyer, int64_t pause_us)
{
	buyer->drill->tally.retries++;
	buyer_later(buyer, pause_us, wire_try);
}

/* As the pages do: what the shop says, else longer each time. */
static int64_t
wire_pause(struct buyer *buyer)
{
	struct str after = client_header(&buyer->call, "Retry-After");
	int64_t most = buyer->stubborn ? PAUSE_STUBBORN : PAUSE_MOST;
	int64_t pause = PAUSE_FIRST;
	int64_t seconds;

	if (buyer->call.status && str_int(after, &seconds) && seconds >= 0 &&
	    seconds <= 60)
		return seconds * SECOND + buyer_draw(buyer, 400 * MS, 600 * MS);
	for (int i = 1; i < buyer->tries && pause < most; i++)
		pause *= 2;
	if (pause > most)
		pause = most;
	return buyer_draw(buyer, pause * 8 / 10, pause * 12 / 10);
}

static void
wire_cookie(struct buyer *buyer, const char *name, char *jar, size_t size)
{
	struct str value = client_cookie(&buyer->call, name);

	if (!value.text)
		return;
	if (value.len >= size)
		log_bug("the cookie %s has %zu bytes", name, value.len);
	memcpy(jar, value.text, value.len);
	jar[value.len] = '\0';
}

static void
wire_done(struct client_call *call)
{
	struct buyer *buyer = call->owner;
	struct drill *drill = buyer->drill;

	client_cancel(drill->client, &buyer->alarm);
	buyer->sending = false;
	drill->tally.statuses[call->status]++;
	drill->tally.failures[call->failure]++;
	if (call->status && buyer->port == drill->options.port) {
		wire_cookie(buyer, "lp_visit", buyer->visit,
		    sizeof(buyer->visit));
		wire_cookie(buyer, "lp_buyer", buyer->token,
		    sizeof(buyer->token));
	}
	if (wire_undecided(buyer) && (buyer->tries < TRIES || buyer->stubborn))
		wire_again(buyer, wire_pause(buyer));
	else
		buyer->then(buyer);
	wire_rest(buyer);
}

static void
wire_begin(struct buyer *buyer, void (*then)(struct buyer *b))
{
	buyer->call.request = str_view(&buyer->request);
	buyer->call.resend = true;
	buyer->call.done = wire_done;
	buyer->call.owner = buyer;
	buyer->then = then;
	buyer->tries = 0;
	wire_try(buyer);
}

/* Request line and the headers that each request has. */
static void
wire_head(struct buyer *buyer, const char *method, const char *path)
{
	struct buf *out = &buyer->request;

	buf_reset(out);
	buf_printf(out,
	    "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
	    "Accept: application/json, application/problem+json, text/html\r\n",
	    method, path, (int)buyer->port);
	if (buyer->port != buyer->drill->options.port)
		return;
	if (buyer->token[0] || buyer->visit[0])
		buf_printf(out, "Cookie: %s%s%s%s%s\r\n",
		    buyer->visit[0] ? "lp_visit=" : "", buyer->visit,
		    buyer->visit[0] && buyer->token[0] ? "; " : "",
		    buyer->token[0] ? "lp_buyer=" : "", buyer->token);
}

void
wire_get(struct buyer *buyer, const char *path, void (*then)(struct buyer *b))
{
	wire_head(buyer, "GET", path);
	buf_str(&buyer->request, "\r\n");
	wire_begin(buyer, then);
}

void
wire_send(struct buyer *buyer, const struct wire_post *post,
    void (*then)(struct buyer *b))
{
	wire_head(buyer, "POST", post->path);
	buf_printf(&buyer->request,
	    "Origin: http://127.0.0.1:%d\r\nContent-Type: %s\r\n"
	    "Content-Length: %zu\r\n",
	    (int)buyer->port, post->type, strlen(post->body));
	if (post->key)
		buf_printf(&buyer->request, "Idempotency-Key: %s\r\n",
		    post->key);
	buf_printf(&buyer->request, "\r\n%s", post->body);
	wire_begin(buyer, then);
}

void
wire_same(struct buyer *buyer, void (*then)(struct buyer *b))
{
	buyer->due_us = client_now_us();
	wire_begin(buyer, then);
}

void
wire_hang_up(struct buyer *buyer)
{
	if (!buyer->sending)
		return;
	/* Not before it is on its way: else there is nothing to lose. */
	if (!buyer->conn) {
		buyer_later(buyer, 5 * MS, wire_hang_up);
		return;
	}
	buyer->sending = false;
	buyer->drill->tally.hangups++;
	wire_again(buyer, buyer_draw(buyer, 300 * MS, 1000 * MS));
	wire_close(buyer);
}

void
wire_end(struct buyer *buyer)
{
	client_cancel(buyer->drill->client, &buyer->alarm);
	buyer->sending = false;
	wire_close(buyer);
	buf_release(&buyer->request);
}
