/*
 * libcurl speaks SMTP; it doubles the dots that begin a line. What the server
 * answers, and to which command, tells whether a mail is refused for good: a
 * 5xx to the recipient or to the message itself is about this mail, one to
 * anything before is about our settings, which somebody may mend.
 */
#include "io/mail.h"

#include "base/log.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECT_MS 10000L
/* Servers hang up on who says nothing; we go first. */
#define IDLE_SECONDS 30L

struct mail {
	const struct conf *conf;
	struct mail_sender from;
	CURL *easy; /* NULL unless there is a server */
	bool local; /* it is this machine */
	char error[CURL_ERROR_SIZE];
};

/* A conversation under way. */
struct talk {
	struct str rest; /* of the message, to be sent */
	char verb[8]; /* the last command but QUIT */
	bool quits; /* what is answered now is of no interest */
	struct mail_news *news;
};

/* --- settings */

/* Takes a mail server's address apart; NULL or why it is none. */
static const char *
smtp_url_check(const char *url, bool *local)
{
	CURLU *parts = curl_url();
	char *host = NULL;
	const char *why = "mail.smtp_url must be smtp://host:port or "
			  "smtps://host:port";

	if (strncmp(url, "smtp://", 7) != 0 && strncmp(url, "smtps://", 8) != 0)
		goto out;
	if (!parts || curl_url_set(parts, CURLUPART_URL, url, 0) != CURLUE_OK ||
	    curl_url_get(parts, CURLUPART_HOST, &host, 0) != CURLUE_OK)
		goto out;
	*local = strcmp(host, "localhost") == 0 ||
	    strcmp(host, "127.0.0.1") == 0 || strcmp(host, "[::1]") == 0;
	why = NULL;
out:
	curl_free(host);
	curl_url_cleanup(parts);
	return why;
}

const char *
mail_check(const struct conf *conf)
{
	struct mail_sender from;
	bool local;
	const char *why = NULL;

	if (*conf->mail.smtp_url)
		why = smtp_url_check(conf->mail.smtp_url, &local);
	else if (!*conf->mail.folder)
		return NULL;
	if (!why && !mail_sender_read(&from, conf->mail.from))
		why = "mail.from is no sender: it must be like "
		      "shop@example.com or Shop <shop@example.com>";
	if (!why &&
	    *conf->mail.operator&& !mail_is_address(
		str_of(conf->mail.operator)))
		why = "mail.operator is no mail address";
	return why;
}

struct mail *
mail_open(const struct conf *conf)
{
	struct mail *mail = calloc(1, sizeof(*mail));

	if (!mail)
		log_bug("out of memory");
	mail->conf = conf;
	if (!mail_is_set_up(mail))
		return mail;
	if (!mail_sender_read(&mail->from, conf->mail.from))
		log_bug("mail.from is no sender");
	if (!*conf->mail.smtp_url) {
		if (access(conf->mail.folder, W_OK | X_OK) < 0)
			log_error("could not use mail.folder %s: %s",
			    conf->mail.folder, strerror(errno));
		return mail;
	}
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		log_bug("cannot start libcurl");
	mail->easy = curl_easy_init();
	if (!mail->easy ||
	    smtp_url_check(conf->mail.smtp_url, &mail->local) != NULL)
		log_bug("cannot make a libcurl handle");
	return mail;
}

void
mail_close(struct mail *mail)
{
	if (!mail)
		return;
	curl_easy_cleanup(mail->easy);
	free(mail);
}

bool
mail_is_set_up(const struct mail *mail)
{
	return *mail->conf->mail.smtp_url || *mail->conf->mail.folder;
}

/* --- SMTP */

static size_t
on_read(char *room, size_t size, size_t count, void *context)
{
	struct talk *talk = context;
	size_t n = size * count;

	if (n > talk->rest.len)
		n = talk->rest.len;
	memcpy(room, talk->rest.text, n);
	talk->rest.text += n;
	talk->rest.len -= n;
	return n;
}

/* Copies a line without what a log or a terminal would take amiss. */
static void
line_copy(char *out, size_t room, struct str line)
{
	size_t n = 0;

	while (n < line.len && n + 1 < room) {
		unsigned char c = (unsigned char)line.text[n];

		out[n++] = (char)(c < ' ' || c >= 0x7f ? ' ' : c);
	}
	while (n > 0 && out[n - 1] == ' ')
		n--;
	out[n] = '\0';
}

/* Every line that the server answers. */
static size_t
on_reply(const char *bytes, size_t size, size_t count, void *context)
{
	struct talk *talk = context;

	if (!talk->quits)
		line_copy(talk->news->reply, sizeof(talk->news->reply),
		    (struct str){bytes, size * count});
	return size * count;
}

/* Every command that is sent: only its verb is kept, never a password. */
static int
on_talk(CURL *easy, curl_infotype type, char *bytes, size_t n, void *context)
{
	struct talk *talk = context;
	size_t len = 0;

	(void)easy;
	if (type != CURLINFO_HEADER_OUT)
		return 0;
	while (len < n && len < sizeof(talk->verb) - 1 && bytes[len] >= 'A' &&
	    bytes[len] <= 'Z')
		len++;
	talk->quits = len == 4 && memcmp(bytes, "QUIT", 4) == 0;
	if (talk->quits)
		return 0;
	memcpy(talk->verb, bytes, len);
	talk->verb[len] = '\0';
	return 0;
}

#define SET(option, value) \
	(ok = ok && curl_easy_setopt(easy, option, value) == CURLE_OK)

static void
smtp_prepare(struct mail *mail, struct talk *talk)
{
	CURL *easy = mail->easy;
	bool ok = true;

	curl_easy_reset(easy);
	mail->error[0] = '\0';
	SET(CURLOPT_URL, mail->conf->mail.smtp_url);
	SET(CURLOPT_PROTOCOLS_STR, "smtp,smtps");
	SET(CURLOPT_USE_SSL,
	    (long)(mail->local ? CURLUSESSL_NONE : CURLUSESSL_ALL));
	SET(CURLOPT_SSL_VERIFYPEER, 1L);
	SET(CURLOPT_SSL_VERIFYHOST, 2L);
	/* No environment variable may put a stranger in between. */
	SET(CURLOPT_PROXY, "");
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	SET(CURLOPT_TIMEOUT_MS, (long)MAIL_TIMEOUT_MS);
	SET(CURLOPT_MAXAGE_CONN, IDLE_SECONDS);
	SET(CURLOPT_ERRORBUFFER, mail->error);
	SET(CURLOPT_UPLOAD, 1L);
	SET(CURLOPT_READFUNCTION, on_read);
	SET(CURLOPT_READDATA, talk);
	SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)talk->rest.len);
	SET(CURLOPT_HEADERFUNCTION, on_reply);
	SET(CURLOPT_HEADERDATA, talk);
	SET(CURLOPT_VERBOSE, 1L);
	SET(CURLOPT_DEBUGFUNCTION, on_talk);
	SET(CURLOPT_DEBUGDATA, talk);
	if (!ok)
		log_bug("cannot set up a mail");
}

/* What came of it, when it was not taken. */
static enum mail_result
smtp_judge(const struct mail *mail, const struct talk *talk, CURLcode code)
{
	struct mail_news *news = talk->news;
	bool own =
	    strcmp(talk->verb, "RCPT") == 0 || strcmp(talk->verb, "DATA") == 0;
	long status = 0;

	(void)curl_easy_getinfo(mail->easy, CURLINFO_RESPONSE_CODE, &status);
	/* Lost while it spoke: the last answer is not the reason. */
	if (code == CURLE_OPERATION_TIMEDOUT || code == CURLE_RECV_ERROR)
		status = 0;
	news->away = !own;
	if (status >= 400)
		snprintf(news->why, sizeof(news->why), "status %ld to %s",
		    status, talk->verb[0] ? talk->verb : "the connection");
	else
		line_copy(news->why, sizeof(news->why),
		    str_of(mail->error[0] ? mail->error
					  : curl_easy_strerror(code)));
	if (status < 400)
		news->reply[0] = '\0';
	return own && status >= 500 && status < 600 ? MAIL_REFUSED : MAIL_LATER;
}

static enum mail_result
smtp_send(struct mail *mail, struct str to, struct str message,
    struct mail_news *news)
{
	struct talk talk = {.rest = message, .news = news};
	struct buf address = {0};
	struct curl_slist *recipients;
	CURL *easy = mail->easy;
	CURLcode code;
	bool ok = true;

	smtp_prepare(mail, &talk);
	buf_printf(&address, "<%.*s>", (int)mail->from.address.len,
	    mail->from.address.text);
	SET(CURLOPT_MAIL_FROM, buf_text(&address));
	buf_reset(&address);
	buf_printf(&address, "<%.*s>", (int)to.len, to.text);
	recipients = curl_slist_append(NULL, buf_text(&address));
	SET(CURLOPT_MAIL_RCPT, recipients);
	if (!recipients || !ok)
		log_bug("cannot set up a mail");
	code = curl_easy_perform(easy);
	curl_slist_free_all(recipients);
	buf_release(&address);
	return code == CURLE_OK ? MAIL_SENT : smtp_judge(mail, &talk, code);
}

/* --- a folder */

/* Whether all of it is on disk. */
static bool
file_write(const char *path, struct str bytes)
{
	int fd = open(path,
	    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);
	bool ok = fd >= 0;
	int saved;

	while (ok && bytes.len) {
		ssize_t n = write(fd, bytes.text, bytes.len);

		ok = n > 0 || (n < 0 && errno == EINTR);
		if (n > 0) {
			bytes.text += n;
			bytes.len -= (size_t)n;
		}
	}
	ok = ok && fsync(fd) == 0;
	saved = errno;
	if (fd >= 0 && close(fd) < 0 && ok)
		return false;
	errno = saved;
	return ok;
}

/* Under a name that no reader of mails takes, then under its own: whoever
 * looks finds whole mails only. */
static enum mail_result
folder_send(const struct mail *mail, const char *name, struct str message,
    struct mail_news *news)
{
	struct buf fresh = {0};
	struct buf path = {0};
	enum mail_result result = MAIL_SENT;

	buf_printf(&fresh, "%s/.%s.new", mail->conf->mail.folder, name);
	buf_printf(&path, "%s/%s.eml", mail->conf->mail.folder, name);
	if (!file_write(buf_text(&fresh), message) ||
	    rename(buf_text(&fresh), buf_text(&path)) < 0) {
		snprintf(news->why, sizeof(news->why), "mail.folder: %s",
		    strerror(errno));
		news->away = true;
		result = MAIL_LATER;
		(void)unlink(buf_text(&fresh));
	}
	buf_release(&fresh);
	buf_release(&path);
	return result;
}

enum mail_result
mail_send(struct mail *mail, const struct mail_message *message,
    struct mail_news *news)
{
	struct buf bytes = {0};
	enum mail_result result = MAIL_REFUSED;
	const char *why = mail_message_write(&bytes, &mail->from, message);

	*news = (struct mail_news){.away = false};
	if (why)
		snprintf(news->why, sizeof(news->why), "%s", why);
	else if (mail->easy)
		result = smtp_send(mail, message->to, str_view(&bytes), news);
	else
		result =
		    folder_send(mail, message->name, str_view(&bytes), news);
	buf_release(&bytes);
	return result;
}
