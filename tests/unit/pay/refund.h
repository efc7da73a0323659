/* Refunds as the provider tells of them, and a call for one. */
#ifndef UNIT_PAY_REFUND_H
#define UNIT_PAY_REFUND_H

#include "pay/call.h"

#define KEY "refund-" HOLD

static inline enum call_result
refund_try(int try)
{
	call_fill(ACT_REFUND, KEY);
	call.try = try;
	return run();
}

#define REFUND_BODY(id, status, metadata, amount) \
	"{\"id\":\"" id "\",\"object\":\"refund\",\"status\":\"" status \
	"\",\"metadata\":{" metadata "},\"amount\":" amount "}"
#define KEYED(key) "\"key\":\"" key "\",\"hold_id\":\"" HOLD "\""
#define OF_HOLD "\"hold_id\":\"" HOLD "\""
#define OURS(id, status) REFUND_BODY(id, status, KEYED(KEY), "12900")
#define LIST(refunds) "{\"object\":\"list\",\"data\":[" refunds "]}"
#define LOOK "/v1/refunds?payment_intent=pi_1&limit=100"

/* The answer when all of it has gone back. */
static const char already[] = "{\"error\":{\"type\":\"invalid_request_error\","
			      "\"code\":\"charge_already_refunded\"}}";

static inline void
took(const char *id, const char *refund_state)
{
	assert_string_equal(buf_text(&work.outcome.id), id);
	assert_string_equal(buf_text(&work.outcome.state), refund_state);
}

#endif
