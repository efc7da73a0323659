/*
 * bench/client: against a small server of the test's own, in a process of its
 * own, that answers by the path it is asked for.
 */
#include "client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define OK_HEAD "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"

static int port;
static pid_t server;

/* --- the server: a process for each connection */

static void
tell(int fd, const char *text)
{
	(void)!write(fd, text, strlen(text));
}

/* In pieces that arrive one by one. */
static void
tell_slowly(int fd, const char *text)
{
	for (; *text; text++) {
		(void)!write(fd, text, 1);
		usleep(200);
	}
}

/* false: the connection is to end. */
static bool
serve_one(int fd, const char *path, int count)
{
	if (strcmp(path, "/ok") == 0)
		tell(fd, OK_HEAD "Set-Cookie: a=b\r\n\r\nhello");
	else if (strcmp(path, "/pieces") == 0)
		tell_slowly(fd, OK_HEAD "\r\nhello");
	else if (strcmp(path, "/chunks") == 0)
		tell_slowly(fd,
		    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked"
		    "\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n");
	else if (strcmp(path, "/last") == 0)
		tell(fd, OK_HEAD "Connection: close\r\n\r\nhello");
	else if (strcmp(path, "/end") == 0)
		tell(fd, "HTTP/1.0 200 OK\r\n\r\nhello");
	else if (strcmp(path, "/cut") == 0)
		tell(fd, OK_HEAD "\r\nhel");
	else if (strcmp(path, "/rubbish") == 0)
		tell(fd, "220 ready\r\n\r\n");
	else if (strcmp(path, "/never") == 0)
		sleep(60);
	else if (strcmp(path, "/second") == 0 && count == 0)
		tell(fd, OK_HEAD "\r\nfirst");
	/* /second on a kept connection: it ends without a word. */
	return strcmp(path, "/ok") == 0 || strcmp(path, "/pieces") == 0 ||
	    strcmp(path, "/chunks") == 0 ||
	    (strcmp(path, "/second") == 0 && count == 0);
}

static void
serve(int fd)
{
	char request[4096];
	char path[64];

	for (int count = 0;; count++) {
		size_t n = 0;

		while (n < 4 || memcmp(request + n - 4, "\r\n\r\n", 4) != 0) {
			if (n == sizeof(request) - 1 ||
			    read(fd, request + n, 1) != 1)
				return;
			n++;
		}
		request[n] = '\0';
		path[0] = '\0';
		if (strncmp(request, "GET ", 4) == 0)
			snprintf(path, sizeof(path), "%.*s",
			    (int)strcspn(request + 4, " "), request + 4);
		if (!serve_one(fd, path, count))
			return;
	}
}

static int
server_start(void **state)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t n = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	(void)state;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (bind(fd, (struct sockaddr *)&address, n) != 0 ||
	    listen(fd, 512) != 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &n) != 0)
		return -1;
	port = ntohs(address.sin_port);
	server = fork();
	if (server == 0) {
		(void)setpgid(0, 0);
		(void)signal(SIGCHLD, SIG_IGN);
		for (;;) {
			int peer = accept(fd, NULL, NULL);

			if (peer >= 0 && fork() == 0) {
				serve(peer);
				_exit(0);
			}
			(void)close(peer);
		}
	}
	(void)setpgid(server, server);
	(void)close(fd);
	return 0;
}

static int
server_stop(void **state)
{
	(void)state;
	(void)kill(-server, SIGKILL);
	(void)waitpid(server, NULL, 0);
	return 0;
}

/* --- calls */

struct seen {
	struct client_call call; /* first */
	char request[100];
	int status;
	int times;
	enum client_failure failure;
	char body[16];
	struct client_conn *again; /* another call is sent from done */
	struct seen *next;
};

static void
seen_done(struct client_call *call)
{
	struct seen *seen = (struct seen *)call;

	seen->times++;
	seen->status = call->status;
	seen->failure = call->failure;
	snprintf(seen->body, sizeof(seen->body), "%.*s", (int)call->body.len,
	    call->body.text ? call->body.text : "");
	if (seen->again)
		client_send(seen->again, &seen->next->call);
	/* Sending another one has not disturbed what this one has. */
	assert_int_equal(strncmp(seen->body,
			     call->body.text ? call->body.text : "",
			     call->body.len),
	    0);
}

static void
seen_init(struct seen *seen, const char *path)
{
	*seen = (struct seen){.call.done = seen_done};
	snprintf(seen->request, sizeof(seen->request),
	    "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
	seen->call.request = str_of(seen->request);
}

static struct client *
open_client(int timeout_ms)
{
	const struct client_options options = {.port = port,
	    .timeout_ms = timeout_ms,
	    .sources = 2};

	return client_open(&options);
}

/* One call on a connection of its own. */
static void
ask(struct seen *seen, const char *path, int timeout_ms)
{
	struct client *client = open_client(timeout_ms);
	struct client_conn *conn = client_conn_new(client);

	seen_init(seen, path);
	client_send(conn, &seen->call);
	client_run(client);
	client_conn_free(conn);
	client_close(client);
}

static void
every_form_of_answer_arrives(void **state)
{
	static const char *const paths[] = {"/ok", "/pieces", "/chunks",
	    "/last", "/end"};
	struct seen seen;

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		ask(&seen, paths[i], 0);
		assert_int_equal(seen.times, 1);
		assert_int_equal(seen.status, 200);
		assert_string_equal(seen.body, "hello");
	}
}

static void
every_failure_has_its_name(void **state)
{
	struct seen seen;
	int right = port;

	(void)state;
	ask(&seen, "/cut", 0);
	assert_int_equal(seen.failure, CLIENT_CLOSED);
	assert_int_equal(seen.status, 0);
	ask(&seen, "/rubbish", 0);
	assert_int_equal(seen.failure, CLIENT_GARBLED);
	ask(&seen, "/never", 50);
	assert_int_equal(seen.failure, CLIENT_TIMEOUT);
	/* Port 1 is nobody's. */
	port = 1;
	ask(&seen, "/ok", 0);
	port = right;
	assert_int_equal(seen.failure, CLIENT_REFUSED);
	assert_int_equal(seen.times, 1);
}

static void
a_connection_is_kept(void **state)
{
	struct client *client = open_client(0);
	struct client_conn *conn = client_conn_new(client);
	struct seen first;
	struct seen next;

	(void)state;
	seen_init(&first, "/pieces");
	seen_init(&next, "/ok");
	first.again = conn;
	first.next = &next;
	client_send(conn, &first.call);
	client_run(client);
	assert_int_equal(first.status, 200);
	assert_int_equal(next.status, 200);
	assert_int_equal(client_opened(client), 1);
	client_conn_free(conn);
	client_close(client);
}

/* Closed by the server when the next request was on its way already. */
static void
a_lost_race_is_run_again_if_asked_for(void **state)
{
	(void)state;
	for (int resend = 0; resend < 2; resend++) {
		struct client *client = open_client(0);
		struct client_conn *conn = client_conn_new(client);
		struct seen first;
		struct seen next;

		seen_init(&first, "/second");
		seen_init(&next, "/second");
		next.call.resend = resend;
		first.again = conn;
		first.next = &next;
		client_send(conn, &first.call);
		client_run(client);
		assert_int_equal(next.status, resend ? 200 : 0);
		assert_int_equal(next.failure, resend ? 0 : CLIENT_CLOSED);
		assert_int_equal(client_resent(client), resend);
		assert_int_equal(client_opened(client), 1 + resend);
		client_conn_free(conn);
		client_close(client);
	}
}

static void
a_pool_serves_more_than_it_has(void **state)
{
	static struct seen all[300];
	struct client *client = open_client(0);
	struct client_pool *pool = client_pool_new(client, 7);

	(void)state;
	for (size_t i = 0; i < 300; i++) {
		seen_init(&all[i], i % 10 ? "/ok" : "/last");
		client_put(pool, &all[i].call);
	}
	client_run(client);
	for (size_t i = 0; i < 300; i++) {
		assert_int_equal(all[i].times, 1);
		assert_int_equal(all[i].status, 200);
		assert_true(all[i].call.latency_us >= 0);
	}
	assert_true(client_opened(client) <= 37);
	client_pool_free(pool);
	client_close(client);
}

static void
time_counts_from_the_intention(void **state)
{
	struct client *client = open_client(0);
	struct client_conn *conn = client_conn_new(client);
	struct seen seen;

	(void)state;
	seen_init(&seen, "/ok");
	seen.call.intended_us = client_now_us() - 5000000;
	client_send(conn, &seen.call);
	client_run(client);
	assert_true(seen.call.latency_us >= 5000000);
	client_conn_free(conn);
	client_close(client);
}

/* --- alarms */

struct leaver {
	struct alarm alarm; /* first */
	struct client *client;
	struct client_conn *conn;
	int64_t fired_us;
};

static void
leave(struct alarm *alarm)
{
	struct leaver *leaver = (struct leaver *)alarm;

	leaver->fired_us = client_now_us();
	client_conn_free(leaver->conn);
}

static void
a_buyer_may_leave_while_he_waits(void **state)
{
	struct client *client = open_client(0);
	struct leaver leaver = {.client = client};
	struct alarm never = {.due_us = INT64_MAX};
	struct seen seen;

	(void)state;
	leaver.conn = client_conn_new(client);
	leaver.alarm.fire = leave;
	leaver.alarm.due_us = client_now_us() + 20000;
	client_at(client, &leaver.alarm);
	client_at(client, &never);
	client_cancel(client, &never);
	seen_init(&seen, "/never");
	client_send(leaver.conn, &seen.call);
	client_run(client);
	assert_true(leaver.fired_us >= leaver.alarm.due_us);
	assert_int_equal(seen.times, 0);
	client_close(client);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_form_of_answer_arrives),
	    cmocka_unit_test(every_failure_has_its_name),
	    cmocka_unit_test(a_connection_is_kept),
	    cmocka_unit_test(a_lost_race_is_run_again_if_asked_for),
	    cmocka_unit_test(a_pool_serves_more_than_it_has),
	    cmocka_unit_test(time_counts_from_the_intention),
	    cmocka_unit_test(a_buyer_may_leave_while_he_waits),
	};

	return cmocka_run_group_tests(tests, server_start, server_stop);
}
