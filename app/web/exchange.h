/*
 * One request and the answer to it, as handlers see them; and what a worker
 * keeps for all of them. Handlers fill the reply; the worker sends it.
 */
#ifndef WEB_EXCHANGE_H
#define WEB_EXCHANGE_H

#include "base/conf.h"
#include "base/form.h"
#include "base/json.h"
#include "base/token.h"
#include "io/db.h"
#include "io/fcgi.h"
#include "io/gate.h"
#include "io/lane.h"
#include "web/delivery.h"
#include "web/page.h"

#include <stdbool.h>

/* One for each thread: all but db is the worker's. */
struct web {
	const struct conf *conf;
	const struct pages *pages;
	struct gate *gate;
	struct db *db; /* NULL in the thread that must not wait */
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

/* What a POST brought: owns the bytes that a call points into. */
struct input {
	bool is_form;
	struct form form;
	struct json_doc *json;
};

struct exchange {
	const struct web *web;
	struct fcgi *fcgi;
	struct request *request;
	struct reply *reply;
	enum audience audience;
	struct buyer buyer;
	bool cacheable; /* the answer carries no "no-store" */
	/*
	 * Set by a handler that is not done yet. It has filled call, and goes
	 * on when the lane is done with it; or, one that runs in the pool, its
	 * delivery, and goes on when that is recorded.
	 */
	void (*resume)(struct exchange *x);
	struct lane_call call;
	struct delivery delivery;
	struct input input;
};

void
exchange_init(struct exchange *x);
/* Frees what the handler kept; the rest is the worker's. */
void
exchange_release(struct exchange *x);

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
