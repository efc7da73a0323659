/* What the tests of pay/ share: settings and files. */
#ifndef UNIT_PAY_FIXTURE_H
#define UNIT_PAY_FIXTURE_H

#include "base/buf.h"
#include "base/conf.h"
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#define HOLD "hld_AAAAAAAAAAAAAAAAAAAAAA"

static inline struct conf
fixture_conf(void)
{
	struct conf conf;

	memset(&conf, 0, sizeof(conf));
	conf.stripe.api_base = "http://provider.test";
	conf.stripe.version = "2026-10-28.endive";
	conf.stripe.open_key = "sk_test_OPEN";
	conf.stripe.refund_key = "sk_test_REFUND";
	conf.stripe.webhook_secret = "whsec_test_ALPHA_0001";
	conf.stripe.old_webhook_secret = "";
	conf.stripe.opens_per_second = 20;
	conf.stripe.ends_per_second = 21;
	conf.stripe.refunds_per_second = 22;
	conf.stripe.looks_per_second = 23;
	conf.stripe.calls_per_second = 80;
	conf.stripe.at_once = 32;
	conf.stripe.timeout_ms = 20000;
	conf.stripe.tries = 3;
	conf.payment.provider = "stripe";
	return conf;
}

/* Tests run in the project's root. */
static inline void
fixture_file(struct buf *b, const char *path)
{
	char part[4096];
	FILE *file = fopen(path, "rb");
	size_t n;

	assert_non_null(file);
	while ((n = fread(part, 1, sizeof(part), file)) > 0)
		buf_add(b, part, n);
	assert_int_equal(ferror(file), 0);
	fclose(file);
}

static inline struct str
fixture_view(const struct buf *b)
{
	return (struct str){b->data, b->len};
}

#endif
