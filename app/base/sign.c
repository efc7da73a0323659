/*
 * Digests, random bytes, constant-time comparison: OpenSSL's, behind three
 * plain calls.
 */
#include "base/sign.h"
#include "base/log.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <limits.h>

static EVP_MAC_CTX *
hmac_start(struct str key)
{
	/* Looked up once: a fetch costs more than a short digest. */
	static EVP_MAC *hmac;
	char digest[] = "SHA256";
	OSSL_PARAM params[] = {
	    OSSL_PARAM_construct_utf8_string("digest", digest, 0),
	    OSSL_PARAM_construct_end(),
	};
	EVP_MAC_CTX *ctx;

	if (!hmac)
		hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
	ctx = hmac ? EVP_MAC_CTX_new(hmac) : NULL;
	/* NULL would mean "the key of before", so an empty key is "". */
	if (!ctx ||
	    EVP_MAC_init(ctx, (const unsigned char *)(key.len ? key.text : ""),
		key.len, params) != 1)
		log_bug("cannot start hmac-sha256");
	return ctx;
}

void
sign_hmac_sha256(unsigned char out[SIGN_SHA256_LEN], struct str key,
    const struct str *parts, size_t count)
{
	EVP_MAC_CTX *ctx = hmac_start(key);
	size_t len = 0;

	for (size_t i = 0; i < count; i++) {
		if (parts[i].len == 0)
			continue;
		if (EVP_MAC_update(ctx, (const unsigned char *)parts[i].text,
			parts[i].len) != 1)
			log_bug("cannot go on with hmac-sha256");
	}
	if (EVP_MAC_final(ctx, out, &len, SIGN_SHA256_LEN) != 1 ||
	    len != SIGN_SHA256_LEN)
		log_bug("cannot end hmac-sha256");
	EVP_MAC_CTX_free(ctx);
}

void
sign_sha256(unsigned char out[SIGN_SHA256_LEN], struct str bytes)
{
	unsigned len = 0;

	if (EVP_Digest(bytes.len ? bytes.text : "", bytes.len, out, &len,
		EVP_sha256(), NULL) != 1 ||
	    len != SIGN_SHA256_LEN)
		log_bug("cannot compute sha256");
}

void
sign_random(void *out, size_t n)
{
	if (n > INT_MAX || RAND_bytes(out, (int)n) != 1)
		log_bug("cannot get %zu random bytes", n);
}

bool
sign_equal(const void *a, const void *b, size_t n)
{
	return CRYPTO_memcmp(a, b, n) == 0;
}
