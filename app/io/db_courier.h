/*
 * The courier's calls, over the same door as db.h: one typed function per
 * function of the same name. The handle is one opened as DB_COURIER.
 */
#ifndef IO_DB_COURIER_H
#define IO_DB_COURIER_H

#include "io/db.h"

/* A mail that is owed. */
struct owed_mail {
	int64_t id;
	char kind[24]; /* as in data.mail */
	int try;
	struct buf recipient; /* empty: the operator */
	struct buf document; /* JSON: all that it says */
};

void
owed_mail_init(struct owed_mail *mail);
void
owed_mail_release(struct owed_mail *mail);

/* *found says whether a mail was due; it is ours for lease_ms. */
enum db_status
db_courier_claim(struct db *db, int lease_ms, struct owed_mail *mail,
    bool *found);
/* Waits until a mail may be due, at most most_ms; NOTIFY ends it early. */
void
db_courier_wait(struct db *db, int most_ms);
enum db_status
db_courier_sent(struct db *db, const struct owed_mail *mail);

struct mail_retry {
	const char *error; /* one line, no secret */
	int64_t delay_ms; /* until the next try */
	int tries; /* how many there are */
};

/* *stuck: that was the last try. */
enum db_status
db_courier_retry(struct db *db, const struct owed_mail *mail,
    const struct mail_retry *retry, bool *stuck);
enum db_status
db_courier_refused(struct db *db, const struct owed_mail *mail,
    const char *error);
enum db_status
db_courier_void(struct db *db, const struct owed_mail *mail);

#endif
