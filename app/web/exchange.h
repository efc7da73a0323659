/*
 * One request and the answer to it, as handlers see them; and what a worker
 * keeps for all of them. Handlers fill the reply; the worker sends it.
 */
#ifndef WEB_EXCHANGE_H
#define WEB_EXCHANGE_H

#include "base/conf.h"
#include "base/token.h"
#include "io/db.h"
#include "io/fcgi.h"
#include "web/page.h"

#include <stdbool.h>

struct web {
	const struct conf *conf;
	const struct pages *pages;
	struct db *db;
};

/* Whom the answer is for. */
enum audience {
	FOR_SCRIPT, /* JSON */
	FOR_READER, /* a page */
	FOR_FORM, /* an HTML form was sent: a redirect to a page */
};

struct buyer {
	struct uuid id;
	bool known; /* a cookie says so; else id was made up just now */
	bool is_signed; /* by a valid lp_buyer */
};

struct exchange {
	const struct web *web;
	struct fcgi *fcgi;
	struct request *request;
	struct reply *reply;
	enum audience audience;
	struct buyer buyer;
	bool cacheable; /* the answer carries no "no-store" */
};

/* Adds a header; value must come without line ends, or it is left out. */
void
exchange_header(struct exchange *x, const char *name, const char *value);
/* Answers with JSON text. */
void
exchange_json(struct exchange *x, int status, struct str json);
/* Answers with a page. */
void
exchange_page(struct exchange *x, int status, enum page page,
    const struct page_value *values, size_t count);
/* Answers with 303 to <path><id encoded>. */
void
exchange_see(struct exchange *x, const char *path, struct str id);
/* Answers with 303 to an address. */
void
exchange_redirect(struct exchange *x, const char *location);

#endif
