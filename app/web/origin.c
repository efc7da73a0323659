/*
 * Sec-Fetch-Site (W3C Fetch Metadata) and Origin (RFC 6454). Pages cannot set
 * either. The cookies' SameSite=Lax stands behind this.
 */
#include "web/origin.h"

#include <string.h>
#include <strings.h>

/* Scheme, host and port of an address: what stands before its path. */
static struct str
url_origin(const char *url)
{
	const char *host = strstr(url, "://");
	struct str origin = str_of(url);

	if (host)
		origin.len = (size_t)(host + 3 - url) + strcspn(host + 3, "/");
	return origin;
}

bool
origin_is_ours(const struct origin *sent, const char *public_url)
{
	struct str ours = url_origin(public_url);

	/*
	 * The browser itself compared the addresses. This also serves a shop
	 * that is reached by a second name, and an Origin of "null", which
	 * browsers put where they were told to hide the referrer.
	 */
	if (str_is(sent->fetch_site, "same-origin") ||
	    str_is(sent->fetch_site, "none"))
		return true;
	if (str_is(sent->fetch_site, "cross-site"))
		return false;
	/* "same-site" may be somebody else's host; older browsers say nothing.
	 * Then "null" is a page that hides where it comes from. */
	if (sent->origin.len == 0)
		return true;
	return sent->origin.len == ours.len &&
	    strncasecmp(sent->origin.text, ours.text, ours.len) == 0;
}
