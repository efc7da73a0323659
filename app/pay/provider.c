/*
 * The providers there are. Naming one more here is all it takes to serve it.
 */
#include "pay/provider.h"
#include "base/log.h"
#include "pay/standard.h"
#include "pay/stripe.h"

#include <string.h>

static const struct provider *const providers[] = {
    &stripe_provider,
    &standard_provider,
};

const struct provider *
provider_find(struct str name)
{
	for (size_t i = 0; i < sizeof(providers) / sizeof(providers[0]); i++) {
		if (str_is(name, providers[i]->name))
			return providers[i];
	}
	return NULL;
}

const struct provider *
provider_current(const struct conf *conf)
{
	const char *name = conf->payment.provider;
	const struct provider *provider = provider_find(str_of(name));

	/* The settings were checked when they were read. */
	if (!provider)
		log_bug("cannot find the provider %s", name);
	return provider;
}

bool
provider_is_set_up(const struct conf *conf, const struct provider *provider)
{
	if (provider == provider_current(conf))
		return true;
	if (strcmp(provider->name, "standard") == 0)
		return conf->standard.url[0] &&
		    conf->standard.webhook_secret[0];
	return conf->stripe.open_key[0] && conf->stripe.refund_key[0];
}

const char *
event_kind_name(enum event_kind kind)
{
	static const char *const names[] = {
	    [EVENT_PAID] = "paid",
	    [EVENT_PENDING] = "pending",
	    [EVENT_FAILED] = "failed",
	    [EVENT_EXPIRED] = "expired",
	    [EVENT_REFUND] = "refund",
	    [EVENT_DISPUTE] = "dispute",
	    [EVENT_LOOK] = "look",
	    [EVENT_IGNORE] = "ignore",
	    [EVENT_UNUSABLE] = "unusable",
	};

	return names[kind];
}
