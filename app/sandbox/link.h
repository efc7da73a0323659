/*
 * The addresses that a session was given.
 */
#ifndef SANDBOX_LINK_H
#define SANDBOX_LINK_H

#include "base/buf.h"
#include "base/str.h"

/* Appends url, with the session's id for each {CHECKOUT_SESSION_ID}. */
void
link_return(struct buf *out, const char *url, struct str session);
/* Appends scheme, host and port of url, an http address. */
void
link_origin(struct buf *out, const char *url);

#endif
