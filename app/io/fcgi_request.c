/*
 * From the parameters of a FastCGI request ("NAME=value") to what handlers
 * see. Pure.
 */
#include "io/fcgi_request.h"

#include <stddef.h>
#include <string.h>

/* A malformed escape stays as it is: no route looks like that. */
static struct str
path_decode(struct buf *b, struct str text)
{
	buf_reset(b);
	for (size_t i = 0; i < text.len; i++) {
		struct str digits = {text.text + i + 1, 2};

		if (text.text[i] == '%' && text.len - i > 2 &&
		    str_unhex(b, digits))
			i += 2;
		else
			buf_char(b, text.text[i]);
	}
	return (struct str){buf_text(b), b->len};
}

/* One of the parameters that a request is made of. */
struct wanted {
	const char *name;
	struct str *value;
};

/* All in one pass; of two with one name the first counts. */
static void
params_find(char *const *params, const struct wanted *wanted, size_t n)
{
	for (; *params; params++) {
		const char *value = strchr(*params, '=');
		size_t len = value ? (size_t)(value - *params) : 0;

		for (size_t i = 0; i < n; i++) {
			if (wanted[i].name[0] == (*params)[0] &&
			    strlen(wanted[i].name) == len &&
			    memcmp(wanted[i].name, *params, len) == 0 &&
			    !wanted[i].value->text)
				*wanted[i].value = str_of(value + 1);
		}
	}
}

struct str
fcgi_request_fill(struct request *request, char *const *params,
    struct buf *path)
{
	struct str length = {NULL, 0};
	struct str uri = {NULL, 0};
	const struct wanted wanted[] = {
	    {"REQUEST_METHOD", &request->method},
	    {"REQUEST_URI", &uri},
	    {"DOCUMENT_URI", &request->path},
	    {"QUERY_STRING", &request->query},
	    {"CONTENT_TYPE", &request->content_type},
	    {"CONTENT_LENGTH", &length},
	    {"HTTP_COOKIE", &request->cookie},
	    {"REQUEST_ID", &request->id},
	};
	const char *mark;
	struct str raw;

	*request = (struct request){.method = {NULL, 0}};
	params_find(params, wanted, sizeof(wanted) / sizeof(wanted[0]));
	mark = uri.len ? memchr(uri.text, '?', uri.len) : NULL;
	raw = uri;
	if (mark)
		raw.len = (size_t)(mark - uri.text);
	if (request->path.len == 0)
		request->path = path_decode(path, raw);
	if (!request->query.text && mark)
		request->query = (struct str){mark + 1, uri.len - raw.len - 1};
	return length;
}
