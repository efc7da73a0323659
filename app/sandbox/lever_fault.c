/* Levers: the clock, and what goes wrong. */
#include "sandbox/lever.h"

#include <inttypes.h>

/* As many as a person looks through. */
#define ROWS 50
/* Longer than the shop waits, by this. */
#define TIMEOUT_MORE_MS 5000
#define TIMES_MAX 1000000
#define SEED_MAX 200

void
lever_fault_add(const struct lever *lever)
{
	struct sandbox_fault_new fault = {
	    .target = lever_text(lever, "target"),
	    .kind = lever_text(lever, "kind"),
	    .percent = 100,
	    .ms = -1,
	    .timeout_ms = TIMEOUT_MORE_MS,
	};
	struct buf out = {0};
	int64_t id = 0;
	enum db_status status = DB_REFUSED;

	fault.timeout_ms += lever->x->web->conf->stripe.timeout_ms;
	if (fault.target.len && fault.kind.len &&
	    lever_int(lever, "percent", 1, 100, &fault.percent) &&
	    lever_int(lever, "times", 1, TIMES_MAX, &fault.times) &&
	    lever_int(lever, "ms", 0, LEVER_MS_MAX, &fault.ms))
		status = db_sandbox_fault_add(lever->x->web->db, &fault, &id);
	buf_printf(&out, "{\"fault\": %" PRId64 "}", id);
	if (status == DB_REFUSED)
		lever_refuse(lever, 400,
		    "no such fault: a target, a kind that it can have, "
		    "percent from 1 to 100, times from 1, ms of slow and "
		    "timeout up to 100000");
	else
		lever_document(lever, status, &out);
	buf_release(&out);
}

void
lever_fault_list(const struct lever *lever)
{
	struct buf out = {0};
	enum db_status status =
	    db_sandbox_fault_list(lever->x->web->db, ROWS, &out);

	lever_document(lever, status, &out);
	buf_release(&out);
}

void
lever_fault_clear(const struct lever *lever)
{
	int64_t id = 0;
	int64_t count = 0;
	enum db_status status = DB_OK;

	if (str_int(lever->id, &id) && id > 0)
		status = db_sandbox_fault_clear(lever->x->web->db, id, &count);
	lever_found(lever, status, count > 0);
}

void
lever_fault_clear_all(const struct lever *lever)
{
	struct buf out = {0};
	int64_t count = 0;
	enum db_status status =
	    db_sandbox_fault_clear(lever->x->web->db, 0, &count);

	buf_printf(&out, "{\"cleared\": %" PRId64 "}", count);
	lever_document(lever, status, &out);
	buf_release(&out);
}

static void
seed_say(const struct lever *lever, enum db_status status,
    const struct buf *seed)
{
	struct buf out = {0};

	buf_str(&out, "{\"seed\": ");
	str_json(&out, str_view(seed));
	buf_char(&out, '}');
	lever_document(lever, status, &out);
	buf_release(&out);
}

void
lever_seed_show(const struct lever *lever)
{
	struct buf seed = {0};
	enum db_status status = db_sandbox_seed_show(lever->x->web->db, &seed);

	seed_say(lever, status, &seed);
	buf_release(&seed);
}

void
lever_seed_set(const struct lever *lever)
{
	struct str wanted = lever_text(lever, "seed");
	struct buf seed = {0};
	enum db_status status = DB_REFUSED;

	if (wanted.len && wanted.len <= SEED_MAX)
		status = db_sandbox_seed_set(lever->x->web->db, wanted, &seed);
	seed_say(lever, status, &seed);
	buf_release(&seed);
}

void
lever_alias_add(const struct lever *lever)
{
	struct str name = lever_text(lever, "name");
	struct str as = lever_text(lever, "as");
	enum db_status status = DB_REFUSED;

	if (name.len && as.len)
		status = db_sandbox_alias_add(lever->x->web->db, name, as);
	lever_found(lever, status, true);
}

void
lever_clock_show(const struct lever *lever)
{
	struct buf out = {0};
	enum db_status status = db_sandbox_clock_show(lever->x->web->db, &out);

	lever_document(lever, status, &out);
	buf_release(&out);
}

void
lever_clock_forward(const struct lever *lever)
{
	struct buf out = {0};
	int64_t ms = 0;
	enum db_status status = DB_REFUSED;

	if (lever_int(lever, "forward_ms", 0, LEVER_MS_MAX, &ms))
		status = db_sandbox_clock_forward(lever->x->web->db, ms, &out);
	lever_document(lever, status, &out);
	buf_release(&out);
}
