/* base/sign against published vectors (FIPS 180-2, RFC 4231, RFC 8032). */
#include "base/buf.h"
#include "base/sign.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void
assert_hex(const unsigned char mac[SIGN_SHA256_LEN], const char *expected)
{
	struct buf hex = {0};

	str_hex(&hex, mac, SIGN_SHA256_LEN);
	assert_string_equal(buf_text(&hex), expected);
	buf_release(&hex);
}

static void
sha256_matches_fips(void **state)
{
	unsigned char out[SIGN_SHA256_LEN];

	(void)state;
	sign_sha256(out, str_of("abc"));
	assert_hex(out,
	    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	sign_sha256(out, (struct str){NULL, 0});
	assert_hex(out,
	    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void
hmac_matches_rfc4231(void **state)
{
	unsigned char out[SIGN_SHA256_LEN];
	char key[131];
	struct str parts[] = {
	    str_of("what do ya want "),
	    {NULL, 0},
	    str_of("for nothing?"),
	};
	struct str hi = str_of("Hi There");
	struct str large = str_of("Test Using Larger Than Block-Size Key - "
				  "Hash Key First");

	(void)state;
	sign_hmac_sha256(out, str_of("Jefe"), parts, 3);
	assert_hex(out,
	    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(key, 0x0b, 20);
	sign_hmac_sha256(out, (struct str){key, 20}, &hi, 1);
	assert_hex(out,
	    "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	memset(key, 0xaa, 131);
	sign_hmac_sha256(out, (struct str){key, 131}, &large, 1);
	assert_hex(out,
	    "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static void
hmac_with_an_empty_key_is_not_the_last_key(void **state)
{
	unsigned char out[SIGN_SHA256_LEN];

	(void)state;
	sign_hmac_sha256(out, str_of("Jefe"), NULL, 0);
	sign_hmac_sha256(out, (struct str){NULL, 0}, NULL, 0);
	assert_hex(out,
	    "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

static void
random_bytes_differ(void **state)
{
	unsigned char a[32] = {0};
	unsigned char b[32] = {0};

	(void)state;
	sign_random(a, sizeof(a));
	sign_random(b, sizeof(b));
	assert_memory_not_equal(a, b, sizeof(a));
}

/* Bytes that were fetched beforehand must not come twice. */
static void
a_child_has_random_bytes_of_its_own(void **state)
{
	unsigned char ours[16], theirs[16];
	int ends[2], status;
	pid_t pid;

	(void)state;
	sign_random(ours, sizeof(ours));
	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		sign_random(theirs, sizeof(theirs));
		_exit(write(ends[1], theirs, sizeof(theirs)) != sizeof(theirs));
	}
	assert_int_equal(read(ends[0], theirs, sizeof(theirs)), sizeof(theirs));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	sign_random(ours, sizeof(ours));
	assert_memory_not_equal(ours, theirs, sizeof(ours));
	(void)close(ends[0]);
	(void)close(ends[1]);
}

static void
random_bytes_never_come_twice(void **state)
{
	enum { IDS = 1000 };
	static uint64_t seen[IDS];

	(void)state;
	for (size_t i = 0; i < IDS; i++) {
		sign_random(&seen[i], sizeof(seen[i]));
		for (size_t j = 0; j < i; j++)
			assert_true(seen[i] != seen[j]);
	}
	/* More than is kept in stock. */
	{
		unsigned char large[5000] = {0};
		size_t zeros = 0;

		sign_random(large, sizeof(large));
		for (size_t i = 0; i < sizeof(large); i++)
			zeros += large[i] == 0;
		assert_true(zeros < 200);
	}
}

/* RFC 8032, section 7.1: the first two. */
static const struct {
	const char *private;
	const char *public;
	const char *message;
	const char *signature;
} rfc8032[] = {
    {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
	"d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
	"e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555f"
	"b8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"},
    {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
	"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
	"72",
	"92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da08"
	"5ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"},
};

static const unsigned char *
unhex(struct buf *b, const char *hex)
{
	buf_reset(b);
	buf_reserve(b, 1);
	assert_true(str_unhex(b, str_of(hex)));
	return (const unsigned char *)b->data;
}

static void
ed25519_matches_rfc8032(void **state)
{
	unsigned char out[SIGN_ED25519_LEN];
	struct buf key = {0};
	struct buf message = {0};
	struct buf hex = {0};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		(void)unhex(&message, rfc8032[i].message);
		sign_ed25519(out, unhex(&key, rfc8032[i].private),
		    str_view(&message));
		buf_reset(&hex);
		str_hex(&hex, out, sizeof(out));
		assert_string_equal(buf_text(&hex), rfc8032[i].signature);
		assert_true(sign_ed25519_verify(out,
		    unhex(&key, rfc8032[i].public), str_view(&message)));
	}
	buf_release(&key);
	buf_release(&message);
	buf_release(&hex);
}

static void
ed25519_refuses_what_is_not_signed(void **state)
{
	const unsigned char zeros[SIGN_ED25519_LEN] = {0};
	unsigned char out[SIGN_ED25519_LEN];
	struct buf key = {0};

	(void)state;
	sign_ed25519(out, unhex(&key, rfc8032[0].private), str_of("text"));
	(void)unhex(&key, rfc8032[1].public);
	assert_false(sign_ed25519_verify(out, (unsigned char *)key.data,
	    str_of("text")));
	(void)unhex(&key, rfc8032[0].public);
	assert_true(sign_ed25519_verify(out, (unsigned char *)key.data,
	    str_of("text")));
	assert_false(sign_ed25519_verify(out, (unsigned char *)key.data,
	    str_of("texT")));
	assert_false(sign_ed25519_verify(zeros, (unsigned char *)key.data,
	    str_of("text")));
	for (size_t i = 0; i < sizeof(out); i++) {
		out[i] ^= 1;
		assert_false(sign_ed25519_verify(out, (unsigned char *)key.data,
		    str_of("text")));
		out[i] ^= 1;
	}
	/* No point of the curve has this for its key. */
	memset(key.data, 0xff, SIGN_KEY_LEN);
	assert_false(sign_ed25519_verify(out, (unsigned char *)key.data,
	    str_of("text")));
	buf_release(&key);
}

static enum sign_secret_kind
secret_of(const char *prefix, size_t bytes)
{
	struct sign_secret secret;
	struct buf text = {0};
	char raw[80];
	enum sign_secret_kind kind;

	memset(raw, 'k', sizeof(raw));
	buf_str(&text, prefix);
	str_base64(&text, raw, bytes);
	sign_secret_read(&secret, str_view(&text));
	kind = secret.kind;
	if (kind != SIGN_SECRET_NONE) {
		assert_int_equal(secret.len, bytes);
		assert_memory_equal(secret.bytes, raw, bytes);
	}
	sign_secret_wipe(&secret);
	assert_int_equal(secret.kind, SIGN_SECRET_NONE);
	assert_int_equal(secret.bytes[0], 0);
	buf_release(&text);
	return kind;
}

static void
secrets_have_their_kind_and_length(void **state)
{
	(void)state;
	assert_int_equal(secret_of("whsec_", 24), SIGN_SECRET_SHARED);
	assert_int_equal(secret_of("whsec_", 64), SIGN_SECRET_SHARED);
	assert_int_equal(secret_of("", 32), SIGN_SECRET_SHARED);
	assert_int_equal(secret_of("whpk_", 32), SIGN_SECRET_PUBLIC);
	assert_int_equal(secret_of("whsk_", 32), SIGN_SECRET_PRIVATE);
	assert_int_equal(secret_of("whsec_", 0), SIGN_SECRET_NONE);
	assert_int_equal(secret_of("whsec_", 23), SIGN_SECRET_NONE);
	assert_int_equal(secret_of("whsec_", 65), SIGN_SECRET_NONE);
	assert_int_equal(secret_of("", 23), SIGN_SECRET_NONE);
	assert_int_equal(secret_of("whpk_", 31), SIGN_SECRET_NONE);
	assert_int_equal(secret_of("whpk_", 33), SIGN_SECRET_NONE);
	assert_int_equal(secret_of("whsk_", 33), SIGN_SECRET_NONE);
	/* Not the public key that belongs to it. */
	assert_int_equal(secret_of("whsk_", 64), SIGN_SECRET_NONE);
	/* Neither is a prefix that is known. */
	assert_int_equal(secret_of("whpub_", 32), SIGN_SECRET_NONE);
	assert_int_equal(secret_of("WHSEC_", 32), SIGN_SECRET_NONE);
}

static void
a_private_key_may_bring_its_public_one(void **state)
{
	struct sign_secret secret;
	struct buf pair = {0};
	struct buf text = {0};

	(void)state;
	assert_true(str_unhex(&pair, str_of(rfc8032[0].private)));
	assert_true(str_unhex(&pair, str_of(rfc8032[0].public)));
	buf_str(&text, "whsk_");
	str_base64(&text, pair.data, pair.len);
	sign_secret_read(&secret, str_view(&text));
	assert_int_equal(secret.kind, SIGN_SECRET_PRIVATE);
	assert_memory_equal(secret.bytes, pair.data, SIGN_KEY_LEN);
	buf_release(&pair);
	buf_release(&text);
}

#define SHARED "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
#define PUBLIC "whpk_QhkbyvllUIg1Nd7KydKe6deYIppAmrhU1FbZAu5IVec="
#define PRIVATE "whsk_QhkbyvllUIg1Nd7KydKe6deYIppAmrhU1FbZAu5IVec="

static void
what_is_wrong_with_a_secret_is_said(void **state)
{
	static const char *const bad[] = {
	    "whsec_",
	    "whsec_test_ALPHA_0001",
	    "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY",
	    " " SHARED,
	    SHARED " ",
	    "whpk_",
	    "x",
	};

	(void)state;
	assert_null(sign_secret_problem(str_of(""), false));
	assert_null(sign_secret_problem(str_of(""), true));
	assert_null(sign_secret_problem(str_of(SHARED), false));
	assert_null(sign_secret_problem(str_of(SHARED), true));
	assert_null(sign_secret_problem(str_of(PUBLIC), false));
	assert_non_null(sign_secret_problem(str_of(PUBLIC), true));
	assert_null(sign_secret_problem(str_of(PRIVATE), true));
	assert_non_null(sign_secret_problem(str_of(PRIVATE), false));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_non_null(sign_secret_problem(str_of(bad[i]), false));
		assert_non_null(sign_secret_problem(str_of(bad[i]), true));
	}
}

#define THREADS 4
#define ROUNDS 2000

/* Each thread with a key of its own, the result checked against the first. */
static void *
thread_signs(void *arg)
{
	struct str key = str_of(arg);
	struct str text = str_of("text");
	unsigned char first[SIGN_SHA256_LEN], mac[SIGN_SHA256_LEN];

	sign_hmac_sha256(first, key, &text, 1);
	for (int i = 0; i < ROUNDS; i++) {
		unsigned char dice[16];

		sign_random(dice, sizeof(dice));
		sign_hmac_sha256(mac, key, &text, 1);
		if (!sign_equal(first, mac, sizeof(mac)))
			return arg;
		sign_sha256(mac, str_of("abc"));
		if (mac[0] != 0xba || mac[31] != 0xad)
			return arg;
	}
	return NULL;
}

static void
threads_do_not_disturb_each_other(void **state)
{
	static char keys[THREADS][2] = {"a", "b", "c", "d"};
	pthread_t threads[THREADS];
	void *wrong;

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, thread_signs,
				     keys[i]),
		    0);
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &wrong), 0);
		assert_null(wrong);
	}
}

static void
equal_looks_at_every_byte(void **state)
{
	(void)state;
	assert_true(sign_equal("abcd", "abcd", 4));
	assert_false(sign_equal("abcd", "abce", 4));
	assert_false(sign_equal("abcd", "xbcd", 4));
	assert_false(sign_equal("a\0c", "a\0d", 3));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(sha256_matches_fips),
	    cmocka_unit_test(hmac_matches_rfc4231),
	    cmocka_unit_test(hmac_with_an_empty_key_is_not_the_last_key),
	    cmocka_unit_test(ed25519_matches_rfc8032),
	    cmocka_unit_test(ed25519_refuses_what_is_not_signed),
	    cmocka_unit_test(secrets_have_their_kind_and_length),
	    cmocka_unit_test(a_private_key_may_bring_its_public_one),
	    cmocka_unit_test(what_is_wrong_with_a_secret_is_said),
	    cmocka_unit_test(random_bytes_differ),
	    cmocka_unit_test(a_child_has_random_bytes_of_its_own),
	    cmocka_unit_test(random_bytes_never_come_twice),
	    cmocka_unit_test(threads_do_not_disturb_each_other),
	    cmocka_unit_test(equal_looks_at_every_byte),
	};

	return cmocka_run_group_tests_name("base/sign", tests, NULL, NULL);
}
