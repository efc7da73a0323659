/*
 * Asking the provider in a run: at its pace, a few times when no answer comes,
 * and given up when it is time to stop.
 */
#include "reconcile_own.h"

#include "base/clock.h"

#include <stdarg.h>
#include <stdio.h>

/* Of a call to the provider, with pauses that double. */
#define CALL_TRIES 5
#define CALL_PAUSE_MS 500
/* How soon a wait sees that it is to stop. */
#define TICK_MS 100

bool
reconcile_is_stopping(const struct reconcile *r)
{
	return r->stopping != NULL && atomic_load(r->stopping);
}

void
reconcile_rest(const struct reconcile *r, int64_t ms)
{
	while (ms > 0 && !reconcile_is_stopping(r)) {
		int64_t part = ms > TICK_MS ? TICK_MS : ms;

		clock_sleep_ms(part);
		ms -= part;
	}
}

void
reconcile_say(const struct reconcile *r, const char *format, ...)
{
	struct buf line = {0};
	va_list args;

	if (r->say == NULL)
		return;
	va_start(args, format);
	buf_vprintf(&line, format, args);
	va_end(args);
	r->say(buf_text(&line));
	buf_release(&line);
}

bool
reconcile_stop(struct reconcile *r, enum reconcile_result result)
{
	r->result = reconcile_is_stopping(r) && result != RECONCILE_TAKEN
	    ? RECONCILE_STOPPED
	    : result;
	return false;
}

/* Sends a request when its turn has come. False: it is time to stop. */
static bool
reconcile_send(struct reconcile *r, struct work *work)
{
	int64_t ms;

	while ((ms = pace_wait(&r->pace, work->endpoint,
		    clock_monotonic_ms())) > 0 &&
	    !reconcile_is_stopping(r))
		reconcile_rest(r, ms);
	if (reconcile_is_stopping(r))
		return false;
	pace_take(&r->pace, work->endpoint, clock_monotonic_ms());
	http_start(r->http, &work->http);
	while (http_next(r->http) == NULL) {
		if (reconcile_is_stopping(r)) {
			http_cancel(r->http, &work->http);
			return false;
		}
		http_wait(r->http, -1, TICK_MS);
	}
	return true;
}

static enum call_result
reconcile_try(struct reconcile *r, struct work *work)
{
	for (;;) {
		work->now = clock_unix();
		if (!r->provider->step(work))
			return work->result;
		if (!reconcile_send(r, work))
			return CALL_RETRY;
	}
}

bool
reconcile_ask(struct reconcile *r, struct call *call, struct work *work)
{
	enum call_result result;

	for (call->try = 1;; call->try++) {
		work_init(work, r->conf, r->provider, call);
		result = reconcile_try(r, work);
		if (result != CALL_RETRY)
			break;
		snprintf(r->error, sizeof(r->error), "%s",
		    buf_text(&work->outcome.error));
		if (call->try == CALL_TRIES || reconcile_is_stopping(r))
			return reconcile_stop(r, RECONCILE_PROVIDER);
		work_release(work);
		reconcile_say(r, "%s does not answer; again",
		    r->provider->name);
		reconcile_rest(r, (int64_t)CALL_PAUSE_MS << (call->try - 1));
	}
	if (result == CALL_REFUSED)
		snprintf(r->error, sizeof(r->error), "%s",
		    buf_text(&work->outcome.error));
	return true;
}
