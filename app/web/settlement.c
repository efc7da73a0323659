/* The inbox's words for an event. */
#include "web/settlement.h"

void
settlement_fill(struct settlement *settlement, const struct provider *provider,
    const struct event *event, struct str body)
{
	*settlement = (struct settlement){
	    .provider = provider->name,
	    .event_id = event->id,
	    .type = event->type.len ? event->type : str_of("unknown"),
	    .kind = event_kind_name(event->kind),
	    .key = event->key,
	    .hold = event->hold,
	    .session_id = event->session_id,
	    .payment_ref = event->payment_ref,
	    .refund_ref = event->refund_ref,
	    .state = event->state,
	    .amount = event->amount,
	    .currency = str_of(event->currency),
	    .detail = event->detail,
	    .body = body,
	};
}
