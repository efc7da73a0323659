/* What an SQLSTATE asks for (PostgreSQL manual, appendix A). */
#include "io/pg.h"

#include <string.h>

/*
 * The server's own word: whatever it says here, the call was not carried out.
 * Unique violations are retried: the second run finds the row.
 */
enum pg_status
pg_status_of(const char *state)
{
	static const struct {
		const char *prefix;
		enum pg_status status;
	} map[] = {
	    {"40", PG_RETRY}, /* serialization, deadlock */
	    {"23505", PG_RETRY}, /* unique violation */
	    {"0A000", PG_RETRY}, /* a cached plan's result type changed */
	    {"08", PG_DOWN}, /* connection */
	    {"53", PG_DOWN}, /* out of memory, disk, connections */
	    {"57", PG_DOWN}, /* cancelled, shutting down */
	    {"58", PG_DOWN}, /* system, input and output */
	    {"55P03", PG_DOWN}, /* lock not to be had in time */
	    {"25006", PG_DOWN}, /* read-only: no longer the primary */
	    {"25P03", PG_DOWN}, /* idle in transaction for too long */
	    {"26", PG_DOWN}, /* the statement is gone: prepare anew */
	    {"22", PG_REFUSED}, /* data */
	    {"23", PG_REFUSED}, /* constraint */
	};
	size_t i;

	for (i = 0; i < sizeof(map) / sizeof(map[0]); i++)
		if (strncmp(state, map[i].prefix, strlen(map[i].prefix)) == 0)
			return map[i].status;
	return PG_BUG;
}

bool
pg_must_reconnect(const char *state)
{
	return strcmp(state, "25006") == 0 || strncmp(state, "26", 2) == 0 ||
	    strncmp(state, "0A", 2) == 0;
}
