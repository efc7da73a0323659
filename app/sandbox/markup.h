/*
 * Pieces of HTML that the sandbox's pages have in common. Whatever they are
 * given is escaped.
 */
#ifndef SANDBOX_MARKUP_H
#define SANDBOX_MARKUP_H

#include "base/json.h"

/* A member's text or number as written; empty when there is none, or null. */
struct str
markup_member(const struct json *row, const char *name);
/* A whole number; fallback when there is none, or null. */
int64_t
markup_number(const struct json *row, const char *name, int64_t fallback);

/* <tag>text</tag> */
void
markup_element(struct buf *out, const char *tag, struct str text);
/* "49.99 EUR"; nothing when currency is none. */
void
markup_money(struct buf *out, int64_t amount, struct str currency);
/* "2026-11-30 12:00:00 UTC" of a time as JSON has it. */
void
markup_time(struct buf *out, struct str time);
/* The beginning of a form that is posted to action. */
void
markup_form(struct buf *out, const char *action);
void
markup_hidden(struct buf *out, const char *name, struct str value);

struct markup_button {
	const char *act; /* of the field "do" */
	const char *label;
	struct str about; /* read out after the label; may be empty */
};

void
markup_button(struct buf *out, const struct markup_button *button);
/* A form that has one hidden field and one button. */
struct markup_act {
	const char *action;
	const char *name; /* the field */
	struct str value;
	struct markup_button button;
};

void
markup_act(struct buf *out, const struct markup_act *act);

#endif
