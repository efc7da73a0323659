/*
 * A mail server of a few words on a loopback port: it answers each command as
 * it is told to, and keeps what was said.
 */
#ifndef UNIT_SMTP_SERVER_H
#define UNIT_SMTP_SERVER_H

#include "base/buf.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* An answer other than the usual; NULL text: hangs up. */
struct smtp_answer {
	const char *verb; /* "" is the greeting, "." the end of a message */
	const char *text;
};

struct smtp_server {
	int fd;
	int port;
	const struct smtp_answer *answers; /* up to verb NULL */
	pthread_t thread;
	struct buf said; /* every line but those of messages */
	struct buf messages;
	int connections;
};

static const char *
smtp_answer_to(const struct smtp_server *server, const char *line)
{
	for (const struct smtp_answer *a = server->answers; a->verb; a++) {
		size_t n = strlen(a->verb);

		if (strncmp(line, a->verb, n) == 0 && (n || !*line))
			return a->text;
	}
	if (strncmp(line, "EHLO", 4) == 0)
		return "250-mail.test\r\n250-AUTH PLAIN LOGIN\r\n250 SIZE";
	if (!*line)
		return "220 mail.test";
	if (strncmp(line, "DATA", 4) == 0)
		return "354 go on";
	return strncmp(line, "QUIT", 4) == 0 ? "221 bye" : "250 fine";
}

static bool
smtp_say(const struct smtp_server *server, int fd, const char *line)
{
	const char *text = smtp_answer_to(server, line);
	char out[256];

	if (!text)
		return false;
	snprintf(out, sizeof(out), "%s\r\n", text);
	return send(fd, out, strlen(out), MSG_NOSIGNAL) > 0;
}

static void
smtp_talk(struct smtp_server *server, int fd)
{
	FILE *in = fdopen(fd, "r");
	char line[2048];
	bool data = false;
	bool on = smtp_say(server, fd, "");

	while (on && fgets(line, sizeof(line), in)) {
		if (data && strcmp(line, ".\r\n") != 0) {
			buf_str(&server->messages, line);
			continue;
		}
		buf_str(&server->said, line);
		on = smtp_say(server, fd, line);
		data = !data && on && strncmp(line, "DATA", 4) == 0 &&
		    *smtp_answer_to(server, line) == '3';
	}
	fclose(in);
}

static void *
smtp_main(void *context)
{
	struct smtp_server *server = context;
	int fd;

	while ((fd = accept(server->fd, NULL, NULL)) >= 0) {
		server->connections++;
		smtp_talk(server, fd);
	}
	return NULL;
}

static void
smtp_start(struct smtp_server *server, const char *host,
    const struct smtp_answer *answers)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t len = sizeof(address);

	*server = (struct smtp_server){.answers = answers};
	assert_int_equal(inet_pton(AF_INET, host, &address.sin_addr), 1);
	server->fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_true(server->fd >= 0);
	assert_int_equal(bind(server->fd, (struct sockaddr *)(void *)&address,
			     sizeof(address)),
	    0);
	assert_int_equal(listen(server->fd, 4), 0);
	assert_int_equal(getsockname(server->fd,
			     (struct sockaddr *)(void *)&address, &len),
	    0);
	server->port = ntohs(address.sin_port);
	assert_int_equal(pthread_create(&server->thread, NULL, smtp_main,
			     server),
	    0);
}

/* Everybody has gone before; what was said stays until smtp_release. */
static void
smtp_stop(struct smtp_server *server)
{
	shutdown(server->fd, SHUT_RDWR);
	pthread_join(server->thread, NULL);
	close(server->fd);
}

static void
smtp_release(struct smtp_server *server)
{
	buf_release(&server->said);
	buf_release(&server->messages);
}

#endif
