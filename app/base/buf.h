/*
 * A growable byte buffer. Invariant: data[len] is NUL whenever data is not
 * NULL, so data may be read as a C string when it holds no NUL of its own.
 * Running out of memory ends the process: no caller could go on.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>
#include <stddef.h>

struct buf {
	char *data; /* owned; NULL until the first byte is added */
	size_t len; /* bytes in use, without the final NUL */
	size_t cap; /* bytes allocated */
};

void
buf_init(struct buf *b);
/* Frees the bytes; b may be used again as if fresh. */
void
buf_release(struct buf *b);
/* Empties b and keeps its memory. */
void
buf_reset(struct buf *b);
/* Makes room for n more bytes. */
void
buf_reserve(struct buf *b, size_t n);
void
buf_add(struct buf *b, const void *bytes, size_t n);
void
buf_str(struct buf *b, const char *text);
void
buf_char(struct buf *b, char c);
void
buf_printf(struct buf *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void
buf_vprintf(struct buf *b, const char *format, va_list args);
/* The text, "" when nothing was added yet. Valid until b changes. */
const char *
buf_text(const struct buf *b);

#endif
