/* A table of routes; each handler makes one call down. */
#include "sandbox/control.h"

#include "base/form.h"
#include "base/json.h"
#include "io/db_sandbox.h"
#include "sandbox/route.h"

#include <string.h>

#define LIMIT_MAX 1000
#define LIMIT_DEFAULT 100
/* As long as a session lives. */
#define DELAY_MS_MAX 86400000

struct control {
	struct exchange *x;
	struct str id; /* the path's */
	const struct json *body; /* NULL: none was sent */
};

static void
control_say(const struct control *control, int status, const char *json)
{
	exchange_json(control->x, status, str_of(json));
}

static void
control_fail(const struct control *control, enum db_status status)
{
	if (status == DB_REFUSED)
		control_say(control, 400, "{\"error\": \"malformed\"}");
	else
		control_say(control, 503, "{\"error\": \"busy\"}");
}

/* wanted: the views that say that it worked, each between blanks. */
static void
control_view(const struct control *control, enum db_status status,
    const struct sandbox_view *view, const char *wanted)
{
	struct buf out = {0};
	struct buf word = {0};

	buf_printf(&word, " %s ", view->text);
	if (status != DB_OK) {
		control_fail(control, status);
	} else if (!view->text[0]) {
		control_say(control, 404, "{\"error\": \"no such session\"}");
	} else {
		buf_str(&out, "{\"session\": ");
		str_json(&out, control->id);
		buf_printf(&out, ", \"view\": \"%s\"}", view->text);
		control_say(control,
		    strstr(wanted, buf_text(&word)) ? 200 : 409,
		    buf_text(&out));
	}
	buf_release(&word);
	buf_release(&out);
}

static void
session_pay(const struct control *control)
{
	const struct json *delay = json_get(control->body, "delay_ms");
	const struct json *even = json_get(control->body, "even_if_expired");
	struct sandbox_pay pay = {
	    .even_if_expired = even && even->type == JSON_BOOL && even->truth,
	};
	struct sandbox_view view = {""};
	enum db_status status = DB_REFUSED;

	if (!delay ||
	    (json_int(delay, &pay.delay_ms) && pay.delay_ms >= 0 &&
		pay.delay_ms <= DELAY_MS_MAX))
		status = db_sandbox_session_pay(control->x->web->db,
		    control->id, &pay, &view);
	control_view(control, status, &view, " paid held ");
}

static void
session_decline(const struct control *control)
{
	struct sandbox_view view = {""};
	enum db_status status =
	    db_sandbox_session_decline(control->x->web->db, control->id, &view);

	control_view(control, status, &view, " open ");
}

static void
session_bank(const struct control *control)
{
	struct str outcome = json_text(json_get(control->body, "outcome"));
	const char *known = NULL;
	const char *wanted = " bank ";
	struct sandbox_view view = {""};
	enum db_status status;

	if (str_is(outcome, "succeeded")) {
		known = "succeeded";
		wanted = " paid ";
	} else if (str_is(outcome, "failed")) {
		known = "failed";
		wanted = " failed ";
	} else if (outcome.len) {
		control_fail(control, DB_REFUSED);
		return;
	}
	status = db_sandbox_session_bank(control->x->web->db, control->id,
	    known, &view);
	control_view(control, status, &view, wanted);
}

static void
control_found(const struct control *control, enum db_status status, bool found)
{
	if (status != DB_OK)
		control_fail(control, status);
	else if (found)
		control_say(control, 200, "{}");
	else
		control_say(control, 404, "{\"error\": \"no such thing\"}");
}

static void
event_resend(const struct control *control)
{
	bool found;
	enum db_status status =
	    db_sandbox_event_resend(control->x->web->db, control->id, &found);

	control_found(control, status, found);
}

static void
refund_fail(const struct control *control)
{
	bool found;
	enum db_status status =
	    db_sandbox_refund_fail(control->x->web->db, control->id, &found);

	control_found(control, status, found);
}

static void
delivery_list(const struct control *control)
{
	struct form form;
	struct str session = {NULL, 0};
	struct str text = {NULL, 0};
	struct buf out = {0};
	int64_t limit = LIMIT_DEFAULT;
	enum db_status status = DB_REFUSED;
	bool good = !form_parse(&form, control->x->request->query);

	(void)form_get(&form, "session", &session);
	if (good && form_get(&form, "limit", &text))
		good = str_qty(text, &limit) && limit <= LIMIT_MAX;
	if (good)
		status = db_sandbox_delivery_list(control->x->web->db, session,
		    (int)limit, &out);
	if (status == DB_OK)
		control_say(control, 200, buf_text(&out));
	else
		control_fail(control, status);
	buf_release(&out);
	form_release(&form);
}

static const struct {
	const char *method;
	const char *path;
	void (*handle)(const struct control *control);
} routes[] = {
    {"POST", "/sandbox/sessions/*/pay", session_pay},
    {"POST", "/sandbox/sessions/*/decline", session_decline},
    {"POST", "/sandbox/sessions/*/bank", session_bank},
    {"POST", "/sandbox/events/*/resend", event_resend},
    {"POST", "/sandbox/refunds/*/fail", refund_fail},
    {"GET", "/sandbox/deliveries", delivery_list},
};

static void
control_answer(struct control *control)
{
	const struct request *request = control->x->request;

	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		if (str_is(request->method, routes[i].method) &&
		    route_match(request->path, routes[i].path, &control->id)) {
			routes[i].handle(control);
			return;
		}
	}
	control_say(control, 404, "{\"error\": \"no such route\"}");
}

void
sandbox_control(struct exchange *x)
{
	struct control control = {.x = x};
	struct json_doc *doc = NULL;
	const char *why = NULL;

	if (x->request->body.len) {
		doc = json_parse(x->request->body, &why);
		control.body = doc ? json_root(doc) : NULL;
	}
	if (why)
		control_fail(&control, DB_REFUSED);
	else
		control_answer(&control);
	if (doc)
		json_free(doc);
}
