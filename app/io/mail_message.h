/*
 * One mail as it travels (RFC 5322, MIME): plain text in UTF-8, written so
 * that 7-bit lines of at most 76 characters carry it. Nothing that comes from
 * outside can begin a header: what has a line break is refused.
 */
#ifndef IO_MAIL_MESSAGE_H
#define IO_MAIL_MESSAGE_H

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

/* RFC 5321, 4.5.3.1.3: a path with its brackets is 256 at most. */
#define MAIL_ADDRESS_MAX 254
/* A file's name, and half of a Message-ID. */
#define MAIL_NAME_MAX 100

/* From "shop@example.com" or "Shop <shop@example.com>". */
struct mail_sender {
	struct str name; /* may be empty */
	struct str address;
};

struct mail_message {
	const char *name; /* the same at each try, and no other mail's */
	struct str to; /* an address alone */
	struct str subject; /* UTF-8, one line */
	struct str text; /* UTF-8, lines that end in \n */
	int64_t at; /* seconds since 1970 */
};

/*
 * Whether s is an address that goes into a header and into SMTP as it is: one
 * @ with something on both sides, and nothing of what gives either a meaning
 * of its own (blanks, control characters, brackets, quotes, lists).
 */
bool
mail_is_address(struct str s);
/* Reads a sender, as views into text; false when it is none. */
bool
mail_sender_read(struct mail_sender *sender, const char *text);
/*
 * Appends the message, its lines ended by CRLF. NULL when done, else a static
 * sentence that says what cannot be sent.
 */
const char *
mail_message_write(struct buf *out, const struct mail_sender *from,
    const struct mail_message *message);

#endif
