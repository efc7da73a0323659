/*
 * order refund: gives money of an order back. Says what will happen, and asks
 * before it does; the database decides again when it is done.
 */
#include "command/command.h"

#include "base/json.h"
#include "base/log.h"
#include "base/money.h"
#include "base/str.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* An order as it stood when we looked. */
struct order {
	char number[24]; /* ord_1001 */
	char currency[4];
	bool paid; /* its units are sold */
	int64_t captured;
	int64_t returned; /* has gone back, or is on its way */
};

static struct json_doc *
order_parse(const struct buf *document)
{
	const char *why = "";
	struct json_doc *doc = json_parse(str_view(document), &why);

	if (doc == NULL)
		log_bug("the database's JSON is %s", why);
	return doc;
}

static void
copy_text(char *to, size_t size, const struct json *from)
{
	struct str text = json_text(from);

	snprintf(to, size, "%.*s", (int)text.len, text.len ? text.text : "");
}

static void
order_add(struct order *order, const struct json *payment)
{
	const struct json *refund = json_get(payment, "refunds");
	int64_t amount;

	if (json_int(json_get(payment, "captured"), &amount))
		order->captured += amount;
	for (refund = refund == NULL ? NULL : refund->first; refund != NULL;
	     refund = refund->next) {
		struct str state = json_text(json_get(refund, "state"));

		if (!str_is(state, "failed") && !str_is(state, "void") &&
		    json_int(json_get(refund, "amount"), &amount))
			order->returned += amount;
	}
}

static void
order_read(struct order *order, const struct buf *document)
{
	struct json_doc *doc = order_parse(document);
	const struct json *root = json_root(doc);
	const struct json *payment = json_get(root, "payments");

	*order = (struct order){0};
	copy_text(order->number, sizeof(order->number),
	    json_path(root, "hold.order"));
	copy_text(order->currency, sizeof(order->currency),
	    json_path(root, "hold.price.currency"));
	order->paid = str_is(json_text(json_path(root, "hold.state")), "paid");
	for (payment = payment == NULL ? NULL : payment->first; payment != NULL;
	     payment = payment->next)
		order_add(order, payment);
	json_free(doc);
}

static void
add_money(struct buf *b, int64_t amount, const char *currency)
{
	struct money money = {.amount = amount};

	memcpy(money.currency, currency, sizeof(money.currency));
	money_format(b, &money);
}

/* What will happen, in a sentence or two. */
static void
refund_explain(const struct order *order, int64_t amount)
{
	int64_t left = order->captured - order->returned;
	int64_t back = amount < 0 ? left : amount;
	struct buf text = {0};

	buf_printf(&text, "%s was paid with ", order->number);
	add_money(&text, order->captured, order->currency);
	if (order->returned > 0) {
		buf_str(&text, ", of which ");
		add_money(&text, order->returned, order->currency);
		buf_str(&text, " went back before");
	}
	buf_str(&text, ".\n");
	add_money(&text, back, order->currency);
	if (back < left) {
		buf_str(&text, " of it go back now, and ");
		add_money(&text, left - back, order->currency);
		buf_str(&text, " stay. The order stays as it is.");
	} else if (order->paid) {
		buf_str(&text,
		    " go back now: that is all of it. The order is "
		    "cancelled, its units are on sale again.");
	} else {
		buf_str(&text, " go back now: that is all of it.");
	}
	puts(buf_text(&text));
	buf_release(&text);
}

/* Whether somebody at a terminal says yes. */
static bool
refund_agreed(void)
{
	char line[16];

	fputs("Do it? [y/N] ", stdout);
	fflush(stdout);
	return fgets(line, sizeof(line), stdin) != NULL &&
	    (strcmp(line, "y\n") == 0 || strcmp(line, "yes\n") == 0);
}

static int
refund_done(const struct order *order, const struct buf *document, bool json)
{
	struct json_doc *doc = order_parse(document);
	int64_t left = 0;
	struct buf text = {0};

	json_int(json_get(json_root(doc), "left"), &left);
	buf_printf(&text, "%s: the money is on its way back, ", order->number);
	add_money(&text, left, order->currency);
	buf_str(&text, " are left");
	puts(json ? buf_text(document) : buf_text(&text));
	buf_release(&text);
	json_free(doc);
	return EXIT_DONE;
}

/* Each outcome in one line. */
static int
refund_result(const struct order *order, const struct answer *answer, bool json)
{
	const char *outcome = answer->outcome;

	if (strcmp(outcome, "done") == 0)
		return refund_done(order, &answer->document, json);
	if (strcmp(outcome, "not-paid") == 0)
		return command_fail(EXIT_REFUSED,
		    "no money has come for %s, so there is nothing to give "
		    "back",
		    order->number);
	if (strcmp(outcome, "disputed") == 0)
		return command_fail(EXIT_REFUSED,
		    "the bank is looking into %s and has the last word; "
		    "nothing goes back before",
		    order->number);
	if (strcmp(outcome, "nothing-left") == 0)
		return command_fail(EXIT_REFUSED,
		    "all money of %s has gone back already", order->number);
	if (strcmp(outcome, "too-much") == 0)
		return command_fail(EXIT_REFUSED,
		    "%s has not so much left; look at it with order show",
		    order->number);
	return command_fail(EXIT_REFUSED, "no order %s", order->number);
}

/* The amount as typed, in the order's currency; -1 when none is. */
static bool
refund_amount(const struct order *order, const char *typed, int64_t *amount)
{
	struct money money;
	const char *why;

	*amount = -1;
	if (typed == NULL)
		return true;
	why = money_parse(&money, typed, order->currency);
	if (why != NULL) {
		command_fail(EXIT_USAGE, "--amount %s %s: %s", typed,
		    order->currency, why);
		return false;
	}
	*amount = money.amount;
	return true;
}

struct refund_words {
	const char *name;
	const char *amount;
	bool yes;
	bool json;
};

static int
refund_run(struct db *db, const struct refund_words *words)
{
	struct order_refund refund = {.name = words->name,
	    .by = command_operator()};
	struct buf document = {0};
	struct answer answer;
	struct order order;
	enum db_status status = db_order_show(db, words->name, &document);
	int result;

	answer_init(&answer);
	if (status != DB_OK) {
		result = command_db_fail(db, status);
	} else if (document.len == 0) {
		result = command_fail(EXIT_REFUSED, "no order %s", words->name);
	} else {
		order_read(&order, &document);
		if (!refund_amount(&order, words->amount, &refund.amount)) {
			result = EXIT_USAGE;
			goto out;
		}
		if (!words->json && order.captured > order.returned &&
		    refund.amount <= order.captured - order.returned)
			refund_explain(&order, refund.amount);
		if (!words->yes && !refund_agreed()) {
			result = command_fail(EXIT_REFUSED, "nothing was done");
			goto out;
		}
		status = db_order_refund(db, &refund, &answer);
		result = status == DB_OK
		    ? refund_result(&order, &answer, words->json)
		    : command_db_fail(db, status);
	}
out:
	answer_release(&answer);
	buf_release(&document);
	return result;
}

int
command_order_refund(const struct conf *conf, int argc, char **argv)
{
	struct refund_words words = {0};
	const struct option_spec specs[] = {{"--amount", &words.amount, NULL},
	    {"--yes", NULL, &words.yes}, {"--json", NULL, &words.json},
	    {NULL, NULL, NULL}};
	struct db *db;
	int result;

	if (!command_options(specs, &words.name, argc, argv))
		return EXIT_USAGE;
	if (words.name == NULL)
		return command_fail(EXIT_USAGE,
		    "order refund needs an order's number or its hold's id");
	if (!words.yes && (words.json || !isatty(STDIN_FILENO)))
		return command_fail(EXIT_USAGE,
		    "order refund asks before it gives money back; where "
		    "nobody can answer, add --yes");
	db = db_open(conf, DB_OPERATOR, "lastpair order refund");
	result = refund_run(db, &words);
	db_close(db);
	return result;
}
