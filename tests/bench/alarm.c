/*
 * A binary heap of moments. Invariant: heap[i] is due no later than heap[2 i]
 * and heap[2 i + 1], and heap[i]->place == i.
 */
#include "alarm.h"
#include "base/log.h"

#include <stdlib.h>

void
alarms_release(struct alarms *alarms)
{
	free(alarms->heap);
	*alarms = (struct alarms){0};
}

static void
put(struct alarms *alarms, size_t place, struct alarm *alarm)
{
	alarms->heap[place] = alarm;
	alarm->place = place;
}

static void
rise(struct alarms *alarms, size_t place, struct alarm *alarm)
{
	while (place > 1 && alarms->heap[place / 2]->due_us > alarm->due_us) {
		put(alarms, place, alarms->heap[place / 2]);
		place /= 2;
	}
	put(alarms, place, alarm);
}

static void
sink(struct alarms *alarms, size_t place, struct alarm *alarm)
{
	size_t child;

	while ((child = place * 2) <= alarms->n) {
		if (child < alarms->n &&
		    alarms->heap[child + 1]->due_us <
			alarms->heap[child]->due_us)
			child++;
		if (alarms->heap[child]->due_us >= alarm->due_us)
			break;
		put(alarms, place, alarms->heap[child]);
		place = child;
	}
	put(alarms, place, alarm);
}

void
alarms_add(struct alarms *alarms, struct alarm *alarm)
{
	if (alarm->place)
		log_bug("an alarm is set twice");
	if (alarms->n + 2 > alarms->cap) {
		alarms->cap = alarms->cap ? alarms->cap * 2 : 64;
		alarms->heap =
		    realloc(alarms->heap, alarms->cap * sizeof(struct alarm *));
		if (!alarms->heap)
			log_bug("out of memory");
	}
	rise(alarms, ++alarms->n, alarm);
}

void
alarms_remove(struct alarms *alarms, struct alarm *alarm)
{
	size_t place = alarm->place;
	struct alarm *last;

	if (!place)
		return;
	alarm->place = 0;
	last = alarms->heap[alarms->n--];
	if (last == alarm)
		return;
	if (place > 1 && alarms->heap[place / 2]->due_us > last->due_us)
		rise(alarms, place, last);
	else
		sink(alarms, place, last);
}

struct alarm *
alarms_first(const struct alarms *alarms)
{
	return alarms->n ? alarms->heap[1] : NULL;
}
