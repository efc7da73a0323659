/*
 * `lastpair serve`: the parent of all processes of the shop. It holds the
 * listening sockets, so that no restart of a worker loses a connection, and
 * gives the shards of a worker that died or ends to the others at once.
 *   SIGTERM, SIGINT  ends them all: TERM first, KILL after 10 s
 *   SIGHUP           reads the settings again and replaces them one by one,
 *                    a worker only when its successor is ready; a file that
 *                    is not valid changes nothing
 */
#ifndef SUPERVISOR_H
#define SUPERVISOR_H

#include "base/conf.h"

/*
 * Runs until it is told to end. conf_file is read again on SIGHUP. The exit
 * status: 0, or 1 when the pages or the settings of mail cannot be used or the
 * sockets not made.
 */
int
supervisor_run(const struct conf *conf, const char *conf_file);

#endif
