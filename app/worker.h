/*
 * A web process: takes one request at a time off the listening socket that it
 * shares with the others, and has a connection of its own to the database.
 * Without the database it lives on and answers that the shop is busy.
 */
#ifndef WORKER_H
#define WORKER_H

#include "base/conf.h"

/*
 * Serves fd until SIGTERM, after which the request at hand is finished; the
 * process's exit status. number tells workers apart.
 */
int
worker_run(const struct conf *conf, int fd, int number);

#endif
