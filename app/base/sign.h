/*
 * Digests, signatures, random bytes, constant-time comparison. The only file
 * that knows OpenSSL. A failure of the library itself ends the process. Any
 * thread; a process forked by fork() shares no random bytes with its parent.
 */
#ifndef BASE_SIGN_H
#define BASE_SIGN_H

#include "str.h"

#include <stdbool.h>
#include <stddef.h>

#define SIGN_SHA256_LEN 32
#define SIGN_ED25519_LEN 64 /* of a signature; RFC 8032 */
#define SIGN_KEY_LEN 32 /* of a key of Ed25519, public or private */

void
sign_hmac_sha256(unsigned char out[SIGN_SHA256_LEN], struct str key,
    const struct str *parts, size_t count); /* over the parts in a row */
void
sign_sha256(unsigned char out[SIGN_SHA256_LEN], struct str bytes);
void
sign_ed25519(unsigned char out[SIGN_ED25519_LEN],
    const unsigned char key[SIGN_KEY_LEN], struct str bytes);
/* False for a key that is none, too. */
bool
sign_ed25519_verify(const unsigned char signature[SIGN_ED25519_LEN],
    const unsigned char key[SIGN_KEY_LEN], struct str bytes);
void
sign_random(void *out, size_t n);
/* Compares n bytes without an early exit. */
bool
sign_equal(const void *a, const void *b, size_t n);

/*
 * The secrets of Standard Webhooks 1.0.0: a prefix and base64. What has no
 * prefix is taken for a shared one, as that specification's libraries do.
 */
enum sign_secret_kind {
	SIGN_SECRET_NONE, /* empty or malformed; signs and verifies nothing */
	SIGN_SECRET_SHARED, /* whsec_: 24 to 64 bytes, for HMAC-SHA256 */
	SIGN_SECRET_PUBLIC, /* whpk_: a key of Ed25519 that verifies */
	SIGN_SECRET_PRIVATE, /* whsk_: one that signs, alone or before its
	    public one */
};

#define SIGN_SECRET_MIN 24
#define SIGN_SECRET_MAX 64

struct sign_secret {
	enum sign_secret_kind kind;
	size_t len;
	unsigned char bytes[SIGN_SECRET_MAX];
};

/* Fills *out in any case. Wipe it with sign_secret_wipe. */
void
sign_secret_read(struct sign_secret *out, struct str text);
void
sign_secret_wipe(struct sign_secret *secret);
/*
 * What is wrong with a secret in the settings, as the end of a sentence that
 * begins with its name: "must be whsec_ and ...". NULL when it serves, and
 * when it is empty. signs: it shall sign; else it shall verify.
 */
const char *
sign_secret_problem(struct str text, bool signs);

#endif
