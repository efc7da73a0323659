/*
 * Paths with one part that varies.
 */
#ifndef SANDBOX_ROUTE_H
#define SANDBOX_ROUTE_H

#include "base/str.h"

#include <stdbool.h>

/*
 * Whether path is pattern, where '*' stands for one part without '/'; *part
 * is set to it. A pattern without '*' leaves *part empty.
 */
bool
route_match(struct str path, const char *pattern, struct str *part);

#endif
