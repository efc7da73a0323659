/* base/conf: file, environment, and what stops the start. */
#include "base/conf.h"
#include "base/setting.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WHOLE \
	"[server]\npublic_url = https://shop.example\n" \
	"[buyer]\nsecret = 0123456789abcdef0123456789abcdef\n" \
	"[stripe]\nopen_key = rk_test_a\nrefund_key = rk_test_b\n" \
	"webhook_secret = whsec_c\n"

static char path[] = "/tmp/lastpair-conf-test-XXXXXX";
static struct conf conf;

static int
file_make(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int
file_remove(void **state)
{
	(void)state;
	return unlink(path);
}

static void
file_write(const char *bytes, size_t n)
{
	FILE *stream = fopen(path, "we");

	assert_non_null(stream);
	assert_int_equal(fwrite(bytes, 1, n, stream), n);
	assert_int_equal(fclose(stream), 0);
}

static void
assert_read(const char *text)
{
	const char *why;

	file_write(text, strlen(text));
	why = conf_read(&conf, path);
	if (why)
		fail_msg("%s", why);
}

static void
assert_refused(const char *text, const char *part)
{
	const char *why;

	file_write(text, strlen(text));
	why = conf_read(&conf, path);
	if (!why)
		fail_msg("taken: %s", text);
	else if (!strstr(why, part))
		fail_msg("no \"%s\" in: %s", part, why);
	else /* A secret never shows in a complaint. */
		assert_null(strstr(why, "hush"));
	conf_release(&conf);
}

static void
defaults_fill_what_the_file_leaves_out(void **state)
{
	(void)state;
	assert_read(WHOLE);
	assert_string_equal(conf.server.public_url, "https://shop.example");
	assert_int_equal(conf.server.workers, 2);
	assert_int_equal(conf.server.threads, 2);
	assert_int_equal(conf.server.batch_max, 128);
	assert_int_equal(conf.server.hold_wait_ms, 3000);
	assert_int_equal(conf.server.lock_timeout_ms, 2000);
	assert_int_equal(conf.stripe.opens_per_second, 20);
	assert_string_equal(conf.stripe.api_base, "https://api.stripe.com");
	assert_string_equal(conf.stripe.old_webhook_secret, "");
	assert_string_equal(conf.sandbox.pay_url, "");
	assert_false(conf.stripe.livemode);
	assert_true(str_is(conf_secrets(&conf).now,
	    "0123456789abcdef0123456789abcdef"));
	assert_int_equal(conf_secrets(&conf).old.len, 0);
	conf_release(&conf);
	conf_release(&conf);
}

static void
keys_that_are_unknown_stop_the_start(void **state)
{
	(void)state;
	assert_refused(WHOLE "[server]\nwrokers = 2\n", "server.wrokers is no");
	assert_refused(WHOLE "[servers]\nworkers = 2\n",
	    "servers.workers is no");
	assert_refused("workers = 2\n" WHOLE, ".workers is no setting");
	assert_refused(WHOLE "rubbish\n", "line 9 of ");
	assert_refused(WHOLE "[server\nworkers = 2\n", "line 9 of ");
	assert_refused(WHOLE "[server] 2\nworkers = 2\n", "line 9 of ");
	assert_refused(WHOLE "two words\n", "line 9 of ");
	assert_refused(WHOLE "[server]\nworkers = 2\nworkers = 3\n",
	    "server.workers is set again in line 11");
	assert_refused(WHOLE "webhook_secret_file = /x\n", "is set again");
}

static void
numbers_out_of_range_stop_the_start(void **state)
{
	static const char *const bad[] = {"0", "17", "-1", "", "two", "2x",
	    "1.0", "99999999999999999999", "2 ; two"};
	char text[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "%s[server]\nworkers = %s\n",
		    WHOLE, bad[i]);
		assert_refused(text, "server.workers ");
	}
	assert_refused(WHOLE "[server]\nthreads = 17\n",
	    "server.threads must be a whole number from 1 to 16");
	assert_refused(WHOLE "[server]\nthreads = 0\n", "server.threads must");
	assert_refused(WHOLE "[server]\nbatch_max = 0\n",
	    "server.batch_max must be a whole number from 1 to 1000");
	assert_refused(WHOLE "[server]\nbatch_max = 1001\n",
	    "server.batch_max must");
	assert_refused(WHOLE "[server]\nhold_wait_ms = 99\n",
	    "server.hold_wait_ms must be a whole number from 100 to 10000");
	assert_refused(WHOLE "[server]\nhold_wait_ms = 10001\n",
	    "server.hold_wait_ms must");
	assert_refused(WHOLE "timeout_ms = 999\n",
	    "stripe.timeout_ms must be a whole number from 1000 to 120000");
}

static void
numbers_at_both_ends_are_taken(void **state)
{
	(void)state;
	assert_read(WHOLE "[server]\nworkers = 16\nthreads = 16\n"
			  "batch_max = 1000\nhold_wait_ms = 10000\n");
	assert_int_equal(conf.server.workers, 16);
	assert_int_equal(conf.server.threads, 16);
	assert_int_equal(conf.server.batch_max, 1000);
	assert_int_equal(conf.server.hold_wait_ms, 10000);
	conf_release(&conf);
	assert_read(WHOLE "[server]\nworkers = 1\nthreads = 1\n"
			  "batch_max = 1\nhold_wait_ms = 100\n");
	assert_int_equal(conf.server.workers, 1);
	assert_int_equal(conf.server.threads, 1);
	assert_int_equal(conf.server.batch_max, 1);
	assert_int_equal(conf.server.hold_wait_ms, 100);
	conf_release(&conf);
}

static void
missing_secrets_stop_the_start(void **state)
{
	static const char *const keys[][2] = {
	    {"secret = 0", "buyer.secret is missing: "},
	    {"open_key", "stripe.open_key is missing: "},
	    {"refund_key", "stripe.refund_key is missing: "},
	    {"webhook_secret", "stripe.webhook_secret is missing: "},
	    {"public_url", "server.public_url is missing: "},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		char text[] = WHOLE;
		char *at = strstr(text, keys[i][0]);

		assert_non_null(at);
		/* Absent, as a comment. */
		*at = '#';
		assert_refused(text, keys[i][1]);
		/* Present and empty. */
		*at = keys[i][0][0];
		at = strchr(at, '=') + 1;
		memset(at, ' ', strcspn(at, "\n"));
		assert_refused(text, keys[i][1]);
	}
	assert_refused(WHOLE "[database]\nurl =\n", "database.url is missing");
	assert_refused("[buyer]\nsecret = hush\n", "buyer.secret is too short");
}

static void
addresses_are_checked(void **state)
{
	static const char *const bad[] = {"https://shop.example/",
	    "shop.example", "ftp://shop.example", "https://",
	    "https://shop.example/x", "https://shop example", "https://a'b",
	    "https://a;b", "https://a?b"};
	char text[1024];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "[server]\npublic_url = %s\n",
		    bad[i]);
		assert_refused(text, "server.public_url must be http");
	}
	assert_read(WHOLE "[sandbox]\npay_url = http://127.0.0.1:8081\n"
			  "hook_url = http://127.0.0.1:8080/pay-callback\n");
	conf_release(&conf);
	assert_refused(WHOLE "[sandbox]\nhook_url = /x\n",
	    "sandbox.hook_url must be");
}

static void
both_keys_are_of_one_mode(void **state)
{
	(void)state;
	assert_read("[server]\npublic_url=https://a\n[buyer]\n"
		    "secret=0123456789abcdef0123456789abcdef\n"
		    "[stripe]\nopen_key=rk_live_a\nrefund_key=sk_live_b\n"
		    "webhook_secret=w\n");
	assert_true(conf.stripe.livemode);
	conf_release(&conf);
	assert_refused("[server]\npublic_url=https://a\n[buyer]\n"
		       "secret=0123456789abcdef0123456789abcdef\n"
		       "[stripe]\nopen_key=rk_live_a\nrefund_key=rk_test_b\n"
		       "webhook_secret=w\n",
	    "stripe.refund_key does not go with");
}

static void
values_are_whole_or_refused(void **state)
{
	char text[1024];
	char filler[301];

	(void)state;
	assert_read(WHOLE "old_webhook_secret = a;b#c = d: \"e\"  \r\n");
	assert_string_equal(conf.stripe.old_webhook_secret, "a;b#c = d: \"e\"");
	conf_release(&conf);
	assert_read(WHOLE "old_webhook_secret = #x # y\n");
	assert_string_equal(conf.stripe.old_webhook_secret, "#x # y");
	conf_release(&conf);
	assert_refused(WHOLE "old_webhook_secret = a ;b\n",
	    "stripe.old_webhook_secret is cut at \" ;\" in line 9");
	assert_refused(WHOLE "old_webhook_secret = ;b\n",
	    "stripe.old_webhook_secret is cut");
	assert_refused(WHOLE "old_webhook_secret = a\n  b\n", "line 10 of ");
	memset(filler, 'x', 300);
	filler[300] = '\0';
	snprintf(text, sizeof(text), "%sold_webhook_secret = %s\n", WHOLE,
	    filler);
	assert_refused(text, "is too long");
	snprintf(text, sizeof(text), "# %s\n%s", filler, WHOLE);
	assert_read(text);
	conf_release(&conf);
}

static void
every_length_of_line_is_whole_or_refused(void **state)
{
	char filler[260];
	char text[1024];
	size_t taken = 0;

	(void)state;
	for (size_t len = 1; len < sizeof(filler); len++) {
		memset(filler, 'x', len);
		filler[len] = '\0';
		snprintf(text, sizeof(text), "%sold_webhook_secret=%s\n", WHOLE,
		    filler);
		file_write(text, strlen(text));
		if (!conf_read(&conf, path)) {
			assert_string_equal(conf.stripe.old_webhook_secret,
			    filler);
			taken = len;
		}
		conf_release(&conf);
	}
	assert_true(taken >= 128);
}

static void
nul_is_refused(void **state)
{
	static const char text[] = "[stripe]\nopen_key = a\0b\n";

	(void)state;
	file_write(text, sizeof(text) - 1);
	assert_non_null(strstr(conf_read(&conf, path), "line 2 of "));
	conf_release(&conf);
}

static void
environment_goes_before_the_file(void **state)
{
	char long_url[401];

	(void)state;
	memset(long_url, 'x', 400);
	long_url[400] = '\0';
	assert_int_equal(setenv("LASTPAIR_SERVER_WORKERS", "7", 1), 0);
	assert_int_equal(setenv("LASTPAIR_DATABASE_URL", long_url, 1), 0);
	assert_int_equal(setenv("LASTPAIR_OTHER_THING", "x", 1), 0);
	assert_read(WHOLE "[server]\nworkers = 3\n");
	assert_int_equal(conf.server.workers, 7);
	assert_string_equal(conf.database.url, long_url);
	conf_release(&conf);
	assert_int_equal(setenv("LASTPAIR_SERVER_WORKERS", "700", 1), 0);
	assert_refused(WHOLE, "server.workers must be");
	(void)unsetenv("LASTPAIR_SERVER_WORKERS");
	(void)unsetenv("LASTPAIR_DATABASE_URL");
	(void)unsetenv("LASTPAIR_OTHER_THING");
}

static void
unknown_variables_of_our_sections_stop_the_start(void **state)
{
	static const char *const bad[] = {"LASTPAIR_SERVER_WROKERS",
	    "LASTPAIR_SERVER_", "LASTPAIR_SERVER_WORKERSX",
	    "LASTPAIR_SERVER_WORKERS_FILES", "LASTPAIR_STRIPE_open_key"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(setenv(bad[i], "2", 1), 0);
		assert_refused(WHOLE, bad[i]);
		(void)unsetenv(bad[i]);
	}
}

static void
a_value_may_lie_in_a_file(void **state)
{
	char secret[] = "/tmp/lastpair-conf-secret-XXXXXX";
	char text[1024];
	char value[301];
	int fd = mkstemp(secret);

	(void)state;
	assert_true(fd >= 0);
	memset(value, ';', 299);
	memcpy(value + 299, "\n", 2);
	assert_int_equal(write(fd, value, 300), 300);
	assert_int_equal(close(fd), 0);
	value[299] = '\0';
	snprintf(text, sizeof(text), "%sold_webhook_secret_file = %s\n", WHOLE,
	    secret);
	assert_read(text);
	assert_string_equal(conf.stripe.old_webhook_secret, value);
	conf_release(&conf);
	assert_int_equal(setenv("LASTPAIR_STRIPE_OPEN_KEY_FILE", secret, 1), 0);
	assert_read(WHOLE);
	assert_string_equal(conf.stripe.open_key, value);
	conf_release(&conf);
	assert_int_equal(setenv("LASTPAIR_STRIPE_OPEN_KEY", "x", 1), 0);
	assert_refused(WHOLE, "stripe.open_key is set twice");
	(void)unsetenv("LASTPAIR_STRIPE_OPEN_KEY");
	(void)unsetenv("LASTPAIR_STRIPE_OPEN_KEY_FILE");
	assert_int_equal(unlink(secret), 0);
	assert_refused(text, "stripe.old_webhook_secret_file: cannot read ");
}

/* No matter whether it is a secret: mail.smtp_url holds a password, too. */
static void
every_value_may_lie_in_a_file(void **state)
{
	const struct setting *setting;
	char text[256], why[256];

	(void)state;
	for (size_t i = 0; (setting = setting_at(i)); i++) {
		snprintf(text, sizeof(text), "[%s]\n%s_file = /nonexistent/x\n",
		    setting_section(setting), setting_key(setting));
		snprintf(why, sizeof(why),
		    "%s.%s_file: cannot read "
		    "/nonexistent/x",
		    setting_section(setting), setting_key(setting));
		assert_refused(text, why);
	}
}

/* As when the secret itself stands where its file should. */
static void
what_is_no_path_is_not_repeated(void **state)
{
	(void)state;
	assert_refused(WHOLE "[mail]\nsmtp_url_file = smtp://a:hush@b\n",
	    "mail.smtp_url_file: cannot read what it names: No such file");
}

static void
control_characters_are_refused(void **state)
{
	(void)state;
	assert_int_equal(setenv("LASTPAIR_STRIPE_OPEN_KEY",
			     "rk_test_a\r\nX-Evil: 1", 1),
	    0);
	assert_refused(WHOLE, "stripe.open_key must not hold control");
	(void)unsetenv("LASTPAIR_STRIPE_OPEN_KEY");
}

static void
a_file_that_cannot_be_read_stops_the_start(void **state)
{
	(void)state;
	assert_non_null(strstr(conf_read(&conf, "/nonexistent/x.conf"),
	    "cannot read /nonexistent/x.conf"));
	conf_release(&conf);
	assert_non_null(strstr(conf_read(&conf, "/tmp"), "cannot read /tmp"));
	conf_release(&conf);
}

static void
the_described_file_is_read_and_asks_for_the_rest(void **state)
{
	struct buf text = {0};

	(void)state;
	conf_describe(&text);
	assert_non_null(strstr(text.data, "smtp_url_file\nsmtp_url ="));
	assert_refused(text.data, "server.public_url is missing");
	assert_int_equal(setenv("LASTPAIR_SERVER_PUBLIC_URL", "http://a", 1),
	    0);
	assert_refused(text.data, "buyer.secret is missing");
	(void)unsetenv("LASTPAIR_SERVER_PUBLIC_URL");
	for (const char *line = text.data; *line;) {
		size_t len = strcspn(line, "\n");

		assert_in_range(len, 0, 80);
		line += len + 1;
	}
	buf_release(&text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(defaults_fill_what_the_file_leaves_out),
	    cmocka_unit_test(keys_that_are_unknown_stop_the_start),
	    cmocka_unit_test(numbers_out_of_range_stop_the_start),
	    cmocka_unit_test(numbers_at_both_ends_are_taken),
	    cmocka_unit_test(missing_secrets_stop_the_start),
	    cmocka_unit_test(addresses_are_checked),
	    cmocka_unit_test(both_keys_are_of_one_mode),
	    cmocka_unit_test(values_are_whole_or_refused),
	    cmocka_unit_test(every_length_of_line_is_whole_or_refused),
	    cmocka_unit_test(nul_is_refused),
	    cmocka_unit_test(environment_goes_before_the_file),
	    cmocka_unit_test(unknown_variables_of_our_sections_stop_the_start),
	    cmocka_unit_test(a_value_may_lie_in_a_file),
	    cmocka_unit_test(every_value_may_lie_in_a_file),
	    cmocka_unit_test(what_is_no_path_is_not_repeated),
	    cmocka_unit_test(control_characters_are_refused),
	    cmocka_unit_test(a_file_that_cannot_be_read_stops_the_start),
	    cmocka_unit_test(the_described_file_is_read_and_asks_for_the_rest),
	};

	return cmocka_run_group_tests_name("base/conf", tests, file_make,
	    file_remove);
}
