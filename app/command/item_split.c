/* item split, merge: over how many rows of stock an item's units are spread. */
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "command/command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* As many buckets are shown one by one; of more, the least and the most. */
#define SPREAD_SHOWN_MAX 20

/* "3 + 3 + 2 + 2 free" */
static void
spread_print_all(const struct json *spread)
{
	const struct json *free;

	for (free = spread->first; free != NULL; free = free->next)
		printf("%s%.*s", free == spread->first ? "" : " + ",
		    (int)free->text.len, free->text.text);
	puts(" free");
}

/* "12 to 13 free in each" */
static void
spread_print_range(const struct json *spread)
{
	const struct json *free;
	int64_t least = INT64_MAX, most = 0, n = 0;

	for (free = spread->first; free != NULL; free = free->next) {
		json_int(free, &n);
		least = n < least ? n : least;
		most = n > most ? n : most;
	}
	printf("%" PRId64, least);
	if (most > least)
		printf(" to %" PRId64, most);
	puts(" free in each");
}

static void
split_print(const struct item_split *split, const struct buf *document)
{
	const char *why = "";
	struct json_doc *doc = json_parse(str_view(document), &why);
	const struct json *spread;

	if (doc == NULL)
		log_bug("the database's JSON is %s", why);
	spread = json_get(json_root(doc), "spread");
	if (spread == NULL || spread->first == NULL)
		log_bug("the database tells no bucket of %s", split->sku);
	printf("%s: %d bucket%s, ", split->sku, split->buckets,
	    split->buckets == 1 ? "" : "s");
	if (split->buckets <= SPREAD_SHOWN_MAX)
		spread_print_all(spread);
	else
		spread_print_range(spread);
	json_free(doc);
}

static int
split_run(const struct conf *conf, struct item_split *split, bool json,
    const char *process)
{
	struct answer answer;
	struct db *db = db_open(conf, DB_OPERATOR, process);
	enum db_status status;
	int result = EXIT_DONE;

	split->by = command_operator();
	answer_init(&answer);
	status = db_item_split(db, split, &answer);
	if (status != DB_OK)
		result = command_db_fail(db, status);
	else if (strcmp(answer.outcome, "no-such-item") == 0)
		result = command_fail(EXIT_REFUSED, "no item %s", split->sku);
	else if (strcmp(answer.outcome, "done") != 0)
		result = command_fail(EXIT_REFUSED,
		    "the units of %s are distinct: they are not spread over "
		    "buckets",
		    split->sku);
	else if (json)
		puts(buf_text(&answer.document));
	else
		split_print(split, &answer.document);
	db_close(db);
	answer_release(&answer);
	return result;
}

int
command_item_split(const struct conf *conf, int argc, char **argv)
{
	struct item_split split = {0};
	const char *number = NULL;
	bool json = false;
	const struct option_spec specs[] = {{"N", &number, NULL},
	    {"--json", NULL, &json}, {NULL, NULL, NULL}};
	int64_t buckets;

	if (!command_options(specs, &split.sku, argc, argv))
		return EXIT_USAGE;
	if (number == NULL)
		return command_fail(EXIT_USAGE,
		    "item split needs an SKU and how many buckets");
	if (!command_number("the number of buckets", number, 2, BUCKETS_MAX,
		&buckets))
		return EXIT_USAGE;
	split.buckets = (int)buckets;
	return split_run(conf, &split, json, "lastpair item split");
}

int
command_item_merge(const struct conf *conf, int argc, char **argv)
{
	struct item_split split = {.buckets = 1};
	bool json = false;
	const struct option_spec specs[] = {{"--json", NULL, &json},
	    {NULL, NULL, NULL}};

	if (!command_options(specs, &split.sku, argc, argv))
		return EXIT_USAGE;
	if (split.sku == NULL)
		return command_fail(EXIT_USAGE, "item merge needs an SKU");
	return split_run(conf, &split, json, "lastpair item merge");
}
