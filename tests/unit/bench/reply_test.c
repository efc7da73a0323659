/* bench/reply: answers whole, in pieces, in chunks, and what is none. */
#include "reply.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

/* Reads a copy, so that a step too far is seen by the sanitizer. */
static enum reply_progress
read_text(struct reply *reply, const char *text, size_t len, bool ended,
    char **copy)
{
	size_t need;

	*copy = malloc(len ? len : 1);
	assert_non_null(*copy);
	memcpy(*copy, text, len);
	return reply_read(reply, *copy, len, ended, &need);
}

static void
assert_body(const char *text, bool ended, const char *body)
{
	struct reply reply;
	char *copy;

	assert_int_equal(read_text(&reply, text, strlen(text), ended, &copy),
	    REPLY_WHOLE);
	assert_int_equal(reply.body.len, strlen(body));
	assert_memory_equal(reply.body.text, body, strlen(body));
	assert_int_equal(reply.size, strlen(text));
	free(copy);
}

static void
assert_bad(const char *text, bool ended)
{
	struct reply reply;
	char *copy;

	assert_int_equal(read_text(&reply, text, strlen(text), ended, &copy),
	    REPLY_BAD);
	free(copy);
}

static const char counted[] = "HTTP/1.1 201 Created\r\n"
			      "Set-Cookie: a=1; Path=/\r\n"
			      "set-cookie: lp_buyer=xyz; HttpOnly\r\n"
			      "Retry-After:  3 \r\n"
			      "Content-Length: 5\r\n\r\nhello";
static const char chunked[] = "HTTP/1.1 200 OK\r\n"
			      "Transfer-Encoding: chunked\r\n\r\n"
			      "3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n";

static void
reads_counted_and_chunked(void **state)
{
	(void)state;
	assert_body(counted, false, "hello");
	assert_body(chunked, false, "hello");
	assert_body("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false, "");
	assert_body("HTTP/1.1 204 No Content\r\nX: y\r\n\r\n", false, "");
	assert_body("HTTP/1.0 200 OK\r\nX: y\r\n\r\nhello", true, "hello");
}

/* Every beginning asks for more, or is bad when nothing will follow. */
static void
a_piece_is_not_whole(void **state)
{
	static const char *const texts[] = {counted, chunked};

	(void)state;
	for (size_t t = 0; t < 2; t++) {
		for (size_t n = 0; n < strlen(texts[t]); n++) {
			struct reply reply;
			char *copy;

			assert_int_equal(read_text(&reply, texts[t], n, false,
					     &copy),
			    REPLY_MORE);
			free(copy);
			assert_int_equal(read_text(&reply, texts[t], n, true,
					     &copy),
			    REPLY_BAD);
			free(copy);
		}
	}
}

static void
says_how_much_it_needs(void **state)
{
	struct reply reply;
	char text[sizeof(counted)];
	size_t need;
	size_t half = sizeof(counted) - 4;

	(void)state;
	memcpy(text, counted, sizeof(text));
	assert_int_equal(reply_read(&reply, text, half, false, &need),
	    REPLY_MORE);
	assert_int_equal(need, strlen(counted));
}

static void
what_follows_is_not_part_of_it(void **state)
{
	struct reply reply;
	char text[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1";
	size_t need;

	(void)state;
	assert_int_equal(reply_read(&reply, text, strlen(text), false, &need),
	    REPLY_WHOLE);
	assert_int_equal(reply.size, strlen(text) - strlen("HTTP/1.1"));
}

static void
finds_headers_and_cookies(void **state)
{
	struct str head = str_of(counted);

	(void)state;
	assert_true(str_is(reply_header(head, "retry-after"), "3"));
	assert_true(str_is(reply_header(head, "Set-Cookie"), "a=1; Path=/"));
	assert_true(str_is(reply_cookie(head, "lp_buyer"), "xyz"));
	assert_true(str_is(reply_cookie(head, "a"), "1"));
	assert_null(reply_cookie(head, "lp").text);
	assert_null(reply_header(head, "Retry").text);
}

static void
knows_when_the_connection_ends(void **state)
{
	static const char close[] = "HTTP/1.1 200 OK\r\nConnection: close\r\n"
				    "Content-Length: 0\r\n\r\n";
	struct reply reply;
	char *copy;

	(void)state;
	(void)read_text(&reply, close, strlen(close), false, &copy);
	assert_true(reply.closes);
	free(copy);
	(void)read_text(&reply, counted, strlen(counted), false, &copy);
	assert_false(reply.closes);
	free(copy);
}

static void
refuses_what_is_no_answer(void **state)
{
	(void)state;
	assert_bad("SSH-2.0-OpenSSH\r\n\r\n", false);
	assert_bad("HTTP/1.1 2x0 OK\r\n\r\n", false);
	assert_bad("HTTP/1.1 099 No\r\n\r\n", false);
	assert_bad("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", false);
	assert_bad("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
	    false);
	assert_bad("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		   "g\r\n",
	    false);
	assert_bad("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
		   "1\r\nabc\r\n",
	    false);
	assert_bad("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", true);
	assert_bad("", true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(reads_counted_and_chunked),
	    cmocka_unit_test(a_piece_is_not_whole),
	    cmocka_unit_test(says_how_much_it_needs),
	    cmocka_unit_test(what_follows_is_not_part_of_it),
	    cmocka_unit_test(finds_headers_and_cookies),
	    cmocka_unit_test(knows_when_the_connection_ends),
	    cmocka_unit_test(refuses_what_is_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
