/* Levers: what a shopper does. */
#include "sandbox/lever.h"

#include <string.h>

/* wanted: the views that say that it worked, each between blanks. */
static void
session_view(const struct lever *lever, enum db_status status,
    const struct sandbox_view *view, const char *wanted)
{
	struct buf out = {0};
	struct buf word = {0};

	buf_printf(&word, " %s ", view->text);
	if (status != DB_OK) {
		lever_fail(lever, status);
	} else if (!view->text[0]) {
		lever_refuse(lever, 404, "no such session");
	} else {
		buf_str(&out, "{\"session\": ");
		str_json(&out, lever->id);
		buf_printf(&out, ", \"view\": \"%s\"}", view->text);
		lever_say(lever, strstr(wanted, buf_text(&word)) ? 200 : 409,
		    buf_text(&out));
	}
	buf_release(&word);
	buf_release(&out);
}

void
lever_session_pay(const struct lever *lever)
{
	struct sandbox_pay pay = {
	    .even_if_expired = lever_flag(lever, "even_if_expired"),
	};
	struct sandbox_view view = {""};
	enum db_status status = DB_REFUSED;

	if (lever_int(lever, "delay_ms", 0, LEVER_MS_MAX, &pay.delay_ms))
		status = db_sandbox_session_pay(lever->x->web->db, lever->id,
		    &pay, &view);
	session_view(lever, status, &view, " paid held ");
}

void
lever_session_decline(const struct lever *lever)
{
	struct sandbox_view view = {""};
	enum db_status status =
	    db_sandbox_session_decline(lever->x->web->db, lever->id, &view);

	session_view(lever, status, &view, " open ");
}

void
lever_session_bank(const struct lever *lever)
{
	struct str outcome = lever_text(lever, "outcome");
	struct sandbox_bank bank = {NULL, 0};
	const char *wanted = " bank ";
	struct sandbox_view view = {""};
	enum db_status status = DB_REFUSED;
	bool known = true;

	if (str_is(outcome, "succeeded")) {
		bank.outcome = "succeeded";
		wanted = " paid ";
	} else if (str_is(outcome, "failed")) {
		bank.outcome = "failed";
		wanted = " failed ";
	} else {
		known = outcome.len == 0;
	}
	if (known &&
	    lever_int(lever, "delay_ms", 0, LEVER_MS_MAX, &bank.delay_ms))
		status = db_sandbox_session_bank(lever->x->web->db, lever->id,
		    &bank, &view);
	session_view(lever, status, &view,
	    bank.delay_ms > 0 ? " bank " : wanted);
}
