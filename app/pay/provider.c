/*
 * The providers there are. Naming one more here is all it takes to serve it.
 */
#include "pay/provider.h"
#include "pay/stripe.h"

const struct provider *
provider_find(struct str name)
{
	return str_is(name, stripe_provider.name) ? &stripe_provider : NULL;
}

const struct provider *
provider_default(void)
{
	return &stripe_provider;
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
	    [EVENT_IGNORE] = "ignore",
	    [EVENT_UNUSABLE] = "unusable",
	};

	return names[kind];
}

void
call_outcome_init(struct call_outcome *outcome)
{
	*outcome = (struct call_outcome){0};
}

void
call_outcome_release(struct call_outcome *outcome)
{
	buf_release(&outcome->id);
	buf_release(&outcome->url);
	buf_release(&outcome->state);
	buf_release(&outcome->error);
	buf_release(&outcome->body);
}
