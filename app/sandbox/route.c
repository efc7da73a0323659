/* Pure: path against pattern. */
#include "sandbox/route.h"

#include <string.h>

bool
route_match(struct str path, const char *pattern, struct str *part)
{
	size_t head = strcspn(pattern, "*");
	const char *tail = pattern[head] ? pattern + head + 1 : pattern + head;
	size_t tail_len = strlen(tail);

	*part = (struct str){NULL, 0};
	if (!pattern[head])
		return str_is(path, pattern);
	if (path.len <= head + tail_len ||
	    memcmp(path.text, pattern, head) != 0 ||
	    memcmp(path.text + path.len - tail_len, tail, tail_len) != 0)
		return false;
	part->text = path.text + head;
	part->len = path.len - head - tail_len;
	return !memchr(part->text, '/', part->len);
}
