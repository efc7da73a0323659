/* pay/standard: whose message it is, and what shows it to be ours. */
#include "pay/standard_rig.h"

#include "base/json.h"

#define ID "msg_1"
#define TIME "1796050800"
#define TEXT "{\"type\":\"payment.changed\"}"

static enum verdict
verify(const struct conf *conf, const struct hook *hook)
{
	return standard_provider.verify(conf, hook);
}

static struct hook
a_hook(const char *signature)
{
	return (struct hook){
	    .signature = str_of(signature),
	    .id = str_of(ID),
	    .timestamp = str_of(TIME),
	    .body = str_of(TEXT),
	    .now = NOW,
	    .tolerance_s = HOOK_TOLERANCE_S,
	};
}

static bool
name_is(struct str name, const char *lower)
{
	if (name.len != strlen(lower))
		return false;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.text[i];

		if (c >= 'A' && c <= 'Z')
			c = (char)(c - 'A' + 'a');
		if (c != lower[i])
			return false;
	}
	return true;
}

static void
headers_read(struct hook *hook, const struct json *headers)
{
	for (const struct json *h = headers->first; h; h = h->next) {
		if (name_is(h->key, "webhook-id"))
			hook->id = h->text;
		else if (name_is(h->key, "webhook-timestamp"))
			hook->timestamp = h->text;
		else if (name_is(h->key, "webhook-signature"))
			hook->signature = h->text;
	}
}

static char *
text_of(struct buf *b, const struct json *node)
{
	buf_str(b, "");
	if (node)
		buf_add(b, node->text.text, node->text.len);
	return b->data;
}

static void
vector_try(const struct json *vector, const struct json *key, int64_t now)
{
	const struct json *secrets = json_get(vector, "secrets");
	struct conf conf = rig_conf();
	struct hook hook = {.now = now, .tolerance_s = HOOK_TOLERANCE_S};
	struct buf secret = {0};
	struct buf old = {0};
	struct buf body = {0};
	bool valid = str_is(json_text(json_get(vector, "want")), "valid");

	conf.standard.webhook_secret =
	    text_of(&secret, key ? key : secrets->first);
	conf.standard.old_webhook_secret =
	    text_of(&old, key ? NULL : secrets->first->next);
	assert_true(
	    str_unbase64(&body, json_text(json_get(vector, "body_b64"))));
	hook.body = str_view(&body);
	headers_read(&hook, json_get(vector, "headers"));
	if ((verify(&conf, &hook) == VERDICT_OK) != valid)
		fail_msg("vector %.*s", (int)json_get(vector, "id")->text.len,
		    json_get(vector, "id")->text.text);
	buf_release(&secret);
	buf_release(&old);
	buf_release(&body);
}

static void
vectors_try(const char *path, size_t wanted)
{
	struct buf text = {0};
	struct json_doc *doc;
	const struct json *root;
	const char *why;
	int64_t now = 0;
	size_t count = 0;

	fixture_file(&text, path);
	doc = json_parse(str_view(&text), &why);
	assert_non_null(doc);
	root = json_root(doc);
	assert_true(json_int(json_get(root, "now"), &now));
	for (const struct json *v = json_get(root, "cases")->first; v;
	     v = v->next, count++)
		vector_try(v, json_get(root, "public_key"), now);
	assert_int_equal(count, wanted);
	json_free(doc);
	buf_release(&text);
}

static void
every_vector_gets_its_verdict(void **state)
{
	vectors_try("tests/data/webhook-vectors/standard-webhooks.json", 33);
	vectors_try("tests/data/webhook-vectors/standard-webhooks-v1a.json", 5);
}

/* Our own signature over a hook by one secret. */
static char *
signed_by(struct buf *out, const char *secret, const struct hook *hook)
{
	struct conf conf = rig_conf();

	conf.standard.call_secret = (char *)(uintptr_t)secret;
	buf_reset(out);
	assert_true(standard_sign(out, &conf, hook));
	return out->data;
}

static void
what_we_sign_verifies(void **state)
{
	struct hook hook = a_hook("");
	struct conf conf = rig_conf();
	struct buf out = {0};

	hook.signature = str_of(signed_by(&out, SHARED, &hook));
	assert_memory_equal(out.data, "v1,", 3);
	assert_int_equal(verify(&conf, &hook), VERDICT_OK);
	conf.standard.webhook_secret = PUBLIC;
	assert_int_equal(verify(&conf, &hook), VERDICT_BAD);
	hook.signature = str_of(signed_by(&out, PRIVATE, &hook));
	assert_memory_equal(out.data, "v1a,", 4);
	assert_int_equal(verify(&conf, &hook), VERDICT_OK);
	conf.standard.webhook_secret = SHARED;
	assert_int_equal(verify(&conf, &hook), VERDICT_BAD);
	/* The other kind may be the one before. */
	conf.standard.old_webhook_secret = PUBLIC;
	assert_int_equal(verify(&conf, &hook), VERDICT_OK);
	buf_release(&out);
}

static void
one_good_signature_is_enough(void **state)
{
	struct conf conf = rig_conf();
	struct hook hook = a_hook("");
	struct buf good = {0};
	struct buf many = {0};
	char *v1 = signed_by(&good, SHARED, &hook);

	for (int i = 0; i < 15; i++)
		buf_printf(&many, "v1,%044d ", i);
	buf_str(&many, v1);
	hook.signature = str_view(&many);
	assert_int_equal(verify(&conf, &hook), VERDICT_OK);
	/* More than anybody needs. */
	buf_str(&many, " v1a,x");
	hook.signature = str_view(&many);
	assert_int_equal(verify(&conf, &hook), VERDICT_BAD);
	buf_reset(&many);
	for (int i = 0; i < 100; i++)
		buf_str(&many, "v9,x ");
	buf_printf(&many, "  %s  ", v1);
	hook.signature = str_view(&many);
	assert_int_equal(verify(&conf, &hook), VERDICT_OK);
	buf_release(&good);
	buf_release(&many);
}

static void
signatures_that_are_none_are_refused(void **state)
{
	static const char *const bad[] = {
	    "",
	    " ",
	    "v1",
	    "v1,",
	    "v1,=",
	    "v1a,",
	    "V1,%s",
	    "v1;%s",
	    "v1, %s",
	    "v1,%s=",
	    "v1,%s\t",
	    "v1a,%s",
	    "v1\t,%s",
	    ",v1,%s",
	};
	struct conf conf = rig_conf();
	struct hook hook = a_hook("");
	struct buf good = {0};
	struct buf header = {0};
	char *v1 = signed_by(&good, SHARED, &hook) + 3;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *at = strstr(bad[i], "%s");

		buf_reset(&header);
		buf_add(&header, bad[i],
		    at ? (size_t)(at - bad[i]) : strlen(bad[i]));
		if (at)
			buf_printf(&header, "%s%s", v1, at + 2);
		hook.signature = str_view(&header);
		assert_int_equal(verify(&conf, &hook), VERDICT_BAD);
	}
	buf_release(&good);
	buf_release(&header);
}

/* Signed rightly, but with an id or a time that is none. */
static void
ids_and_times_have_their_form(void **state)
{
	static const char *const ids[] = {"", "a.b", "a b", "\x7f", "\xc3\xa9"};
	static const char *const times[] = {"", "0", "01796050800", "+1", "-1",
	    "1796050800.0", " 1796050800", "1796050800 ", "1796050800000",
	    "1e9"};
	struct conf conf = rig_conf();
	struct hook hook = a_hook("");
	struct buf id = {0};
	struct buf out = {0};

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		hook.id = str_of(ids[i]);
		rig_sign(&out, &hook);
		hook.signature = str_view(&out);
		assert_int_equal(verify(&conf, &hook), VERDICT_BAD);
	}
	for (int i = 0; i < 255; i++)
		buf_char(&id, 'i');
	hook.id = str_view(&id);
	rig_sign(&out, &hook);
	hook.signature = str_view(&out);
	assert_int_equal(verify(&conf, &hook), VERDICT_OK);
	buf_char(&id, 'i');
	hook.id = str_view(&id);
	rig_sign(&out, &hook);
	hook.signature = str_view(&out);
	assert_int_equal(verify(&conf, &hook), VERDICT_BAD);
	hook.id = str_of(ID);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		hook.timestamp = str_of(times[i]);
		rig_sign(&out, &hook);
		hook.signature = str_view(&out);
		assert_int_equal(verify(&conf, &hook), VERDICT_BAD);
	}
	buf_release(&id);
	buf_release(&out);
}

static void
age_counts_both_ways(void **state)
{
	struct conf conf = rig_conf();
	struct hook hook = a_hook("");
	struct buf out = {0};

	hook.signature = str_of(signed_by(&out, SHARED, &hook));
	for (int age = -302; age <= 302; age++) {
		hook.now = NOW + age;
		assert_int_equal(verify(&conf, &hook),
		    age < -300 || age > 300 ? VERDICT_OLD : VERDICT_OK);
	}
	hook.now = NOW + 30 * 86400;
	hook.tolerance_s = HOOK_ANY_AGE;
	assert_int_equal(verify(&conf, &hook), VERDICT_OK);
	/* A wrong one is wrong at any age. */
	hook.body = str_of("{}");
	assert_int_equal(verify(&conf, &hook), VERDICT_BAD);
	buf_release(&out);
}

static void
a_secret_that_is_none_verifies_nothing(void **state)
{
	static const char *const secrets[] = {
	    "",
	    "whsec_",
	    "whsec_c2hvcnQ=", /* 5 bytes */
	    "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY",
	    "whpk_",
	    PRIVATE,
	};
	struct conf conf = rig_conf();
	struct hook hook = a_hook("");
	struct buf out = {0};
	unsigned char mac[SIGN_SHA256_LEN];
	struct str signed_text = str_of(ID "." TIME "." TEXT);

	/* What an empty key would make of it. */
	sign_hmac_sha256(mac, str_of(""), &signed_text, 1);
	buf_str(&out, "v1,");
	str_base64(&out, mac, sizeof(mac));
	hook.signature = str_view(&out);
	for (size_t i = 0; i < sizeof(secrets) / sizeof(secrets[0]); i++) {
		conf.standard.webhook_secret = (char *)(uintptr_t)secrets[i];
		assert_int_equal(verify(&conf, &hook), VERDICT_BAD);
	}
	buf_release(&out);
}

static void
a_changed_secret_signs_with_both(void **state)
{
	struct conf conf = rig_conf();
	struct conf theirs = rig_conf();
	struct hook hook = a_hook("");
	struct buf out = {0};

	conf.standard.webhook_secret = OTHER;
	conf.standard.old_webhook_secret = SHARED;
	assert_true(standard_sign(&out, &conf, &hook));
	hook.signature = str_view(&out);
	theirs.standard.webhook_secret = OTHER;
	assert_int_equal(verify(&theirs, &hook), VERDICT_OK);
	theirs.standard.webhook_secret = SHARED;
	assert_int_equal(verify(&theirs, &hook), VERDICT_OK);
	/* A secret of the calls' own stands alone. */
	conf.standard.call_secret = PRIVATE;
	buf_reset(&out);
	assert_true(standard_sign(&out, &conf, &hook));
	hook.signature = str_view(&out);
	assert_int_equal(verify(&theirs, &hook), VERDICT_BAD);
	theirs.standard.webhook_secret = PUBLIC;
	assert_int_equal(verify(&theirs, &hook), VERDICT_OK);
	buf_release(&out);
}

static void
what_cannot_sign_does_not(void **state)
{
	struct conf conf = rig_conf();
	struct hook hook = a_hook("");
	struct buf out = {0};

	conf.standard.webhook_secret = PUBLIC;
	assert_false(standard_sign(&out, &conf, &hook));
	conf.standard.webhook_secret = SHARED;
	conf.standard.call_secret = PUBLIC;
	assert_false(standard_sign(&out, &conf, &hook));
	conf.standard.call_secret = "";
	hook.id = str_of("a.b");
	assert_false(standard_sign(&out, &conf, &hook));
	assert_int_equal(out.len, 0);
	buf_release(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_vector_gets_its_verdict),
	    cmocka_unit_test(what_we_sign_verifies),
	    cmocka_unit_test(one_good_signature_is_enough),
	    cmocka_unit_test(signatures_that_are_none_are_refused),
	    cmocka_unit_test(ids_and_times_have_their_form),
	    cmocka_unit_test(age_counts_both_ways),
	    cmocka_unit_test(a_secret_that_is_none_verifies_nothing),
	    cmocka_unit_test(a_changed_secret_signs_with_both),
	    cmocka_unit_test(what_cannot_sign_does_not),
	};

	return cmocka_run_group_tests_name("pay/standard_verify", tests, NULL,
	    NULL);
}
