/*
 * page.c: what a template may hold, and that values are escaped. The real
 * templates are read, too.
 */
#include "web/page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

/* Of the stand-in provider: read with the others, not used here. */
static const char *const sandbox_files[] = {"sandbox/bank.html",
    "sandbox/done.html", "sandbox/faults.html", "sandbox/held.html",
    "sandbox/index.html", "sandbox/pay.html", "sandbox/style.css"};
#define SANDBOX_FILES (sizeof(sandbox_files) / sizeof(sandbox_files[0]))

static void
path_of(char *out, size_t n, const char *file)
{
	snprintf(out, n, "%s/static/%s", folder, file);
}

static void
put(const char *file, const char *text)
{
	char path[128];
	FILE *out;

	path_of(path, sizeof(path), file);
	out = fopen(path, "w");
	assert_non_null(out);
	assert_true(fputs(text, out) >= 0);
	assert_int_equal(fclose(out), 0);
}

static int
setup(void **state)
{
	char path[128];

	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/page-test-XXXXXX");
	assert_non_null(mkdtemp(folder));
	path_of(path, sizeof(path), "");
	assert_int_equal(mkdir(path, 0700), 0);
	path_of(path, sizeof(path), "sandbox");
	assert_int_equal(mkdir(path, 0700), 0);
	for (size_t i = 0; i < SANDBOX_FILES; i++)
		put(sandbox_files[i], "");
	put("index.html", "<ul>{{items}}</ul>");
	put("item.html", "{{sku}}");
	put("opening.html", "{{hold}} has {{left}}; {{hold}}{{left}}");
	put("order.html", "plain } { }} text");
	put("problem.html", "");
	return 0;
}

static int
teardown(void **state)
{
	static const char *const files[] = {"index.html", "item.html",
	    "opening.html", "order.html", "problem.html", "sandbox", ""};
	char path[128];

	(void)state;
	for (size_t i = 0; i < SANDBOX_FILES; i++) {
		path_of(path, sizeof(path), sandbox_files[i]);
		(void)remove(path);
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		path_of(path, sizeof(path), files[i]);
		(void)remove(path);
	}
	(void)rmdir(folder);
	return 0;
}

static void
fills_placeholders(void **state)
{
	const struct page_value values[] = {
	    {"unused", str_of("x")},
	    {"hold", str_of("<&>\"'")},
	    {"left", {NULL, 0}},
	};
	struct buf out = {0};
	struct pages pages;
	const char *why;

	(void)state;
	why = pages_load(&pages, folder);
	if (why)
		fail_msg("%s", why);
	page_render(&out, &pages, PAGE_OPENING, values, 3);
	assert_string_equal(out.data,
	    "&lt;&amp;&gt;&quot;&#39; has ; &lt;&amp;&gt;&quot;&#39;");
	buf_reset(&out);
	page_render(&out, &pages, PAGE_ORDER, NULL, 0);
	assert_string_equal(out.data, "plain } { }} text");
	buf_reset(&out);
	page_render(&out, &pages, PAGE_PROBLEM, NULL, 0);
	assert_int_equal(out.len, 0);
	buf_release(&out);
	pages_release(&pages);
}

static void
lists_items(void **state)
{
	const struct page_item item = {str_of("a\"b /c"), str_of("<T>"),
	    str_of("1.00 EUR")};
	struct page_value value = {.name = "items"};
	struct buf items = {0};
	struct buf out = {0};
	struct pages pages;

	(void)state;
	assert_null(pages_load(&pages, folder));
	page_add_item(&items, &item);
	value.text = (struct str){items.data, items.len};
	page_render(&out, &pages, PAGE_INDEX, &value, 1);
	assert_string_equal(out.data,
	    "<ul><li data-sku=\"a&quot;b /c\">"
	    "<a href=\"/item/a%22b%20%2Fc\"><strong>&lt;T&gt;</strong> "
	    "<span>1.00 EUR</span></a></li>\n</ul>");
	buf_release(&items);
	buf_release(&out);
	pages_release(&pages);
}

static void
refuses_a_template_that_nothing_fills(void **state)
{
	static const char *const bad[] = {"{{nobody}}", "{{}}", "{{ hold }}",
	    "{{hold left}}", "{{Hold}}", "{{hold", "x {{hold}} {{left",
	    "{{{{hold}}}}"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct pages pages;
		const char *why;

		put("opening.html", bad[i]);
		why = pages_load(&pages, folder);
		assert_non_null(why);
		assert_non_null(strstr(why, "opening.html"));
		pages_release(&pages);
	}
	put("opening.html", "");
}

static void
refuses_a_missing_folder(void **state)
{
	struct pages pages;

	(void)state;
	assert_non_null(pages_load(&pages, "/no/such/folder"));
	pages_release(&pages);
}

/* Run from the top of the tree, as `make check` does. */
static void
takes_the_real_ones(void **state)
{
	struct pages pages;
	const char *why;

	(void)state;
	if (access("static/order.html", R_OK) != 0)
		skip();
	why = pages_load(&pages, ".");
	if (why)
		fail_msg("%s", why);
	pages_release(&pages);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(fills_placeholders),
	    cmocka_unit_test(lists_items),
	    cmocka_unit_test(refuses_a_template_that_nothing_fills),
	    cmocka_unit_test(refuses_a_missing_folder),
	    cmocka_unit_test(takes_the_real_ones),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
