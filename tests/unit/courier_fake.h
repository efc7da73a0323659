/*
 * A database, a clock and a way out for the courier alone: claims go by a
 * script, what is sent and recorded is written down, sleeping takes no time.
 * Defines the functions of db_courier.h, clock.h and mail.h, and the log, in
 * place of the real ones.
 */
#ifndef UNIT_COURIER_FAKE_H
#define UNIT_COURIER_FAKE_H

#include "base/clock.h"
#include "base/log.h"
#include "io/db_courier.h"
#include "io/mail.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define STEPS_MAX 40

/* What the database does, in order. */
enum step_kind { STEP_MAIL, STEP_TASK, STEP_NONE, STEP_DOWN, STEP_REFUSED };

struct step {
	enum step_kind kind;
	int try;
};

static struct step steps[STEPS_MAX];
static size_t step_count;
static size_t step_next;
static int64_t claimed_ms[STEPS_MAX];
static int lease_seen;
static enum mail_result result_next; /* of each mail */
static bool away_next;
static bool set_up;
static int record_failures; /* how many records fail before one works */
static enum db_status record_failure;
static bool stop_at_record;
static bool stuck_next;
static struct buf seen; /* what was done, a line each */
static int64_t delay_seen;
static int64_t fake_ms;
static char alert[512]; /* the last log line of level error */
static char warning[512];

void
log_write(enum log_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (level == LOG_ERROR)
		vsnprintf(alert, sizeof(alert), format, args);
	else if (level == LOG_WARN)
		vsnprintf(warning, sizeof(warning), format, args);
	va_end(args);
}

void
clock_iso(char out[25])
{
	snprintf(out, 25, "2026-11-30T15:00:00.000Z");
}

int64_t
clock_unix(void)
{
	return 1796050800;
}

int64_t
clock_monotonic_ms(void)
{
	return fake_ms;
}

void
clock_sleep_ms(int64_t ms)
{
	fake_ms += ms;
}

struct db *
db_open(const struct conf *conf, enum db_role role, const char *process)
{
	static char token;

	assert_int_equal(role, DB_COURIER);
	return (struct db *)(void *)&token;
}

void
db_close(struct db *db)
{
}

const char *
db_error(const struct db *db)
{
	return "it says no";
}

void
owed_mail_init(struct owed_mail *mail)
{
	memset(mail, 0, sizeof(*mail));
}

void
owed_mail_release(struct owed_mail *mail)
{
	buf_release(&mail->recipient);
	buf_release(&mail->document);
}

static void
mail_fill(struct owed_mail *mail, const struct step *step)
{
	mail->id = 7;
	mail->try = step->try;
	if (step->kind == STEP_MAIL) {
		snprintf(mail->kind, sizeof(mail->kind), "paid");
		buf_str(&mail->recipient, "ada@buyer.test");
		buf_str(&mail->document,
		    "{\"mail\":\"paid-7\",\"order\":\"ord_42\",\"hold\":"
		    "\"hld_1\",\"state\":\"paid\",\"lines\":[{\"title\":"
		    "\"Lamp\",\"qty\":1}],\"price\":{\"amount\":12900,"
		    "\"currency\":\"EUR\"},\"refund\":null,\"task\":null}");
		return;
	}
	snprintf(mail->kind, sizeof(mail->kind), "task");
	buf_str(&mail->document,
	    "{\"mail\":\"task-7\",\"order\":null,\"task\":{\"task\":12,"
	    "\"kind\":\"stuck\",\"subject\":\"call 3\",\"detail\":null,"
	    "\"order\":\"ord_42\"}}");
}

enum db_status
db_courier_claim(struct db *db, int lease_ms, struct owed_mail *mail,
    bool *found)
{
	const struct step *step = &steps[step_next];

	*found = false;
	lease_seen = lease_ms;
	if (step_next == step_count) {
		raise(SIGTERM);
		return DB_OK;
	}
	claimed_ms[step_next++] = fake_ms;
	if (step->kind == STEP_DOWN)
		return DB_DOWN;
	if (step->kind == STEP_REFUSED)
		return DB_REFUSED;
	*found = step->kind != STEP_NONE;
	if (*found)
		mail_fill(mail, step);
	return DB_OK;
}

void
db_courier_wait(struct db *db, int most_ms)
{
	buf_printf(&seen, "wait %d\n", most_ms);
}

/* Whether this record works. */
static enum db_status
record(const struct owed_mail *mail)
{
	assert_int_equal(mail->id, 7);
	if (stop_at_record)
		raise(SIGTERM);
	if (record_failures > 0) {
		record_failures--;
		buf_str(&seen, "not ");
		return record_failure;
	}
	return DB_OK;
}

enum db_status
db_courier_sent(struct db *db, const struct owed_mail *mail)
{
	enum db_status status = record(mail);

	buf_str(&seen, "sent\n");
	return status;
}

enum db_status
db_courier_retry(struct db *db, const struct owed_mail *mail,
    const struct mail_retry *retry, bool *stuck)
{
	enum db_status status = record(mail);

	assert_int_equal(retry->tries, 20);
	delay_seen = retry->delay_ms;
	*stuck = stuck_next;
	buf_printf(&seen, "retry %s\n", retry->error);
	return status;
}

enum db_status
db_courier_refused(struct db *db, const struct owed_mail *mail,
    const char *error)
{
	enum db_status status = record(mail);

	buf_printf(&seen, "refused %s\n", error);
	return status;
}

enum db_status
db_courier_void(struct db *db, const struct owed_mail *mail)
{
	enum db_status status = record(mail);

	buf_str(&seen, "void\n");
	return status;
}

struct mail *
mail_open(const struct conf *conf)
{
	static char token;

	return (struct mail *)(void *)&token;
}

void
mail_close(struct mail *mail)
{
}

bool
mail_is_set_up(const struct mail *mail)
{
	return set_up;
}

enum mail_result
mail_send(struct mail *mail, const struct mail_message *message,
    struct mail_news *news)
{
	buf_printf(&seen, "%s to %.*s: %.*s\n", message->name,
	    (int)message->to.len, message->to.text, (int)message->subject.len,
	    message->subject.text);
	*news = (struct mail_news){.away = away_next};
	if (result_next != MAIL_SENT) {
		snprintf(news->why, sizeof(news->why), "status 450 to RCPT");
		snprintf(news->reply, sizeof(news->reply),
		    "450 no ada@buyer.test");
	}
	return result_next;
}

#endif
