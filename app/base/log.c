/*
 * Log lines. Everything lies in fixed memory, so that a line can be written
 * when there is no memory left, and no line is longer than PIPE_BUF, so that
 * the lines of several processes on one pipe never mix. Several threads: each
 * has its own request; what is counted lies under a lock, which nobody holds
 * at a fork, because who forks has one thread.
 */
#include "base/log.h"
#include "base/clock.h"
#include "base/str.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 4096 /* Linux's PIPE_BUF */
#define MESSAGE_MAX 800 /* each byte may become 4; the names fit beside it */
#define NAME_MAX_BYTES 64
#define REPEAT_MS 1000

struct line {
	char text[LINE_MAX_BYTES];
	size_t len;
};

struct event {
	enum log_level level;
	char request[NAME_MAX_BYTES];
	char message[MESSAGE_MAX];
};

static char process_name[NAME_MAX_BYTES] = "lastpair";
static _Thread_local char request_id[NAME_MAX_BYTES];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* The event written last, since when, and how often it came again. */
static struct event last;
static int64_t last_ms;
static unsigned last_repeats;
static bool last_known;
static bool flushes_at_exit;

static void
line_add(struct line *line, const char *text)
{
	size_t n = strlen(text);

	/* Room for the newline stays free. */
	if (n > sizeof(line->text) - 1 - line->len)
		n = sizeof(line->text) - 1 - line->len;
	memcpy(line->text + line->len, text, n);
	line->len += n;
}

static void
line_quote(struct line *line, const char *text)
{
	bool utf8 = str_is_utf8(str_of(text));
	char out[5];

	line_add(line, "\"");
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			snprintf(out, sizeof(out), "\\%c", c);
		else if (c == '\n')
			snprintf(out, sizeof(out), "\\n");
		else if (c < 0x20 || c == 0x7f || (c >= 0x80 && !utf8))
			snprintf(out, sizeof(out), "\\x%02x", c);
		else
			snprintf(out, sizeof(out), "%c", c);
		line_add(line, out);
	}
	line_add(line, "\"");
}

/* A value goes bare when no reader can take it for more than one. */
static void
line_value(struct line *line, const char *name, const char *value)
{
	static const char bare[] = "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789._:/@+-";

	line_add(line, name);
	line_add(line, "=");
	if (*value && value[strspn(value, bare)] == '\0')
		line_add(line, value);
	else
		line_quote(line, value);
}

static void
event_write(const struct event *event, unsigned repeated)
{
	static const char *const levels[] = {"debug", "info", "warn", "error"};
	struct line line = {.len = 0};
	char time[25];
	char number[32];

	clock_iso(time);
	line_value(&line, "time", time);
	line_value(&line, " level", levels[event->level]);
	line_value(&line, " process", process_name);
	snprintf(number, sizeof(number), "%ld", (long)getpid());
	line_value(&line, " pid", number);
	if (event->request[0])
		line_value(&line, " req", event->request);
	line_add(&line, " msg=");
	line_quote(&line, event->message);
	if (repeated) {
		snprintf(number, sizeof(number), "%u", repeated);
		line_value(&line, " repeated", number);
	}
	line.text[line.len++] = '\n';
	/* Where would one report that the log is gone? */
	if (write(STDERR_FILENO, line.text, line.len) < 0)
		return;
}

static void
repeats_flush(void)
{
	if (last_known && last_repeats)
		event_write(&last, last_repeats);
	last_repeats = 0;
	last_known = false;
}

static void
exit_flush(void)
{
	pthread_mutex_lock(&lock);
	repeats_flush();
	pthread_mutex_unlock(&lock);
}

static bool
event_repeats(const struct event *event, int64_t now)
{
	return last_known && now - last_ms < REPEAT_MS &&
	    event->level == last.level &&
	    strcmp(event->request, last.request) == 0 &&
	    strcmp(event->message, last.message) == 0;
}

/* Drops the character that the end of room has cut in two. */
static void
text_mend(char *text)
{
	size_t len = strlen(text);

	while (len && ((unsigned char)text[len - 1] & 0xc0) == 0x80)
		len--;
	if (len && (unsigned char)text[len - 1] >= 0xc0)
		len--;
	text[len] = '\0';
}

static void
event_make(struct event *event, enum log_level level, const char *format,
    va_list args)
{
	int need;

	*event = (struct event){.level = level};
	memcpy(event->request, request_id, sizeof(request_id));
	need = vsnprintf(event->message, sizeof(event->message), format, args);
	if (need >= (int)sizeof(event->message))
		text_mend(event->message);
}

void
log_open(const char *process)
{
	/* What the parent counted before a fork is the parent's to tell. */
	last_repeats = 0;
	last_known = false;
	snprintf(process_name, sizeof(process_name), "%s", process);
}

void
log_request(const char *id)
{
	snprintf(request_id, sizeof(request_id), "%s", id ? id : "");
}

void
log_write(enum log_level level, const char *format, ...)
{
	int64_t now = clock_monotonic_ms();
	struct event event;
	va_list args;

	va_start(args, format);
	event_make(&event, level, format, args);
	va_end(args);
	pthread_mutex_lock(&lock);
	if (!flushes_at_exit)
		flushes_at_exit = atexit(exit_flush) == 0;
	if (event_repeats(&event, now)) {
		last_repeats++;
	} else {
		repeats_flush();
		event_write(&event, 0);
		last = event;
		last_ms = now;
		last_known = true;
	}
	pthread_mutex_unlock(&lock);
}

void
log_bug(const char *format, ...)
{
	struct event event;
	va_list args;

	va_start(args, format);
	event_make(&event, LOG_ERROR, format, args);
	va_end(args);
	/* Not to be held up by a thread that cannot get its line out. */
	if (pthread_mutex_trylock(&lock) == 0)
		repeats_flush();
	event_write(&event, 0);
	abort();
}
