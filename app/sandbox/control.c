/* A table of routes; each lever makes one call down. */
#include "sandbox/control.h"

#include "sandbox/lever.h"
#include "sandbox/route.h"

static const struct {
	const char *method;
	const char *path;
	void (*pull)(const struct lever *lever);
} routes[] = {
    {"GET", "/sandbox/clock", lever_clock_show},
    {"POST", "/sandbox/clock", lever_clock_forward},
    {"GET", "/sandbox/seed", lever_seed_show},
    {"POST", "/sandbox/seed", lever_seed_set},
    {"POST", "/sandbox/alias", lever_alias_add},
    {"GET", "/sandbox/faults", lever_fault_list},
    {"POST", "/sandbox/faults", lever_fault_add},
    {"POST", "/sandbox/faults/clear", lever_fault_clear_all},
    {"POST", "/sandbox/faults/*/clear", lever_fault_clear},
    {"POST", "/sandbox/sessions/*/pay", lever_session_pay},
    {"POST", "/sandbox/sessions/*/decline", lever_session_decline},
    {"POST", "/sandbox/sessions/*/bank", lever_session_bank},
    {"POST", "/sandbox/payments/*/refund", lever_payment_refund},
    {"POST", "/sandbox/payments/*/dispute", lever_payment_dispute},
    {"POST", "/sandbox/disputes/*/close", lever_dispute_close},
    {"POST", "/sandbox/refunds/*/fail", lever_refund_fail},
    {"POST", "/sandbox/events/*/resend", lever_event_resend},
    {"GET", "/sandbox/deliveries", lever_delivery_list},
    {"POST", "/sandbox/deliveries/flush", lever_delivery_flush},
    {"GET", "/sandbox/books", lever_books},
};

static void
control_answer(struct lever *lever)
{
	const struct request *request = lever->x->request;

	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		if (str_is(request->method, routes[i].method) &&
		    route_match(request->path, routes[i].path, &lever->id)) {
			routes[i].pull(lever);
			return;
		}
	}
	lever_refuse(lever, 404, "no such route");
}

void
sandbox_control(struct exchange *x)
{
	struct lever lever = {.x = x};
	struct json_doc *doc = NULL;
	const char *why = NULL;

	if (x->request->body.len) {
		doc = json_parse(x->request->body, &why);
		lever.body = doc ? json_root(doc) : NULL;
	}
	if (why)
		lever_fail(&lever, DB_REFUSED);
	else
		control_answer(&lever);
	json_free(doc);
}
