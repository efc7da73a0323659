/*
 * What a POST brings, JSON or an HTML form, checked and put into fixed
 * structs. A field that is missing, wrong or doubled is named in the refusal.
 */
#ifndef WEB_INPUT_H
#define WEB_INPUT_H

#include "web/exchange.h"

/* A basket of 20 lines with long SKUs has less; nginx says the same. */
#define INPUT_BYTES_MAX ((size_t)16 * 1024)
/* Twice what an item's SKU can have (100 characters), in UTF-8. */
#define INPUT_SKU_MAX 200
/* RFC 5321, section 4.5.3.1.3, less the brackets. */
#define INPUT_EMAIL_MAX 254

/*
 * Reads and parses the body. False when x has been answered with a problem
 * (411, 413, 415, 400). Release the input in either case.
 */
bool
input_read(struct exchange *x, struct input *input);
void
input_release(struct input *input);
/*
 * Fills a request from the input: NULL, or a sentence without its full stop
 * that says what is wrong.
 */
const char *
input_hold(const struct input *input, struct hold_request *request);
/* The same for ?id=… of a GET; views point into form, to be released. */
const char *
input_query_id(struct form *form, struct str query, struct str *id);
/* An Idempotency-Key: 16 to 255 visible ASCII characters. */
bool
input_is_key(struct str key);
/* Something that may be a SKU: no text, too long: false. */
bool
input_is_sku(struct str sku);
/*
 * For a POST that names one hold and nothing else: reads it and goes on with
 * its id, or answers what was wrong.
 */
void
input_with_id(struct exchange *x,
    void (*act)(struct exchange *x, struct str id));

#endif
