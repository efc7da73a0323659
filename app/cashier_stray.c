/*
 * Claims as the cashier does, so that a cashier elsewhere which has the
 * provider set up is not disturbed in a call. Sessions that were open there end
 * by themselves and need nobody.
 */
#include "cashier_stray.h"

#include "base/log.h"

/* At a time; the others are due at the next look. */
#define STRAYS_MAX 100
/* Longer than it takes to write them down. */
#define STRAYS_LEASE_MS 60000

static enum db_status
stray_give_up(struct db *db, const struct provider *provider,
    const struct job *job)
{
	struct buf why = {0};
	enum db_status status;

	buf_printf(&why,
	    "%s is not set up any more: set it up and retry this task, or "
	    "give the money back there",
	    provider->name);
	status = db_cashier_refused(db, job, buf_text(&why));
	if (status == DB_OK)
		log_error("cannot send a refund for hold %s: %s",
		    buf_text(&job->hold), buf_text(&why));
	buf_release(&why);
	return status;
}

enum db_status
stray_refuse(struct db *db, const struct provider *provider)
{
	const struct job_claim claim = {provider->name,
	    {[JOB_REFUND] = STRAYS_MAX}, STRAYS_LEASE_MS};
	struct job_list jobs;
	enum db_status status = db_cashier_claim(db, &claim, &jobs);

	if (status != DB_OK)
		return status;
	for (size_t i = 0; i < jobs.count && status == DB_OK; i++) {
		struct job job;

		job_init(&job);
		job_list_read(&jobs, i, &job);
		status = stray_give_up(db, provider, &job);
		job_release(&job);
	}
	job_list_release(&jobs);
	return status;
}
