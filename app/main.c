/* From argv to a command; nothing else. */
#include "base/conf.h"
#include "base/log.h"
#include "command/command.h"

#include <stdio.h>
#include <string.h>

#ifndef LASTPAIR_VERSION
#define LASTPAIR_VERSION "0.1.0"
#endif

static void
usage(FILE *to)
{
	const struct command *c;

	fputs("usage: lastpair [-c FILE] COMMAND\n\n", to);
	for (c = commands; c->noun != NULL; c++)
		fprintf(to, "  %s%s%s %s\n      %s\n", c->noun,
		    c->verb == NULL ? "" : " ", c->verb == NULL ? "" : c->verb,
		    c->usage, c->help);
	fputs("\nFILE: " CONF_FILE_DEFAULT " unless given. Exit status: 0 "
	      "done, 1 refused, 2 usage,\n3 the database or the provider "
	      "cannot be reached.\n",
	    to);
}

/* The command that argv names; *words says how many words that took. */
static const struct command *
find(int argc, char **argv, int *words)
{
	const struct command *c;

	for (c = commands; argc > 0 && c->noun != NULL; c++) {
		if (strcmp(c->noun, argv[0]) != 0)
			continue;
		*words = c->verb == NULL ? 1 : 2;
		if (c->verb == NULL ||
		    (argc > 1 && strcmp(c->verb, argv[1]) == 0))
			return c;
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	const struct command *command;
	const char *file = NULL, *why;
	struct conf conf;
	int words = 0, result;

	argc--;
	argv++;
	if (argc >= 2 && strcmp(argv[0], "-c") == 0) {
		file = argv[1];
		argc -= 2;
		argv += 2;
	}
	if (argc == 1 && strcmp(argv[0], "--help") == 0) {
		usage(stdout);
		return EXIT_DONE;
	}
	if (argc == 1 && strcmp(argv[0], "--version") == 0) {
		puts("lastpair " LASTPAIR_VERSION);
		return EXIT_DONE;
	}
	command = find(argc, argv, &words);
	if (command == NULL) {
		usage(stderr);
		return EXIT_USAGE;
	}
	/* The one command that needs no settings prints them. */
	if (command->run == command_setup)
		return command->run(NULL, argc - words, argv + words);
	log_open("lastpair");
	why = conf_read(&conf, file);
	result = why != NULL ? command_fail(EXIT_REFUSED, "%s", why)
			     : command->run(&conf, argc - words, argv + words);
	conf_release(&conf);
	return result;
}
