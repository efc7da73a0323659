/*
 * Why a hold was refused, in plain words with the numbers.
 */
#ifndef WEB_HOLD_WORDS_H
#define WEB_HOLD_WORDS_H

#include "io/db.h"
#include "web/document.h"

/* Appends a sentence for an outcome and its members. */
void
hold_words(struct buf *out, const char *outcome,
    const struct hold_request *request, const struct document *members);

#endif
