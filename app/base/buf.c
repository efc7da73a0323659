/*
 * A growable byte buffer; see buf.h for the invariant. The size doubles, so
 * that adding n bytes one by one costs O(n).
 */
#include "base/buf.h"
#include "base/log.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUF_FIRST 64

void
buf_init(struct buf *b)
{
	*b = (struct buf){0};
}

void
buf_release(struct buf *b)
{
	free(b->data);
	buf_init(b);
}

void
buf_reset(struct buf *b)
{
	b->len = 0;
	if (b->data)
		b->data[0] = '\0';
}

void
buf_reserve(struct buf *b, size_t n)
{
	size_t cap = b->cap ? b->cap : BUF_FIRST;
	char *data;

	if (n >= SIZE_MAX / 4 || b->len >= SIZE_MAX / 4)
		log_bug("a buffer of %zu bytes cannot grow by %zu", b->len, n);
	while (cap < b->len + n + 1)
		cap *= 2;
	if (b->data && cap == b->cap)
		return;
	data = realloc(b->data, cap);
	if (!data)
		log_bug("out of memory");
	data[b->len] = '\0';
	b->data = data;
	b->cap = cap;
}

void
buf_add(struct buf *b, const void *bytes, size_t n)
{
	buf_reserve(b, n);
	if (n)
		memcpy(b->data + b->len, bytes, n);
	b->len += n;
	b->data[b->len] = '\0';
}

void
buf_str(struct buf *b, const char *text)
{
	buf_add(b, text, strlen(text));
}

void
buf_char(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void
buf_printf(struct buf *b, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	buf_vprintf(b, format, args);
	va_end(args);
}

void
buf_vprintf(struct buf *b, const char *format, va_list args)
{
	va_list again;
	int need;

	va_copy(again, args);
	need = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (need < 0)
		log_bug("cannot format \"%s\"", format);
	buf_reserve(b, (size_t)need);
	if (vsnprintf(b->data + b->len, (size_t)need + 1, format, args) != need)
		log_bug("cannot format \"%s\" twice alike", format);
	b->len += (size_t)need;
}

const char *
buf_text(const struct buf *b)
{
	return b->data ? b->data : "";
}
