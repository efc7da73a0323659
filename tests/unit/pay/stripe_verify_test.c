/* pay/stripe: whose webhook it is. The vectors first, then field cases. */
#include "pay/fixture.h"

#include "base/json.h"
#include "base/sign.h"
#include "pay/stripe.h"

#define NOW 1760000000

static enum verdict
verify(const struct conf *conf, const char *header, struct str body,
    int64_t now)
{
	const struct hook hook = {
	    .signature = str_of(header),
	    .body = body,
	    .now = now,
	    .tolerance_s = HOOK_TOLERANCE_S,
	};

	return stripe_provider.verify(conf, &hook);
}

/* Standard base64 by way of the other alphabet. */
static void
base64_read(struct buf *out, struct str s)
{
	struct buf b = {0};

	for (size_t i = 0; i < s.len && s.text[i] != '='; i++) {
		char c = s.text[i];

		buf_char(&b, (char)(c == '+' ? '-' : c == '/' ? '_' : c));
	}
	assert_true(str_unbase64url(out, fixture_view(&b)));
	buf_release(&b);
}

static void
body_read(struct buf *out, const struct json *vector)
{
	const struct json *parts = json_get(vector, "body_parts");

	if (!parts) {
		base64_read(out, json_text(json_get(vector, "body_b64")));
		return;
	}
	for (const struct json *part = parts->first; part; part = part->next) {
		int64_t times = 0;

		assert_true(json_int(part->first->next, &times));
		for (; times > 0; times--)
			buf_add(out, part->first->text.text,
			    part->first->text.len);
	}
}

static void
text_copy(struct buf *b, const struct json *node)
{
	buf_str(b, "");
	buf_add(b, json_text(node).text, json_text(node).len);
}

static void
vector_try(const struct json *vector, int64_t now)
{
	const struct json *secrets = json_get(vector, "secrets");
	struct conf conf = fixture_conf();
	struct buf secret = {0};
	struct buf old = {0};
	struct buf header = {0};
	struct buf body = {0};
	enum verdict verdict;
	struct hook hook;
	bool valid = str_is(json_text(json_get(vector, "want")), "valid");
	int64_t tolerance;

	text_copy(&secret, secrets->first);
	text_copy(&old, secrets->first->next);
	text_copy(&header, json_get(vector, "header"));
	body_read(&body, vector);
	conf.stripe.webhook_secret = secret.data ? secret.data : "";
	conf.stripe.old_webhook_secret = old.data ? old.data : "";
	hook = (struct hook){
	    .signature = fixture_view(&header),
	    .body = fixture_view(&body),
	    .now = now,
	    .tolerance_s = HOOK_TOLERANCE_S,
	};
	/* The library's 0 turns the age off; ours would accept no age. */
	if (json_int(json_get(vector, "tolerance"), &tolerance)) {
		assert_int_equal(tolerance, 0);
		hook.tolerance_s = 0;
		assert_int_equal(stripe_provider.verify(&conf, &hook),
		    VERDICT_OLD);
		hook.tolerance_s = HOOK_ANY_AGE;
	}
	verdict = stripe_provider.verify(&conf, &hook);
	if ((verdict == VERDICT_OK) != valid)
		fail_msg("vector %.*s", (int)json_get(vector, "id")->text.len,
		    json_get(vector, "id")->text.text);
	buf_release(&secret);
	buf_release(&old);
	buf_release(&header);
	buf_release(&body);
}

static void
every_vector_gets_its_verdict(void **state)
{
	struct buf text = {0};
	struct json_doc *doc;
	const char *why;
	int64_t now = 0;
	size_t count = 0;

	fixture_file(&text, "tests/data/webhook-vectors/stripe.json");
	doc = json_parse(fixture_view(&text), &why);
	assert_non_null(doc);
	assert_true(json_int(json_get(json_root(doc), "now"), &now));
	for (const struct json *v = json_get(json_root(doc), "cases")->first; v;
	     v = v->next, count++)
		vector_try(v, now);
	assert_int_equal(count, 52);
	json_free(doc);
	buf_release(&text);
}

/* The field cases' vectors. */
static const char v1[] =
    "{\"id\":\"evt_0001\",\"type\":\"payment_intent.succeeded\",\"data\":"
    "{\"object\":{\"id\":\"pi_0001\",\"amount\":2500,\"currency\":\"eur\","
    "\"metadata\":{\"hold\":\"h_0001\"}}}}";
static const char v2[] =
    "{ \"id\":\"evt_0002\",\n  \"type\":\"payment_intent.succeeded\", "
    "\"note\":\"esc \\u001B end\", \"data\":{\"object\":{\"id\":\"pi_0002\","
    "\"amount\":2500,\"currency\":\"eur\",\"metadata\":"
    "{\"hold\":\"h_0002\"}}}}\n";
static const char v3[] =
    "{\"id\":\"evt_0003\",\"type\":\"payment_intent.succeeded\",\"note\":"
    "\"\xf0\x9f\x8e\xab caf\xc3\xa9\",\"data\":{\"object\":"
    "{\"id\":\"pi_0003\",\"amount\":2500,\"currency\":\"eur\","
    "\"metadata\":{\"hold\":\"h_0003\"}}}}";

#define V1_A "8866d881a8cf3265c68279d131ea4e4218701d66a19f064650ff409d7c9bc3dd"
#define V1_B "f3f658ed4ab16a66d158dbb935f1cf9278eea34cfbe608e32805f7507af41328"
#define V1_EMPTY \
	"e3b17be125d5cc6e9bfb4596af6e8290a6eb624ff6b91b8abd9e125f210ee029"
#define V2_A "437aaacf315f8b83fd3d399687dd055e902a69b7a3cf71f4a5b5edb4580e2fd1"
#define V2_B "772e76d7559762eda74fafe664470cbf560ca33bbaf5dcba9cb592ba065533b0"
#define V3_A "ab5b34329a2235e9e72f0bbc87373206ec47592e2f1206013aa045c14de7b006"
#define V3_B "790f9372a11852aa558e41635b30854d1a012de519c4f5eeb6bb6d995deb08de"
#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"
#define T "t=1760000000,"

static const char secret_a[] = "whsec_test_ALPHA_0001";
static const char secret_b[] = "whsec_test_BRAVO_0002";

static bool
is_ok(const char *header, const char *body)
{
	struct conf conf = fixture_conf();

	conf.stripe.webhook_secret = (char *)(uintptr_t)secret_a;
	return verify(&conf, header, str_of(body), NOW) == VERDICT_OK;
}

/* The same bytes again, and again signed later: verify keeps no memory. */
static void
c22_a_repeat_verifies_like_the_first(void **state)
{
	for (int i = 0; i < 10; i++)
		assert_true(is_ok(T "v1=" V1_A, v1));
}

static void
c23_bytes_as_received_verify(void **state)
{
	assert_int_equal(strlen(v1), 146);
	assert_int_equal(strlen(v2), 177);
	assert_int_equal(strlen(v3), 166);
	assert_true(is_ok(T "v1=" V1_A, v1));
	assert_true(is_ok(T "v1=" V2_A, v2));
	assert_true(is_ok(T "v1=" V3_A, v3));
}

/* body with its first from put as to; under the original's signature */
static void
altered_refused(const char *header, const char *body, const char *from,
    const char *to)
{
	struct buf b = {0};
	const char *at = strstr(body, from);

	assert_non_null(at);
	buf_add(&b, body, (size_t)(at - body));
	buf_str(&b, to);
	buf_str(&b, at + strlen(from));
	assert_false(is_ok(header, b.data));
	buf_release(&b);
}

static void
c23_rewritten_bytes_are_refused(void **state)
{
	struct buf b = {0};

	altered_refused(T "v1=" V2_A, v2, "{ \"id\"", "{\"id\"");
	altered_refused(T "v1=" V2_A, v2, "\\u001B", "\\u001b");
	altered_refused(T "v1=" V2_A, v2, "}}}}\n", "}}}}");
	altered_refused(T "v1=" V3_A, v3, "\xc3\xa9", "e\xcc\x81");
	buf_printf(&b, "%s\n", v1);
	assert_false(is_ok(T "v1=" V1_A, b.data));
	buf_release(&b);
}

static enum verdict
verify_v1(const char *now, const char *old, const char *header)
{
	struct conf conf = fixture_conf();

	conf.stripe.webhook_secret = (char *)(uintptr_t)now;
	conf.stripe.old_webhook_secret = (char *)(uintptr_t)old;
	return verify(&conf, header, str_of(v1), NOW);
}

static void
c26_one_good_signature_is_enough(void **state)
{
	static const char *const good[] = {
	    T "v1=" V1_A ",v1=" V1_B,
	    T "v1=" V1_B ",v1=" V1_A,
	    T "v1=" ZEROS ",v1=" V1_B,
	    T "v0=" ZEROS ",v1=" V1_B ",v7=x,zzz",
	    T "v1=" V1_B,
	    T "v1=,v1=" V1_B,
	    "v1=" V1_B ",t=1760000000",
	};
	static const char *const bad[] = {
	    T "v1=" ZEROS,
	    "",
	    T,
	    T "v1=",
	    T "v1=88",
	    T "v1=886",
	    T "v0=" V1_B,
	    T "v1=" V1_B "=",
	    T "v1= " V1_B,
	    T "V1=" V1_B,
	    "t=1760000000;v1=" V1_B,
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(verify_v1(secret_b, secret_a, good[i]),
		    VERDICT_OK);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(verify_v1(secret_b, secret_a, bad[i]),
		    VERDICT_BAD);
	/* The old one counts as long as it is set, a third never. */
	assert_int_equal(verify_v1(secret_b, secret_a, T "v1=" V1_A),
	    VERDICT_OK);
	assert_int_equal(verify_v1(secret_b, "", T "v1=" V1_A), VERDICT_BAD);
	assert_int_equal(verify_v1("whsec_other", "whsec_third", T "v1=" V1_A),
	    VERDICT_BAD);
}

static void
c26_an_empty_secret_accepts_nothing(void **state)
{
	assert_int_equal(verify_v1(secret_a, "", T "v1=" V1_EMPTY),
	    VERDICT_BAD);
	assert_int_equal(verify_v1("", "", T "v1=" V1_EMPTY), VERDICT_BAD);
	assert_int_equal(verify_v1("", secret_a, T "v1=" V1_EMPTY),
	    VERDICT_BAD);
	assert_int_equal(verify_v1("", secret_a, T "v1=" V1_A), VERDICT_OK);
}

static void
c26_sixteen_signatures_are_read_seventeen_refused(void **state)
{
	struct buf b = {0};

	buf_str(&b, "t=1760000000");
	for (int i = 0; i < 15; i++)
		buf_str(&b, ",v1=" ZEROS);
	buf_str(&b, ",v1=" V1_A);
	assert_true(is_ok(b.data, v1));
	buf_str(&b, ",v1=" ZEROS);
	assert_false(is_ok(b.data, v1));
	buf_release(&b);
}

/* V1 signed with secret A at the time given as text. */
static enum verdict
verify_at(const char *time, int64_t now)
{
	struct conf conf = fixture_conf();
	struct str parts[] = {str_of(time), str_of("."), str_of(v1)};
	unsigned char mac[SIGN_SHA256_LEN];
	struct buf b = {0};
	enum verdict verdict;

	sign_hmac_sha256(mac, str_of(secret_a), parts, 3);
	buf_printf(&b, "t=%s,v1=", time);
	str_hex(&b, mac, sizeof(mac));
	conf.stripe.webhook_secret = (char *)(uintptr_t)secret_a;
	verdict = verify(&conf, b.data, str_of(v1), now);
	buf_release(&b);
	return verdict;
}

static void
c28_age_counts_both_ways(void **state)
{
	assert_int_equal(verify_at("1759999701", NOW), VERDICT_OK);
	assert_int_equal(verify_at("1759999700", NOW), VERDICT_OK);
	assert_int_equal(verify_at("1759999699", NOW), VERDICT_OLD);
	assert_int_equal(verify_at("1760000299", NOW), VERDICT_OK);
	assert_int_equal(verify_at("1760000300", NOW), VERDICT_OK);
	assert_int_equal(verify_at("1760000301", NOW), VERDICT_OLD);
	/* Freshly signed, the refused event is taken. */
	assert_int_equal(verify_at("1760000000", NOW), VERDICT_OK);
}

static void
c28_age_is_told_only_to_the_right_signer(void **state)
{
	assert_int_equal(verify_v1(secret_a, "", "t=1,v1=" ZEROS), VERDICT_BAD);
	assert_int_equal(verify_v1(secret_a, "", "t=1759999000,v1=" V1_A),
	    VERDICT_BAD);
}

static void
c28_malformed_times_are_refused(void **state)
{
	static const char *const bad[] = {"", "abc", "1e9", "0", "01760000000",
	    "+1760000000", "-1760000000", "1760000000 ", " 1760000000",
	    "1760000000.0", "1234567890123", "12345678901234567890",
	    "0x68e77800"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(verify_at(bad[i], NOW), VERDICT_BAD);
	assert_int_equal(verify_v1(secret_a, "", T T "v1=" V1_A), VERDICT_BAD);
	assert_int_equal(verify_v1(secret_a, "", "t=," T "v1=" V1_A),
	    VERDICT_BAD);
	/* Twelve digits are a time, if a far one. */
	assert_int_equal(verify_at("999999999999", NOW), VERDICT_OLD);
}

static void
an_empty_body_is_refused(void **state)
{
	assert_false(is_ok(T "v1=" V1_A, ""));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_vector_gets_its_verdict),
	    cmocka_unit_test(c22_a_repeat_verifies_like_the_first),
	    cmocka_unit_test(c23_bytes_as_received_verify),
	    cmocka_unit_test(c23_rewritten_bytes_are_refused),
	    cmocka_unit_test(c26_one_good_signature_is_enough),
	    cmocka_unit_test(c26_an_empty_secret_accepts_nothing),
	    cmocka_unit_test(c26_sixteen_signatures_are_read_seventeen_refused),
	    cmocka_unit_test(c28_age_counts_both_ways),
	    cmocka_unit_test(c28_age_is_told_only_to_the_right_signer),
	    cmocka_unit_test(c28_malformed_times_are_refused),
	    cmocka_unit_test(an_empty_body_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
