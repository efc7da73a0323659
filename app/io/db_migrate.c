/*
 * Brings a database up to date. Each migration's row is written first, in a
 * transaction of its own, so that a run that died is seen; the scripts
 * themselves run in one transaction together with the functions and grants,
 * so that no request ever meets half of a version. One run at a time, by an
 * advisory lock.
 */
#include "io/db.h"
#include "io/db_call.h"

#include "base/log.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "lastpair" in ASCII: nobody else's number by chance. */
#define LOCK_SQL "select pg_advisory_lock(7809644666444605810)"

#define LEDGER_SQL \
	"set client_min_messages = warning; " \
	"create schema if not exists data; " \
	"create table if not exists data.migration (" \
	"name text primary key, started_at timestamptz not null " \
	"default clock_timestamp(), finished_at timestamptz)"

/* A step's script, growing; and where to tell. */
struct plan {
	struct db *db;
	const char *share;
	void (*say)(const char *line);
	struct buf script;
	char error[512];
};

static bool
plan_read(struct plan *plan, const char *path)
{
	struct buf name;
	char part[8192];
	size_t n;
	FILE *file;

	buf_init(&name);
	buf_printf(&name, "%s/sql/%s", plan->share, path);
	file = fopen(buf_text(&name), "r");
	if (file == NULL) {
		snprintf(plan->error, sizeof(plan->error),
		    "could not read %s: %s", buf_text(&name), strerror(errno));
		buf_release(&name);
		return false;
	}
	while ((n = fread(part, 1, sizeof(part), file)) > 0)
		buf_add(&plan->script, part, n);
	buf_str(&plan->script, "\n;\n");
	fclose(file);
	buf_release(&name);
	return true;
}

static int
plan_is_script(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return len > 4 && strcmp(entry->d_name + len - 4, ".sql") == 0;
}

/* Whether a migration is still to be done; notes that it begins. */
static bool
plan_begin(struct plan *plan, const char *path, bool *pending)
{
	struct buf sql;
	bool ok;

	/* The name is a file's of ours: digits, letters, '_', '/', '.'. */
	if (strspn(path, "abcdefghijklmnopqrstuvwxyz0123456789_/.") !=
	    strlen(path)) {
		snprintf(plan->error, sizeof(plan->error),
		    "cannot use the script name %s", path);
		return false;
	}
	buf_init(&sql);
	buf_printf(&sql,
	    "insert into data.migration (name) values ('%s') "
	    "on conflict (name) do update set started_at = clock_timestamp() "
	    "where migration.finished_at is null",
	    path);
	ok = pg_affected(plan->db->pg, buf_text(&sql), pending) == PG_OK;
	buf_release(&sql);
	return ok;
}

static bool
plan_migration(struct plan *plan, const char *path)
{
	struct buf line;
	bool pending = false;

	if (!plan_begin(plan, path, &pending))
		return false;
	if (!pending)
		return true;
	buf_init(&line);
	buf_printf(&line, "applying %s", path);
	plan->say(buf_text(&line));
	buf_release(&line);
	if (!plan_read(plan, path))
		return false;
	buf_printf(&plan->script,
	    "update data.migration set finished_at = clock_timestamp() "
	    "where name = '%s';\n",
	    path);
	return true;
}

/* Each script of a folder in the order of its name. */
static bool
plan_folder(struct plan *plan, const char *folder,
    bool (*step)(struct plan *plan, const char *path))
{
	struct dirent **entries = NULL;
	struct buf path;
	bool ok = true;
	int n, i;

	buf_init(&path);
	buf_printf(&path, "%s/sql/%s", plan->share, folder);
	n = scandir(buf_text(&path), &entries, plan_is_script, alphasort);
	if (n <= 0) {
		snprintf(plan->error, sizeof(plan->error),
		    "could not find any script in %s", buf_text(&path));
		ok = false;
	}
	for (i = 0; i < n; i++) {
		buf_reset(&path);
		buf_printf(&path, "%s/%s", folder, entries[i]->d_name);
		ok = ok && step(plan, buf_text(&path));
		free(entries[i]);
	}
	free(entries);
	buf_release(&path);
	return ok;
}

/* The stand-in provider's own schemas, made in the same way. */
static bool
plan_sandbox(struct plan *plan)
{
	buf_str(&plan->script, "drop schema if exists sandbox cascade;\n");
	if (!plan_folder(plan, "sandbox/migrations", plan_migration))
		return false;
	buf_str(&plan->script, "create schema sandbox;\n");
	return plan_folder(plan, "sandbox/api", plan_read) &&
	    plan_read(plan, "sandbox/grants.sql");
}

static bool
plan_write(struct plan *plan, bool sandbox)
{
	buf_str(&plan->script, "begin; drop schema if exists api cascade;\n");
	if (!plan_folder(plan, "migrations", plan_migration))
		return false;
	/* Functions of one file may name those of a later one. */
	buf_str(&plan->script,
	    "create schema api;\n"
	    "set local check_function_bodies = off;\n");
	if (!plan_folder(plan, "api", plan_read) ||
	    !plan_read(plan, "grants.sql"))
		return false;
	if (sandbox && !plan_sandbox(plan))
		return false;
	buf_str(&plan->script, "commit;\n");
	return true;
}

enum db_status
db_migrate(struct db *db, const char *share, bool sandbox,
    void (*say)(const char *line))
{
	struct plan plan = {.db = db, .share = share, .say = say};
	enum pg_status status;

	buf_init(&plan.script);
	status = pg_script(db->pg, LEDGER_SQL);
	if (status == PG_OK)
		status = pg_script(db->pg, LOCK_SQL);
	if (status == PG_OK && !plan_write(&plan, sandbox)) {
		if (plan.error[0] != '\0')
			pg_set_error(db->pg, plan.error);
		status = PG_REFUSED;
	}
	if (status == PG_OK) {
		say("deploying the functions");
		status = pg_script(db->pg, buf_text(&plan.script));
	}
	buf_release(&plan.script);
	switch (status) {
	case PG_OK:
		return DB_OK;
	case PG_DOWN:
		return DB_DOWN;
	case PG_LOST:
		return DB_LOST;
	default:
		return DB_REFUSED;
	}
}
