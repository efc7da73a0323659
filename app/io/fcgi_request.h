/*
 * The parameters of a request, for fcgi.c alone.
 */
#ifndef IO_FCGI_REQUEST_H
#define IO_FCGI_REQUEST_H

#include "base/buf.h"
#include "base/str.h"
#include "io/fcgi.h"

/*
 * Fills the request with views into params, which end with NULL; path is room
 * for a path that comes encoded only. The length of the body, as sent.
 */
struct str
fcgi_request_fill(struct request *request, char *const *params,
    struct buf *path);

#endif
