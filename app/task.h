/*
 * One request under way in a worker, from the connection that it came on to
 * its answer; and lists of them.
 */
#ifndef TASK_H
#define TASK_H

#include "web/exchange.h"

struct task {
	struct exchange x;
	struct fcgi *fcgi;
	struct request request;
	struct reply reply;
	int fd; /* the front's */
	bool keeps; /* its connection is good for another request */
	struct task *next;
};

/* First in, first out. Belongs to one thread, or to whoever has its lock. */
struct task_list {
	struct task *first;
	struct task *last;
};

struct task *
task_new(void);
void
task_free(struct task *task);
/* Reads the request that waits on fd; false: fd is no good and closed. */
bool
task_begin(struct task *task, int fd);
/* Runs its handler. True: answered, else it waits for the lane. */
bool
task_run(struct task *task, const struct web *web);
/* Makes the answer that there is no room for it now. */
void
task_refuse(struct task *task, const struct web *web);
/* Goes on with one that has been through the lane. */
void
task_resume(struct task *task);
/* Sends the answer and frees what belongs to the request. */
void
task_finish(struct task *task);
/* The task of a call that the lane gives back. */
struct task *
task_of(struct lane_call *call);

void
task_list_add(struct task_list *list, struct task *task);
/* Moves all of from to the end of list. */
void
task_list_move(struct task_list *list, struct task_list *from);
/* The first; NULL: none. */
struct task *
task_list_take(struct task_list *list);

#endif
