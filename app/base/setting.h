/*
 * The table behind conf.h, for conf.c alone: each setting's name, where it
 * lies in struct conf, its default, range and comment.
 */
#ifndef BASE_SETTING_H
#define BASE_SETTING_H

#include "conf.h"
#include "str.h"

#include <stdbool.h>
#include <stddef.h>

/* At least as many as the table has; setting.c checks it. */
#define SETTING_MAX 64

struct setting;

/* NULL behind the last. */
const struct setting *
setting_at(size_t index);
const char *
setting_section(const struct setting *setting);
const char *
setting_key(const struct setting *setting);
/* Appends LASTPAIR_<SECTION>_<KEY>. */
void
setting_variable(struct buf *out, const struct setting *setting);

/* Puts every default; conf must be zero. */
void
setting_defaults(struct conf *conf);
/* Checks and stores a value; false when it is refused. */
bool
setting_put(struct conf *conf, const struct setting *setting, struct str value);
/* Whether no required value is empty. */
bool
setting_complete(struct conf *conf);
void
setting_release(struct conf *conf);

/* Stores the sentence, unless there is one already. Always false. */
bool
setting_refuse(struct conf *conf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
