/*
 * A request's life: begin, run, perhaps resume, finish. One thread has it at a
 * time.
 */
#include "task.h"

#include "base/log.h"
#include "web/route.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

struct task *
task_new(void)
{
	struct task *task = calloc(1, sizeof(*task));

	if (!task)
		log_bug("out of memory");
	task->fcgi = fcgi_new();
	return task;
}

void
task_free(struct task *task)
{
	if (!task)
		return;
	fcgi_free(task->fcgi);
	buf_release(&task->reply.headers);
	buf_release(&task->reply.body);
	free(task);
}

bool
task_begin(struct task *task, int fd)
{
	task->fd = fd;
	task->keeps = false;
	task->next = NULL;
	if (!fcgi_begin(task->fcgi, fd, &task->request))
		return false;
	exchange_init(&task->x);
	buf_reset(&task->reply.headers);
	buf_reset(&task->reply.body);
	return true;
}

/* Lines of the log name the request meanwhile. */
static void
task_name(const struct task *task)
{
	char id[64];

	snprintf(id, sizeof(id), "%.*s", (int)task->request.id.len,
	    task->request.id.text);
	log_request(id);
}

static struct exchange *
task_exchange(struct task *task, const struct web *web)
{
	struct exchange *x = &task->x;

	x->web = web;
	x->fcgi = task->fcgi;
	x->request = &task->request;
	x->reply = &task->reply;
	return x;
}

bool
task_run(struct task *task, const struct web *web)
{
	struct exchange *x = task_exchange(task, web);

	task_name(task);
	route(x);
	log_request(NULL);
	return !x->resume;
}

void
task_refuse(struct task *task, const struct web *web)
{
	route_busy(task_exchange(task, web));
}

void
task_resume(struct task *task)
{
	task_name(task);
	task->x.resume(&task->x);
	log_request(NULL);
}

void
task_finish(struct task *task)
{
	task->keeps = fcgi_reply(task->fcgi, &task->reply);
	exchange_release(&task->x);
}

struct task *
task_of(struct lane_call *call)
{
	const size_t at =
	    offsetof(struct task, x) + offsetof(struct exchange, call);

	return (struct task *)(void *)((char *)call - at);
}

void
task_list_add(struct task_list *list, struct task *task)
{
	task->next = NULL;
	if (list->last)
		list->last->next = task;
	else
		list->first = task;
	list->last = task;
}

void
task_list_move(struct task_list *list, struct task_list *from)
{
	if (!from->first)
		return;
	if (list->last)
		list->last->next = from->first;
	else
		list->first = from->first;
	list->last = from->last;
	*from = (struct task_list){NULL, NULL};
}

struct task *
task_list_take(struct task_list *list)
{
	struct task *task = list->first;

	if (!task)
		return NULL;
	list->first = task->next;
	if (!list->first)
		list->last = NULL;
	task->next = NULL;
	return task;
}
