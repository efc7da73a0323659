/* What the commands share: options, failures, progress, and who asks. */
#include "command/command.h"

#include "base/str.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LIMIT_DEFAULT 50
#define LIMIT_MAX 100000

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

bool
command_duration(const char *name, const char *text, int64_t least,
    int64_t most, int64_t *seconds)
{
	static const char units[] = "smhd";
	static const int64_t lengths[] = {1, 60, 3600, 86400};
	struct str digits = str_of(text);
	const char *unit = NULL;
	int64_t length = 1;

	if (digits.len > 0)
		unit = strchr(units, text[digits.len - 1]);
	if (unit != NULL) {
		length = lengths[unit - units];
		digits.len--;
	}
	if (str_int(digits, seconds) && *seconds >= 0 &&
	    *seconds <= most / length && *seconds * length >= least) {
		*seconds *= length;
		return true;
	}
	command_fail(EXIT_USAGE,
	    "%s is a time like 30d, 12h, 90m or 45s, from %" PRId64
	    "s to %" PRId64 "s, not %s",
	    name, least, most, text);
	return false;
}

bool
command_moment(const char *name, const char *text)
{
	size_t len = strlen(text);

	if (len >= 17 && text[10] == 'T' &&
	    (text[len - 1] == 'Z' ||
		(text[len - 3] == ':' &&
		    (text[len - 6] == '+' || text[len - 6] == '-'))))
		return true;
	command_fail(EXIT_USAGE,
	    "%s is a moment with its zone, like 2026-12-05T10:00:00+01:00, "
	    "not %s",
	    name, text);
	return false;
}

bool
command_limit(const char *text, int64_t *most)
{
	*most = LIMIT_DEFAULT;
	return text == NULL ||
	    command_number("--limit", text, 1, LIMIT_MAX, most);
}

bool
command_outcome(const char *text)
{
	static const char *const outcomes[] = {"applied", "repeat", "refund",
	    "ignored", "unmatched", "person", "unusable"};

	if (text == NULL)
		return true;
	for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++)
		if (strcmp(text, outcomes[i]) == 0)
			return true;
	command_fail(EXIT_USAGE,
	    "--outcome is applied, repeat, refund, ignored, unmatched, person "
	    "or unusable, not %s",
	    text);
	return false;
}

void
command_progress(const char *format, ...)
{
	va_list args;

	if (!isatty(STDERR_FILENO))
		return;
	fputs("\r\033[K", stderr);
	if (format != NULL) {
		va_start(args, format);
		vfprintf(stderr, format, args);
		va_end(args);
	}
	fflush(stderr);
}
