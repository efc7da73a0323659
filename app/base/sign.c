/*
 * Digests, signatures, random bytes, constant-time comparison: OpenSSL's,
 * behind plain calls. Algorithms are looked up once, and each thread keeps contexts
 * and a small stock of random bytes, because to make them anew costs several
 * times what they do. A forked child gets random bytes of its own.
 */
#include "base/sign.h"
#include "base/log.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
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

void
sign_ed25519(unsigned char out[SIGN_ED25519_LEN],
    const unsigned char key[SIGN_KEY_LEN], struct str bytes)
{
	EVP_PKEY *pkey = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL,
	    key, SIGN_KEY_LEN);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	size_t len = SIGN_ED25519_LEN;

	if (!pkey || !ctx ||
	    EVP_DigestSignInit(ctx, NULL, NULL, NULL, pkey) != 1 ||
	    EVP_DigestSign(ctx, out, &len,
		(const unsigned char *)(bytes.len ? bytes.text : ""),
		bytes.len) != 1 ||
	    len != SIGN_ED25519_LEN)
		log_bug("cannot sign with ed25519");
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(pkey);
}

bool
sign_ed25519_verify(const unsigned char signature[SIGN_ED25519_LEN],
    const unsigned char key[SIGN_KEY_LEN], struct str bytes)
{
	EVP_PKEY *pkey = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL,
	    key, SIGN_KEY_LEN);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool right;

	if (!pkey || !ctx ||
	    EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, pkey) != 1)
		log_bug("cannot use a key of ed25519");
	right = EVP_DigestVerify(ctx, signature, SIGN_ED25519_LEN,
		    (const unsigned char *)(bytes.len ? bytes.text : ""),
		    bytes.len) == 1;
	/* A wrong signature is an outcome: its entry in the queue is not. */
	if (!right)
		ERR_clear_error();
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(pkey);
	return right;
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

/* Whether a private key is followed by the public one that belongs to it. */
static bool
pair_is_one(const unsigned char pair[2 * SIGN_KEY_LEN])
{
	EVP_PKEY *pkey = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL,
	    pair, SIGN_KEY_LEN);
	unsigned char own[SIGN_KEY_LEN];
	size_t len = sizeof(own);

	if (!pkey || EVP_PKEY_get_raw_public_key(pkey, own, &len) != 1)
		log_bug("cannot use a key of ed25519");
	EVP_PKEY_free(pkey);
	return sign_equal(own, pair + SIGN_KEY_LEN, sizeof(own));
}

static bool
secret_fits(const struct sign_secret *secret)
{
	switch (secret->kind) {
	case SIGN_SECRET_SHARED:
		return secret->len >= SIGN_SECRET_MIN;
	case SIGN_SECRET_PUBLIC:
		return secret->len == SIGN_KEY_LEN;
	case SIGN_SECRET_PRIVATE:
		return secret->len == SIGN_KEY_LEN ||
		    (secret->len == (size_t)2 * SIGN_KEY_LEN &&
			pair_is_one(secret->bytes));
	case SIGN_SECRET_NONE:
		break;
	}
	return false;
}

static enum sign_secret_kind
secret_kind(struct str *text)
{
	static const struct {
		const char *prefix;
		enum sign_secret_kind kind;
	} kinds[] = {
	    {"whsec_", SIGN_SECRET_SHARED},
	    {"whpk_", SIGN_SECRET_PUBLIC},
	    {"whsk_", SIGN_SECRET_PRIVATE},
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t len = strlen(kinds[i].prefix);

		if (text->len < len ||
		    memcmp(text->text, kinds[i].prefix, len) != 0)
			continue;
		text->text += len;
		text->len -= len;
		return kinds[i].kind;
	}
	return SIGN_SECRET_SHARED;
}

void
sign_secret_read(struct sign_secret *out, struct str text)
{
	struct buf bytes = {0};

	*out = (struct sign_secret){.kind = SIGN_SECRET_NONE};
	if (text.len == 0)
		return;
	out->kind = secret_kind(&text);
	if (str_unbase64(&bytes, text) && bytes.len <= sizeof(out->bytes)) {
		memcpy(out->bytes, bytes.data, bytes.len);
		out->len = bytes.len;
	}
	if (bytes.data)
		OPENSSL_cleanse(bytes.data, bytes.cap);
	buf_release(&bytes);
	if (!secret_fits(out))
		sign_secret_wipe(out);
}

void
sign_secret_wipe(struct sign_secret *secret)
{
	OPENSSL_cleanse(secret, sizeof(*secret));
	secret->kind = SIGN_SECRET_NONE;
}

const char *
sign_secret_problem(struct str text, bool signs)
{
	struct sign_secret secret;
	enum sign_secret_kind kind;

	if (text.len == 0)
		return NULL;
	sign_secret_read(&secret, text);
	kind = secret.kind;
	sign_secret_wipe(&secret);
	if (kind == SIGN_SECRET_SHARED)
		return NULL;
	if (signs)
		return kind == SIGN_SECRET_PRIVATE
		    ? NULL
		    : "must be whsec_ and 24 to 64 bytes in base64, or whsk_ "
		      "and the 32 of a private key";
	return kind == SIGN_SECRET_PUBLIC
	    ? NULL
	    : "must be whsec_ and 24 to 64 bytes in base64, or whpk_ and the "
	      "32 of a public key";
}
