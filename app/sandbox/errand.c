/*
 * Read the body, find the part that answers, send. One thread has an errand
 * at a time.
 */
#include "sandbox/errand.h"

#include "base/log.h"
#include "sandbox/api.h"
#include "sandbox/control.h"
#include "sandbox/index.h"
#include "sandbox/page.h"
#include "sandbox/panel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 50 metadata of 500 bytes, twice and percent-encoded, would be more; the
 * shop sends some 2 KiB, and nginx says the same. */
#define BODY_MAX 65536

struct errand *
errand_new(void)
{
	struct errand *errand = calloc(1, sizeof(*errand));

	if (!errand)
		log_bug("out of memory");
	errand->task.fcgi = fcgi_new();
	return errand;
}

void
errand_free(struct errand *errand)
{
	if (!errand)
		return;
	fcgi_free(errand->task.fcgi);
	buf_release(&errand->task.reply.headers);
	buf_release(&errand->task.reply.body);
	free(errand);
}

bool
errand_begin(struct errand *errand, int fd)
{
	errand->fault = (struct fault){0};
	errand->begun = false;
	errand->answered = false;
	errand->sent = false;
	errand->task.reply.cut = 0;
	return task_begin(&errand->task, fd);
}

struct errand *
errand_of(struct task *task)
{
	return (struct errand *)(void *)task;
}

static bool
starts(struct str path, const char *prefix)
{
	size_t len = strlen(prefix);

	return path.len >= len && memcmp(path.text, prefix, len) == 0;
}

static bool
body_read(struct exchange *x)
{
	if (fcgi_read_body(x->fcgi, x->request, BODY_MAX) == FCGI_BODY_OK)
		return true;
	sandbox_page_say(x, 400, "The request could not be read",
	    "It has no length, or is too long.");
	return false;
}

static void
request_answer(struct exchange *x, struct fault *fault)
{
	struct str path = x->request->path;

	if (starts(path, "/v1/"))
		sandbox_api(x, fault);
	else if (starts(path, "/c/pay/"))
		sandbox_page(x);
	else if (starts(path, "/sandbox/"))
		sandbox_control(x);
	else if (str_is(path, "/"))
		sandbox_index(x);
	else if (str_is(path, "/faults"))
		sandbox_panel(x);
	else if (str_is(path, "/style.css"))
		sandbox_style(x);
	else
		sandbox_page_say(x, 404, "There is no such page",
		    "This is the sandbox of a shop. Its pay pages are "
		    "reached from the shop.");
}

static void
errand_answer(struct errand *errand, struct exchange *x)
{
	bool read = errand->begun || body_read(x);

	errand->begun = true;
	if (read)
		request_answer(x, &errand->fault);
	if (errand->fault.unanswered)
		return;
	errand->answered = true;
	exchange_header(x, "X-Content-Type-Options", "nosniff");
	exchange_header(x, "Referrer-Policy", "same-origin");
	if (!x->cacheable)
		exchange_header(x, "Cache-Control", "no-store");
	x->reply->cut = fault_cut(&errand->fault, x->reply->body.len);
}

void
errand_run(struct task *task, const struct web *web)
{
	struct errand *errand = errand_of(task);
	struct exchange *x = &task->x;
	char id[64];

	snprintf(id, sizeof(id), "%.*s", (int)task->request.id.len,
	    task->request.id.text ? task->request.id.text : "");
	log_request(id);
	x->web = web;
	x->fcgi = task->fcgi;
	x->request = &task->request;
	x->reply = &task->reply;
	if (!errand->answered)
		errand_answer(errand, x);
	if (errand->fault.wait_ms == 0) {
		task_finish(task);
		errand->sent = true;
	}
	log_request(NULL);
}
