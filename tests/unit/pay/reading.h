/* What the tests of Stripe's events share: a body, read into its event. */
#ifndef UNIT_PAY_READING_H
#define UNIT_PAY_READING_H

#include "pay/fixture.h"

#include "pay/stripe.h"

/* A read event; its bytes live until event_free. */
struct reading {
	struct event event;
	struct event_reader *reader;
	struct buf body;
};

static inline void
read_body(struct reading *r, struct str body, bool livemode)
{
	struct conf conf = fixture_conf();
	struct event more;

	memset(r, 0, sizeof(*r));
	conf.stripe.livemode = livemode;
	buf_add(&r->body, body.text, body.len);
	r->reader = stripe_provider.read(&conf, NULL, fixture_view(&r->body));
	/* One, and no more. */
	assert_true(stripe_provider.next(r->reader, &r->event));
	assert_false(stripe_provider.next(r->reader, &more));
	assert_false(stripe_provider.next(r->reader, &more));
}

static inline void
reading_free(struct reading *r)
{
	stripe_provider.read_free(r->reader);
	buf_release(&r->body);
}

static inline void
assert_text(struct str s, const char *text)
{
	if (!str_is(s, text))
		fail_msg("\"%.*s\", not \"%s\"", (int)s.len, s.text, text);
}

static inline void
read_sample(struct reading *r, const char *name)
{
	struct buf path = {0};
	struct buf body = {0};

	buf_printf(&path, "tests/data/stripe-events/%s.json", name);
	fixture_file(&body, path.data);
	read_body(r, fixture_view(&body), false);
	buf_release(&path);
	buf_release(&body);
}

/* The sample with its first from written as to. */
static inline void
read_changed(struct reading *r, const char *name, const char *from,
    const char *to)
{
	struct buf path = {0};
	struct buf body = {0};
	struct buf changed = {0};
	const char *at;

	buf_printf(&path, "tests/data/stripe-events/%s.json", name);
	fixture_file(&body, path.data);
	at = strstr(buf_text(&body), from);
	assert_non_null(at);
	buf_add(&changed, body.data, (size_t)(at - body.data));
	buf_str(&changed, to);
	buf_str(&changed, at + strlen(from));
	read_body(r, fixture_view(&changed), false);
	buf_release(&path);
	buf_release(&body);
	buf_release(&changed);
}

static inline void
changed_is(const char *name, const char *from, const char *to,
    enum event_kind kind)
{
	struct reading r;

	read_changed(&r, name, from, to);
	if (r.event.kind != kind)
		fail_msg("%s with %s is %d (%.*s)", name, to, (int)r.event.kind,
		    (int)r.event.detail.len,
		    r.event.detail.text ? r.event.detail.text : "");
	reading_free(&r);
}

#endif
