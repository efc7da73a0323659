/*
 * Digests, random bytes, constant-time comparison: OpenSSL's, behind four
 * plain calls. Algorithms are looked up once, and each thread keeps contexts
 * and a small stock of random bytes, because to make them anew costs several
 * times what they do. A forked child gets random bytes of its own.
 */
#include "base/sign.h"
#include "base/log.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* 32 ids. */
#define STOCK_BYTES 512

/* One thread's. */
struct tools {
	EVP_MAC_CTX *hmac; /* knows its digest, wants a key */
	EVP_MD_CTX *digest;
	size_t left; /* of the stock, at its end */
	unsigned char stock[STOCK_BYTES];
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t tools_key;
static EVP_MAC *hmac;
static EVP_MD *sha256;

static void
tools_free(void *value)
{
	struct tools *tools = value;

	EVP_MAC_CTX_free(tools->hmac);
	EVP_MD_CTX_free(tools->digest);
	OPENSSL_cleanse(tools->stock, sizeof(tools->stock));
	free(tools);
}

/* The child must not hand out what its parent will, too. */
static void
tools_forked(void)
{
	struct tools *tools = pthread_getspecific(tools_key);

	if (tools)
		tools->left = 0;
}

static void
tools_prepare(void)
{
	hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
	sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
	if (!hmac || !sha256 || pthread_key_create(&tools_key, tools_free) ||
	    pthread_atfork(NULL, NULL, tools_forked))
		log_bug("cannot use the library of digests");
}

static struct tools *
tools_new(void)
{
	char digest[] = "SHA256";
	const OSSL_PARAM params[] = {
	    OSSL_PARAM_construct_utf8_string("digest", digest, 0),
	    OSSL_PARAM_construct_end(),
	};
	struct tools *tools = calloc(1, sizeof(*tools));

	if (!tools)
		log_bug("out of memory");
	tools->hmac = EVP_MAC_CTX_new(hmac);
	tools->digest = EVP_MD_CTX_new();
	if (!tools->hmac || !tools->digest ||
	    EVP_MAC_CTX_set_params(tools->hmac, params) != 1 ||
	    pthread_setspecific(tools_key, tools))
		log_bug("cannot make a context for digests");
	return tools;
}

static struct tools *
tools_get(void)
{
	struct tools *tools;

	(void)pthread_once(&once, tools_prepare);
	tools = pthread_getspecific(tools_key);
	return tools ? tools : tools_new();
}

void
sign_hmac_sha256(unsigned char out[SIGN_SHA256_LEN], struct str key,
    const struct str *parts, size_t count)
{
	EVP_MAC_CTX *ctx = tools_get()->hmac;
	size_t len = 0;

	/* NULL would mean "the key of before", so an empty key is "". */
	if (EVP_MAC_init(ctx, (const unsigned char *)(key.len ? key.text : ""),
		key.len, NULL) != 1)
		log_bug("cannot start hmac-sha256");
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
}

void
sign_sha256(unsigned char out[SIGN_SHA256_LEN], struct str bytes)
{
	EVP_MD_CTX *ctx = tools_get()->digest;
	unsigned len = 0;

	if (EVP_DigestInit_ex2(ctx, sha256, NULL) != 1 ||
	    EVP_DigestUpdate(ctx, bytes.len ? bytes.text : "", bytes.len) !=
		1 ||
	    EVP_DigestFinal_ex(ctx, out, &len) != 1 || len != SIGN_SHA256_LEN)
		log_bug("cannot compute sha256");
}

static void
random_fill(void *out, size_t n)
{
	if (n > INT_MAX || RAND_bytes(out, (int)n) != 1)
		log_bug("cannot get %zu random bytes", n);
}

void
sign_random(void *out, size_t n)
{
	struct tools *tools = tools_get();
	unsigned char *from;

	if (n > STOCK_BYTES) {
		random_fill(out, n);
		return;
	}
	if (n > tools->left) {
		random_fill(tools->stock, STOCK_BYTES);
		tools->left = STOCK_BYTES;
	}
	from = tools->stock + STOCK_BYTES - tools->left;
	memcpy(out, from, n);
	/* Whoever reads the memory later finds no id that is in use. */
	OPENSSL_cleanse(from, n);
	tools->left -= n;
}

bool
sign_equal(const void *a, const void *b, size_t n)
{
	return CRYPTO_memcmp(a, b, n) == 0;
}
