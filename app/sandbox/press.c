/* Reading a form, and the answers that forms have in common. */
#include "sandbox/press.h"

#include "sandbox/page.h"
#include "web/origin.h"

#include <inttypes.h>

void
press_refuse(struct press *press, int status, const char *title,
    const char *advice)
{
	const struct page_note note = {
	    .status = status,
	    .title = title,
	    .advice = advice,
	    .link = press->home,
	    .back = "Go back",
	};

	sandbox_page_note(press->x, &note);
	press->refused = true;
}

void
press_unknown(struct press *press)
{
	press_refuse(press, 400, "That was not understood",
	    "The form asks for nothing that this page can do.");
}

bool
press_open(struct press *press, struct exchange *x, const char *home)
{
	const struct origin origin = {
	    .fetch_site = fcgi_param(x->fcgi, "HTTP_SEC_FETCH_SITE"),
	    .origin = fcgi_param(x->fcgi, "HTTP_ORIGIN"),
	};

	press->x = x;
	press->home = home;
	press->refused = false;
	if (form_parse(&press->form, x->request->body))
		press_refuse(press, 400, "That was not understood",
		    "The form is damaged.");
	else if (!origin_is_ours(&origin, x->web->conf->sandbox.pay_url))
		press_refuse(press, 403, "This was not sent from here",
		    "The form was sent by a page of another site. Nothing "
		    "was done.");
	else
		return true;
	return false;
}

void
press_close(struct press *press)
{
	form_release(&press->form);
}

struct str
press_text(const struct press *press, const char *name)
{
	struct str text = {NULL, 0};

	(void)form_get(&press->form, name, &text);
	return text;
}

bool
press_is(const struct press *press, const char *name, const char *value)
{
	return str_is(press_text(press, name), value);
}

bool
press_number(struct press *press, const struct press_number *number,
    int64_t *value)
{
	struct str text = {NULL, 0};
	struct buf advice = {0};
	int64_t read = 0;
	size_t times = form_get(&press->form, number->name, &text);

	if (text.len == 0 && !number->needed)
		return true;
	if (times == 1 && str_int(text, &read) && read >= number->least &&
	    read <= number->most) {
		*value = read;
		return true;
	}
	buf_printf(&advice,
	    "“%s” is a whole number from %" PRId64 " to %" PRId64 "%s.",
	    number->label, number->least, number->most,
	    number->needed ? "" : ", or empty");
	press_refuse(press, 400, "That was not understood", buf_text(&advice));
	buf_release(&advice);
	return false;
}

void
press_answer(struct press *press, enum db_status status, const char *location)
{
	if (status == DB_OK)
		exchange_redirect(press->x, location);
	else if (status == DB_REFUSED)
		press_refuse(press, 400, "That was not understood",
		    "The sandbox cannot do that.");
	else
		press_refuse(press, 503, "The sandbox is busy",
		    "Its database is away. Please try again in a moment.");
}
