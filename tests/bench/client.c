/*
 * The loop of the load engine: alarms, time-outs, connections that are ready.
 */
#include "client.h"
#include "base/log.h"
#include "conn.h"
#include "reply.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define TIMEOUT_MS 30000
#define SOURCES_MAX 250
/* Then answers are looked at again, however many alarms are due. */
#define ALARMS_ROUND 64

int64_t
client_now_us(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

const char *
client_failure_text(enum client_failure failure)
{
	static const char *const texts[] = {"answered", "not connected",
	    "connection closed", "timed out", "no HTTP"};

	return texts[failure];
}

struct str
client_header(const struct client_call *call, const char *name)
{
	return reply_header(call->head, name);
}

struct str
client_cookie(const struct client_call *call, const char *name)
{
	return reply_cookie(call->head, name);
}

void *
client_memory(size_t n)
{
	void *p = calloc(1, n);

	if (!p)
		log_bug("out of memory");
	return p;
}

/* As many connections as the machine allows. */
static void
files_raise(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

struct client *
client_open(const struct client_options *options)
{
	struct client *client = client_memory(sizeof(*client));
	int sources = options->sources;

	if (sources < 1 || sources > SOURCES_MAX)
		sources = sources < 1 ? 1 : SOURCES_MAX;
	files_raise();
	client->sources = (in_addr_t)sources;
	client->timeout_us =
	    (options->timeout_ms ? options->timeout_ms : TIMEOUT_MS) *
	    INT64_C(1000);
	client->address.sin_family = AF_INET;
	client->address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	client->address.sin_port = htons((in_port_t)options->port);
	client->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (client->epoll < 0)
		log_bug("cannot make an epoll: %s", strerror(errno));
	return client;
}

static void
gone_reap(struct client *client)
{
	struct client_conn *conn;

	while ((conn = client->gone)) {
		client->gone = conn->next;
		conn_reap(conn);
	}
}

/* What could not be begun; what that leads to is for the next round. */
static void
broken_tell(struct client *client)
{
	struct client_conn *conn = client->broken;

	client->broken = NULL;
	while (conn) {
		struct client_conn *next = conn->next;
		enum client_failure failure = conn->broken;

		conn->broken = CLIENT_OK;
		if (conn->gone) {
			conn->next = client->gone;
			client->gone = conn;
		} else {
			conn_fail(conn, failure);
		}
		conn = next;
	}
}

void
client_close(struct client *client)
{
	if (!client)
		return;
	broken_tell(client);
	gone_reap(client);
	if (client->oldest)
		log_bug("a client is closed while calls are under way");
	(void)close(client->epoll);
	alarms_release(&client->alarms);
	free(client);
}

void
client_stop(struct client *client)
{
	client->stopped = true;
}

void
client_at(struct client *client, struct alarm *alarm)
{
	alarms_add(&client->alarms, alarm);
}

void
client_cancel(struct client *client, struct alarm *alarm)
{
	alarms_remove(&client->alarms, alarm);
}

uint64_t
client_opened(const struct client *client)
{
	return client->opened;
}

uint64_t
client_resent(const struct client *client)
{
	return client->resent;
}

static void
alarms_fire(struct client *client)
{
	int64_t now = client_now_us();
	struct alarm *alarm;

	for (int i = 0; i < ALARMS_ROUND && !client->stopped; i++) {
		alarm = alarms_first(&client->alarms);
		if (!alarm || alarm->due_us > now)
			return;
		alarms_remove(&client->alarms, alarm);
		alarm->fire(alarm);
	}
}

static void
calls_time_out(struct client *client)
{
	int64_t before = client_now_us() - client->timeout_us;

	while (client->oldest && client->oldest->begun_us <= before)
		conn_fail(client->oldest, CLIENT_TIMEOUT);
}

/* Milliseconds until something is due, rounded up; -1: nothing will be. */
static int
client_rest(const struct client *client)
{
	const struct alarm *alarm = alarms_first(&client->alarms);
	int64_t due = INT64_MAX;
	int64_t rest;

	if (client->broken)
		return 0;
	if (alarm)
		due = alarm->due_us;
	if (client->oldest &&
	    client->oldest->begun_us + client->timeout_us < due)
		due = client->oldest->begun_us + client->timeout_us;
	if (due == INT64_MAX)
		return -1;
	rest = due - client_now_us();
	if (rest <= 0)
		return 0;
	return rest < 1000000 ? (int)((rest + 999) / 1000) : 1000;
}

void
client_run(struct client *client)
{
	client->stopped = false;
	while (!client->stopped) {
		int rest;
		int n;

		broken_tell(client);
		alarms_fire(client);
		calls_time_out(client);
		rest = client_rest(client);
		if (client->stopped || rest < 0)
			break;
		n = epoll_wait(client->epoll, client->events, EVENTS, rest);
		if (n < 0 && errno != EINTR)
			log_bug("cannot wait: %s", strerror(errno));
		for (int i = 0; i < n; i++)
			conn_ready(client->events[i].data.ptr,
			    client->events[i].events);
		gone_reap(client);
	}
}
