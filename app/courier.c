/*
 * One mail at a time. A server that cannot be used at all is left alone for a
 * while, so that an outage costs each mail few of its tries.
 */
#include "courier.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/sign.h"
#include "io/db_courier.h"
#include "io/mail.h"
#include "mail/letter.h"
#include "web/document.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

/* A mail whose courier died comes back after it could have been sent. */
#define LEASE_MS (MAIL_TIMEOUT_MS + 10000)
#define WAIT_MS 1000
/* Doubled from try to try: all of them take about a day. */
#define TRIES 20
#define RETRY_MIN_MS 1000
#define RETRY_MAX_MS ((int64_t)4 * 3600 * 1000)
/* While the database or the mail server is away. */
#define AWAY_MIN_MS 500
#define AWAY_MAX_MS 5000
#define SERVER_MAX_MS 30000

struct courier {
	const struct conf *conf;
	struct db *db;
	struct mail *mail;
	struct letters letters;
	int database_failures; /* in a row */
	int server_failures;
};

/* What came of a mail. */
struct delivery {
	enum mail_result result;
	char name[MAIL_NAME_MAX + 1];
	char order[32]; /* "ord_1001", or "task 7" */
	struct mail_news news;
};

static volatile sig_atomic_t stopping;

static void
courier_on_term(int signo)
{
	(void)signo;
	stopping = 1;
}

/* In short parts: a signal that comes just before a sleep does not end it. */
static void
courier_rest(int64_t ms)
{
	while (ms > 0 && !stopping) {
		int64_t part = ms > 100 ? 100 : ms;

		clock_sleep_ms(part);
		ms -= part;
	}
}

/* min doubled failures - 1 times, at most max, times a random 0.5 to 1. */
static int64_t
backoff_ms(int failures, int64_t min, int64_t max)
{
	int64_t ms = min;
	unsigned char chance;

	while (--failures > 0 && ms < max)
		ms *= 2;
	if (ms > max)
		ms = max;
	sign_random(&chance, sizeof(chance));
	return ms / 2 + ms / 2 * chance / 255;
}

static bool
is_away(enum db_status status)
{
	return status != DB_OK && status != DB_REFUSED;
}

/* Notes how the database did; rests when it is away. */
static void
courier_weigh(struct courier *c, enum db_status status)
{
	if (!is_away(status)) {
		if (c->database_failures > 0)
			log_info("the database is back");
		c->database_failures = 0;
		return;
	}
	if (c->database_failures++ == 0)
		log_warn("could not reach the database: %s", db_error(c->db));
	courier_rest(
	    backoff_ms(c->database_failures, AWAY_MIN_MS, AWAY_MAX_MS));
}

/* The same for the mail server. */
static void
courier_weigh_server(struct courier *c, const struct delivery *delivery)
{
	if (delivery->result == MAIL_SENT || !delivery->news.away) {
		if (c->server_failures > 0)
			log_info("mail can be sent again");
		c->server_failures = 0;
		return;
	}
	c->server_failures++;
	courier_rest(
	    backoff_ms(c->server_failures, AWAY_MIN_MS, SERVER_MAX_MS));
}

/* The address that it goes to; empty when there is none. */
static struct str
mail_recipient(const struct courier *c, const struct owed_mail *mail)
{
	return mail->recipient.len ? str_view(&mail->recipient)
				   : str_of(c->conf->mail.operator);
}

static void
delivery_name(struct delivery *delivery, const struct document *document)
{
	struct str name = document_text(document, "mail");
	struct str order = document_text(document, "order");
	struct str task = document_text(document, "task.task");

	snprintf(delivery->name, sizeof(delivery->name), "%.*s", (int)name.len,
	    name.text ? name.text : "");
	if (order.len)
		snprintf(delivery->order, sizeof(delivery->order), "%.*s",
		    (int)order.len, order.text);
	else
		snprintf(delivery->order, sizeof(delivery->order), "task %.*s",
		    (int)task.len, task.text ? task.text : "");
}

/* Writes the mail and sends it. */
static void
mail_deliver(struct courier *c, const struct owed_mail *mail,
    struct delivery *delivery)
{
	struct document document;
	struct letter letter = {0};
	const struct letter_facts facts = {mail->kind, &document,
	    c->conf->server.public_url};
	struct mail_message message = {.name = delivery->name,
	    .to = mail_recipient(c, mail),
	    .at = clock_unix()};

	if (!document_read(&document, str_view(&mail->document)))
		log_bug("the database's mail cannot be read");
	delivery_name(delivery, &document);
	if (letter_write(&letter, &c->letters, &facts)) {
		message.subject = str_view(&letter.subject);
		message.text = str_view(&letter.text);
		delivery->result =
		    mail_send(c->mail, &message, &delivery->news);
	} else {
		delivery->result = MAIL_REFUSED;
		snprintf(delivery->news.why, sizeof(delivery->news.why),
		    "there is no text for a mail of kind %s", mail->kind);
	}
	letter_release(&letter);
	document_release(&document);
}

/* The server's words are for the books: they may name the address. */
static void
delivery_error(char *out, size_t room, const struct delivery *delivery)
{
	snprintf(out, room, "%s%s%s", delivery->news.why,
	    delivery->news.reply[0] ? ": " : "", delivery->news.reply);
}

static enum db_status
record_later(struct courier *c, const struct owed_mail *mail,
    const struct delivery *delivery)
{
	char error[512];
	struct mail_retry retry = {error,
	    backoff_ms(mail->try, RETRY_MIN_MS, RETRY_MAX_MS), TRIES};
	bool stuck = false;
	enum db_status status;

	delivery_error(error, sizeof(error), delivery);
	status = db_courier_retry(c->db, mail, &retry, &stuck);
	if (status != DB_OK)
		return status;
	if (stuck)
		log_error("cannot send mail %s about %s, given up after %d "
			  "tries: %s",
		    delivery->name, delivery->order, mail->try,
		    delivery->news.why);
	else
		log_warn("could not send mail %s about %s, try %d: %s",
		    delivery->name, delivery->order, mail->try,
		    delivery->news.why);
	return status;
}

static enum db_status
record_refused(struct courier *c, const struct owed_mail *mail,
    const struct delivery *delivery)
{
	char error[512];
	enum db_status status;

	delivery_error(error, sizeof(error), delivery);
	status = db_courier_refused(c->db, mail, error);
	/* A buyer's own address is the buyer's business. */
	if (status == DB_OK)
		log_write(mail->recipient.len ? LOG_WARN : LOG_ERROR,
		    "cannot send mail %s about %s: %s", delivery->name,
		    delivery->order, delivery->news.why);
	return status;
}

static enum db_status
mail_record(struct courier *c, const struct owed_mail *mail,
    const struct delivery *delivery)
{
	switch (delivery->result) {
	case MAIL_SENT:
		return db_courier_sent(c->db, mail);
	case MAIL_REFUSED:
		return record_refused(c, mail, delivery);
	default:
		return record_later(c, mail, delivery);
	}
}

/*
 * Does one mail. While the database is away, what came of it is kept as long
 * as nobody else may have the mail.
 */
static void
courier_do(struct courier *c, const struct owed_mail *mail,
    int64_t lease_end_ms)
{
	struct delivery delivery = {.result = MAIL_SENT};
	enum db_status status;

	mail_deliver(c, mail, &delivery);
	status = mail_record(c, mail, &delivery);
	courier_weigh(c, status);
	while (is_away(status) && !stopping &&
	    clock_monotonic_ms() < lease_end_ms) {
		status = mail_record(c, mail, &delivery);
		courier_weigh(c, status);
	}
	if (is_away(status))
		log_warn("could not record mail %s; it goes out again",
		    delivery.name);
	if (status == DB_REFUSED) {
		log_error("cannot record mail %s: %s", delivery.name,
		    db_error(c->db));
		(void)db_courier_refused(c->db, mail,
		    "what came of it cannot be recorded");
	}
	courier_weigh_server(c, &delivery);
}

/* Sends a mail that was claimed; or not, when there is no use in it. */
static void
courier_take(struct courier *c, const struct owed_mail *mail,
    int64_t lease_end_ms)
{
	if (!mail_is_set_up(c->mail) || mail_recipient(c, mail).len == 0) {
		courier_weigh(c, db_courier_void(c->db, mail));
		return;
	}
	if (mail->try <= TRIES) {
		courier_do(c, mail, lease_end_ms);
		return;
	}
	/* It ended its courier, or could not be recorded, each time. */
	log_error("cannot send mail %lld, given up after %d tries",
	    (long long)mail->id, TRIES);
	courier_weigh(c,
	    db_courier_refused(c->db, mail, "no try came to its end"));
}

/* Claims a mail that is due, and sends it; waits when there is none. */
static void
courier_step(struct courier *c)
{
	int64_t claimed_ms = clock_monotonic_ms();
	struct owed_mail mail;
	bool found = false;
	enum db_status status;

	owed_mail_init(&mail);
	status = db_courier_claim(c->db, LEASE_MS, &mail, &found);
	courier_weigh(c, status);
	if (status == DB_REFUSED) {
		log_error("cannot claim a mail: %s", db_error(c->db));
		courier_rest(WAIT_MS);
	} else if (status == DB_OK && found) {
		courier_take(c, &mail, claimed_ms + LEASE_MS);
	} else if (status == DB_OK) {
		db_courier_wait(c->db, WAIT_MS);
	}
	owed_mail_release(&mail);
}

static void
courier_signals(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	sigemptyset(&action.sa_mask);
	action.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &action, NULL);
	/* Not restarted: waits end when it is time to stop. */
	stopping = 0;
	action.sa_handler = courier_on_term;
	sigaction(SIGTERM, &action, NULL);
}

int
courier_run(const struct conf *conf)
{
	struct courier c = {.conf = conf};
	const char *why = letters_load(&c.letters, conf->server.share);

	if (!why)
		why = mail_check(conf);
	if (why) {
		log_error("cannot send mail: %s", why);
		letters_release(&c.letters);
		return 1;
	}
	courier_signals();
	c.db = db_open(conf, DB_COURIER, "lastpair courier");
	c.mail = mail_open(conf);
	if (!mail_is_set_up(c.mail))
		log_info("no mail is set up: none is sent");
	else if (!*conf->mail.operator)
		log_warn("mail.operator is not set: nobody is told of tasks");
	while (!stopping)
		courier_step(&c);
	mail_close(c.mail);
	db_close(c.db);
	letters_release(&c.letters);
	return 0;
}
