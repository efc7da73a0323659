/* base/token: ours or not, one kind never for another, uuids. */
#include "base/token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static const char secret_a[] = "0123456789abcdef0123456789abcdef";
static const char secret_b[] = "fedcba9876543210fedcba9876543210";
static const char payload_text[] = "0190f3a4b5c67d8e9f00112233445566";

static struct token_secrets
secrets_of(const char *now, const char *old)
{
	return (struct token_secrets){str_of(now), str_of(old)};
}

static bool
is_ours(const char *token, const char *now, const char *old, const char *kind)
{
	struct token_secrets secrets = secrets_of(now, old);
	struct str payload = {NULL, 0};

	return token_verify(str_of(token), &secrets, kind, &payload) &&
	    str_is(payload, payload_text);
}

static void
signed_tokens_verify(void **state)
{
	struct token_secrets secrets = secrets_of(secret_a, "");
	struct buf b = {0};

	(void)state;
	token_sign(&b, &secrets, "buyer", str_of(payload_text));
	assert_int_equal(b.len, 5 + 1 + 32 + 1 + 43);
	assert_true(is_ours(b.data, secret_a, "", "buyer"));
	buf_release(&b);
}

static void
one_kind_never_passes_for_another(void **state)
{
	struct token_secrets secrets = secrets_of(secret_a, "");
	struct buf b = {0};

	(void)state;
	token_sign(&b, &secrets, "buyer", str_of(payload_text));
	assert_false(is_ours(b.data, secret_a, "", "order"));
	assert_false(is_ours(b.data, secret_a, "", "buye"));
	assert_false(is_ours(b.data, secret_a, "", "buyers"));
	memcpy(b.data, "order", 5);
	assert_false(is_ours(b.data, secret_a, "", "order"));
	buf_release(&b);
}

static void
any_changed_character_is_noticed(void **state)
{
	struct token_secrets secrets = secrets_of(secret_a, "");
	struct str payload;
	struct buf b = {0};

	(void)state;
	token_sign(&b, &secrets, "buyer", str_of(payload_text));
	for (size_t i = 0; i < b.len; i++) {
		char kept = b.data[i];

		b.data[i] = kept == 'A' ? 'B' : 'A';
		assert_false(token_verify((struct str){b.data, b.len}, &secrets,
		    "buyer", &payload));
		b.data[i] = '\0';
		assert_false(token_verify((struct str){b.data, b.len}, &secrets,
		    "buyer", &payload));
		b.data[i] = kept;
	}
	for (size_t len = 0; len < b.len; len++)
		assert_false(token_verify((struct str){b.data, len}, &secrets,
		    "buyer", &payload));
	buf_char(&b, 'x');
	assert_false(is_ours(b.data, secret_a, "", "buyer"));
	buf_release(&b);
}

static void
the_old_secret_verifies_and_the_empty_one_never(void **state)
{
	struct token_secrets secrets = secrets_of(secret_a, "");
	struct buf b = {0};

	(void)state;
	token_sign(&b, &secrets, "buyer", str_of(payload_text));
	assert_true(is_ours(b.data, secret_b, secret_a, "buyer"));
	assert_false(is_ours(b.data, secret_b, "", "buyer"));
	assert_false(is_ours(b.data, "", "", "buyer"));
	buf_release(&b);
}

static void
the_format_does_not_drift(void **state)
{
	struct token_secrets secrets = secrets_of(secret_a, "");
	struct buf b = {0};

	(void)state;
	token_sign(&b, &secrets, "buyer", str_of(payload_text));
	/* openssl dgst -sha256 -hmac <secret> -binary | base64url */
	assert_string_equal(b.data,
	    "buyer.0190f3a4b5c67d8e9f00112233445566."
	    "q1wchz6sMHrjS6P0ki91-YMmBrO6CiqjlCJEoqdX1uE");
	buf_release(&b);
}

static void
ids_are_22_characters_and_differ(void **state)
{
	struct token_id a;
	struct token_id b;

	(void)state;
	token_id(&a);
	token_id(&b);
	assert_int_equal(strlen(a.text), 22);
	assert_string_not_equal(a.text, b.text);
}

static void
ids_of_one_time_lie_side_by_side(void **state)
{
	struct token_id ids[3];
	bool same = false;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		token_id(&ids[i]);
	/* Of three, two were made within the same 256 seconds. */
	for (size_t i = 1; i < 3; i++)
		same |= memcmp(ids[i - 1].text, ids[i].text, 4) == 0;
	assert_true(same);
	assert_memory_not_equal(ids[0].text + 6, ids[1].text + 6, 16);
}

static void
random_uuids_are_version_4(void **state)
{
	struct uuid a;
	struct uuid b;
	struct uuid back;

	(void)state;
	uuid_random(&a);
	uuid_random(&b);
	assert_true(uuid_parse(&back, str_of(a.text)));
	assert_string_equal(back.text, a.text);
	assert_int_equal(a.text[14], '4');
	assert_non_null(strchr("89ab", a.text[19]));
	assert_string_not_equal(a.text, b.text);
}

static void
derived_uuids_follow_their_seed(void **state)
{
	struct uuid a;
	struct uuid b;

	(void)state;
	uuid_derive(&a, str_of(secret_a), "visit", str_of("x"));
	uuid_derive(&b, str_of(secret_a), "visit", str_of("x"));
	assert_string_equal(a.text, b.text);
	assert_int_equal(a.text[14], '8');
	uuid_derive(&b, str_of(secret_a), "visit", str_of("y"));
	assert_string_not_equal(a.text, b.text);
	uuid_derive(&b, str_of(secret_b), "visit", str_of("x"));
	assert_string_not_equal(a.text, b.text);
	uuid_derive(&b, str_of(secret_a), "other", str_of("x"));
	assert_string_not_equal(a.text, b.text);
}

static void
uuids_of_other_forms_are_refused(void **state)
{
	static const char *const bad[] = {"",
	    "0190f3a4b5c67d8e9f00112233445566",
	    "0190F3A4-B5C6-7D8E-9F00-112233445566",
	    "{190f3a4-b5c6-7d8e-9f00-11223344556}",
	    "0190f3a4-b5c6-7d8e-9f00-1122334455667",
	    "0190f3a4-b5c6-7d8e-9f00-11223344556",
	    "0190f3a4-b5c6-7d8e-9f00-11223344556g",
	    "0190f3a4-b5c6-7d8e-9f0-0112233445566"};
	struct uuid out;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(uuid_parse(&out, str_of(bad[i])));
	assert_true(
	    uuid_parse(&out, str_of("0190f3a4-b5c6-7d8e-9f00-112233445566")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(signed_tokens_verify),
	    cmocka_unit_test(one_kind_never_passes_for_another),
	    cmocka_unit_test(any_changed_character_is_noticed),
	    cmocka_unit_test(the_old_secret_verifies_and_the_empty_one_never),
	    cmocka_unit_test(the_format_does_not_drift),
	    cmocka_unit_test(ids_are_22_characters_and_differ),
	    cmocka_unit_test(ids_of_one_time_lie_side_by_side),
	    cmocka_unit_test(random_uuids_are_version_4),
	    cmocka_unit_test(derived_uuids_follow_their_seed),
	    cmocka_unit_test(uuids_of_other_forms_are_refused),
	};

	return cmocka_run_group_tests_name("base/token", tests, NULL, NULL);
}
