/*
 * Text: bounded views, checked numbers, encoders and decoders. Pure.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include "buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A view of bytes owned elsewhere; text may be NULL when len is 0. */
struct str {
	const char *text;
	size_t len;
};

struct str
str_of(const char *text);
/* What b holds now; valid until b changes. */
struct str
str_view(const struct buf *b);
bool
str_is(struct str s, const char *text);
bool
str_equal(struct str a, struct str b);
/* Whether s holds a NUL, which no text column can store. */
bool
str_has_nul(struct str s);
/* Well-formed UTF-8 (RFC 3629): no overlong form, surrogate or > U+10FFFF. */
bool
str_is_utf8(struct str s);

/*
 * The one parser from text to number. Accepts "0" or [1-9][0-9]* with an
 * optional leading '-', nothing around it; false when it is anything else or
 * does not fit in 64 bits.
 */
bool
str_int(struct str s, int64_t *out);
/*
 * A quantity: plain digits without sign, blank or leading zero, at least 1.
 * Digits beyond int64_t give INT64_MAX, which is over every limit, so that
 * the answer can name the real limit.
 */
bool
str_qty(struct str s, int64_t *out);

/* Each appends s to b, encoded. */
void
str_json(struct buf *b, struct str s); /* with the quotes; RFC 8259 */
void
str_html(struct buf *b, struct str s); /* & < > " ' escaped */
void
str_url(struct buf *b, struct str s); /* percent-encoded, RFC 3986 unreserved */
void
str_hex(struct buf *b, const void *bytes, size_t n); /* lower case */
void
str_base64(struct buf *b, const void *bytes, size_t n); /* RFC 4648, 4 */
void
str_base64url(struct buf *b, const void *bytes, size_t n); /* no padding */

/*
 * Decoders: false (b unchanged in meaning, perhaps longer) on any byte that
 * is not of the alphabet or on bits left over: of all texts that could stand
 * for the same bytes only the encoder's is taken.
 */
bool
str_unhex(struct buf *b, struct str s);
bool
str_unbase64(struct buf *b, struct str s); /* with its padding, as written */
bool
str_unbase64url(struct buf *b, struct str s);

#endif
