/* letter.c with the real templates: what each mail says, and to whom. */
#include "mail/letter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHOP "https://shop.test"
#define HOLD "hld_0000000000000000000007"

static struct letters letters;
static struct letter letter;

static int
load(void **state)
{
	const char *why = letters_load(&letters, ".");

	if (why)
		print_error("%s\n", why);
	return why ? -1 : 0;
}

static int
unload(void **state)
{
	letters_release(&letters);
	letter_release(&letter);
	return 0;
}

static bool
write_letter(const char *kind, const char *json)
{
	struct document document;
	struct letter_facts facts = {kind, &document, SHOP};
	bool ok;

	assert_true(document_read(&document, str_of(json)));
	ok = letter_write(&letter, &letters, &facts);
	document_release(&document);
	return ok;
}

/* A mail to a buyer; refund as JSON. */
static void
to_buyer(const char *kind, const char *order_state, const char *refund)
{
	char json[1024];

	snprintf(json, sizeof(json),
	    "{\"mail\":\"m-1\",\"order\":\"ord_7\",\"hold\":\"" HOLD "\","
	    "\"state\":\"%s\",\"lines\":[{\"title\":\"Lamp & <b>\",\"qty\":1},"
	    "{\"title\":\"Shade\",\"qty\":20}],"
	    "\"price\":{\"amount\":12900,\"currency\":\"EUR\"},\"late\":null,"
	    "\"refund\":%s,\"task\":null}",
	    order_state, refund);
	assert_true(write_letter(kind, json));
	assert_null(strstr(buf_text(&letter.text), "{{"));
	assert_null(strstr(buf_text(&letter.text), "Subject:"));
	assert_non_null(strstr(buf_text(&letter.text),
	    "\n    1 x Lamp & <b>\n    20 x Shade\n"));
	assert_non_null(strstr(buf_text(&letter.text), "129.00 EUR\n"));
	assert_non_null(strstr(buf_text(&letter.subject), "ord_7"));
	assert_non_null(strstr(buf_text(&letter.text), SHOP));
}

#define SAYS(words) assert_non_null(strstr(buf_text(&letter.text), words))
#define SAYS_NOT(words) assert_null(strstr(buf_text(&letter.text), words))
#define LINK SHOP "/order/" HOLD "\n"

static void
orders_and_payments(void **state)
{
	to_buyer("paid", "paid", "null");
	assert_string_equal(buf_text(&letter.subject), "Order ord_7 is paid");
	assert_memory_equal(letter.text.data, "Thank you.", 10);
	SAYS(LINK);
	to_buyer("paid_late", "paid", "null");
	SAYS("after the time for it was over");
	SAYS(LINK);
	to_buyer("pending", "held", "null");
	SAYS("do not pay again");
	SAYS(LINK);
	to_buyer("payment_failed", "released", "null");
	SAYS("did not succeed");
	SAYS("buy it again");
}

static void
refund(const char *kind, const char *order_state, const char *reason)
{
	char json[256];

	snprintf(json, sizeof(json),
	    "{\"state\":\"owed\",\"reason\":\"%s\",\"amount\":5000,"
	    "\"currency\":\"EUR\"}",
	    reason);
	to_buyer(kind, order_state, json);
	assert_non_null(strstr(buf_text(&letter.subject), "50.00 EUR"));
	SAYS("50.00 EUR");
	SAYS(LINK);
}

static void
money_that_goes_back(void **state)
{
	refund("refund_owed", "released", "paid_late");
	SAYS("was left for you");
	SAYS("Your order is closed");
	refund("refunded", "paid", "paid_twice");
	SAYS("paid twice");
	SAYS("Your order itself stays");
	refund("refunded", "released", "asked_for");
	SAYS("as asked for");
	SAYS("Your order is closed");
	refund("refunded", "paid", "at_provider");
	SAYS("We give you money back");
	SAYS_NOT("asked");
	refund("refund_failed", "released", "paid_late");
	SAYS("your bank did not take it");
	SAYS("was left for you");
}

static void
to_operator(const char *kind, const char *order, const char *subject)
{
	char json[1024];

	snprintf(json, sizeof(json),
	    "{\"mail\":\"m-1\",\"order\":null,\"hold\":null,\"lines\":null,"
	    "\"price\":{\"amount\":null,\"currency\":null},\"refund\":null,"
	    "\"task\":{\"task\":12,\"kind\":\"%s\",\"subject\":\"%s\","
	    "\"detail\":\"what is known\",\"order\":%s}}",
	    kind, subject, order);
	assert_true(write_letter("task", json));
	assert_null(strstr(buf_text(&letter.text), "{{"));
	SAYS("Task:   12\n");
	SAYS("Detail: what is known\n");
	SAYS("lastpair task settle 12 --note");
}

static void
tasks(void **state)
{
	static const char *const kinds[] = {"stuck", "refused", "mismatch",
	    "unclear", "refund_failed", "dispute", "dispute_lost",
	    "difference"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		to_operator(kinds[i], "\"ord_7\"", "call 3");
		assert_non_null(strstr(buf_text(&letter.subject), ": ord_7"));
		SAYS("Order:  ord_7\n");
		SAYS("About:  call 3\n");
		SAYS("    lastpair order show ord_7\n");
		SAYS_NOT("event show");
	}
	to_operator("stuck", "\"ord_7\"", "call 3");
	SAYS("    lastpair task retry 12\n");
	to_operator("refused", "\"ord_7\"", "call 3");
	SAYS("    lastpair task retry 12\n");
	to_operator("dispute", "\"ord_7\"", "payment 3");
	SAYS_NOT("task retry");
	/* About no order of ours. */
	to_operator("unclear", "null", "event 9");
	assert_non_null(strstr(buf_text(&letter.subject), ": event 9"));
	SAYS("Order:  none is known\n");
	SAYS("    lastpair event show 9\n");
	SAYS_NOT("order show");
}

static void
what_there_are_no_words_for(void **state)
{
	assert_false(write_letter("postcard", "{\"order\":\"ord_7\"}"));
	assert_false(write_letter("task", "{\"task\":{\"kind\":\"odd\"}}"));
	assert_false(write_letter("refunded",
	    "{\"state\":\"paid\",\"refund\":{\"state\":\"owed\","
	    "\"reason\":\"odd\",\"amount\":1,\"currency\":\"EUR\"}}"));
	/* No name leads out of the table. */
	assert_false(write_letter("../index", "{}"));
}

/* --- templates that somebody has changed */

static char folder[64];

static void
path_of(char *out, size_t n, const char *file)
{
	snprintf(out, n, "%s/static%s", folder, file);
}

/* A copy of all templates, but with this text in one of them. */
static const char *
complaint(const char *file, const char *text)
{
	char command[256], path[128];
	static char why[256];
	const char *found;
	FILE *out;

	snprintf(folder, sizeof(folder), "/tmp/letter-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	path_of(path, sizeof(path), "");
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(command, sizeof(command), "cp -r static/mail %s/static/",
	    folder);
	/* NOLINTNEXTLINE(cert-env33-c): words of this test's own */
	assert_int_equal(system(command), 0);
	path_of(path, sizeof(path), file);
	out = fopen(path, "we");
	assert_non_null(out);
	assert_true(fputs(text, out) >= 0);
	assert_int_equal(fclose(out), 0);
	{
		struct letters own;

		found = letters_load(&own, folder);
		snprintf(why, sizeof(why), "%s", found ? found : "");
		letters_release(&own);
	}
	snprintf(command, sizeof(command), "rm -r %s", folder);
	/* NOLINTNEXTLINE(cert-env33-c) */
	assert_int_equal(system(command), 0);
	return found ? why : NULL;
}

static void
templates_are_checked(void **state)
{
	assert_null(complaint("/mail/paid.txt", "Subject: x\n\n{{order}}\n"));
	assert_non_null(
	    strstr(complaint("/mail/paid.txt", "Subject: x\n\n{{task}}\n"),
		"mail/paid.txt has a placeholder {{task}}"));
	assert_non_null(strstr(complaint("/mail/paid.txt", "Thank you\n"),
	    "mail/paid.txt does not begin with a line"));
	assert_non_null(strstr(complaint("/mail/paid.txt", "Subject: x\ny\n"),
	    "does not begin with a line"));
	assert_non_null(
	    strstr(complaint("/mail/reason_paid_late.txt", "{{order}}"),
		"{{order}}"));
	assert_false(letters_check("/nowhere"));
	assert_true(letters_check("."));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(orders_and_payments),
	    cmocka_unit_test(money_that_goes_back),
	    cmocka_unit_test(tasks),
	    cmocka_unit_test(what_there_are_no_words_for),
	    cmocka_unit_test(templates_are_checked),
	};

	return cmocka_run_group_tests(tests, load, unload);
}
