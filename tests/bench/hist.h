/*
 * A histogram of times: log-linear, so that a quantile is right within 1.6 %
 * at any size, in a fixed space. Pure.
 */
#ifndef BENCH_HIST_H
#define BENCH_HIST_H

#include <stdint.h>

/* 64 steps for each power of two. */
#define HIST_STEPS 64
#define HIST_POWERS 30

/* All zero: empty. Times are microseconds; beyond 9 hours is the last step. */
struct hist {
	uint64_t count;
	uint64_t sum_us;
	int64_t max_us; /* exact */
	uint64_t steps[HIST_POWERS * HIST_STEPS];
};

/* A time below zero counts as zero. */
void
hist_add(struct hist *hist, int64_t us);
void
hist_merge(struct hist *hist, const struct hist *other);
/* The time that a share (0 to 1) of all did not exceed; 0 when empty. */
int64_t
hist_quantile(const struct hist *hist, double share);
double
hist_mean(const struct hist *hist);

#endif
