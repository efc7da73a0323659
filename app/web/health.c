/*
 * Whether the process lives, and whether the database answers it.
 */
#include "web/health.h"
#include "web/problem.h"

void
health_alive(struct exchange *x)
{
	exchange_json(x, 200, str_of("{\"status\":\"ok\"}"));
}

void
health_ready(struct exchange *x)
{
	struct buf document = {0};
	/* A question about nothing goes all the way and back. */
	enum db_status status = db_availability(x->web->db, NULL, 0, &document);

	if (status == DB_OK)
		exchange_json(x, 200, str_of("{\"status\":\"ready\"}"));
	else
		problem_say(x, "busy", "The database does not answer.");
	buf_release(&document);
}
