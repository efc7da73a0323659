/* The page, from one document of SQL's; and what its forms do. */
#include "sandbox/panel.h"

#include "io/db_sandbox.h"
#include "sandbox/markup.h"
#include "sandbox/page.h"
#include "sandbox/panel_fault.h"
#include "sandbox/press.h"
#include "web/document.h"

#include <inttypes.h>
#include <string.h>

/* As many as a person looks through. */
#define ROWS 50
#define OVER_MAX 10
/* Longer than the shop waits, by this. */
#define TIMEOUT_MORE_MS 5000
#define TIMES_MAX 1000000
#define SEED_MAX 200
#define HOUR_MS 3600000
#define DAY_MS 86400000
#define YEAR_DAYS 365
#define YEAR_HOURS 8760
/* What a webhook is held back by hand: a day. */
#define WEBHOOK_MS_MAX 86400000

#define HOME "/faults"
#define ACTIVE "/faults#active"

static int64_t
timeout_ms(const struct exchange *x)
{
	int64_t ms = x->web->conf->stripe.timeout_ms + TIMEOUT_MORE_MS;

	return ms < FAULT_WAIT_MS_MAX ? ms : FAULT_WAIT_MS_MAX;
}

/* The page -------------------------------------------------------------- */

/* "50 of 100, at most 5 times, 2 s" */
static void
terms_add(struct buf *out, const struct json *row,
    const struct fault_entry *entry)
{
	int64_t times = markup_number(row, "times", 0);
	int64_t ms = markup_number(row, "ms", 0);

	buf_printf(out, "%" PRId64 " of a hundred",
	    markup_number(row, "percent", 100));
	if (times > 0)
		buf_printf(out, ", %" PRId64 " times in all", times);
	if (!entry || entry->after == AFTER_NONE)
		return;
	buf_str(out, entry->after == AFTER_WAIT ? ", for " : ", after ");
	if (ms % 1000)
		buf_printf(out, "%" PRId64 " ms", ms);
	else
		document_left(out, ms);
}

static bool
is_active(const struct json *row)
{
	const struct json *active = json_get(row, "active");

	return active && active->truth;
}

static void
fault_add(struct buf *out, const struct json *row)
{
	const struct fault_entry *entry =
	    fault_entry_find(markup_member(row, "kind"));
	struct str words = fault_target_words(markup_member(row, "target"));
	struct str title =
	    entry ? str_of(entry->title) : markup_member(row, "kind");
	int64_t struck = markup_number(row, "struck", 0);
	const struct markup_act end = {
	    .action = HOME,
	    .name = "fault",
	    .value = markup_member(row, "fault"),
	    .button = {.act = "end", .label = "End it", .about = title},
	};

	buf_str(out, "<li><div><p>");
	markup_element(out, "strong", title);
	buf_str(out, " <span>");
	str_html(out, words);
	buf_str(out, "</span></p><p class=\"soft\">");
	terms_add(out, row, entry);
	buf_printf(out, ". <strong>Struck %" PRId64 " %s.</strong></p></div>",
	    struck, struck == 1 ? "time" : "times");
	if (is_active(row))
		markup_act(out, &end);
	buf_str(out, "</li>\n");
}

/* Those that are on come first; then the newest that are over. */
static void
faults_add(struct buf *out, const struct json *faults)
{
	const struct json *row = faults ? faults->first : NULL;

	if (!row || !is_active(row)) {
		buf_str(out, "<p>Nothing goes wrong.</p>\n");
	} else {
		buf_str(out, "<ul class=\"list\">\n");
		for (; row && is_active(row); row = row->next)
			fault_add(out, row);
		buf_str(out,
		    "</ul>\n<form method=\"post\" action=\"" HOME "\">"
		    "<button class=\"button\" name=\"do\" value=\"end_all\">"
		    "End all of them</button></form>\n");
	}
	if (!row)
		return;
	buf_str(out,
	    "<details class=\"fold\"><summary><strong>Over by now"
	    "</strong> <span>Ended, or struck as often as it should."
	    "</span></summary>\n<div class=\"inside\"><ul "
	    "class=\"list\">\n");
	for (int i = 0; row && i < OVER_MAX; i++, row = row->next)
		fault_add(out, row);
	buf_str(out, "</ul></div></details>\n");
}

static void
ahead_add(struct buf *out, int64_t ms)
{
	if (ms == 0) {
		buf_str(out, "the real time");
		return;
	}
	document_left(out, ms);
	buf_str(out, " ahead of the real time");
}

/* What fills the page. */
struct view {
	struct buf clock;
	struct buf ahead;
	struct buf seed;
	struct buf active;
	struct buf groups[3];
};

static void
view_fill(struct view *view, const struct json *root, int64_t timeout)
{
	const struct json *clock = json_get(root, "clock");

	markup_time(&view->clock, markup_member(clock, "now"));
	ahead_add(&view->ahead, markup_number(clock, "ahead_ms", 0));
	str_html(&view->seed, markup_member(root, "seed"));
	faults_add(&view->active, json_get(root, "faults"));
	for (int i = GROUP_CALLS; i <= GROUP_MONEY; i++)
		fault_group_add(&view->groups[i], (enum fault_group)i, timeout);
}

static void
view_release(struct view *view)
{
	buf_release(&view->clock);
	buf_release(&view->ahead);
	buf_release(&view->seed);
	buf_release(&view->active);
	for (int i = GROUP_CALLS; i <= GROUP_MONEY; i++)
		buf_release(&view->groups[i]);
}

static void
panel_page(struct exchange *x, const struct json *root)
{
	struct view view = {{0}, {0}, {0}, {0}, {{0}, {0}, {0}}};

	view_fill(&view, root, timeout_ms(x));
	const struct page_value values[] = {
	    {"clock", str_view(&view.clock)},
	    {"ahead", str_view(&view.ahead)},
	    {"seed", str_view(&view.seed)},
	    {"active", str_view(&view.active)},
	    {"calls", str_view(&view.groups[GROUP_CALLS])},
	    {"webhooks", str_view(&view.groups[GROUP_WEBHOOKS])},
	    {"money", str_view(&view.groups[GROUP_MONEY])},
	};

	sandbox_page_policy(x, "");
	exchange_page(x, 200, PAGE_SANDBOX_FAULTS, values, 7);
	view_release(&view);
}

static void
panel_show(struct exchange *x)
{
	struct buf document = {0};
	struct json_doc *doc = NULL;
	const char *why;

	if (db_sandbox_panel(x->web->db, ROWS, &document) == DB_OK)
		doc = json_parse(str_view(&document), &why);
	if (doc)
		panel_page(x, json_root(doc));
	else
		sandbox_page_busy(x);
	json_free(doc);
	buf_release(&document);
}

/* The forms --------------------------------------------------------------- */

static bool
target_fits(const struct fault_entry *entry, struct str target)
{
	for (size_t i = 0; entry->targets[i]; i++) {
		if (str_is(target, entry->targets[i]))
			return true;
	}
	return false;
}

/* How long after what; false when the press has been refused. */
static bool
after_read(struct press *press, const struct fault_entry *entry, int64_t *ms)
{
	const struct press_number days = {.name = "days",
	    .label = "After days",
	    .most = YEAR_DAYS};
	const struct press_number number = {
	    .name = "ms",
	    .label = "Milliseconds",
	    .most =
		entry->after == AFTER_WAIT ? FAULT_WAIT_MS_MAX : WEBHOOK_MS_MAX,
	};
	int64_t n = -1;

	if (entry->after == AFTER_NONE)
		return true;
	if (!press_number(press, entry->after == AFTER_DAYS ? &days : &number,
		&n))
		return false;
	if (n >= 0)
		*ms = entry->after == AFTER_DAYS ? n * DAY_MS : n;
	return true;
}

static void
panel_add(struct press *press)
{
	static const struct press_number percent = {.name = "percent",
	    .label = "Of a hundred",
	    .least = 1,
	    .most = 100};
	static const struct press_number times = {.name = "times",
	    .label = "Times in all",
	    .least = 1,
	    .most = TIMES_MAX};
	struct sandbox_fault_new fault = {
	    .target = press_text(press, "target"),
	    .kind = press_text(press, "kind"),
	    .percent = 100,
	    .ms = -1,
	    .timeout_ms = timeout_ms(press->x),
	};
	const struct fault_entry *entry = fault_entry_find(fault.kind);
	int64_t id;

	if (!entry || !target_fits(entry, fault.target)) {
		press_refuse(press, 400, "That was not understood",
		    entry ? "This fault cannot happen to that: choose which "
			    "calls it strikes from the list."
			  : "There is no such fault.");
		return;
	}
	if (press_number(press, &percent, &fault.percent) &&
	    press_number(press, &times, &fault.times) &&
	    after_read(press, entry, &fault.ms))
		press_answer(press,
		    db_sandbox_fault_add(press->x->web->db, &fault, &id),
		    ACTIVE);
}

static void
panel_end(struct press *press, bool all)
{
	static const struct press_number number = {.name = "fault",
	    .label = "The fault's number",
	    .least = 1,
	    .most = INT64_MAX,
	    .needed = true};
	int64_t id = 0;
	int64_t count = 0;
	enum db_status status;

	if (!all && !press_number(press, &number, &id))
		return;
	status = db_sandbox_fault_clear(press->x->web->db, id, &count);
	if (status == DB_OK && !all && count == 0)
		press_refuse(press, 404, "There is no such fault",
		    "It was never switched on here.");
	else
		press_answer(press, status, ACTIVE);
}

static void
panel_forward(struct press *press)
{
	static const struct press_number number = {.name = "hours",
	    .label = "Hours",
	    .least = 1,
	    .most = YEAR_HOURS,
	    .needed = true};
	struct buf now = {0};
	int64_t hours = 0;

	if (press_number(press, &number, &hours))
		press_answer(press,
		    db_sandbox_clock_forward(press->x->web->db, hours * HOUR_MS,
			&now),
		    "/faults#clock");
	buf_release(&now);
}

static void
panel_seed(struct press *press)
{
	struct str seed = press_text(press, "seed");
	struct buf now = {0};

	if (seed.len == 0 || seed.len > SEED_MAX)
		press_refuse(press, 400, "That was not understood",
		    "A seed has from 1 to 200 characters.");
	else
		press_answer(press,
		    db_sandbox_seed_set(press->x->web->db, seed, &now),
		    "/faults#seed");
	buf_release(&now);
}

static void
panel_do(struct press *press)
{
	if (press_is(press, "do", "add"))
		panel_add(press);
	else if (press_is(press, "do", "end"))
		panel_end(press, false);
	else if (press_is(press, "do", "end_all"))
		panel_end(press, true);
	else if (press_is(press, "do", "forward"))
		panel_forward(press);
	else if (press_is(press, "do", "seed"))
		panel_seed(press);
	else
		press_unknown(press);
}

void
sandbox_panel(struct exchange *x)
{
	struct press press;

	if (!str_is(x->request->method, "POST")) {
		panel_show(x);
		return;
	}
	if (press_open(&press, x, HOME))
		panel_do(&press);
	press_close(&press);
}
