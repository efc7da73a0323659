/* sandbox/link: the addresses that a session was given. */
#include "sandbox/link.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
assert_return(const char *url, const char *want)
{
	struct buf out = {0};

	link_return(&out, url, str_of("cs_test_1"));
	assert_string_equal(buf_text(&out), want);
	buf_release(&out);
}

static void
assert_origin(const char *url, const char *want)
{
	struct buf out = {0};

	link_origin(&out, url);
	assert_string_equal(buf_text(&out), want);
	buf_release(&out);
}

static void
the_id_takes_its_place(void **state)
{
	(void)state;
	assert_return("https://a/o?cs={CHECKOUT_SESSION_ID}&b=1",
	    "https://a/o?cs=cs_test_1&b=1");
	assert_return("{CHECKOUT_SESSION_ID}{CHECKOUT_SESSION_ID}",
	    "cs_test_1cs_test_1");
}

static void
other_addresses_stay(void **state)
{
	(void)state;
	assert_return("https://a/o", "https://a/o");
	assert_return("https://a/{CHECKOUT}", "https://a/{CHECKOUT}");
}

static void
an_origin_ends_before_the_path(void **state)
{
	(void)state;
	assert_origin("http://127.0.0.1:8080/order/x?y",
	    "http://127.0.0.1:8080");
	assert_origin("https://a.example?y", "https://a.example");
	assert_origin("https://a.example#y", "https://a.example");
	assert_origin("https://a.example", "https://a.example");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(the_id_takes_its_place),
	    cmocka_unit_test(other_addresses_stay),
	    cmocka_unit_test(an_origin_ends_before_the_path),
	};

	return cmocka_run_group_tests_name("sandbox/link", tests, NULL, NULL);
}
