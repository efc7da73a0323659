/* Sessions as the provider tells of them. */
#ifndef UNIT_PAY_SESSION_H
#define UNIT_PAY_SESSION_H

#include "pay/fixture.h"

#define SESSION_HEAD "{\"id\":\"cs_test_1\",\"livemode\":false,"
#define SESSION_TAIL \
	"\"mode\":\"payment\",\"amount_total\":12900,\"currency\":\"eur\"," \
	"\"payment_intent\":\"pi_1\",\"metadata\":{\"hold_id\":\"" HOLD \
	"\",\"key\":\"cs-" HOLD "\"}}"

static const char session_open[] =
    SESSION_HEAD "\"status\":\"open\",\"payment_status\":\"unpaid\","
		 "\"url\":\"https://pay.test/c/cs_test_1#fid\"}";
static const char session_expired[] =
    SESSION_HEAD "\"status\":\"expired\",\"payment_status\":\"unpaid\","
		 "\"url\":null}";
static const char session_paid[] =
    SESSION_HEAD "\"status\":\"complete\",\"payment_status\":\"paid\","
		 "\"url\":null," SESSION_TAIL;
static const char session_unpaid[] =
    SESSION_HEAD "\"status\":\"complete\",\"payment_status\":\"unpaid\"," //
    SESSION_TAIL;

#endif
