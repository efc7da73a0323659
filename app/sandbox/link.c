/* Pure: text of addresses. */
#include "sandbox/link.h"

#include <string.h>

#define PLACEHOLDER "{CHECKOUT_SESSION_ID}"

void
link_return(struct buf *out, const char *url, struct str session)
{
	const char *hit;

	while ((hit = strstr(url, PLACEHOLDER))) {
		buf_add(out, url, (size_t)(hit - url));
		str_url(out, session);
		url = hit + strlen(PLACEHOLDER);
	}
	buf_str(out, url);
}

void
link_origin(struct buf *out, const char *url)
{
	const char *host = strstr(url, "://");
	size_t len = host ? (size_t)(host + 3 - url) : 0;

	buf_add(out, url, len + strcspn(url + len, "/?#"));
}
