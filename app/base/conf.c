/*
 * Where settings come from: the file, then the environment. A key twice in
 * the file is refused; one in the environment replaces it.
 *
 * inih reads lines into a buffer of fixed size (200 bytes in Debian's build)
 * and cuts values at " ;". So the lines pass through line_read, which refuses
 * what would not fit, and each value is compared with the line it came from.
 */
#include "base/conf.h"
#include "base/setting.h"
#include "base/sign.h"
#include "base/str.h"

#include <ini.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* POSIX leaves its declaration to the program. */
extern char **environ;

#define BLANKS " \t\n\v\f\r"
#define ENV_PREFIX "LASTPAIR_"
#define FILE_VALUE_MAX 65536 /* of <key>_file; keys have some hundred bytes */

/* The settings file, while it is read. */
struct source {
	struct conf *conf;
	const char *name;
	FILE *stream;
	char *line; /* getline's, as the file has it */
	size_t room;
	unsigned number; /* of the line, from 1 */
	bool seen[SETTING_MAX];
};

/* The path for a complaint. What is none may be the secret itself. */
static const char *
path_told(const char *path)
{
	return path[0] == '/' ? path : "what it names";
}

/* Stores what the file at path holds, without its final newline. */
static bool
file_put(struct conf *conf, const struct setting *setting, const char *path)
{
	FILE *stream = fopen(path, "re");
	struct buf text = {0};
	bool ok = false;

	if (stream) {
		buf_reserve(&text, FILE_VALUE_MAX);
		text.len = fread(text.data, 1, FILE_VALUE_MAX, stream);
		text.data[text.len] = '\0';
	}
	if (!stream || ferror(stream)) {
		setting_refuse(conf, "%s.%s_file: cannot read %s: %s",
		    setting_section(setting), setting_key(setting),
		    path_told(path), strerror(errno));
		goto out;
	}
	if (text.len == FILE_VALUE_MAX) {
		setting_refuse(conf, "%s.%s_file: %s is too long",
		    setting_section(setting), setting_key(setting),
		    path_told(path));
		goto out;
	}
	if (text.len && text.data[text.len - 1] == '\n')
		text.data[--text.len] = '\0';
	if (text.len && text.data[text.len - 1] == '\r')
		text.data[--text.len] = '\0';
	ok = setting_put(conf, setting, str_view(&text));
out:
	if (stream)
		fclose(stream);
	buf_release(&text);
	return ok;
}

static bool
value_put(struct conf *conf, const struct setting *setting, bool is_file,
    const char *value)
{
	return is_file ? file_put(conf, setting, value)
		       : setting_put(conf, setting, str_of(value));
}

/* Whether name is the setting's key, or its key with "_file" after it. */
static bool
key_is(const struct setting *setting, const char *name, bool *is_file)
{
	size_t len = strlen(setting_key(setting));

	if (strncmp(name, setting_key(setting), len) != 0)
		return false;
	*is_file = strcmp(name + len, "_file") == 0;
	return name[len] == '\0' || *is_file;
}

/* Whether value is all that the line has behind its first '=' or ':'. */
static bool
value_is_whole(const char *line, const char *value)
{
	size_t len = strlen(value);

	line += strcspn(line, "=:");
	if (*line)
		line++;
	line += strspn(line, BLANKS);
	return strncmp(line, value, len) == 0 &&
	    line[len + strspn(line + len, BLANKS)] == '\0';
}

static bool
line_put(struct source *source, size_t index, bool is_file, const char *value)
{
	const struct setting *setting = setting_at(index);
	const char *section = setting_section(setting);
	const char *key = setting_key(setting);

	if (source->seen[index])
		return setting_refuse(source->conf,
		    "%s.%s is set again in line %u of %s", section, key,
		    source->number, source->name);
	source->seen[index] = true;
	if (!value_is_whole(source->line, value))
		return setting_refuse(source->conf,
		    "%s.%s is cut at \" ;\" in line %u of %s: comments need "
		    "lines of their own, and such a value needs %s_file",
		    section, key, source->number, source->name, key);
	return value_put(source->conf, setting, is_file, value);
}

/* inih's callback for each key. */
static int
on_key(void *context, const char *section, const char *key, const char *value)
{
	struct source *source = context;
	const struct setting *setting;
	bool is_file;

	if (source->conf->complaint.len)
		return 0;
	for (size_t i = 0; (setting = setting_at(i)); i++) {
		if (strcmp(setting_section(setting), section) == 0 &&
		    key_is(setting, key, &is_file))
			return line_put(source, i, is_file, value);
	}
	return setting_refuse(source->conf,
	    "%s.%s is no setting, in line %u of %s", section, key,
	    source->number, source->name);
}

/*
 * Why inih would take the line for something else than it says, or NULL. It
 * tells of a bad line only at the end, when its echoes have come already.
 */
static const char *
line_refuse(const char *line, size_t len, size_t room)
{
	const char *end = strchr(line, ']');

	if (strlen(line) != len)
		return "holds a NUL";
	if (strchr(BLANKS, line[0]) && line[strspn(line, BLANKS)])
		return "begins with a blank";
	if (line[0] == '[' ? !end || end[1 + strspn(end + 1, BLANKS)]
			   : !strpbrk(line, "=:" BLANKS))
		return "is neither [section] nor key = value";
	if (len + 1 > room)
		return "is too long: put the value in a file and name that "
		       "with <key>_file";
	return NULL;
}

/* inih's callback for each line, fgets-like. */
static char *
line_read(char *out, int room, void *context)
{
	struct source *source = context;
	const char *text;
	const char *wrong;
	ssize_t len;

	if (source->conf->complaint.len)
		return NULL;
	len = getline(&source->line, &source->room, source->stream);
	if (len < 0)
		return NULL;
	source->number++;
	text = source->line + strspn(source->line, BLANKS);
	if (*text == '#' || *text == ';') {
		snprintf(out, (size_t)room, "#\n");
		return out;
	}
	wrong = line_refuse(source->line, (size_t)len, (size_t)room);
	if (wrong) {
		setting_refuse(source->conf, "line %u of %s %s", source->number,
		    source->name, wrong);
		return NULL;
	}
	memcpy(out, source->line, (size_t)len + 1);
	return out;
}

static bool
file_read(struct conf *conf, const char *file)
{
	struct source source = {
	    .conf = conf,
	    .name = file ? file : CONF_FILE_DEFAULT,
	};
	int bad_line;

	source.stream = fopen(source.name, "re");
	/* Without a file named, the environment may say it all. */
	if (!source.stream && !file && errno == ENOENT)
		return true;
	if (!source.stream)
		return setting_refuse(conf, "cannot read %s: %s", source.name,
		    strerror(errno));
	bad_line = ini_parse_stream(line_read, &source, on_key, &source);
	if (ferror(source.stream))
		setting_refuse(conf, "cannot read %s: %s", source.name,
		    strerror(errno));
	if (bad_line)
		setting_refuse(conf,
		    "line %d of %s is neither [section] nor key = value",
		    bad_line, source.name);
	fclose(source.stream);
	free(source.line);
	return conf->complaint.len == 0;
}

/* The value of text when its name is variable followed by suffix. */
static const char *
variable_value(const char *text, struct buf *variable, const char *suffix)
{
	size_t len = strlen(suffix);

	if (strncmp(text, buf_text(variable), variable->len) != 0)
		return NULL;
	text += variable->len;
	if (strncmp(text, suffix, len) != 0 || text[len] != '=')
		return NULL;
	return text + len + 1;
}

/* Takes "NAME=value" if NAME is the setting's variable. */
static bool
variable_put(struct conf *conf, const struct setting *setting, const char *text)
{
	struct buf variable = {0};
	const char *value;
	const char *path;

	setting_variable(&variable, setting);
	value = variable_value(text, &variable, "");
	path = variable_value(text, &variable, "_FILE");
	if (value || path)
		value_put(conf, setting, path, path ? path : value);
	buf_release(&variable);
	return value || path;
}

/* Whether text begins like a variable of the setting's section. */
static bool
is_of_section(const struct setting *setting, const char *text)
{
	struct buf variable = {0};
	size_t len;
	bool is;

	setting_variable(&variable, setting);
	len = variable.len - strlen(setting_key(setting));
	is = strncmp(text, buf_text(&variable), len) == 0;
	buf_release(&variable);
	return is;
}

static bool
environment_entry(struct conf *conf, bool *seen, const char *text)
{
	const struct setting *setting;
	bool ours = false;

	if (strncmp(text, ENV_PREFIX, strlen(ENV_PREFIX)) != 0)
		return true;
	for (size_t i = 0; (setting = setting_at(i)); i++) {
		if (variable_put(conf, setting, text)) {
			/* Which of the two comes last is chance. */
			if (seen[i])
				setting_refuse(conf,
				    "%s.%s is set twice in the environment",
				    setting_section(setting),
				    setting_key(setting));
			seen[i] = true;
			return conf->complaint.len == 0;
		}
		ours = ours || is_of_section(setting, text);
	}
	if (ours)
		return setting_refuse(conf,
		    "%.*s in the environment is no setting",
		    (int)strcspn(text, "="), text);
	return true;
}

static bool
environment_read(struct conf *conf)
{
	bool seen[SETTING_MAX] = {false};

	for (char **entry = environ; entry && *entry; entry++) {
		if (!environment_entry(conf, seen, *entry))
			return false;
	}
	return true;
}

static bool
is_live(const char *key)
{
	return strncmp(key, "sk_live_", 8) == 0 ||
	    strncmp(key, "rk_live_", 8) == 0;
}

static bool
is_provider(const char *name)
{
	return strcmp(name, "stripe") == 0 || strcmp(name, "standard") == 0;
}

static bool
mail_check(struct conf *conf)
{
	bool smtp = *conf->mail.smtp_url != '\0';
	bool folder = *conf->mail.folder != '\0';

	if (smtp && folder)
		return setting_refuse(conf,
		    "mail.smtp_url and mail.folder are both set: mail goes one "
		    "way");
	if ((smtp || folder) && *conf->mail.from == '\0')
		return setting_refuse(conf,
		    "mail.from is missing: whom is mail from?");
	return true;
}

static bool
secret_check(struct conf *conf, const char *key, const char *secret, bool signs)
{
	const char *problem = sign_secret_problem(str_of(secret), signs);

	return !problem || setting_refuse(conf, "standard.%s %s", key, problem);
}

/* A secret that is none would refuse every message, or sign no call. */
static bool
standard_check(struct conf *conf)
{
	const char *shared = conf->standard.webhook_secret;

	if (!secret_check(conf, "webhook_secret", shared, false) ||
	    !secret_check(conf, "old_webhook_secret",
		conf->standard.old_webhook_secret, false) ||
	    !secret_check(conf, "call_secret", conf->standard.call_secret,
		true))
		return false;
	if (*conf->standard.call_secret == '\0' &&
	    sign_secret_problem(str_of(shared), true))
		return setting_refuse(conf,
		    "standard.call_secret is missing: a whpk_ key verifies, "
		    "but cannot sign our calls");
	return true;
}

static bool
conf_derive(struct conf *conf)
{
	if (!is_provider(conf->payment.provider))
		return setting_refuse(conf,
		    "payment.provider must be stripe or standard");
	conf->stripe.livemode = is_live(conf->stripe.open_key);
	if (conf->stripe.livemode != is_live(conf->stripe.refund_key))
		return setting_refuse(conf,
		    "stripe.refund_key does not go with stripe.open_key: one "
		    "is for live payments, the other for tests");
	return standard_check(conf) && mail_check(conf);
}

const char *
conf_read(struct conf *conf, const char *file)
{
	*conf = (struct conf){0};
	conf->file = file;
	setting_defaults(conf);
	if (file_read(conf, file) && environment_read(conf) &&
	    setting_complete(conf) && conf_derive(conf))
		return NULL;
	return buf_text(&conf->complaint);
}

void
conf_release(struct conf *conf)
{
	setting_release(conf);
	buf_release(&conf->complaint);
}

struct token_secrets
conf_secrets(const struct conf *conf)
{
	return (struct token_secrets){
	    .now = str_of(conf->buyer.secret),
	    .old = str_of(conf->buyer.old_secret),
	};
}
