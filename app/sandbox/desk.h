/*
 * What the index is made of, and what its forms do.
 */
#ifndef SANDBOX_DESK_H
#define SANDBOX_DESK_H

#include "base/json.h"
#include "web/exchange.h"

/* desk.c */
/* A fold for a session; unfolded when it is the one to show. */
void
desk_session_add(struct buf *out, const struct json *row, struct str show);
/* An entry of the list of webhooks. */
void
desk_delivery_add(struct buf *out, const struct json *row);
/* Lines of what the provider has of the shop's money. */
void
desk_books_add(struct buf *out, const struct json *books);

/* desk_act.c */
/* Answers a form that was sent. */
void
desk_act(struct exchange *x);

#endif
