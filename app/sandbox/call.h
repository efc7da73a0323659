/*
 * One call of the API: what came, what is answered, and what goes wrong.
 */
#ifndef SANDBOX_CALL_H
#define SANDBOX_CALL_H

#include "base/form.h"
#include "io/db_sandbox.h"
#include "sandbox/fault.h"
#include "web/exchange.h"

struct api_call {
	struct exchange *x;
	struct fault *fault;
	struct str id; /* the path's */
	struct form form;
	struct buf params; /* form as JSON */
	struct buf path; /* method and path */
	struct buf request; /* this request's id */
	struct buf version;
	struct sandbox_post post;
	struct sandbox_answer answer;
};

/* NULL members are left out. */
struct api_error {
	const char *type;
	const char *code;
	const char *param;
	const char *message;
};

void
call_refuse(struct api_call *call, int status, const struct api_error *error);
/* A request that cannot be taken as it is. */
void
call_invalid(struct api_call *call, int status, const char *param,
    const char *message);

/*
 * Asks once what shall go wrong with the call; target: open, end, refund,
 * look. Then, when it is not to be carried out, answers it. True: it is to be
 * carried out, now. False with *status DB_OK: it has its answer, or waits.
 */
bool
call_begin(struct api_call *call, const char *target, enum db_status *status);
/* The call has been carried out; perhaps it is answered otherwise. */
enum db_status
call_end(struct api_call *call);
/* Puts the answer into the reply. */
void
call_send(struct api_call *call);
void
call_release(struct api_call *call);

#endif
