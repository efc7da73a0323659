/*
 * Mail goes out: handed to a mail server over SMTP, or written into a folder,
 * a file each. One handle belongs to one thread and keeps its connection.
 *   smtps://   TLS from the start
 *   smtp://    STARTTLS, without which nothing is said; but none is asked for
 *              when the server is this machine (127.0.0.1, ::1, localhost)
 * A mail whose answer was lost is sent again: it has the same Message-ID.
 */
#ifndef IO_MAIL_H
#define IO_MAIL_H

#include "base/conf.h"
#include "io/mail_message.h"

/* No mail takes longer, whatever the server does. */
#define MAIL_TIMEOUT_MS 30000

enum mail_result {
	MAIL_SENT,
	MAIL_LATER, /* not now: another try may go through */
	MAIL_REFUSED, /* this mail will never be taken */
};

struct mail_news {
	bool away; /* the server or folder could not be used at all */
	char why[200]; /* one line, without any address: may be logged */
	char reply[300]; /* the server's last words; "" when there were none */
};

struct mail;

/*
 * Whether the settings of mail have their form. NULL when they do, or when
 * there is to be no mail; else a static sentence. Server and folder are not
 * looked for: they may be away for a while, and the shop sells all the same.
 */
const char *
mail_check(const struct conf *conf);
/* conf has passed mail_check and outlives the handle. */
struct mail *
mail_open(const struct conf *conf);
void
mail_close(struct mail *mail);
/* Whether mail.smtp_url or mail.folder is set. */
bool
mail_is_set_up(const struct mail *mail);
/* Sends one mail in at most MAIL_TIMEOUT_MS; news says why it was not sent. */
enum mail_result
mail_send(struct mail *mail, const struct mail_message *message,
    struct mail_news *news);

#endif
