/* mail.c: a folder, and a mail server that takes, refuses, or goes away. */
#include "io/mail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "io/smtp_server.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/stat.h>

static char url[128];
static char folder[64];
static struct conf conf;
static struct mail_news news;

static const struct smtp_answer usual[] = {{NULL, NULL}};

static int
setup(void **state)
{
	snprintf(folder, sizeof(folder), "/tmp/mail-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	memset(&conf, 0, sizeof(conf));
	conf.mail.smtp_url = url;
	conf.mail.folder = "";
	conf.mail.from = "Shop <shop@shop.test>";
	conf.mail.operator= "";
	url[0] = '\0';
	return 0;
}

static int
teardown(void **state)
{
	return rmdir(folder);
}

static struct mail_message
message(void)
{
	return (struct mail_message){
	    .name = "paid-7",
	    .to = str_of("ada@buyer.test"),
	    .subject = str_of("Hello"),
	    .text = str_of("One\n.two\n.\n"),
	    .at = 1796050800,
	};
}

/* Sends it so often over one handle to a server; the last result. */
static enum mail_result
sent_to(struct smtp_server *server, const char *format, int times,
    const struct smtp_answer *answers)
{
	enum mail_result result = MAIL_LATER;
	struct mail_message mail = message();
	struct mail *out;

	smtp_start(server, strstr(format, ".2:") ? "127.0.0.2" : "127.0.0.1",
	    answers);
	snprintf(url, sizeof(url), "smtp://%s%d", format, server->port);
	assert_null(mail_check(&conf));
	out = mail_open(&conf);
	assert_true(mail_is_set_up(out));
	while (times-- > 0)
		result = mail_send(out, &mail, &news);
	mail_close(out);
	smtp_stop(server);
	return result;
}

static void
a_server_takes_mails(void **state)
{
	struct smtp_server server;

	assert_int_equal(sent_to(&server, "127.0.0.1:", 2, usual), MAIL_SENT);
	assert_string_equal(news.why, "");
	/* Over one connection. */
	assert_int_equal(server.connections, 1);
	assert_non_null(
	    strstr(buf_text(&server.said), "MAIL FROM:<shop@shop.test> SIZE="));
	assert_non_null(
	    strstr(buf_text(&server.said), "RCPT TO:<ada@buyer.test>\r\n"));
	assert_non_null(strstr(buf_text(&server.messages),
	    "Message-ID: <paid-7@shop.test>\r\n"));
	/* A dot that begins a line is doubled, by the protocol. */
	assert_non_null(strstr(buf_text(&server.messages),
	    "\r\n\r\nOne\r\n..two\r\n..\r\n"));
	smtp_release(&server);
}

static void
refused(const char *verb, const char *text, enum mail_result result, bool away)
{
	const struct smtp_answer answers[] = {{verb, text}, {NULL, NULL}};
	struct smtp_server server;

	assert_int_equal(sent_to(&server, "127.0.0.1:", 1, answers), result);
	assert_int_equal(news.away, away);
	assert_true(news.why[0]);
	assert_null(strchr(news.why, '@'));
	smtp_release(&server);
}

static void
a_no_to_this_mail_is_final(void **state)
{
	refused("RCPT", "550 no ada@buyer.test here", MAIL_REFUSED, false);
	assert_string_equal(news.why, "status 550 to RCPT");
	assert_string_equal(news.reply, "550 no ada@buyer.test here");
	refused(".", "554 we do not want that", MAIL_REFUSED, false);
	assert_string_equal(news.why, "status 554 to DATA");
	assert_string_equal(news.reply, "554 we do not want that");
}

static void
a_not_now_is_tried_again(void **state)
{
	refused("RCPT", "450 come back", MAIL_LATER, false);
	assert_string_equal(news.reply, "450 come back");
	refused(".", "451 come back", MAIL_LATER, false);
	refused("RCPT", NULL, MAIL_LATER, false);
	refused(".", NULL, MAIL_LATER, false);
}

static void
what_our_settings_bring_about_is_tried_again(void **state)
{
	refused("", "554 not you", MAIL_LATER, true);
	refused("EHLO", NULL, MAIL_LATER, true);
	refused("MAIL", "530 who are you", MAIL_LATER, true);
	assert_string_equal(news.why, "status 530 to MAIL");
}

static void
a_password_is_told_to_the_server_alone(void **state)
{
	static const struct smtp_answer yes[] = {{"AUTH", "334 "},
	    {"AGFu", "235 welcome"}, {NULL, NULL}};
	static const struct smtp_answer no[] = {{"AUTH", "535 no"},
	    {NULL, NULL}};
	struct smtp_server server;

	assert_int_equal(sent_to(&server, "ann:s3cr%25t@127.0.0.1:", 1, yes),
	    MAIL_SENT);
	/* \0ann\0s3cr%t */
	assert_non_null(strstr(buf_text(&server.said), "AGFubgBzM2NyJXQ="));
	smtp_release(&server);
	assert_int_equal(sent_to(&server, "ann:s3cr%25t@127.0.0.1:", 1, no),
	    MAIL_LATER);
	assert_true(news.away);
	assert_null(strstr(news.why, "s3cr"));
	assert_null(strstr(news.reply, "s3cr"));
	smtp_release(&server);
}

/* Anything but this machine is asked for TLS before any name is said. */
static void
nothing_is_said_to_others_in_the_open(void **state)
{
	struct smtp_server server;

	assert_int_equal(sent_to(&server, "ann:pw@127.0.0.2:", 1, usual),
	    MAIL_LATER);
	assert_true(news.away);
	assert_null(strstr(buf_text(&server.said), "AUTH"));
	assert_null(strstr(buf_text(&server.said), "MAIL"));
	smtp_release(&server);
}

static void
nobody_there(void **state)
{
	struct smtp_server server;
	struct mail_message mail = message();
	struct mail *out;

	/* A port that was in use a moment ago. */
	smtp_start(&server, "127.0.0.1", usual);
	smtp_stop(&server);
	snprintf(url, sizeof(url), "smtp://127.0.0.1:%d", server.port);
	out = mail_open(&conf);
	assert_int_equal(mail_send(out, &mail, &news), MAIL_LATER);
	assert_true(news.away);
	assert_true(news.why[0]);
	mail_close(out);
	smtp_release(&server);
}

/* The only file of the folder; its content is the caller's. */
static char *
only_file(const char *name)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	struct buf path = {0};
	char *text = calloc(1, 4096);
	FILE *file;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		assert_true(strcmp(entry->d_name, name) == 0 ||
		    strspn(entry->d_name, ".") == strlen(entry->d_name));
	closedir(dir);
	buf_printf(&path, "%s/%s", folder, name);
	file = fopen(buf_text(&path), "re");
	assert_non_null(file);
	assert_true(fread(text, 1, 4095, file) > 0);
	fclose(file);
	assert_int_equal(unlink(buf_text(&path)), 0);
	buf_release(&path);
	return text;
}

static void
a_folder_takes_mails(void **state)
{
	struct mail_message mail = message();
	struct mail *out;
	char *text;

	conf.mail.folder = folder;
	assert_null(mail_check(&conf));
	out = mail_open(&conf);
	assert_true(mail_is_set_up(out));
	/* Again: the same file. */
	assert_int_equal(mail_send(out, &mail, &news), MAIL_SENT);
	assert_int_equal(mail_send(out, &mail, &news), MAIL_SENT);
	text = only_file("paid-7.eml");
	assert_non_null(strstr(text, "\r\n\r\nOne\r\n.two\r\n.\r\n"));
	free(text);
	mail_close(out);
}

static void
a_folder_that_is_gone_is_tried_again(void **state)
{
	struct mail_message mail = message();
	struct mail *out;

	conf.mail.folder = "/nowhere/mail";
	assert_null(mail_check(&conf));
	out = mail_open(&conf);
	assert_int_equal(mail_send(out, &mail, &news), MAIL_LATER);
	assert_true(news.away);
	assert_string_equal(news.why, "mail.folder: No such file or directory");
	mail_close(out);
}

static void
what_is_no_mail_is_refused(void **state)
{
	struct mail_message mail = message();
	struct mail *out;

	conf.mail.folder = folder;
	mail.to = str_of("a@b.test\r\nBcc: c@d.test");
	out = mail_open(&conf);
	assert_int_equal(mail_send(out, &mail, &news), MAIL_REFUSED);
	assert_string_equal(news.why, "the address is no mail address");
	mail_close(out);
}

static void
settings_are_checked(void **state)
{
	struct mail *out;

	conf.mail.from = "";
	assert_null(mail_check(&conf));
	out = mail_open(&conf);
	assert_false(mail_is_set_up(out));
	mail_close(out);
	conf.mail.folder = folder;
	assert_non_null(strstr(mail_check(&conf), "mail.from"));
	conf.mail.from = "shop@shop.test";
	conf.mail.operator= "Ann <ann@shop.test>";
	assert_non_null(strstr(mail_check(&conf), "mail.operator"));
	conf.mail.operator= "ann@shop.test";
	assert_null(mail_check(&conf));
	conf.mail.folder = "";
	snprintf(url, sizeof(url), "http://mail.test");
	assert_non_null(strstr(mail_check(&conf), "mail.smtp_url"));
	snprintf(url, sizeof(url), "smtp://");
	assert_non_null(strstr(mail_check(&conf), "mail.smtp_url"));
	snprintf(url, sizeof(url), "smtps://a:b@mail.test:465");
	assert_null(mail_check(&conf));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(a_server_takes_mails),
	    TEST(a_no_to_this_mail_is_final),
	    TEST(a_not_now_is_tried_again),
	    TEST(what_our_settings_bring_about_is_tried_again),
	    TEST(a_password_is_told_to_the_server_alone),
	    TEST(nothing_is_said_to_others_in_the_open),
	    TEST(nobody_there),
	    TEST(a_folder_takes_mails),
	    TEST(a_folder_that_is_gone_is_tried_again),
	    TEST(what_is_no_mail_is_refused),
	    TEST(settings_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
