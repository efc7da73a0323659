/*
 * A server of one connection on a loopback port: it gives answers[i] to its
 * i-th request, then is silent until the other side goes.
 */
#ifndef UNIT_IO_HTTP_SERVER_H
#define UNIT_IO_HTTP_SERVER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define OK_HEAD "HTTP/1.1 200 OK\r\n"

struct server {
	int fd;
	char url[64];
	pthread_t thread;
	const char *answers[4];
	size_t filler; /* bytes to send after the first answer */
	char asked[4][8192];
	size_t requests;
};

static size_t
content_length(const char *head)
{
	const char *at = strstr(head, "\r\nContent-Length:");

	return at ? strtoul(at + 17, NULL, 10) : 0;
}

/* Reads a request with its body; false at the end of the connection. */
static bool
request_read(int fd, char *out, size_t room)
{
	size_t len = 0;
	const char *end;

	for (;;) {
		ssize_t n = read(fd, out + len, room - 1 - len);

		if (n <= 0)
			return false;
		len += (size_t)n;
		out[len] = '\0';
		end = strstr(out, "\r\n\r\n");
		if (end && len >= (size_t)(end + 4 - out) + content_length(out))
			return true;
	}
}

static void *
server_main(void *context)
{
	struct server *server = context;
	int fd = accept(server->fd, NULL, NULL);
	size_t i = 0;

	while (i < 4 && server->answers[i] &&
	    request_read(fd, server->asked[i], sizeof(server->asked[i]))) {
		const char *answer = server->answers[i++];

		server->requests = i;
		if (send(fd, answer, strlen(answer), MSG_NOSIGNAL) < 0)
			break;
		for (size_t n = 0; i == 1 && n < server->filler; n += 1000) {
			char part[1000] = {'x'};

			if (send(fd, part, sizeof(part), MSG_NOSIGNAL) < 0)
				break;
		}
	}
	/* Stays silent until the other side goes. */
	while (i < 4 && !server->answers[i] &&
	    read(fd, server->asked[i], sizeof(server->asked[i])) > 0)
		continue;
	close(fd);
	return NULL;
}

static void
server_start(struct server *server, const char *first, const char *second)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t len = sizeof(address);

	memset(server, 0, sizeof(*server));
	server->answers[0] = first;
	server->answers[1] = second;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	server->fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_true(server->fd >= 0);
	assert_int_equal(bind(server->fd, (struct sockaddr *)(void *)&address,
			     sizeof(address)),
	    0);
	assert_int_equal(listen(server->fd, 4), 0);
	assert_int_equal(getsockname(server->fd,
			     (struct sockaddr *)(void *)&address, &len),
	    0);
	snprintf(server->url, sizeof(server->url), "http://127.0.0.1:%d/v1/x",
	    ntohs(address.sin_port));
}

static void
server_run(struct server *server)
{
	assert_int_equal(pthread_create(&server->thread, NULL, server_main,
			     server),
	    0);
}

static void
server_stop(struct server *server)
{
	pthread_join(server->thread, NULL);
	close(server->fd);
}

#endif
