/*
 * One request at a time: read its body, find the part that answers, send.
 */
#include "sandbox/server.h"

#include "base/log.h"
#include "sandbox/api.h"
#include "sandbox/control.h"
#include "sandbox/index.h"
#include "sandbox/page.h"
#include "web/exchange.h"

#include <signal.h>
#include <string.h>

/* 50 metadata of 500 bytes, twice and percent-encoded, would be more; the
 * shop sends some 2 KiB, and nginx says the same. */
#define BODY_MAX 65536

static void
on_term(int signo)
{
	(void)signo;
	fcgi_stop();
}

static bool
starts(struct str path, const char *prefix)
{
	size_t len = strlen(prefix);

	return path.len >= len && memcmp(path.text, prefix, len) == 0;
}

static void
request_answer(struct exchange *x)
{
	struct str path = x->request->path;

	if (fcgi_read_body(x->fcgi, x->request, BODY_MAX) != FCGI_BODY_OK)
		sandbox_page_say(x, 400, "The request could not be read",
		    "It has no length, or is too long.");
	else if (starts(path, "/v1/"))
		sandbox_api(x);
	else if (starts(path, "/c/pay/"))
		sandbox_page(x);
	else if (starts(path, "/sandbox/"))
		sandbox_control(x);
	else if (str_is(path, "/"))
		sandbox_index(x);
	else if (str_is(path, "/style.css"))
		sandbox_style(x);
	else
		sandbox_page_say(x, 404, "There is no such page",
		    "This is the sandbox of a shop. Its pay pages are "
		    "reached from the shop.");
}

static void
serve(const struct web *web, struct fcgi *fcgi)
{
	struct request request;

	while (fcgi_accept(fcgi, &request)) {
		struct reply reply = {.status = 500};
		struct exchange x = {
		    .web = web,
		    .fcgi = fcgi,
		    .request = &request,
		    .reply = &reply,
		};
		struct buf id = {0};

		buf_add(&id, request.id.text, request.id.len);
		log_request(buf_text(&id));
		request_answer(&x);
		exchange_header(&x, "X-Content-Type-Options", "nosniff");
		exchange_header(&x, "Referrer-Policy", "same-origin");
		if (!x.cacheable)
			exchange_header(&x, "Cache-Control", "no-store");
		fcgi_reply(fcgi, &reply);
		log_request(NULL);
		buf_release(&id);
		buf_release(&reply.headers);
		buf_release(&reply.body);
	}
}

int
sandbox_serve(const struct conf *conf, int fd)
{
	struct sigaction action = {.sa_handler = on_term};
	struct pages pages;
	const char *why = pages_load(&pages, conf->server.share);
	struct web web = {.conf = conf, .pages = &pages};
	struct fcgi *fcgi;

	if (why) {
		log_error("%s", why);
		pages_release(&pages);
		return 1;
	}
	fcgi = fcgi_open(fd);
	(void)sigaction(SIGTERM, &action, NULL);
	web.db = db_open(conf, DB_SANDBOX, "lastpair sandbox");
	serve(&web, fcgi);
	db_close(web.db);
	fcgi_close(fcgi);
	pages_release(&pages);
	return 0;
}
