/* What the commands share: options, failures, and who asks. */
#include "command/command.h"

#include "base/str.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int
command_fail(int status, const char *format, ...)
{
	va_list args;

	fputs("lastpair: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return status;
}

int
command_db_fail(const struct db *db, enum db_status status)
{
	if (status == DB_REFUSED)
		return command_fail(EXIT_REFUSED, "the database refused: %s",
		    db_error(db));
	if (status == DB_LOST)
		return command_fail(EXIT_UNREACHABLE,
		    "the database went away, look whether this was done: %s",
		    db_error(db));
	return command_fail(EXIT_UNREACHABLE,
	    "the database cannot be reached: %s", db_error(db));
}

const char *
command_operator(void)
{
	const struct passwd *user = getpwuid(getuid());

	return user == NULL ? "unknown" : user->pw_name;
}

static const struct option_spec *
option_find(const struct option_spec *specs, const char *name)
{
	for (; specs->name != NULL; specs++)
		if (strcmp(specs->name, name) == 0)
			return specs;
	return NULL;
}

/* The next word that a command wants after its first, or NULL. */
static const struct option_spec *
word_find(const struct option_spec *specs)
{
	for (; specs->name != NULL; specs++)
		if (specs->name[0] != '-' && *specs->text == NULL)
			return specs;
	return NULL;
}

/* Takes one option; the number of words it used, 0 when it is refused. */
static int
option_take(const struct option_spec *specs, int argc, char **argv)
{
	const struct option_spec *spec = option_find(specs, argv[0]);

	if (spec == NULL) {
		command_fail(EXIT_USAGE, "unknown option %s", argv[0]);
		return 0;
	}
	if (spec->flag != NULL) {
		*spec->flag = true;
		return 1;
	}
	if (argc < 2) {
		command_fail(EXIT_USAGE, "%s needs a value", argv[0]);
		return 0;
	}
	if (*spec->text != NULL) {
		command_fail(EXIT_USAGE, "%s is given twice", argv[0]);
		return 0;
	}
	*spec->text = argv[1];
	return 2;
}

bool
command_options(const struct option_spec *specs, const char **word, int argc,
    char **argv)
{
	const struct option_spec *more;
	int i = 0, used;

	while (i < argc) {
		more = word_find(specs);
		if (strncmp(argv[i], "--", 2) == 0) {
			used = option_take(specs, argc - i, argv + i);
			if (used == 0)
				return false;
			i += used;
		} else if (word != NULL && *word == NULL) {
			*word = argv[i++];
		} else if (more != NULL) {
			*more->text = argv[i++];
		} else {
			command_fail(EXIT_USAGE, "unexpected word: %s",
			    argv[i]);
			return false;
		}
	}
	return true;
}

bool
command_number(const char *name, const char *text, int64_t least, int64_t most,
    int64_t *out)
{
	if (str_int(str_of(text), out) && *out >= least && *out <= most)
		return true;
	command_fail(EXIT_USAGE,
	    "%s is a whole number from %" PRId64 " to %" PRId64 ", not %s",
	    name, least, most, text);
	return false;
}
