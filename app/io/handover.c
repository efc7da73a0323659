/*
 * Descriptors through a pair of sockets, one a message. Any thread, any
 * process; the kernel keeps what is on its way.
 */
#include "io/handover.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* poll would tell of room only when a queue is three quarters empty. */
#define PAUSE_MS 5
/* A message takes 768 of them; Linux lets 550 messages wait by default. */
#define ROOM_BYTES (1024 * 1024)

/* A message without bytes would look like the end: so one of them. */
struct message {
	struct msghdr head;
	struct iovec part;
	char byte;
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
};

static void
message_init(struct message *message)
{
	memset(message, 0, sizeof(*message));
	message->part.iov_base = &message->byte;
	message->part.iov_len = 1;
	message->head.msg_iov = &message->part;
	message->head.msg_iovlen = 1;
	message->head.msg_control = message->control;
	message->head.msg_controllen = sizeof(message->control);
}

bool
handover_open(int pair[2])
{
	const int room = ROOM_BYTES;

	/* Whole messages, so that several may read. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
		0, pair) < 0) {
		log_error("cannot make a pair of sockets: %s", strerror(errno));
		pair[0] = -1;
		pair[1] = -1;
		return false;
	}
	(void)setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	return true;
}

void
handover_close(int pair[2])
{
	for (int i = 0; i < 2; i++) {
		if (pair[i] >= 0)
			(void)close(pair[i]);
		pair[i] = -1;
	}
}

/* Whether another try may succeed: no room, or too many under way. */
static bool
is_full(int error)
{
	return error == EAGAIN || error == EINTR || error == ENOBUFS ||
	    error == ENOMEM || error == ETOOMANYREFS;
}

bool
handover_give(int to, int fd, int64_t until_ms)
{
	struct message message;
	struct cmsghdr *control;
	bool given;
	int error = 0;

	message_init(&message);
	control = CMSG_FIRSTHDR(&message.head);
	control->cmsg_level = SOL_SOCKET;
	control->cmsg_type = SCM_RIGHTS;
	control->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(control), &fd, sizeof(fd));
	for (;;) {
		given = sendmsg(to, &message.head,
			    MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
		error = errno;
		if (given || !is_full(error) ||
		    clock_monotonic_ms() >= until_ms)
			break;
		clock_sleep_ms(PAUSE_MS);
	}
	if (!given)
		log_warn("could not hand a connection on: %s", strerror(error));
	(void)close(fd);
	return given;
}

/* The descriptor in a message; -1: it has none. */
static int
message_fd(struct message *message)
{
	struct cmsghdr *control = CMSG_FIRSTHDR(&message->head);
	int fd = -1;

	if (control && control->cmsg_level == SOL_SOCKET &&
	    control->cmsg_type == SCM_RIGHTS &&
	    control->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(control), sizeof(fd));
	return fd;
}

int
handover_take(int from)
{
	struct message message;
	int fd = -1;

	while (fd < 0) {
		ssize_t n;

		message_init(&message);
		n = recvmsg(from, &message.head,
		    MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		fd = message_fd(&message);
		/* It came without when this process may open no more. */
		if (fd < 0)
			log_error("a connection handed on was lost: too many "
				  "open files");
	}
	return fd;
}
