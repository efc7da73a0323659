/*
 * The listening socket of a FastCGI server. The supervisor makes it once, so
 * that the backlog outlives the processes that serve it.
 */
#include "base/log.h"
#include "io/fcgi.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int
listen_fail(const char *path, const char *why)
{
	log_error("cannot listen at %s: %s", path, why);
	return -1;
}

/* Whether a process accepts connections there; a full queue is one, too. */
static bool
socket_is_served(int fd, const struct sockaddr_un *address)
{
	return connect(fd, (const struct sockaddr *)address,
		   sizeof(*address)) == 0 ||
	    errno == EAGAIN || errno == EINPROGRESS;
}

/* Makes way for a new socket: NULL, or why that cannot be. */
static const char *
socket_clear(const struct sockaddr_un *address)
{
	const char *why = NULL;
	struct stat info;
	int fd;

	if (lstat(address->sun_path, &info) < 0)
		return errno == ENOENT ? NULL : strerror(errno);
	if (!S_ISSOCK(info.st_mode))
		return "there is a file of that name";
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return strerror(errno);
	if (socket_is_served(fd, address))
		why = "another process serves it";
	(void)close(fd);
	if (!why && unlink(address->sun_path) < 0)
		why = strerror(errno);
	return why;
}

int
fcgi_listen(const char *path, int backlog)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *why;
	mode_t mask;
	int bound;
	int fd;

	if (strlen(path) >= sizeof(address.sun_path))
		return listen_fail(path, "the path is too long for a socket");
	memcpy(address.sun_path, path, strlen(path) + 1);
	why = socket_clear(&address);
	if (why)
		return listen_fail(path, why);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return listen_fail(path, strerror(errno));
	/* Never open to others, not even for a moment. */
	mask = umask(0117);
	bound = bind(fd, (struct sockaddr *)&address, sizeof(address));
	(void)umask(mask);
	if (bound < 0 || listen(fd, backlog) < 0) {
		why = strerror(errno);
		(void)close(fd);
		return listen_fail(path, why);
	}
	return fd;
}
