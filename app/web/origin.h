/*
 * Whether a POST was sent by one of our own pages.
 */
#ifndef WEB_ORIGIN_H
#define WEB_ORIGIN_H

#include "base/str.h"

#include <stdbool.h>

struct origin {
	struct str fetch_site; /* Sec-Fetch-Site */
	struct str origin; /* Origin */
};

/*
 * False for what a page of another site makes a browser send. What says
 * nothing is no browser of today, or no browser, and has the buyer's cookies
 * by other means.
 */
bool
origin_is_ours(const struct origin *sent, const char *public_url);

#endif
