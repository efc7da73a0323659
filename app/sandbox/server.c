/*
 * One request at a time: read its body, find the part that answers, send.
 */
#include "sandbox/server.h"

#include "base/log.h"
#include "io/fcgi_front.h"
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
	front_stop();
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

/* True: the connection is kept. */
static bool
request_serve(const struct web *web, struct fcgi *fcgi, struct request *request)
{
	struct reply reply = {.status = 500};
	struct exchange x = {
	    .web = web,
	    .fcgi = fcgi,
	    .request = request,
	    .reply = &reply,
	};
	struct buf id = {0};
	bool kept;

	buf_add(&id, request->id.text, request->id.len);
	log_request(buf_text(&id));
	request_answer(&x);
	exchange_header(&x, "X-Content-Type-Options", "nosniff");
	exchange_header(&x, "Referrer-Policy", "same-origin");
	if (!x.cacheable)
		exchange_header(&x, "Cache-Control", "no-store");
	kept = fcgi_reply(fcgi, &reply);
	log_request(NULL);
	buf_release(&id);
	buf_release(&reply.headers);
	buf_release(&reply.body);
	return kept;
}

/* Answers the request that comes within ms; false when none does. */
static bool
serve_next(const struct web *web, struct fcgi *fcgi, struct front *front,
    int ms)
{
	struct request request;
	int fd;

	if (!front_wait(front, &fd, 1, ms))
		return false;
	if (!fcgi_begin(fcgi, fd, &request))
		front_forget(front, fd);
	else if (request_serve(web, fcgi, &request))
		front_keep(front, fd);
	else
		front_drop(front, fd);
	return true;
}

static void
serve(const struct web *web, int fd)
{
	struct front *front = front_open();
	struct fcgi *fcgi = fcgi_new();

	front_listen(front, fd);
	while (!front_stopped())
		(void)serve_next(web, fcgi, front, -1);
	/* What has come until then; the rest stays in the backlog. */
	front_unlisten(front, fd);
	while (serve_next(web, fcgi, front, 0))
		continue;
	fcgi_free(fcgi);
	front_close(front);
}

int
sandbox_serve(const struct conf *conf, int fd)
{
	struct sigaction term = {.sa_handler = on_term};
	struct pages pages;
	const char *why = pages_load(&pages, conf->server.share);
	struct web web = {.conf = conf, .pages = &pages};

	if (why) {
		log_error("%s", why);
		pages_release(&pages);
		return 1;
	}
	(void)sigaction(SIGTERM, &term, NULL);
	web.db = db_open(conf, DB_SANDBOX, "lastpair sandbox");
	serve(&web, fd);
	db_close(web.db);
	pages_release(&pages);
	return 0;
}
