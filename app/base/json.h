/*
 * JSON (RFC 8259) read into a tree. The only file that knows yajl. Built on
 * its event parser: its tree parser leaks on errors (CVE-2023-33460), lets
 * doubled keys through and cuts at NUL. Refused as malformed: depth over
 * JSON_DEPTH_MAX, a doubled key, bytes that are not UTF-8, a lone surrogate,
 * a NUL (raw or escaped), anything after the value.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "str.h"

#include <stdbool.h>
#include <stdint.h>

/* Provider events nest about 6 deep; 64 leaves room and bounds the work. */
#define JSON_DEPTH_MAX 64

enum json_type {
	JSON_NULL,
	JSON_BOOL,
	JSON_NUMBER, /* text is the number as written */
	JSON_STRING, /* text is decoded UTF-8 */
	JSON_ARRAY,
	JSON_OBJECT,
};

struct json {
	enum json_type type;
	bool truth; /* of a JSON_BOOL */
	struct str key; /* inside an object */
	struct str text; /* number or string */
	struct json *first; /* of an array or object */
	struct json *next; /* sibling */
};

struct json_doc;

/*
 * The document, or NULL with *why set to a static reason. Owned by the
 * caller; the nodes live as long as it does.
 */
struct json_doc *
json_parse(struct str text, const char **why);
void
json_free(struct json_doc *doc);
const struct json *
json_root(const struct json_doc *doc);

/* The member, or NULL when node is no object or has none of that name. */
const struct json *
json_get(const struct json *node, const char *name);
/* Follows a path of names parted by dots: "data.object.id". */
const struct json *
json_path(const struct json *node, const char *path);
/* Text of a string node; empty view when node is NULL or no string. */
struct str
json_text(const struct json *node);
/* True for an in-range JSON integer only: no fraction, exponent, quotes. */
bool
json_int(const struct json *node, int64_t *out);

#endif
