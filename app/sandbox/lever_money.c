/* Levers: money that goes back. */
#include "sandbox/lever.h"

/* As the API takes it. */
#define AMOUNT_MAX 99999999

/* {"<what>": id}, or why there is none. */
static void
money_made(const struct lever *lever, enum db_status status,
    const struct sandbox_made *made, const char *what)
{
	struct buf out = {0};

	if (status != DB_OK) {
		lever_fail(lever, status);
	} else if (made->id.len) {
		buf_printf(&out, "{\"%s\": ", what);
		str_json(&out, str_view(&made->id));
		buf_char(&out, '}');
		lever_say(lever, 200, buf_text(&out));
	} else if (made->problem.len) {
		lever_refuse(lever, 409, buf_text(&made->problem));
	} else {
		lever_refuse(lever, 404, "no such thing");
	}
	buf_release(&out);
}

void
lever_payment_refund(const struct lever *lever)
{
	struct sandbox_made made = {{0}, {0}};
	int64_t amount = 0;
	enum db_status status = DB_REFUSED;

	if (lever_int(lever, "amount", 1, AMOUNT_MAX, &amount))
		status = db_sandbox_payment_refund(lever->x->web->db, lever->id,
		    amount, &made);
	money_made(lever, status, &made, "refund");
	sandbox_made_release(&made);
}

void
lever_payment_dispute(const struct lever *lever)
{
	struct sandbox_made made = {{0}, {0}};
	enum db_status status = db_sandbox_payment_dispute(lever->x->web->db,
	    lever->id, lever_flag(lever, "inquiry"), &made);

	money_made(lever, status, &made, "dispute");
	sandbox_made_release(&made);
}

void
lever_dispute_close(const struct lever *lever)
{
	struct str outcome = lever_text(lever, "outcome");
	struct sandbox_made made = {{0}, {0}};
	enum db_status status = DB_REFUSED;

	if (str_is(outcome, "won") || str_is(outcome, "lost"))
		status = db_sandbox_dispute_close(lever->x->web->db, lever->id,
		    str_is(outcome, "won") ? "won" : "lost", &made);
	money_made(lever, status, &made, "dispute");
	sandbox_made_release(&made);
}

void
lever_refund_fail(const struct lever *lever)
{
	bool found;
	enum db_status status =
	    db_sandbox_refund_fail(lever->x->web->db, lever->id, &found);

	lever_found(lever, status, found);
}

void
lever_books(const struct lever *lever)
{
	struct buf out = {0};
	enum db_status status = db_sandbox_books(lever->x->web->db, &out);

	lever_document(lever, status, &out);
	buf_release(&out);
}
