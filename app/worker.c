/*
 * The loop of a web process: accept, route, reply.
 */
#include "worker.h"

#include "base/log.h"
#include "io/db.h"
#include "io/fcgi.h"
#include "web/page.h"
#include "web/route.h"

#include <signal.h>
#include <stdio.h>

static void
worker_on_term(int signo)
{
	(void)signo;
	fcgi_stop();
}

/* libfcgi takes an interrupted read for a lost peer: hence SA_RESTART. */
static void
worker_signals(void)
{
	struct sigaction term = {.sa_handler = worker_on_term,
	    .sa_flags = SA_RESTART};
	struct sigaction ignore = {.sa_handler = SIG_IGN};

	(void)sigaction(SIGTERM, &term, NULL);
	(void)sigaction(SIGPIPE, &ignore, NULL);
}

static void
worker_serve(const struct web *web, struct fcgi *fcgi, struct request *request,
    struct reply *reply)
{
	struct exchange x = {.web = web,
	    .fcgi = fcgi,
	    .request = request,
	    .reply = reply};
	char id[64];

	snprintf(id, sizeof(id), "%.*s", (int)request->id.len,
	    request->id.text);
	log_request(id);
	buf_reset(&reply->headers);
	buf_reset(&reply->body);
	route(&x);
	fcgi_reply(fcgi, reply);
	log_request(NULL);
}

static void
worker_loop(const struct web *web, int fd)
{
	struct fcgi *fcgi = fcgi_open(fd);
	struct reply reply = {0};
	struct request request;

	while (fcgi_accept(fcgi, &request))
		worker_serve(web, fcgi, &request, &reply);
	fcgi_close(fcgi);
	buf_release(&reply.headers);
	buf_release(&reply.body);
}

int
worker_run(const struct conf *conf, int fd, int number)
{
	struct pages pages;
	struct web web = {.conf = conf, .pages = &pages};
	enum db_status status;
	const char *why;
	char name[32];

	snprintf(name, sizeof(name), "lastpair worker %d", number);
	worker_signals();
	why = pages_load(&pages, conf->server.share);
	if (why) {
		log_error("%s", why);
		pages_release(&pages);
		return 1;
	}
	web.db = db_open(conf, DB_WEB, name);
	/* Each later call tries again, at most every so often: see pg.c. */
	status = db_check(web.db);
	if (status == DB_DOWN)
		log_warn("could not reach the database: until that works, "
			 "each request is told that the shop is busy");
	if (status == DB_REFUSED)
		log_error("cannot work with this database: %s",
		    db_error(web.db));
	else
		worker_loop(&web, fd);
	db_close(web.db);
	pages_release(&pages);
	return status == DB_REFUSED;
}
