/*
 * Templates are filled from the inside out: first the parts, which then are
 * values of the whole.
 */
#include "mail/letter.h"

#include "base/json.h"
#include "base/log.h"
#include "base/money.h"
#include "web/template.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BUYER " order price lines link shop amount reason standing "
#define TASK " task order about subject detail look shop facts "
#define FACTS " task order about subject detail look shop "

static const struct template templates[] = {
    {"mail/paid.txt", BUYER},
    {"mail/paid_late.txt", BUYER},
    {"mail/pending.txt", BUYER},
    {"mail/payment_failed.txt", BUYER},
    {"mail/refund_owed.txt", BUYER},
    {"mail/refunded.txt", BUYER},
    {"mail/refund_failed.txt", BUYER},
    /* Why money goes back: data.refund.reason. */
    {"mail/reason_paid_late.txt", " "},
    {"mail/reason_paid_twice.txt", " "},
    {"mail/reason_asked_for.txt", " "},
    {"mail/reason_at_provider.txt", " "},
    /* What the order is besides: data.hold.state. */
    {"mail/standing_paid.txt", " "},
    {"mail/standing_released.txt", " "},
    /* To the operator: data.task.kind. */
    {"mail/task_stuck.txt", TASK},
    {"mail/task_refused.txt", TASK},
    {"mail/task_mismatch.txt", TASK},
    {"mail/task_unclear.txt", TASK},
    {"mail/task_refund_failed.txt", TASK},
    {"mail/task_dispute.txt", TASK},
    {"mail/task_dispute_lost.txt", TASK},
    {"mail/task_difference.txt", TASK},
    {"mail/task_mail.txt", TASK},
    {"mail/task_not_set_up.txt", TASK},
    {"mail/task_facts.txt", FACTS},
};

_Static_assert(sizeof(templates) / sizeof(templates[0]) == LETTERS,
    "LETTERS is the number of templates");

static const char subject_word[] = "Subject: ";

/* Whether a whole mail, not a part of one, has its subject. */
static bool
has_subject(const struct buf *text)
{
	const char *end = strchr(buf_text(text), '\n');

	return strncmp(buf_text(text), subject_word,
		   sizeof(subject_word) - 1) == 0 &&
	    end && end[1] == '\n';
}

static bool
is_whole(const struct template *template)
{
	return strcmp(template->placeholders, BUYER) == 0 ||
	    strcmp(template->placeholders, TASK) == 0;
}

const char *
letters_load(struct letters *letters, const char *share)
{
	const char *why = NULL;

	*letters = (struct letters){0};
	for (size_t i = 0; i < LETTERS && !why; i++) {
		why = template_load(&letters->text[i], &templates[i], share,
		    &letters->complaint);
		if (why || !is_whole(&templates[i]) ||
		    has_subject(&letters->text[i]))
			continue;
		buf_printf(&letters->complaint,
		    "%s does not begin with a line \"Subject: \" and an empty "
		    "line",
		    templates[i].file);
		why = buf_text(&letters->complaint);
	}
	return why;
}

void
letters_release(struct letters *letters)
{
	for (size_t i = 0; i < LETTERS; i++)
		buf_release(&letters->text[i]);
	buf_release(&letters->complaint);
}

bool
letters_check(const char *share)
{
	struct letters letters;
	const char *why = letters_load(&letters, share);

	if (why)
		log_error("%s", why);
	letters_release(&letters);
	return !why;
}

void
letter_release(struct letter *letter)
{
	buf_release(&letter->subject);
	buf_release(&letter->text);
}

struct values {
	const struct page_value *list;
	size_t count;
};

/* Appends a template by its name; false when there is none. */
static bool
part_add(struct buf *out, const struct letters *letters, const char *name,
    struct values values)
{
	struct buf file = {0};
	size_t i = 0;

	buf_printf(&file, "mail/%s.txt", name);
	while (i < LETTERS && strcmp(templates[i].file, buf_text(&file)) != 0)
		i++;
	buf_release(&file);
	if (i == LETTERS)
		return false;
	template_fill(out,
	    &(struct template_fill){&templates[i], &letters->text[i],
		values.list, values.count});
	return true;
}

/* The same for a part that has no values; its name is prefix and word. */
static bool
word_add(struct buf *out, const struct letters *letters, const char *prefix,
    struct str word)
{
	struct buf name = {0};
	bool found;

	buf_printf(&name, "%s%.*s", prefix, (int)word.len, word.text);
	found = part_add(out, letters, buf_text(&name), (struct values){0});
	buf_release(&name);
	return found;
}

/* Cuts the subject off the filled text, which begins with its line. */
static void
letter_cut(struct letter *letter, const struct buf *whole)
{
	const char *subject = buf_text(whole) + sizeof(subject_word) - 1;
	size_t len = strcspn(subject, "\n");

	buf_reset(&letter->subject);
	buf_reset(&letter->text);
	buf_add(&letter->subject, subject, len);
	subject += len;
	buf_str(&letter->text, subject + strspn(subject, "\n"));
}

/* One line for each thing that was bought. */
static void
lines_add(struct buf *out, const struct document *document)
{
	const struct json *lines = json_get(document->root, "lines");
	const struct json *line =
	    lines && lines->type == JSON_ARRAY ? lines->first : NULL;

	for (; line; line = line->next) {
		struct str title = json_text(json_get(line, "title"));
		int64_t qty = 0;

		(void)json_int(json_get(line, "qty"), &qty);
		buf_printf(out, "    %" PRId64 " x %.*s\n", qty, (int)title.len,
		    title.text);
	}
}

static void
amount_add(struct buf *out, const struct document *document)
{
	struct str currency = document_text(document, "refund.currency");
	struct money money = {
	    .amount = document_int(document, "refund.amount"),
	};

	if (currency.len != sizeof(money.currency) - 1)
		return;
	memcpy(money.currency, currency.text, currency.len);
	money_format(out, &money);
}

/* What a buyer's mail says of an order and its money. */
struct words {
	struct buf price, lines, link, amount, reason, standing;
};

/* False when something has no word for it. */
static bool
words_find(struct words *words, const struct letters *letters,
    const struct letter_facts *facts)
{
	const struct document *document = facts->document;
	struct str hold = document_text(document, "hold");

	document_price(&words->price, document);
	lines_add(&words->lines, document);
	buf_printf(&words->link, "%s/order/%.*s", facts->shop, (int)hold.len,
	    hold.text);
	if (document_text(document, "refund.state").len == 0)
		return true;
	amount_add(&words->amount, document);
	return word_add(&words->reason, letters, "reason_",
		   document_text(document, "refund.reason")) &&
	    word_add(&words->standing, letters, "standing_",
		document_text(document, "state"));
}

static bool
buyer_write(struct buf *whole, const struct letters *letters,
    const struct letter_facts *facts)
{
	struct words words = {0};
	bool ok = words_find(&words, letters, facts);
	const struct page_value values[] = {
	    {"order", document_text(facts->document, "order")},
	    {"price", str_view(&words.price)},
	    {"lines", str_view(&words.lines)},
	    {"link", str_view(&words.link)},
	    {"shop", str_of(facts->shop)},
	    {"amount", str_view(&words.amount)},
	    {"reason", str_view(&words.reason)},
	    {"standing", str_view(&words.standing)},
	};

	ok = ok &&
	    part_add(whole, letters, facts->kind,
		(struct values){values, sizeof(values) / sizeof(values[0])});
	buf_release(&words.price);
	buf_release(&words.lines);
	buf_release(&words.link);
	buf_release(&words.amount);
	buf_release(&words.reason);
	buf_release(&words.standing);
	return ok;
}

/* The commands that show what a task is about. */
static void
look_add(struct buf *out, struct str order, struct str subject)
{
	static const char event[] = "event ";
	size_t len = sizeof(event) - 1;

	if (order.len)
		buf_printf(out, "    lastpair order show %.*s\n",
		    (int)order.len, order.text);
	if (subject.len > len && memcmp(subject.text, event, len) == 0)
		buf_printf(out, "    lastpair event show %.*s\n",
		    (int)(subject.len - len), subject.text + len);
	buf_str(out, "    lastpair task list\n");
}

static bool
task_write(struct buf *whole, const struct letters *letters,
    const struct letter_facts *facts)
{
	const struct document *document = facts->document;
	struct str kind = document_text(document, "task.kind");
	struct str order = document_text(document, "task.order");
	struct str subject = document_text(document, "task.subject");
	struct str detail = document_text(document, "task.detail");
	struct buf look = {0}, name = {0}, parts = {0};
	struct page_value values[] = {
	    {"facts", {NULL, 0}},
	    {"look", {NULL, 0}},
	    {"task", document_text(document, "task.task")},
	    {"order", order.len ? order : str_of("none is known")},
	    {"about", order.len ? order : subject},
	    {"subject", subject},
	    {"detail", detail.len ? detail : str_of("none")},
	    {"shop", str_of(facts->shop)},
	};
	struct values all = {values, sizeof(values) / sizeof(values[0])};
	bool ok;

	look_add(&look, order, subject);
	values[1].text = str_view(&look);
	ok = part_add(&parts, letters, "task_facts", all);
	values[0].text = str_view(&parts);
	buf_printf(&name, "task_%.*s", (int)kind.len, kind.text);
	ok = ok && part_add(whole, letters, buf_text(&name), all);
	buf_release(&look);
	buf_release(&name);
	buf_release(&parts);
	return ok;
}

bool
letter_write(struct letter *letter, const struct letters *letters,
    const struct letter_facts *facts)
{
	struct buf whole = {0};
	bool ok = strcmp(facts->kind, "task") == 0
	    ? task_write(&whole, letters, facts)
	    : buyer_write(&whole, letters, facts);

	if (ok)
		letter_cut(letter, &whole);
	buf_release(&whole);
	return ok;
}
