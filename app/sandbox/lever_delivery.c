/* Levers: webhooks. */
#include "sandbox/lever.h"

#include "base/form.h"

#include <inttypes.h>

#define LIMIT_MAX 1000
#define LIMIT_DEFAULT 100

void
lever_event_resend(const struct lever *lever)
{
	bool found;
	enum db_status status =
	    db_sandbox_event_resend(lever->x->web->db, lever->id, &found);

	lever_found(lever, status, found);
}

void
lever_delivery_list(const struct lever *lever)
{
	struct form form;
	struct str session = {NULL, 0};
	struct str text = {NULL, 0};
	struct buf out = {0};
	int64_t limit = LIMIT_DEFAULT;
	enum db_status status = DB_REFUSED;
	bool good = !form_parse(&form, lever->x->request->query);

	(void)form_get(&form, "session", &session);
	if (good && form_get(&form, "limit", &text))
		good = str_qty(text, &limit) && limit <= LIMIT_MAX;
	if (good)
		status = db_sandbox_delivery_list(lever->x->web->db, session,
		    (int)limit, &out);
	lever_document(lever, status, &out);
	buf_release(&out);
	form_release(&form);
}

void
lever_delivery_flush(const struct lever *lever)
{
	struct sandbox_flush flush = {0};
	struct buf out = {0};
	enum db_status status = db_sandbox_delivery_flush(lever->x->web->db,
	    lever_flag(lever, "dropped"), &flush);

	buf_printf(&out, "{\"due\": %" PRId64 ", \"resent\": %" PRId64 "}",
	    flush.due, flush.resent);
	lever_document(lever, status, &out);
	buf_release(&out);
}
