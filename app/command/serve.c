/* serve, sandbox: the programs that stay. */
#include "command/command.h"

#include "io/mail.h"
#include "sandbox.h"
#include "supervisor.h"

#include <stdio.h>

/*
 * Whether this version and the database fit. One that is away may come: the
 * workers tell buyers that the shop is busy until then.
 */
static bool
serve_fits(const struct conf *conf)
{
	static const enum db_role roles[] = {DB_WEB, DB_COURIER};
	bool fits = true;

	for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]) && fits; i++) {
		struct db *db = db_open(conf, roles[i], "lastpair serve");

		fits = db_check(db) != DB_REFUSED;
		if (!fits)
			command_fail(EXIT_REFUSED, "%s", db_error(db));
		db_close(db);
	}
	return fits;
}

int
command_serve(const struct conf *conf, int argc, char **argv)
{
	bool check = false;
	const char *why;
	const struct option_spec specs[] = {{"--check", NULL, &check},
	    {NULL, NULL, NULL}};

	if (!command_options(specs, NULL, argc, argv))
		return EXIT_USAGE;
	why = mail_check(conf);
	if (why)
		return command_fail(EXIT_REFUSED, "%s", why);
	if (check) {
		puts("the settings are fine");
		return EXIT_DONE;
	}
	if (!serve_fits(conf))
		return EXIT_REFUSED;
	return supervisor_run(conf, conf->file);
}

int
command_sandbox(const struct conf *conf, int argc, char **argv)
{
	const struct option_spec none[] = {{NULL, NULL, NULL}};

	if (!command_options(none, NULL, argc, argv))
		return EXIT_USAGE;
	if (conf->sandbox.pay_url[0] == '\0' ||
	    conf->sandbox.hook_url[0] == '\0')
		return command_fail(EXIT_REFUSED,
		    "sandbox.pay_url and sandbox.hook_url are missing in the "
		    "settings");
	return sandbox_run(conf);
}
