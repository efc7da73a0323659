/*
 * The table of all settings, and what goes by it: defaults, checks, what is
 * missing, and the commented file. Knows no source of values; conf.c does.
 */
#include "base/setting.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Where `make install` puts sql/ and static/; the Makefile says it. */
#ifndef LASTPAIR_SHARE
#define LASTPAIR_SHARE "/usr/local/share/lastpair"
#endif

enum kind {
	TEXT, /* min is the least length, unless empty */
	NUMBER, /* min to max */
	ORIGIN, /* http(s)://host[:port] */
	URL, /* an origin and a path */
};

enum { OPEN = 0, REQUIRED = 1, SECRET = 2 };

struct setting {
	const char *section;
	const char *key;
	enum kind kind;
	int flags;
	size_t offset;
	const char *fallback;
	int64_t min;
	int64_t max;
	const char *comment;
};

#define AT(member) offsetof(struct conf, member)

static const struct setting settings[] = {
    {"database", "url", TEXT, REQUIRED, AT(database.url), "dbname=lastpair", 0,
	0, "libpq connection string; names no user, each process has its own"},

    {"server", "public_url", ORIGIN, REQUIRED, AT(server.public_url), "", 0, 0,
	"the shop's address, https://shop.example, no final slash"},
    {"server", "workers", NUMBER, OPEN, AT(server.workers), "2", 1, 16,
	"web processes; one a core"},
    {"server", "threads", NUMBER, OPEN, AT(server.threads), "2", 1, 16,
	"threads of each for all but holds, with a connection each"},
    {"server", "batch_max", NUMBER, OPEN, AT(server.batch_max), "128", 1, 1000,
	"holds taken in one transaction"},
    {"server", "hold_wait_ms", NUMBER, OPEN, AT(server.hold_wait_ms), "3000",
	100, 10000, "longest wait of a hold; then the shop is busy"},
    {"server", "socket_dir", TEXT, REQUIRED, AT(server.socket_dir),
	"/run/lastpair", 0, 0, "folder of web.0.sock and so on, sandbox.sock"},
    {"server", "share", TEXT, REQUIRED, AT(server.share), LASTPAIR_SHARE, 0, 0,
	"folder that holds sql/ and static/"},
    {"server", "lock_timeout_ms", NUMBER, OPEN, AT(server.lock_timeout_ms),
	"2000", 100, 60000, "longest wait for a row lock"},
    {"server", "statement_timeout_ms", NUMBER, OPEN,
	AT(server.statement_timeout_ms), "5000", 100, 600000,
	"longest run of one statement"},
    {"server", "sweep_slice", NUMBER, OPEN, AT(server.sweep_slice), "1000", 1,
	10000, "expired holds given back in one transaction"},

    {"buyer", "secret", TEXT, REQUIRED | SECRET, AT(buyer.secret), "", 32, 0,
	"signs the buyers' cookies; at least 32 characters"},
    {"buyer", "old_secret", TEXT, SECRET, AT(buyer.old_secret), "", 32, 0,
	"the one before, still accepted after a change"},

    {"stripe", "api_base", ORIGIN, REQUIRED, AT(stripe.api_base),
	"https://api.stripe.com", 0, 0, "the provider's address"},
    {"stripe", "version", TEXT, REQUIRED, AT(stripe.version),
	"2026-10-28.endive", 0, 0, "Stripe-Version sent with each call"},
    {"stripe", "open_key", TEXT, REQUIRED | SECRET, AT(stripe.open_key), "", 0,
	0, "restricted key that opens and ends sessions"},
    {"stripe", "refund_key", TEXT, REQUIRED | SECRET, AT(stripe.refund_key), "",
	0, 0, "restricted key that refunds"},
    {"stripe", "webhook_secret", TEXT, REQUIRED | SECRET,
	AT(stripe.webhook_secret), "", 0, 0,
	"whsec_..., verifies the provider's messages"},
    {"stripe", "old_webhook_secret", TEXT, SECRET,
	AT(stripe.old_webhook_secret), "", 0, 0,
	"the one before, still accepted after a change"},
    {"stripe", "opens_per_second", NUMBER, OPEN, AT(stripe.opens_per_second),
	"20", 1, 100, "sessions opened; the provider's own limit is 25"},
    {"stripe", "ends_per_second", NUMBER, OPEN, AT(stripe.ends_per_second),
	"20", 1, 100, "sessions ended"},
    {"stripe", "refunds_per_second", NUMBER, OPEN,
	AT(stripe.refunds_per_second), "20", 1, 100, "refunds sent"},
    {"stripe", "looks_per_second", NUMBER, OPEN, AT(stripe.looks_per_second),
	"20", 1, 100, "sessions, refunds and lists looked at"},
    {"stripe", "calls_per_second", NUMBER, OPEN, AT(stripe.calls_per_second),
	"80", 1, 1000, "of all kinds together; the provider's limit is 100"},
    {"stripe", "at_once", NUMBER, OPEN, AT(stripe.at_once), "32", 1, 200,
	"calls under way at the same time"},
    {"stripe", "timeout_ms", NUMBER, OPEN, AT(stripe.timeout_ms), "20000", 1000,
	120000, "longest wait for one call"},
    {"stripe", "tries", NUMBER, OPEN, AT(stripe.tries), "20", 1, 100,
	"calls before a task is stuck and somebody is told"},

    {"standard", "url", URL, REQUIRED, AT(standard.url), "", 0, 0,
	"where the process listens that connects another provider"},
    {"standard", "webhook_secret", TEXT, REQUIRED | SECRET,
	AT(standard.webhook_secret), "", 0, 0,
	"whsec_... or whpk_..., verifies its messages"},
    {"standard", "old_webhook_secret", TEXT, SECRET,
	AT(standard.old_webhook_secret), "", 0, 0,
	"the one before, still accepted after a change"},
    {"standard", "call_secret", TEXT, SECRET, AT(standard.call_secret), "", 0,
	0, "whsec_... or whsk_..., signs our calls; empty: webhook_secret"},
    {"standard", "calls_per_second", NUMBER, OPEN,
	AT(standard.calls_per_second), "20", 1, 1000,
	"of each kind, and of all together"},
    {"standard", "at_once", NUMBER, OPEN, AT(standard.at_once), "32", 1, 200,
	"calls under way at the same time"},
    {"standard", "timeout_ms", NUMBER, OPEN, AT(standard.timeout_ms), "20000",
	1000, 120000, "longest wait for one call"},
    {"standard", "tries", NUMBER, OPEN, AT(standard.tries), "20", 1, 100,
	"calls before a task is stuck and somebody is told"},

    {"payment", "provider", TEXT, REQUIRED, AT(payment.provider), "stripe", 0,
	0, "who new payments go to: stripe or standard"},
    {"payment", "reconcile_minutes", NUMBER, OPEN,
	AT(payment.reconcile_minutes), "60", 0, 10080,
	"between two comparisons with the provider; 0: none"},

    {"mail", "smtp_url", TEXT, SECRET, AT(mail.smtp_url), "", 0, 0,
	"smtp(s)://user:password@host:port; where mail is handed in"},
    {"mail", "folder", TEXT, OPEN, AT(mail.folder), "", 0, 0,
	"or a folder that each mail is written into"},
    {"mail", "from", TEXT, OPEN, AT(mail.from), "", 0, 0,
	"the sender, shop@example.com or Shop <shop@example.com>"},
    {"mail", "operator", TEXT, OPEN, AT(mail.operator), "", 0, 0,
	"who is told when a person is needed"},

    {"sandbox", "pay_url", ORIGIN, OPEN, AT(sandbox.pay_url), "", 0, 0,
	"where shoppers reach the stand-in provider; only for the demo"},
    {"sandbox", "hook_url", URL, OPEN, AT(sandbox.hook_url), "", 0, 0,
	"where the stand-in posts its webhooks; only for the demo"},
};

#define SETTING_COUNT (sizeof(settings) / sizeof(settings[0]))

_Static_assert(SETTING_COUNT <= SETTING_MAX, "conf.c counts on it");

bool
setting_refuse(struct conf *conf, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	/* The first complaint only: what follows may be its echo. */
	if (conf->complaint.len == 0)
		buf_vprintf(&conf->complaint, format, args);
	va_end(args);
	return false;
}

static char **
text_at(struct conf *conf, const struct setting *setting)
{
	return (char **)(void *)((char *)conf + setting->offset);
}

static int *
number_at(struct conf *conf, const struct setting *setting)
{
	return (int *)(void *)((char *)conf + setting->offset);
}

static bool
number_put(struct conf *conf, const struct setting *setting, struct str value)
{
	int64_t n;

	if (!str_int(value, &n) || n < setting->min || n > setting->max)
		return setting_refuse(conf,
		    "%s.%s must be a whole number from %" PRId64 " to %" PRId64,
		    setting->section, setting->key, setting->min, setting->max);
	*number_at(conf, setting) = (int)n;
	return true;
}

/* Whether text is http(s)://host[:port], followed by end or, if so, a path. */
static bool
is_address(const char *text, bool with_path)
{
	static const char host[] = "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789.-_:[]";
	size_t len;

	if (strncmp(text, "https://", 8) == 0)
		text += 8;
	else if (strncmp(text, "http://", 7) == 0)
		text += 7;
	else
		return false;
	len = strspn(text, host);
	if (len == 0)
		return false;
	return text[len] == '\0' || (with_path && text[len] == '/');
}

static bool
text_check(struct conf *conf, const struct setting *setting, struct str value)
{
	const char *wrong = NULL;

	for (size_t i = 0; i < value.len; i++) {
		/* A newline would end a header of a call early. */
		if ((unsigned char)value.text[i] < 0x20 || value.text[i] == 127)
			wrong = "must not hold control characters";
	}
	if (value.len && value.len < (size_t)setting->min)
		wrong = "is too short";
	if (value.len && setting->kind == ORIGIN &&
	    !is_address(value.text, false))
		wrong = "must be http(s)://host without a final slash";
	if (value.len && setting->kind == URL && !is_address(value.text, true))
		wrong = "must be an address, http(s)://host/path";
	if (!wrong)
		return true;
	return setting_refuse(conf, "%s.%s %s", setting->section, setting->key,
	    wrong);
}

static bool
text_put(struct conf *conf, const struct setting *setting, struct str value)
{
	struct buf copy = {0};

	if (!text_check(conf, setting, value))
		return false;
	buf_add(&copy, value.text, value.len);
	free(*text_at(conf, setting));
	*text_at(conf, setting) = copy.data;
	return true;
}

bool
setting_put(struct conf *conf, const struct setting *setting, struct str value)
{
	return setting->kind == NUMBER ? number_put(conf, setting, value)
				       : text_put(conf, setting, value);
}

const struct setting *
setting_at(size_t index)
{
	return index < SETTING_COUNT ? &settings[index] : NULL;
}

const char *
setting_section(const struct setting *setting)
{
	return setting->section;
}

const char *
setting_key(const struct setting *setting)
{
	return setting->key;
}

static void
upper_add(struct buf *out, const char *text)
{
	for (; *text; text++) {
		bool lower = *text >= 'a' && *text <= 'z';

		buf_char(out, (char)(lower ? *text - 'a' + 'A' : *text));
	}
}

void
setting_variable(struct buf *out, const struct setting *setting)
{
	buf_str(out, "LASTPAIR_");
	upper_add(out, setting->section);
	buf_char(out, '_');
	upper_add(out, setting->key);
}

void
setting_defaults(struct conf *conf)
{
	for (size_t i = 0; i < SETTING_COUNT; i++)
		setting_put(conf, &settings[i], str_of(settings[i].fallback));
}

/* A provider that no payment goes to needs no settings. */
static bool
is_used(const struct conf *conf, const struct setting *setting)
{
	bool provider = strcmp(setting->section, "stripe") == 0 ||
	    strcmp(setting->section, "standard") == 0;

	return !provider ||
	    strcmp(setting->section, conf->payment.provider) == 0;
}

static bool
setting_missing(struct conf *conf, const struct setting *setting)
{
	struct buf variable = {0};

	setting_variable(&variable, setting);
	setting_refuse(conf,
	    "%s.%s is missing: set it in the file, as %s, or name a file that "
	    "holds it with %s_file",
	    setting->section, setting->key, buf_text(&variable), setting->key);
	buf_release(&variable);
	return false;
}

bool
setting_complete(struct conf *conf)
{
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		const struct setting *setting = &settings[i];

		if ((setting->flags & REQUIRED) && setting->kind != NUMBER &&
		    is_used(conf, setting) && **text_at(conf, setting) == '\0')
			return setting_missing(conf, setting);
	}
	return true;
}

void
setting_release(struct conf *conf)
{
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		if (settings[i].kind == NUMBER)
			continue;
		free(*text_at(conf, &settings[i]));
		*text_at(conf, &settings[i]) = NULL;
	}
}

static void
setting_describe(struct buf *out, const struct setting *setting)
{
	buf_printf(out, "# %s", setting->comment);
	if (setting->kind == NUMBER)
		buf_printf(out, " (%" PRId64 " to %" PRId64 ")", setting->min,
		    setting->max);
	else if (setting->flags & REQUIRED && setting->fallback[0] == '\0')
		buf_str(out, " (required)");
	if (setting->flags & SECRET)
		buf_printf(out, "\n# or in a file: %s_file", setting->key);
	buf_printf(out, "\n%s =%s%s\n", setting->key,
	    setting->fallback[0] ? " " : "", setting->fallback);
}

void
conf_describe(struct buf *out)
{
	const char *section = "";

	buf_str(out,
	    "# Settings of lastpair. A variable LASTPAIR_<SECTION>_<KEY> goes\n"
	    "# before its line here, and <key>_file names a file that holds\n"
	    "# the value. Comments stand on lines of their own.\n");
	for (size_t i = 0; i < SETTING_COUNT; i++) {
		if (strcmp(section, settings[i].section) != 0) {
			section = settings[i].section;
			buf_printf(out, "\n[%s]\n", section);
		}
		setting_describe(out, &settings[i]);
	}
}
