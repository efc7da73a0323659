/* Pure: rows of the index, from the lists that SQL makes. */
#include "sandbox/desk.h"

#include "sandbox/markup.h"
#include "web/document.h"

#include <inttypes.h>

static const struct {
	const char *view;
	const char *words;
} views[] = {
    {"open", "open"},
    {"held", "payment under way"},
    {"bank", "bank debit under way"},
    {"paid", "paid"},
    {"failed", "debit failed"},
    {"expired", "expired"},
};

static struct str
view_words(struct str view)
{
	for (size_t i = 0; i < sizeof(views) / sizeof(views[0]); i++) {
		if (str_is(view, views[i].view))
			return str_of(views[i].words);
	}
	return view;
}

/* " in 3 days", when the clock still brings it. */
static void
due_add(struct buf *out, const struct json *row, const char *name)
{
	int64_t ms = markup_number(row, name, -1);

	if (ms < 0)
		return;
	buf_str(out, " in ");
	document_left(out, ms);
}

static void
state_add(struct buf *out, const char *word)
{
	buf_printf(out, " <span class=\"state\">%s</span>", word);
}

static const char *
dispute_words(struct str status)
{
	static const struct {
		const char *status;
		const char *words;
	} all[] = {
	    {"warning_needs_response", "the bank asks"},
	    {"warning_closed", "inquiry closed"},
	    {"needs_response", "disputed"},
	    {"won", "dispute won"},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (str_is(status, all[i].status))
			return all[i].words;
	}
	return "dispute lost";
}

/* What is said of a session before it is unfolded. */
static void
states_add(struct buf *out, const struct json *row)
{
	const struct json *dispute = json_get(row, "dispute");
	int64_t refunded = markup_number(row, "refunded", 0);
	struct str status = markup_member(dispute, "status");

	buf_str(out, "<span class=\"state\">");
	str_html(out, view_words(markup_member(row, "view")));
	buf_str(out, "</span>");
	if (refunded > 0) {
		buf_str(out, " <span class=\"state\">");
		markup_money(out, refunded, markup_member(row, "currency"));
		buf_str(out, " refunded</span>");
	}
	if (status.len)
		state_add(out, dispute_words(status));
}

static void
summary_add(struct buf *out, const struct json *row)
{
	buf_str(out, "<summary><strong>");
	str_html(out, markup_member(row, "name"));
	buf_str(out, "</strong> <span class=\"states\"><span>");
	markup_money(out, markup_number(row, "amount", 0),
	    markup_member(row, "currency"));
	buf_str(out, "</span> ");
	states_add(out, row);
	buf_str(out, "</span> <span class=\"soft\">");
	str_html(out, markup_member(row, "reference"));
	buf_str(out, " · ");
	markup_time(out, markup_member(row, "created"));
	buf_str(out, "</span></summary>\n");
}

/* The forms of a session lead back to it. */
static void
act_add(struct buf *out, const struct json *session,
    const struct markup_act *act)
{
	markup_form(out, "/");
	markup_hidden(out, "session", markup_member(session, "id"));
	markup_hidden(out, act->name, act->value);
	markup_button(out, &act->button);
	buf_str(out, "</form>\n");
}

static void
refund_add(struct buf *out, const struct json *session,
    const struct json *refund)
{
	struct str status = markup_member(refund, "status");
	const struct markup_act fail = {
	    .name = "refund",
	    .value = markup_member(refund, "id"),
	    .button = {"fail", "Let it fail", markup_member(refund, "id")},
	};

	buf_str(out, "<li><div><p><strong>Refund of ");
	markup_money(out, markup_number(refund, "amount", 0),
	    markup_member(session, "currency"));
	buf_str(out, "</strong> <span class=\"state\">");
	str_html(out, status);
	buf_str(out, "</span></p>");
	if (markup_member(refund, "turn_to").len) {
		buf_str(out, "<p class=\"soft\">It is to be ");
		str_html(out, markup_member(refund, "turn_to"));
		due_add(out, refund, "turns_in_ms");
		buf_str(out, ".</p>");
	}
	buf_str(out, "</div>");
	if (!str_is(status, "failed"))
		act_add(out, session, &fail);
	buf_str(out, "</li>\n");
}

static bool
is_inquiry(struct str status)
{
	return str_is(status, "warning_needs_response") ||
	    str_is(status, "warning_closed");
}

static void
dispute_add(struct buf *out, const struct json *session,
    const struct json *dispute)
{
	struct str id = markup_member(dispute, "id");
	const struct markup_act won = {.name = "dispute",
	    .value = id,
	    .button = {"won", "Won", id}};
	const struct markup_act lost = {.name = "dispute",
	    .value = id,
	    .button = {"lost", "Lost", id}};
	const struct markup_act closed = {.name = "dispute",
	    .value = id,
	    .button = {"won", "Closed", id}};
	struct str status = markup_member(dispute, "status");

	buf_str(out, "<li><div><p><strong>");
	buf_str(out, is_inquiry(status) ? "Inquiry" : "Dispute");
	buf_str(out, " about ");
	markup_money(out, markup_number(dispute, "amount", 0),
	    markup_member(session, "currency"));
	buf_str(out, "</strong> <span class=\"state\">");
	if (str_is(status, "needs_response")) {
		buf_str(out,
		    "open</span></p><p class=\"soft\">What does the bank "
		    "decide, from the shop’s side?</p></div>");
		act_add(out, session, &won);
		act_add(out, session, &lost);
	} else if (str_is(status, "warning_needs_response")) {
		buf_str(out,
		    "open</span></p><p class=\"soft\">The bank has "
		    "only asked.</p></div>");
		act_add(out, session, &closed);
	} else {
		str_html(out, is_inquiry(status) ? str_of("closed") : status);
		buf_str(out, "</span></p></div>");
	}
	buf_str(out, "</li>\n");
}

static void
money_add(struct buf *out, const struct json *row)
{
	const struct json *refunds = json_get(row, "refunds");
	const struct json *refund = refunds ? refunds->first : NULL;
	const struct json *dispute = json_get(row, "dispute");
	bool disputed = dispute && dispute->type == JSON_OBJECT;

	if (!refund && !disputed)
		return;
	buf_str(out, "<ul class=\"list\">\n");
	for (; refund; refund = refund->next)
		refund_add(out, row, refund);
	if (disputed)
		dispute_add(out, row, dispute);
	buf_str(out, "</ul>\n");
}

static void
refund_form_add(struct buf *out, const struct json *row)
{
	const struct markup_button button = {
	    .act = "refund",
	    .label = "Refund",
	    .about = markup_member(row, "reference"),
	};

	markup_form(out, "/");
	markup_hidden(out, "session", markup_member(row, "id"));
	markup_hidden(out, "payment", markup_member(row, "payment"));
	markup_hidden(out, "currency", markup_member(row, "currency"));
	buf_str(out, "\n<div class=\"fields\"><label>Amount in ");
	str_html(out, markup_member(row, "currency"));
	buf_str(out,
	    " <input name=\"amount\" inputmode=\"decimal\" "
	    "maxlength=\"12\" placeholder=\"all\"></label>\n");
	markup_button(out, &button);
	buf_str(out, "</div></form>\n");
}

/* What the dashboard offers to do with a payment. */
static void
offers_add(struct buf *out, const struct json *row)
{
	struct str status = markup_member(json_get(row, "dispute"), "status");
	/* The bank has the money, for now or for good. */
	bool away = str_is(status, "needs_response") || str_is(status, "lost");
	struct markup_act act = {
	    .name = "payment",
	    .value = markup_member(row, "payment"),
	    .button = {"dispute", "The bank disputes it",
		markup_member(row, "reference")},
	};

	if (away || markup_member(row, "payment").len == 0 ||
	    markup_number(row, "left", 0) <= 0)
		return;
	buf_str(out, "<div class=\"offers\">\n");
	refund_form_add(out, row);
	act_add(out, row, &act);
	if (!str_is(status, "warning_needs_response")) {
		act.button.act = "inquiry";
		act.button.label = "The bank asks about it";
		act_add(out, row, &act);
	}
	buf_str(out, "</div>\n");
}

/* What the clock still brings. */
static void
wait_add(struct buf *out, const struct json *row)
{
	struct str settles = markup_member(row, "settle_to");

	if (markup_number(row, "pay_in_ms", -1) >= 0) {
		buf_str(out, "<p>It is paid");
		due_add(out, row, "pay_in_ms");
		buf_str(out, ".</p>\n");
	}
	if (settles.len) {
		buf_printf(out, "<p>The bank %s",
		    str_is(settles, "failed") ? "refuses the debit"
					      : "sends the money");
		due_add(out, row, "settle_in_ms");
		buf_str(out, ".</p>\n");
	}
	if (markup_number(row, "dispute_in_ms", -1) >= 0) {
		buf_str(out, "<p>The bank disputes it");
		due_add(out, row, "dispute_in_ms");
		buf_str(out, ".</p>\n");
	}
}

void
desk_session_add(struct buf *out, const struct json *row, struct str show)
{
	struct str id = markup_member(row, "id");

	buf_str(out, "<details class=\"fold\" id=\"");
	str_html(out, id);
	buf_str(out, str_equal(id, show) && id.len ? "\" open>" : "\">");
	summary_add(out, row);
	buf_str(out, "<div class=\"inside\">\n<p><a href=\"/c/pay/");
	str_url(out, id);
	buf_str(out, "\">Its pay page</a></p>\n");
	wait_add(out, row);
	money_add(out, row);
	offers_add(out, row);
	buf_str(out, "</div></details>\n");
}

void
desk_delivery_add(struct buf *out, const struct json *row)
{
	struct str error = markup_member(row, "error");
	int64_t tries = markup_number(row, "tries", 0);
	const struct markup_act resend = {
	    .action = "/",
	    .name = "event",
	    .value = markup_member(row, "event"),
	    .button = {"resend", "Send again", markup_member(row, "event")},
	};

	buf_str(out, "<li><div><p>");
	markup_element(out, "strong", markup_member(row, "type"));
	buf_str(out, " <span class=\"state\">");
	str_html(out, markup_member(row, "state"));
	buf_str(out, "</span></p><p class=\"soft\">");
	markup_time(out, markup_member(row, "created"));
	buf_printf(out, ", %" PRId64 " %s", tries,
	    tries == 1 ? "try" : "tries");
	if (error.len || markup_member(row, "status").len) {
		buf_str(out, ", ");
		str_html(out, error.len ? error : markup_member(row, "status"));
	}
	if (str_is(markup_member(row, "state"), "waiting")) {
		buf_str(out, ", next");
		due_add(out, row, "next_try_in_ms");
	}
	buf_str(out, "</p></div>");
	markup_act(out, &resend);
	buf_str(out, "</li>\n");
}

/* "12.00 EUR, 500 JPY" of {"EUR":1200,"JPY":500}. */
static void
sums_add(struct buf *out, const struct json *sums)
{
	const struct json *sum = sums ? sums->first : NULL;

	if (!sum)
		buf_str(out, "nothing");
	for (; sum; sum = sum->next) {
		int64_t amount = 0;

		(void)json_int(sum, &amount);
		markup_money(out, amount, sum->key);
		if (sum->next)
			buf_str(out, ", ");
	}
}

void
desk_books_add(struct buf *out, const struct json *books)
{
	static const char *const sums[][2] = {
	    {"captured", "Paid"},
	    {"refunded", "Refunded"},
	    {"refund_pending", "Refunds under way"},
	    {"disputed_lost", "Lost to banks"},
	};
	static const char *const counts[][2] = {
	    {"payments", "Payments"},
	    {"refunds", "Refunds that succeeded"},
	    {"refunds_failed", "Refunds that failed"},
	    {"disputes_open", "Disputes open"},
	    {"money_waiting", "To come with the clock"},
	};

	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
		buf_printf(out, "<div><dt>%s</dt><dd>", sums[i][1]);
		sums_add(out, json_get(books, sums[i][0]));
		buf_str(out, "</dd></div>\n");
	}
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		buf_printf(out, "<div><dt>%s</dt><dd>%" PRId64 "</dd></div>\n",
		    counts[i][1], markup_number(books, counts[i][0], 0));
}
