/*
 * A server of many connections on a loopback port. What it does goes by the
 * path: /now... is answered with the path, /slow... when it is told so, /cut...
 * gets half an answer and a closed connection. One thread of its own.
 */
#ifndef UNIT_IO_HTTP_HALL_H
#define UNIT_IO_HTTP_HALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HALL_GUESTS 64

struct hall_guest {
	char text[2048]; /* of the request under way */
	size_t len;
	bool slow; /* it waits for its answer */
};

struct hall {
	int port;
	int orders[2]; /* a pipe: 's' serves the slow, 'q' ends */
	pthread_t thread;
	_Atomic int guests; /* connections so far */
	_Atomic int waiting; /* slow requests that have arrived */
	struct pollfd fds[HALL_GUESTS + 2]; /* orders, door, guests */
	struct hall_guest guest[HALL_GUESTS + 2];
};

static void
hall_leave(struct hall *hall, nfds_t i)
{
	close(hall->fds[i].fd);
	hall->fds[i].fd = -1;
}

static void
hall_answer(struct hall *hall, nfds_t i, size_t len)
{
	struct hall_guest *guest = &hall->guest[i];
	const char *path = strchr(guest->text, ' ') + 1;
	int n = (int)strcspn(path, " ");
	char out[256];

	snprintf(out, sizeof(out),
	    "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n%.*s", len, n, path);
	(void)send(hall->fds[i].fd, out, strlen(out), MSG_NOSIGNAL);
	guest->len = 0;
	guest->slow = false;
}

static void
hall_serve(struct hall *hall, nfds_t i)
{
	struct hall_guest *guest = &hall->guest[i];
	ssize_t n = read(hall->fds[i].fd, guest->text + guest->len,
	    sizeof(guest->text) - 1 - guest->len);
	size_t path_len;

	if (n <= 0) {
		hall_leave(hall, i);
		return;
	}
	guest->len += (size_t)n;
	guest->text[guest->len] = '\0';
	if (!strstr(guest->text, "\r\n\r\n"))
		return;
	path_len = strcspn(guest->text + 4, " ");
	if (strncmp(guest->text, "GET /slow", 9) == 0) {
		guest->slow = true;
		hall->waiting++;
	} else if (strncmp(guest->text, "GET /cut", 8) == 0) {
		hall_answer(hall, i, path_len + 1);
		hall_leave(hall, i);
	} else {
		hall_answer(hall, i, path_len);
	}
}

static void
hall_serve_slow(struct hall *hall)
{
	for (nfds_t i = 2; i < HALL_GUESTS + 2; i++) {
		if (hall->fds[i].fd >= 0 && hall->guest[i].slow)
			hall_answer(hall, i,
			    strcspn(hall->guest[i].text + 4, " "));
	}
}

static void
hall_let_in(struct hall *hall)
{
	int fd = accept(hall->fds[1].fd, NULL, NULL);
	nfds_t i = 2;

	while (i < HALL_GUESTS + 2 && hall->fds[i].fd >= 0)
		i++;
	if (i == HALL_GUESTS + 2) {
		close(fd);
		return;
	}
	hall->guests++;
	hall->guest[i] = (struct hall_guest){.len = 0};
	hall->fds[i].fd = fd;
}

static void *
hall_main(void *context)
{
	struct hall *hall = context;
	char order = 's';

	while (order != 'q') {
		(void)poll(hall->fds, HALL_GUESTS + 2, -1);
		if (hall->fds[1].revents)
			hall_let_in(hall);
		for (nfds_t i = 2; i < HALL_GUESTS + 2; i++) {
			if (hall->fds[i].fd >= 0 && hall->fds[i].revents)
				hall_serve(hall, i);
		}
		if (hall->fds[0].revents &&
		    read(hall->fds[0].fd, &order, 1) == 1)
			hall_serve_slow(hall);
	}
	for (nfds_t i = 1; i < HALL_GUESTS + 2; i++) {
		if (hall->fds[i].fd >= 0)
			hall_leave(hall, i);
	}
	return NULL;
}

static void
hall_open(struct hall *hall)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	struct sockaddr *at = (struct sockaddr *)(void *)&address;
	socklen_t len = sizeof(address);
	int door = socket(AF_INET, SOCK_STREAM, 0);

	memset(hall, 0, sizeof(*hall));
	for (nfds_t i = 0; i < HALL_GUESTS + 2; i++)
		hall->fds[i] = (struct pollfd){.fd = -1, .events = POLLIN};
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(door, at, sizeof(address)), 0);
	assert_int_equal(listen(door, HALL_GUESTS), 0);
	assert_int_equal(getsockname(door, at, &len), 0);
	assert_int_equal(pipe(hall->orders), 0);
	hall->port = ntohs(address.sin_port);
	hall->fds[0].fd = hall->orders[0];
	hall->fds[1].fd = door;
	assert_int_equal(pthread_create(&hall->thread, NULL, hall_main, hall),
	    0);
}

static void
hall_order(struct hall *hall, char order)
{
	assert_int_equal(write(hall->orders[1], &order, 1), 1);
}

static void
hall_close(struct hall *hall)
{
	hall_order(hall, 'q');
	pthread_join(hall->thread, NULL);
	close(hall->orders[0]);
	close(hall->orders[1]);
}

#endif
