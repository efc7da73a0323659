/*
 * What mails say. The words are templates in share/static/mail, one for each
 * kind of mail: a first line "Subject: …", an empty line, the text. Parts of
 * them, like why money goes back, are templates, too.
 */
#ifndef MAIL_LETTER_H
#define MAIL_LETTER_H

#include "base/buf.h"
#include "web/document.h"

#include <stdbool.h>

/* As many as letter.c has in its table. */
#define LETTERS 24

struct letters {
	struct buf text[LETTERS];
	struct buf complaint;
};

struct letter {
	struct buf subject;
	struct buf text;
};

/* What a letter is about. */
struct letter_facts {
	const char *kind; /* as in data.mail */
	const struct document *document; /* of api.courier_claim */
	const char *shop; /* the shop's public address */
};

/*
 * Reads the templates below share. NULL when all are good, else one sentence,
 * owned by letters. Call letters_release in either case.
 */
const char *
letters_load(struct letters *letters, const char *share);
void
letters_release(struct letters *letters);
/* Whether they all are good; if not, why is in the log. */
bool
letters_check(const char *share);

void
letter_release(struct letter *letter);
/* Fills letter; false when there is no template for such a mail. */
bool
letter_write(struct letter *letter, const struct letters *letters,
    const struct letter_facts *facts);

#endif
