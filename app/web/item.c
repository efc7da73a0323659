/*
 * How items stand. The same for everybody, so that one answer serves all who
 * ask within a second.
 */
#include "web/item.h"
#include "base/form.h"
#include "web/input.h"
#include "web/problem.h"

#define ITEMS_MAX 50

static const char *
items_read(struct form *form, struct str query, struct str *skus)
{
	if (form_parse(form, query))
		return "The query cannot be read";
	if (form->count == 0)
		return "item is missing";
	if (form->count > ITEMS_MAX)
		return "There are more than 50 items in the query";
	for (size_t i = 0; i < form->count; i++) {
		if (!str_is(form->fields[i].name, "item"))
			return "The query has a field that is not item";
		if (!input_is_sku(form->fields[i].value))
			return "An item is empty or longer than 200 bytes";
		skus[i] = form->fields[i].value;
	}
	return NULL;
}

void
item_availability(struct exchange *x)
{
	struct str skus[ITEMS_MAX];
	struct buf document = {0};
	struct form form;
	const char *why = items_read(&form, x->request->query, skus);
	enum db_status status;

	if (why) {
		problem_say(x, "malformed", why);
		goto out;
	}
	status = db_availability(x->web->db, skus, form.count, &document);
	if (status != DB_OK) {
		problem_database(x, status, (struct str){NULL, 0});
		goto out;
	}
	x->cacheable = true;
	exchange_header(x, "Cache-Control", "public, max-age=1");
	exchange_json(x, 200, str_view(&document));
out:
	form_release(&form);
	buf_release(&document);
}
