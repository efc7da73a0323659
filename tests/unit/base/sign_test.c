/* base/sign against published vectors (FIPS 180-2, RFC 4231). */
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
	    cmocka_unit_test(random_bytes_differ),
	    cmocka_unit_test(a_child_has_random_bytes_of_its_own),
	    cmocka_unit_test(random_bytes_never_come_twice),
	    cmocka_unit_test(threads_do_not_disturb_each_other),
	    cmocka_unit_test(equal_looks_at_every_byte),
	};

	return cmocka_run_group_tests_name("base/sign", tests, NULL, NULL);
}
