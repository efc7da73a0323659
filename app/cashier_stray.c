/*
 * Refunds are claimed as the cashier does, so that a cashier elsewhere which
 * has the provider set up is not disturbed in a call. Ends and looks stay where
 * they are: they have no outcome of ours that could be wrong, and go out when
 * the provider is set up again.
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
	status = db_cashier_refused(db, job, buf_text(&why), false);
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

enum db_status
stray_tell(struct db *db, const struct provider *provider, bool set_up,
    int64_t *waits)
{
	int64_t before = *waits;
	enum db_status status =
	    db_cashier_stray(db, provider->name, set_up, waits);

	if (status == DB_OK && *waits > 0 && *waits != before)
		log_error("no settings for %s: %lld calls to it wait",
		    provider->name, (long long)*waits);
	return status;
}
