/*
 * A request and its answer before and after they are on their way: the parts
 * of io/http.c that need no libcurl. Not for anybody else.
 */
#ifndef IO_HTTP_CALL_H
#define IO_HTTP_CALL_H

#include "io/http.h"

/* As if none had come; keeps the memory. */
void
http_answer_reset(struct http_answer *answer);
/* A line of the answer's head: takes what we read of it. */
void
http_answer_head(struct http_answer *answer, struct str line);
/* Makes it none, and says why in one line. */
void
http_answer_fail(struct http_answer *answer, const char *why);

#endif
