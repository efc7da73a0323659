/* Pure: the table of faults, and the folds that are made of it. */
#include "sandbox/panel_fault.h"

#include "sandbox/markup.h"

#include <inttypes.h>
#include <string.h>

#define EVERY_CALL \
	{ \
		"any", "open", "end", "refund", "look" \
	}
#define EVERY_CHANGE \
	{ \
		"any", "open", "end", "refund" \
	}
#define ONCE \
	"The shop cannot know what happened. It asks again with the same " \
	"key: one pay page is opened, one refund is sent."
#define LATER \
	"The shop asks again, later each time. After the last try the call " \
	"is listed by lastpair task list, and lastpair task retry makes it " \
	"once more."

static const struct fault_entry entries[] = {
    {"slow", EVERY_CALL, "Slow answer",
	"The provider does what it was asked after a while. Asked again "
	"meanwhile, it says that the call is in use.",
	"Buyers wait a little longer for their pay page. Nobody else waits "
	"with them.",
	GROUP_CALLS, AFTER_WAIT, 2000, 100},
    {"timeout", EVERY_CALL, "No answer in time",
	"The provider does what it was asked at once, and answers when the "
	"shop has stopped waiting.",
	ONCE, GROUP_CALLS, AFTER_WAIT, -1, 100},
    {"lost", EVERY_CALL, "Answer lost",
	"The provider does what it was asked, and its answer breaks off "
	"half-way.",
	ONCE, GROUP_CALLS, AFTER_NONE, 0, 100},
    {"error", EVERY_CALL, "Error, nothing done",
	"The provider answers 500 and does nothing. Asked again with the "
	"same key, it says the same again.",
	"The shop looks first whether it was done, and then asks with a new "
	"key. Buyers get their pay page a little later.",
	GROUP_CALLS, AFTER_NONE, 0, 100},
    {"error_after", EVERY_CALL, "Error, but done",
	"The provider does what it was asked and answers 500 all the same.",
	"The shop looks first whether it was done: nothing is done twice.",
	GROUP_CALLS, AFTER_NONE, 0, 100},
    {"unavailable", EVERY_CALL, "Not available",
	"The provider answers 503, without a word of its own, and does "
	"nothing.",
	LATER, GROUP_CALLS, AFTER_NONE, 0, 100},
    {"rate", EVERY_CALL, "Too many calls",
	"The provider answers 429 and does nothing.", LATER, GROUP_CALLS,
	AFTER_NONE, 0, 100},
    {"conflict", EVERY_CHANGE, "Call in use",
	"The provider answers 409, as if the same call were still under "
	"way, and does nothing.",
	LATER, GROUP_CALLS, AFTER_NONE, 0, 100},
    {"duplicate", {"delivery"}, "Sent twice",
	"Each webhook is sent again after a while.",
	"lastpair event list: the second one is a repeat, and does nothing.",
	GROUP_WEBHOOKS, AFTER_MS, 500, 100},
    {"delay", {"delivery"}, "Sent late", "Webhooks are held back for a while.",
	"The order is paid when its webhook comes. If the buyer's time is "
	"over by then, the order page says what the shop has made of it.",
	GROUP_WEBHOOKS, AFTER_MS, 3000, 100},
    {"reorder", {"delivery"}, "Out of order",
	"Some webhooks are held back, so that later ones overtake them.",
	"Each order ends up as it does when they come in order.",
	GROUP_WEBHOOKS, AFTER_MS, 3000, 50},
    {"drop", {"delivery"}, "Never sent", "Webhooks are not sent at all.",
	"The buyer has paid and the shop does not know, until it compares "
	"its books with the provider's (lastpair reconcile --repair), or the "
	"webhook is sent after all: the page of payments has a button for "
	"that.",
	GROUP_WEBHOOKS, AFTER_NONE, 0, 100},
    {"dispute", {"payment"}, "The bank takes it back",
	"The buyer's bank disputes a payment after it was made.",
	"The order stays paid, lastpair task list has it, and it cannot be "
	"refunded. Decide the dispute on the page of payments.",
	GROUP_MONEY, AFTER_DAYS, 0, 100},
    {"refund_pending", {"refund"}, "Refund takes days",
	"A refund is pending first, and succeeds after some days.",
	"The order page says that the money is on its way, until it has "
	"gone back.",
	GROUP_MONEY, AFTER_DAYS, 3, 100},
    {"refund_fails", {"refund"}, "Refund fails later",
	"A refund succeeds, and fails after some days: the money is back at "
	"the shop.",
	"The order page says that the refund needs a person, and lastpair "
	"task list names it.",
	GROUP_MONEY, AFTER_DAYS, 3, 100},
    {"refund_pending_fails", {"refund"}, "Refund takes days and fails",
	"A refund is pending first, and fails after some days.",
	"The order page says that the money is on its way, and then that "
	"the refund needs a person.",
	GROUP_MONEY, AFTER_DAYS, 3, 100},
};

#define ENTRIES (sizeof(entries) / sizeof(entries[0]))

static const struct {
	const char *target;
	const char *words;
} targets[] = {
    {"any", "every call"},
    {"open", "opening a pay page"},
    {"end", "closing a pay page"},
    {"refund", "refunds"},
    {"look", "questions"},
    {"delivery", "webhooks"},
    {"payment", "payments"},
};

const struct fault_entry *
fault_entry_find(struct str kind)
{
	for (size_t i = 0; i < ENTRIES; i++) {
		if (str_is(kind, entries[i].kind))
			return &entries[i];
	}
	return NULL;
}

struct str
fault_target_words(struct str target)
{
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
		if (str_is(target, targets[i].target))
			return str_of(targets[i].words);
	}
	return target;
}

static void
target_add(struct buf *out, const struct fault_entry *entry)
{
	if (!entry->targets[1]) {
		markup_hidden(out, "target", str_of(entry->targets[0]));
		return;
	}
	buf_str(out, "<label>Which calls <select name=\"target\">");
	for (size_t i = 0; entry->targets[i]; i++) {
		buf_printf(out, "<option value=\"%s\">", entry->targets[i]);
		str_html(out, fault_target_words(str_of(entry->targets[i])));
		buf_str(out, "</option>");
	}
	buf_str(out, "</select></label>\n");
}

static void
after_add(struct buf *out, const struct fault_entry *entry, int64_t timeout_ms)
{
	int64_t usual = entry->usual < 0 ? timeout_ms : entry->usual;
	const char *most = entry->after == AFTER_WAIT ? "100000" : "86400000";

	if (entry->after == AFTER_DAYS)
		buf_printf(out,
		    "<label>After days <input name=\"days\" type=\"number\" "
		    "inputmode=\"numeric\" min=\"0\" max=\"365\" "
		    "value=\"%" PRId64 "\"></label>\n",
		    usual);
	else if (entry->after != AFTER_NONE)
		buf_printf(out,
		    "<label>Milliseconds <input name=\"ms\" type=\"number\" "
		    "inputmode=\"numeric\" min=\"0\" max=\"%s\" "
		    "value=\"%" PRId64 "\"></label>\n",
		    most, usual);
}

static void
form_add(struct buf *out, const struct fault_entry *entry, int64_t timeout_ms)
{
	const struct markup_button button = {
	    .act = "add",
	    .label = "Switch on",
	    .about = str_of(entry->title),
	};

	markup_form(out, "/faults");
	markup_hidden(out, "kind", str_of(entry->kind));
	buf_str(out, "\n<div class=\"fields\">\n");
	target_add(out, entry);
	buf_printf(out,
	    "<label>Of a hundred <input name=\"percent\" type=\"number\" "
	    "inputmode=\"numeric\" min=\"1\" max=\"100\" value=\"%d\"></label>"
	    "\n<label>Times in all <input name=\"times\" type=\"number\" "
	    "inputmode=\"numeric\" min=\"1\" max=\"1000000\" "
	    "placeholder=\"no end\"></label>\n",
	    entry->percent);
	after_add(out, entry, timeout_ms);
	markup_button(out, &button);
	buf_str(out, "\n</div></form>\n");
}

void
fault_group_add(struct buf *out, enum fault_group group, int64_t timeout_ms)
{
	for (size_t i = 0; i < ENTRIES; i++) {
		const struct fault_entry *entry = &entries[i];

		if (entry->group != group)
			continue;
		buf_str(out, "<details class=\"fold\"><summary>");
		markup_element(out, "strong", str_of(entry->title));
		buf_char(out, ' ');
		markup_element(out, "span", str_of(entry->what));
		buf_str(out,
		    "</summary>\n<div class=\"inside\">\n<p><strong>"
		    "Look at the shop:</strong> ");
		str_html(out, str_of(entry->look));
		buf_str(out, "</p>\n");
		form_add(out, entry, timeout_ms);
		buf_str(out, "</div></details>\n");
	}
}
