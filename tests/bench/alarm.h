/*
 * Moments to come: a binary heap, so that many thousand of them are cheap.
 * Pure; one thread.
 */
#ifndef BENCH_ALARM_H
#define BENCH_ALARM_H

#include <stddef.h>
#include <stdint.h>

/* Owned by the caller; it stays where it is until it has fired. */
struct alarm {
	int64_t due_us; /* of client_now_us */
	void (*fire)(struct alarm *alarm); /* may set this or others anew */
	void *owner; /* the caller's own */
	size_t place; /* in the heap, from 1; 0: not set */
};

struct alarms {
	struct alarm **heap; /* from 1 */
	size_t n;
	size_t cap;
};

void
alarms_release(struct alarms *alarms);
/* Sets an alarm that is not set. */
void
alarms_add(struct alarms *alarms, struct alarm *alarm);
/* Takes one out; harmless when it is not set. */
void
alarms_remove(struct alarms *alarms, struct alarm *alarm);
/* The next one, still set; NULL: there is none. */
struct alarm *
alarms_first(const struct alarms *alarms);

#endif
