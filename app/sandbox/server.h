/*
 * The sandbox's requests: which part answers which path.
 */
#ifndef SANDBOX_SERVER_H
#define SANDBOX_SERVER_H

#include "base/conf.h"

/* Serves the listening socket fd until SIGTERM; an exit status. */
int
sandbox_serve(const struct conf *conf, int fd);

#endif
