/*
 * One member of a JSON object, found without building anything: a crowd reads
 * thousands of answers a second. For answers that are well formed; what is not
 * has no members, or odd ones. Pure.
 */
#ifndef BENCH_MEMBER_H
#define BENCH_MEMBER_H

#include "base/str.h"

/*
 * The member of that name of the object itself, not of one inside it: a text
 * without its quotes and with its escapes as they are, a number, true, false
 * or null as written, an object or array with its braces. text is NULL: there
 * is none.
 */
struct str
member_of(struct str object, const char *name);
/* A number; fallback when there is none or it is not a whole one. */
int64_t
member_int(struct str object, const char *name, int64_t fallback);
/* The first object of a member that is an array; text is NULL: none. */
struct str
member_first(struct str object, const char *name);

#endif
