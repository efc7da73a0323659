/*
 * Digests, random bytes, constant-time comparison. The only file that knows
 * OpenSSL. A failure of the library itself ends the process. Any thread; a
 * process forked by fork() shares no random bytes with its parent.
 */
#ifndef BASE_SIGN_H
#define BASE_SIGN_H

#include "str.h"

#include <stdbool.h>
#include <stddef.h>

#define SIGN_SHA256_LEN 32

void
sign_hmac_sha256(unsigned char out[SIGN_SHA256_LEN], struct str key,
    const struct str *parts, size_t count); /* over the parts in a row */
void
sign_sha256(unsigned char out[SIGN_SHA256_LEN], struct str bytes);
void
sign_random(void *out, size_t n);
/* Compares n bytes without an early exit. */
bool
sign_equal(const void *a, const void *b, size_t n);

#endif
