/*
 * Signed tokens (the buyer's cookie, links in mails) and random ids.
 *
 * A token is  <kind> "." <payload> "." <43 characters>  where the last part
 * is base64url of HMAC-SHA256(secret, kind "." payload). The payload is made
 * of [A-Za-z0-9_-]. The kind keeps one use from passing as another.
 */
#ifndef BASE_TOKEN_H
#define BASE_TOKEN_H

#include "buf.h"
#include "str.h"

#include <stdbool.h>

/* An id as PostgreSQL writes a uuid: 36 characters and the NUL. */
struct uuid {
	char text[37];
};

/*
 * The second in 32 bits and 96 random ones, as 22 characters of base64url and
 * the NUL. Those of one time lie side by side in an index, however large that
 * has grown.
 */
struct token_id {
	char text[23];
};

struct token_secrets {
	struct str now; /* signs and verifies; at least 32 bytes */
	struct str old; /* verifies only; may be empty */
};

void
token_sign(struct buf *out, const struct token_secrets *secrets,
    const char *kind, struct str payload);
/* Whether token is of that kind and ours; *payload points into token. */
bool
token_verify(struct str token, const struct token_secrets *secrets,
    const char *kind, struct str *payload);
void
token_id(struct token_id *out);
/* Whether s is prefix and then such an id. */
bool
token_is_id(struct str s, const char *prefix);

void
uuid_random(struct uuid *out);
/* The same uuid for the same seed: from HMAC-SHA256(secret, label seed). */
void
uuid_derive(struct uuid *out, struct str secret, const char *label,
    struct str seed);
bool
uuid_parse(struct uuid *out, struct str text); /* lower case, 8-4-4-4-12 */

#endif
