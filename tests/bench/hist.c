/*
 * Log-linear steps: below 2 * HIST_STEPS each microsecond has its own, above,
 * each power of two is cut into HIST_STEPS.
 */
#include "hist.h"

#include <stddef.h>

#define STEPS_BITS 6
#define LAST ((size_t)HIST_POWERS * HIST_STEPS - 1)

static size_t
step_of(uint64_t us)
{
	unsigned power;
	size_t step;

	if (us < HIST_STEPS)
		return (size_t)us;
	power = 63U - (unsigned)__builtin_clzll(us) - STEPS_BITS;
	step = (size_t)(power * HIST_STEPS) + (size_t)(us >> power);
	return step < LAST ? step : LAST;
}

/* The longest time that falls into a step. */
static int64_t
step_end(size_t step)
{
	size_t power;

	if (step < (size_t)2 * HIST_STEPS)
		return (int64_t)step;
	power = step / HIST_STEPS - 1;
	return (
	    int64_t)(((uint64_t)(step - power * HIST_STEPS + 1) << power) - 1);
}

void
hist_add(struct hist *hist, int64_t us)
{
	if (us < 0)
		us = 0;
	hist->count++;
	hist->sum_us += (uint64_t)us;
	if (us > hist->max_us)
		hist->max_us = us;
	hist->steps[step_of((uint64_t)us)]++;
}

void
hist_merge(struct hist *hist, const struct hist *other)
{
	hist->count += other->count;
	hist->sum_us += other->sum_us;
	if (other->max_us > hist->max_us)
		hist->max_us = other->max_us;
	for (size_t i = 0; i <= LAST; i++)
		hist->steps[i] += other->steps[i];
}

int64_t
hist_quantile(const struct hist *hist, double share)
{
	double wanted = share * (double)hist->count;
	uint64_t seen = 0;

	for (size_t i = 0; i <= LAST && hist->count; i++) {
		seen += hist->steps[i];
		if (seen && (double)seen >= wanted)
			return step_end(i) < hist->max_us ? step_end(i)
							  : hist->max_us;
	}
	return hist->max_us;
}

double
hist_mean(const struct hist *hist)
{
	return hist->count ? (double)hist->sum_us / (double)hist->count : 0;
}
