/*
 * The provider of the handlers' tests: says what the test has put into fake.
 * For fakes.h alone, which has it.
 */
#ifndef WEB_FAKE_PROVIDER_H
#define WEB_FAKE_PROVIDER_H

static enum verdict
fake_verify(const struct conf *conf, const struct hook *hook)
{
	(void)conf;
	fake.hook = *hook;
	return fake.verdict;
}

static struct event_reader *
fake_read(const struct conf *conf, const struct hook *hook, struct str body)
{
	(void)conf;
	assert_non_null(hook);
	assert_true(str_equal(body, hook->body));
	fake.reads++;
	fake.event_next = 0;
	return NULL;
}

static bool
fake_next(struct event_reader *reader, struct event *event)
{
	(void)reader;
	if (fake.event_next == fake.event_count)
		return false;
	*event = fake.events[fake.event_next++];
	return true;
}

static void
fake_read_free(struct event_reader *reader)
{
	(void)reader;
	fake.reads_freed++;
}

static void
fake_pace(const struct conf *conf, struct provider_pace *pace)
{
	*pace = (struct provider_pace){
	    .per_second = {[ENDPOINT_OPEN] = conf->stripe.opens_per_second},
	    .calls_per_second = conf->stripe.calls_per_second,
	};
}

/* Whatever it is called by a test; a second one is Stripe by name. */
static struct provider fake_provider = {
    .name = "fake",
    .pace = fake_pace,
    .verify = fake_verify,
    .read = fake_read,
    .next = fake_next,
    .read_free = fake_read_free,
};

static const struct provider fake_stripe = {
    .name = "stripe",
    .verify = fake_verify,
    .read = fake_read,
    .next = fake_next,
    .read_free = fake_read_free,
};

const struct provider *
provider_find(struct str name)
{
	if (str_is(name, fake_stripe.name))
		return &fake_stripe;
	return str_is(name, fake_provider.name) ? &fake_provider : NULL;
}

const struct provider *
provider_current(const struct conf *conf)
{
	assert_ptr_equal(conf, &fake.conf);
	return &fake_provider;
}

const char *
event_kind_name(enum event_kind kind)
{
	return kind == EVENT_PAID ? "paid" : "unusable";
}

#endif
