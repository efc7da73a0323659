/*
 * The table of the standard adapter, its pace, and which steps are whose.
 */
#include "pay/standard.h"

static void
standard_pace(const struct conf *conf, struct provider_pace *pace)
{
	*pace = (struct provider_pace){
	    .calls_per_second = conf->standard.calls_per_second,
	    .at_once = conf->standard.at_once,
	    .timeout_ms = conf->standard.timeout_ms,
	    .tries = conf->standard.tries,
	};
	for (size_t i = 0; i < ENDPOINTS; i++)
		pace->per_second[i] = conf->standard.calls_per_second;
}

static bool
standard_step(struct work *work)
{
	const struct call *call = work->call;

	switch (call->act) {
	case ACT_OPEN:
		return standard_open(work);
	case ACT_END:
		return standard_end(work);
	case ACT_REFUND:
		return standard_refund(work);
	case ACT_LIST:
		return standard_list(work);
	case ACT_FETCH:
		break;
	}
	if (call->event_id.len)
		return standard_event_look(work);
	if (call->refund_ref.len)
		return standard_refund_look(work);
	return standard_session_look(work);
}

/* What STANDARD.md asks of the process that is connected. */
const struct provider standard_provider = {
    .name = "standard",
    .caps =
	{
	    .min_expiry_s = 60,
	    .max_expiry_s = 24 * 60 * 60,
	    .can_end = true,
	    .batch = 1,
	    .idem_len = 255,
	    .idem_ttl_s = 24 * 60 * 60,
	},
    .pace = standard_pace,
    .verify = standard_verify,
    .read = standard_read,
    .next = standard_next,
    .read_free = standard_read_free,
    .step = standard_step,
};
