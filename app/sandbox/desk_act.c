/* What the index's forms do: each makes one call down. */
#include "sandbox/desk.h"

#include "base/money.h"
#include "io/db_sandbox.h"
#include "sandbox/press.h"

#include <string.h>

/* A form, and the session that it leads back to. */
struct desk {
	struct press press;
	struct buf home; /* "/?show=ID#ID" */
};

static void
desk_home(struct desk *desk)
{
	struct str session = press_text(&desk->press, "session");

	buf_char(&desk->home, '/');
	if (session.len == 0)
		return;
	buf_str(&desk->home, "?show=");
	str_url(&desk->home, session);
	buf_char(&desk->home, '#');
	str_url(&desk->home, session);
}

/* What was made, or why not. */
static void
desk_made(struct desk *desk, enum db_status status, struct sandbox_made *made)
{
	struct buf why = {0};

	if (status == DB_OK && made->problem.len) {
		buf_printf(&why, "The provider refuses: %s",
		    buf_text(&made->problem));
		if (made->problem.data[made->problem.len - 1] != '.')
			buf_char(&why, '.');
		press_refuse(&desk->press, 409, "That cannot be done now",
		    buf_text(&why));
	} else if (status == DB_OK && made->id.len == 0) {
		press_refuse(&desk->press, 404, "There is no such thing",
		    "The sandbox does not know what this is about.");
	} else {
		press_answer(&desk->press, status, buf_text(&desk->home));
	}
	buf_release(&why);
	sandbox_made_release(made);
}

static void
desk_found(struct desk *desk, enum db_status status, bool found,
    const char *location)
{
	if (status == DB_OK && !found)
		press_refuse(&desk->press, 404, "There is no such thing",
		    "The sandbox does not know what this is about.");
	else
		press_answer(&desk->press, status, location);
}

/* Minor units; 0 when the field is empty. False: it has been refused. */
static bool
amount_read(struct desk *desk, int64_t *amount)
{
	struct str text = press_text(&desk->press, "amount");
	struct str code = press_text(&desk->press, "currency");
	struct money money = {.amount = 0};
	struct buf typed = {0};
	struct buf advice = {0};
	char currency[4] = "";
	const char *why;

	if (text.len == 0)
		return true;
	if (code.len == 3)
		memcpy(currency, code.text, 3);
	buf_add(&typed, text.text, text.len);
	why = money_parse(&money, buf_text(&typed), currency);
	if (why) {
		buf_printf(&advice, "The amount to refund cannot be taken: %s.",
		    why);
		press_refuse(&desk->press, 400, "That was not understood",
		    buf_text(&advice));
	}
	*amount = money.amount;
	buf_release(&typed);
	buf_release(&advice);
	return !why;
}

static void
desk_refund(struct desk *desk)
{
	struct sandbox_made made = {{0}, {0}};
	int64_t amount = 0;

	if (amount_read(desk, &amount))
		desk_made(desk,
		    db_sandbox_payment_refund(desk->press.x->web->db,
			press_text(&desk->press, "payment"), amount, &made),
		    &made);
}

static void
desk_dispute(struct desk *desk, bool inquiry)
{
	struct sandbox_made made = {{0}, {0}};

	desk_made(desk,
	    db_sandbox_payment_dispute(desk->press.x->web->db,
		press_text(&desk->press, "payment"), inquiry, &made),
	    &made);
}

static void
desk_close(struct desk *desk, const char *outcome)
{
	struct sandbox_made made = {{0}, {0}};

	desk_made(desk,
	    db_sandbox_dispute_close(desk->press.x->web->db,
		press_text(&desk->press, "dispute"), outcome, &made),
	    &made);
}

static void
desk_fail(struct desk *desk)
{
	bool found = false;
	enum db_status status = db_sandbox_refund_fail(desk->press.x->web->db,
	    press_text(&desk->press, "refund"), &found);

	desk_found(desk, status, found, buf_text(&desk->home));
}

static void
desk_resend(struct desk *desk)
{
	bool found = false;
	enum db_status status = db_sandbox_event_resend(desk->press.x->web->db,
	    press_text(&desk->press, "event"), &found);

	desk_found(desk, status, found, "/#deliveries");
}

static void
desk_flush(struct desk *desk, bool dropped)
{
	struct sandbox_flush flush;

	press_answer(&desk->press,
	    db_sandbox_delivery_flush(desk->press.x->web->db, dropped, &flush),
	    "/#deliveries");
}

static void
desk_do(struct desk *desk)
{
	const struct press *press = &desk->press;

	if (press_is(press, "do", "refund"))
		desk_refund(desk);
	else if (press_is(press, "do", "dispute"))
		desk_dispute(desk, false);
	else if (press_is(press, "do", "inquiry"))
		desk_dispute(desk, true);
	else if (press_is(press, "do", "won"))
		desk_close(desk, "won");
	else if (press_is(press, "do", "lost"))
		desk_close(desk, "lost");
	else if (press_is(press, "do", "fail"))
		desk_fail(desk);
	else if (press_is(press, "do", "resend"))
		desk_resend(desk);
	else if (press_is(press, "do", "flush"))
		desk_flush(desk, false);
	else if (press_is(press, "do", "flush_dropped"))
		desk_flush(desk, true);
	else
		press_unknown(&desk->press);
}

void
desk_act(struct exchange *x)
{
	struct desk desk = {.home = {0}};

	if (press_open(&desk.press, x, "/")) {
		desk_home(&desk);
		desk.press.home = buf_text(&desk.home);
		desk_do(&desk);
	}
	press_close(&desk.press);
	buf_release(&desk.home);
}
