/* setup, migrate. */
#include "command/command.h"

#include "base/buf.h"

#include <stdio.h>

int
command_setup(const struct conf *conf, int argc, char **argv)
{
	bool print = false;
	const struct option_spec specs[] = {{"--print", NULL, &print},
	    {NULL, NULL, NULL}};
	struct buf text;

	(void)conf;
	if (!command_options(specs, NULL, argc, argv))
		return EXIT_USAGE;
	if (!print)
		return command_fail(EXIT_USAGE,
		    "setup can only --print the settings in this version");
	buf_init(&text);
	conf_describe(&text);
	fputs(buf_text(&text), stdout);
	buf_release(&text);
	return EXIT_DONE;
}

static void
migrate_say(const char *line)
{
	puts(line);
	fflush(stdout);
}

int
command_migrate(const struct conf *conf, int argc, char **argv)
{
	const struct option_spec none[] = {{NULL, NULL, NULL}};
	struct db *db;
	enum db_status status;
	int result = EXIT_DONE;

	if (!command_options(none, NULL, argc, argv))
		return EXIT_USAGE;
	db = db_open(conf, DB_OWNER, "lastpair migrate");
	status = db_migrate(db, conf->server.share,
	    conf->sandbox.pay_url[0] != '\0', migrate_say);
	if (status == DB_DOWN || status == DB_LOST)
		result = command_db_fail(db, status);
	else if (status != DB_OK)
		result = command_fail(EXIT_REFUSED, "nothing was changed: %s",
		    db_error(db));
	else
		puts("the database is up to date");
	db_close(db);
	return result;
}
