/*
 * A call under way, as its owner holds it: made, and taken apart. What happens
 * in between is the adapter's.
 */
#include "pay/provider.h"

struct str
call_refund_key(const struct call *call)
{
	return call->refund_key.len ? call->refund_key : call->key;
}

bool
call_has_new_key(const struct call *call)
{
	return !str_equal(call_refund_key(call), call->key);
}

bool
work_may_be_done(const struct work *work)
{
	return work->call->try > 1 || call_has_new_key(work->call) ||
	    work->call->age_s >= work->provider->caps.idem_ttl_s - CALL_LATE_S;
}

void
work_init(struct work *work, const struct conf *conf,
    const struct provider *provider, const struct call *call)
{
	*work = (struct work){
	    .conf = conf,
	    .provider = provider,
	    .call = call,
	};
}

void
work_release(struct work *work)
{
	struct call_outcome *outcome = &work->outcome;

	if (outcome->reader)
		work->provider->read_free(outcome->reader);
	buf_release(&outcome->id);
	buf_release(&outcome->url);
	buf_release(&outcome->state);
	buf_release(&outcome->error);
	buf_release(&outcome->body);
	buf_release(&outcome->cursor);
	outcome->reader = NULL;
	http_call_release(&work->http);
}
