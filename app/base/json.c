/*
 * JSON into a tree. The raw text is looked through first, because yajl turns
 * a lone surrogate into '?' and takes \f and \v for blanks; then yajl's events
 * build the nodes. Nodes and texts lie in chunks that are freed together, on
 * errors too.
 */
#include "base/json.h"
#include "base/log.h"

#include <yajl/yajl_parse.h>

#include <stdlib.h>
#include <string.h>

/* The most that malloc hands out again without looking for room (1,032 bytes
 * with its own): one holds a buyer's request, some a provider's event. */
#define CHUNK_BYTES 992
#define ALIGN_BYTES 16

struct chunk {
	struct chunk *next;
	size_t used;
	size_t room;
	_Alignas(ALIGN_BYTES) char bytes[];
};

struct json_doc {
	struct chunk *chunks;
	struct json *root;
};

struct frame {
	struct json *node; /* an array or object that is still open */
	struct json *last; /* its newest child */
};

struct parser {
	struct json_doc *doc;
	const char *why;
	struct str key; /* of the member to come */
	struct buf sorted; /* keys of the object that ends */
	size_t depth;
	struct frame frames[JSON_DEPTH_MAX];
};

static void *
doc_alloc(struct json_doc *doc, size_t n)
{
	struct chunk *chunk = doc->chunks;
	size_t room;
	void *out;

	n = (n + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
	room = n > CHUNK_BYTES ? n : CHUNK_BYTES;
	if (!chunk || chunk->room - chunk->used < n) {
		chunk = malloc(sizeof(*chunk) + room);
		if (!chunk)
			log_bug("out of memory");
		*chunk = (struct chunk){doc->chunks, 0, room};
		doc->chunks = chunk;
	}
	out = chunk->bytes + chunk->used;
	chunk->used += n;
	return out;
}

static struct str
doc_text(struct json_doc *doc, const void *bytes, size_t n)
{
	char *copy = doc_alloc(doc, n);

	memcpy(copy, bytes, n);
	return (struct str){copy, n};
}

/* A new node, hung where the parser stands. */
static struct json *
node_add(struct parser *parser, enum json_type type)
{
	struct json *node = doc_alloc(parser->doc, sizeof(*node));
	struct frame *frame;

	*node = (struct json){.type = type, .key = parser->key};
	parser->key = (struct str){NULL, 0};
	if (parser->depth == 0) {
		parser->doc->root = node;
		return node;
	}
	frame = &parser->frames[parser->depth - 1];
	if (frame->last)
		frame->last->next = node;
	else
		frame->node->first = node;
	frame->last = node;
	return node;
}

static int
frame_open(struct parser *parser, enum json_type type)
{
	if (parser->depth == JSON_DEPTH_MAX) {
		parser->why = "the JSON is nested too deeply";
		return 0;
	}
	parser->frames[parser->depth] =
	    (struct frame){.node = node_add(parser, type)};
	parser->depth++;
	return 1;
}

static int
on_null(void *context)
{
	node_add(context, JSON_NULL);
	return 1;
}

static int
on_bool(void *context, int truth)
{
	node_add(context, JSON_BOOL)->truth = truth != 0;
	return 1;
}

static int
on_number(void *context, const char *text, size_t n)
{
	struct parser *parser = context;

	node_add(parser, JSON_NUMBER)->text = doc_text(parser->doc, text, n);
	return 1;
}

static int
on_string(void *context, const unsigned char *text, size_t n)
{
	struct parser *parser = context;

	node_add(parser, JSON_STRING)->text = doc_text(parser->doc, text, n);
	return 1;
}

static int
on_key(void *context, const unsigned char *text, size_t n)
{
	struct parser *parser = context;

	parser->key = doc_text(parser->doc, text, n);
	return 1;
}

static int
on_map_start(void *context)
{
	return frame_open(context, JSON_OBJECT);
}

static int
on_array_start(void *context)
{
	return frame_open(context, JSON_ARRAY);
}

static int
on_array_end(void *context)
{
	struct parser *parser = context;

	parser->depth--;
	return 1;
}

static int
key_compare(const void *left, const void *right)
{
	const struct str *a = left;
	const struct str *b = right;

	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return memcmp(a->text, b->text, a->len);
}

/* Sorted first, because an outsider chooses how many keys there are. */
static bool
keys_double(const struct json *object, struct buf *sorted)
{
	struct str *keys;
	size_t count = 0;

	buf_reset(sorted);
	for (const struct json *a = object->first; a; a = a->next, count++)
		buf_add(sorted, &a->key, sizeof(a->key));
	keys = (struct str *)(void *)sorted->data;
	if (count > 1)
		qsort(keys, count, sizeof(*keys), key_compare);
	for (size_t i = 1; i < count; i++) {
		if (str_equal(keys[i - 1], keys[i]))
			return true;
	}
	return false;
}

static int
on_map_end(void *context)
{
	struct parser *parser = context;

	parser->depth--;
	if (keys_double(parser->frames[parser->depth].node, &parser->sorted)) {
		parser->why = "the JSON holds a key twice";
		return 0;
	}
	return 1;
}

/* The four hex digits of a \u escape, -1 when text does not start with one. */
static int
escape_value(const char *text, size_t len)
{
	char digits[5] = "";

	if (len < 6 || text[0] != '\\' || text[1] != 'u')
		return -1;
	memcpy(digits, text + 2, 4);
	if (strspn(digits, "0123456789abcdefABCDEF") != 4)
		return -1;
	return (int)strtol(digits, NULL, 16);
}

/* Length of the escape at text; 0 when *why says what is wrong with it. */
static size_t
escape_len(const char *text, size_t len, const char **why)
{
	int value = escape_value(text, len);
	int low;

	/* A short escape, or a bad one, which yajl will find. */
	if (value < 0)
		return 2;
	if (value == 0) {
		*why = "the JSON holds an escaped NUL";
		return 0;
	}
	if (value < 0xd800 || value > 0xdfff)
		return 6;
	low = escape_value(text + 6, len - 6);
	if (value < 0xdc00 && low >= 0xdc00 && low <= 0xdfff)
		return 12;
	*why = "the JSON holds a lone surrogate";
	return 0;
}

/* What yajl would let through or hide; NULL when there is none. */
static const char *
text_refuse(struct str text)
{
	const char *why = NULL;
	bool quoted = false;
	size_t i = 0;

	if (text.len == 0)
		return "the JSON is empty";
	if (str_has_nul(text))
		return "the JSON holds a NUL";
	if (!str_is_utf8(text))
		return "the JSON is not UTF-8";
	while (i < text.len && !why) {
		char c = text.text[i];

		if (quoted && c == '\\') {
			i += escape_len(text.text + i, text.len - i, &why);
			continue;
		}
		if (c == '"')
			quoted = !quoted;
		else if (!quoted && (c == '\f' || c == '\v'))
			return "the JSON is malformed";
		i++;
	}
	return why;
}

static bool
events_read(struct parser *parser, struct str text)
{
	static const yajl_callbacks callbacks = {
	    .yajl_null = on_null,
	    .yajl_boolean = on_bool,
	    .yajl_number = on_number,
	    .yajl_string = on_string,
	    .yajl_start_map = on_map_start,
	    .yajl_map_key = on_key,
	    .yajl_end_map = on_map_end,
	    .yajl_start_array = on_array_start,
	    .yajl_end_array = on_array_end,
	};
	yajl_handle yajl = yajl_alloc(&callbacks, NULL, parser);
	yajl_status status;

	if (!yajl)
		log_bug("out of memory");
	status = yajl_parse(yajl, (const unsigned char *)text.text, text.len);
	if (status == yajl_status_ok)
		status = yajl_complete_parse(yajl);
	yajl_free(yajl);
	if (status != yajl_status_ok && !parser->why)
		parser->why = "the JSON is malformed";
	return status == yajl_status_ok;
}

struct json_doc *
json_parse(struct str text, const char **why)
{
	struct parser parser = {.why = text_refuse(text)};
	struct json_doc *doc;

	if (parser.why) {
		*why = parser.why;
		return NULL;
	}
	doc = calloc(1, sizeof(*doc));
	if (!doc)
		log_bug("out of memory");
	parser.doc = doc;
	if (!events_read(&parser, text)) {
		*why = parser.why;
		json_free(doc);
		doc = NULL;
	}
	buf_release(&parser.sorted);
	return doc;
}

void
json_free(struct json_doc *doc)
{
	struct chunk *next;

	if (!doc)
		return;
	for (struct chunk *chunk = doc->chunks; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	free(doc);
}

const struct json *
json_root(const struct json_doc *doc)
{
	return doc->root;
}

static const struct json *
member_find(const struct json *node, struct str name)
{
	if (!node || node->type != JSON_OBJECT)
		return NULL;
	for (node = node->first; node; node = node->next) {
		if (str_equal(node->key, name))
			return node;
	}
	return NULL;
}

const struct json *
json_get(const struct json *node, const char *name)
{
	return member_find(node, str_of(name));
}

const struct json *
json_path(const struct json *node, const char *path)
{
	size_t len = strcspn(path, ".");

	while (node && path[len]) {
		node = member_find(node, (struct str){path, len});
		path += len + 1;
		len = strcspn(path, ".");
	}
	return member_find(node, (struct str){path, len});
}

struct str
json_text(const struct json *node)
{
	if (!node || node->type != JSON_STRING)
		return (struct str){NULL, 0};
	return node->text;
}

bool
json_int(const struct json *node, int64_t *out)
{
	return node && node->type == JSON_NUMBER && str_int(node->text, out);
}
