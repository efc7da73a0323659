/* mail_message.c: what a mail looks like on its way, and what is refused. */
#include "io/mail_message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct mail_sender
sender(const char *text)
{
	struct mail_sender from;

	assert_true(mail_sender_read(&from, text));
	return from;
}

static struct mail_message
message(const char *subject, const char *text)
{
	return (struct mail_message){
	    .name = "paid-7-1796050800000000",
	    .to = str_of("ada@buyer.test"),
	    .subject = str_of(subject),
	    .text = str_of(text),
	    .at = 1796050800,
	};
}

/* The message, written; the caller's to free. */
static char *
written(const char *from, const struct mail_message *mail)
{
	struct mail_sender sent_by = sender(from);
	struct buf out = {0};

	assert_null(mail_message_write(&out, &sent_by, mail));
	return out.data;
}

static void
a_whole_mail(void **state)
{
	struct mail_message mail =
	    message("Order ord_7 is paid", "Thank you.\n\nYours: 1 x Lamp\n");
	char *text = written("Shop <shop@shop.test>", &mail);

	assert_string_equal(text,
	    "From: \"Shop\" <shop@shop.test>\r\n"
	    "To: <ada@buyer.test>\r\n"
	    "Subject: Order ord_7 is paid\r\n"
	    "Date: Mon, 30 Nov 2026 15:00:00 +0000\r\n"
	    "Message-ID: <paid-7-1796050800000000@shop.test>\r\n"
	    "Auto-Submitted: auto-generated\r\n"
	    "MIME-Version: 1.0\r\n"
	    "Content-Type: text/plain; charset=utf-8\r\n"
	    "Content-Transfer-Encoding: quoted-printable\r\n"
	    "\r\n"
	    "Thank you.\r\n\r\nYours: 1 x Lamp\r\n");
	free(text);
}

/* What stands below the headers. */
static void
body_is(const char *text, const char *expected)
{
	struct mail_message mail = message("x", text);
	char *all = written("shop@shop.test", &mail);

	assert_string_equal(strstr(all, "\r\n\r\n") + 4, expected);
	free(all);
}

static void
text_is_quoted(void **state)
{
	body_is("", "");
	body_is("no end", "no end\r\n");
	body_is("a=b\r\nc\n", "a=3Db\r\nc\r\n");
	body_is("Sch\xc3\xb6n \n\ttab\n", "Sch=C3=B6n=20\r\n=09tab\r\n");
	body_is(".\n..two\n", ".\r\n..two\r\n");
	/* A lone CR, which some servers take for the end of a line. */
	body_is("a\rb\n", "a=0Db\r\n");
}

static void
lines_are_short(void **state)
{
	char text[2001];
	struct mail_message mail;
	char *all, *line;
	size_t count = 0;

	memset(text, 'x', 2000);
	memcpy(text + 70, "\xc3\xb6\xc3\xb6\xc3\xb6", 6);
	text[2000] = '\0';
	mail = message("x", text);
	all = written("shop@shop.test", &mail);
	line = strstr(all, "\r\n\r\n") + 4;
	while (*line) {
		char *end = strstr(line, "\r\n");

		assert_non_null(end);
		assert_true(end - line <= 76);
		count++;
		line = end + 2;
	}
	assert_in_range(count, 27, 28);
	free(all);
}

/* The subject's header of this subject. */
static void
subject_is(const char *subject, const char *expected)
{
	struct mail_message mail = message(subject, "x\n");
	char *all = written("shop@shop.test", &mail);
	char *at = strstr(all, "\r\nSubject: ");
	char *end = strstr(all, "\r\nDate: ");

	assert_non_null(at);
	assert_non_null(end);
	*end = '\0';
	assert_string_equal(at + 11, expected);
	free(all);
}

static void
subjects_are_encoded(void **state)
{
	subject_is("Plain, with $ and {}", "Plain, with $ and {}");
	subject_is("F\xc3\xbcr Sie?", "=?utf-8?Q?F=C3=BCr_Sie=3F?=");
	subject_is("=?utf-8?Q?no?=",
	    "=?utf-8?Q?=3D=3Futf=2D8=3FQ=3Fno=3F=3D?=");
	/* No character is parted. */
	subject_is("12345678901234567890123456789012345678901234567890123456789"
		   "01\xe2\x82\xac\xe2\x82\xac",
	    "=?utf-8?Q?12345678901234567890123456789012345678901234567890123456"
	    "78901?=\r\n =?utf-8?Q?=E2=82=AC=E2=82=AC?=");
}

static void
a_long_subject_is_folded(void **state)
{
	char text[301];
	struct mail_message mail;
	char *all, *line;

	memset(text, 's', 300);
	text[300] = '\0';
	mail = message(text, "x\n");
	all = written("shop@shop.test", &mail);
	line = strstr(all, "Subject: ");
	*strstr(line, "\r\nDate") = '\0';
	for (line = strtok(line, "\r\n"); line; line = strtok(NULL, "\r\n"))
		assert_true(strlen(line) <= 9 + 75);
	free(all);
}

static void
from_is(const char *from, const char *expected)
{
	struct mail_message mail = message("x", "x\n");
	char *all = written(from, &mail);

	*strstr(all, "\r\n") = '\0';
	assert_string_equal(all, expected);
	free(all);
}

static void
senders_are_read(void **state)
{
	struct mail_sender from;

	from_is("shop@shop.test", "From: <shop@shop.test>");
	from_is(" <shop@shop.test> ", "From: <shop@shop.test>");
	from_is("The \\ Shop<s@s.t>", "From: \"The \\\\ Shop\" <s@s.t>");
	from_is("\"Shop, Ltd.\" <s@s.t>", "From: \"Shop, Ltd.\" <s@s.t>");
	from_is("L\xc3\xa4"
		"den <s@s.t>",
	    "From: =?utf-8?Q?L=C3=A4den?= <s@s.t>");
	assert_false(mail_sender_read(&from, ""));
	assert_false(mail_sender_read(&from, "Shop"));
	assert_false(mail_sender_read(&from, "Shop <s@s.t"));
	assert_false(mail_sender_read(&from, "Shop <s@s.t> x"));
	assert_false(mail_sender_read(&from, "<>"));
	assert_false(mail_sender_read(&from, "Sh\r\nop <s@s.t>"));
	assert_false(mail_sender_read(&from, "a@b.c, d@e.f"));
	assert_false(mail_sender_read(&from, "Sh\xff <s@s.t>"));
}

static void
addresses_are_checked(void **state)
{
	static const char *const good[] = {"a@b", "ada.l+x@buyer.test",
	    "o'neil@buyer.test", "\xc3\xa4@b\xc3\xbcyer.test"};
	static const char *const bad[] = {"", "a", "@b", "a@", "a@@b", "a@b@c",
	    "a b@c", "a@b,c@d", "a@b;c", "<a@b>", "a@b>", "\"a\"@b", "a@[::1]",
	    "a@b\r\nBcc:c@d", "a@b\n", "a\t@b", "(x)a@b", "a\x7f@b", "a@b\xff",
	    "a:b@c", "a\\@b"};
	char longest[256];

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(mail_is_address(str_of(good[i])));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(mail_is_address(str_of(bad[i])));
	assert_false(mail_is_address((struct str){"a@b\0c", 5}));
	memset(longest, 'a', 255);
	longest[1] = '@';
	longest[254] = '\0';
	assert_true(mail_is_address(str_of(longest)));
	longest[254] = 'a';
	longest[255] = '\0';
	assert_false(mail_is_address(str_of(longest)));
}

/* No header can be begun from outside. */
static void
what_would_be_a_header_is_refused(void **state)
{
	struct mail_sender from = sender("shop@shop.test");
	struct mail_message mail = message("x\r\nBcc: c@d.test", "x\n");
	struct buf out = {0};

	assert_non_null(mail_message_write(&out, &from, &mail));
	mail = message("x\ny", "x\n");
	assert_non_null(mail_message_write(&out, &from, &mail));
	mail.subject = (struct str){"x\0y", 3};
	assert_non_null(mail_message_write(&out, &from, &mail));
	mail = message("", "x\n");
	assert_non_null(mail_message_write(&out, &from, &mail));
	mail = message("x\xff", "x\n");
	assert_non_null(mail_message_write(&out, &from, &mail));
	mail = message("x", "x\n");
	mail.to = str_of("a@b.test\r\nBcc: c@d.test");
	assert_non_null(mail_message_write(&out, &from, &mail));
	mail = message("x", "x\n");
	mail.name = "../up";
	assert_non_null(mail_message_write(&out, &from, &mail));
	mail.name = "";
	assert_non_null(mail_message_write(&out, &from, &mail));
	from.name = str_of("a\nb");
	mail = message("x", "x\n");
	assert_non_null(mail_message_write(&out, &from, &mail));
	/* Nothing was begun. */
	assert_int_equal(out.len, 0);
	buf_release(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_whole_mail),
	    cmocka_unit_test(text_is_quoted),
	    cmocka_unit_test(lines_are_short),
	    cmocka_unit_test(subjects_are_encoded),
	    cmocka_unit_test(a_long_subject_is_folded),
	    cmocka_unit_test(senders_are_read),
	    cmocka_unit_test(addresses_are_checked),
	    cmocka_unit_test(what_would_be_a_header_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
