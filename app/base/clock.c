/*
 * The only place that reads a clock.
 */
#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>
#include <time.h>

static struct timespec
clock_read(clockid_t id)
{
	struct timespec now;

	if (clock_gettime(id, &now) != 0)
		log_bug("cannot read clock %d", (int)id);
	return now;
}

int64_t
clock_unix(void)
{
	return clock_read(CLOCK_REALTIME).tv_sec;
}

int64_t
clock_monotonic_ms(void)
{
	struct timespec now = clock_read(CLOCK_MONOTONIC);

	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void
clock_iso(char out[25])
{
	struct timespec now = clock_read(CLOCK_REALTIME);
	char day[32];
	char text[64];
	struct tm tm;

	/* log_bug needs this function: so no call of it from here. */
	if (!gmtime_r(&now.tv_sec, &tm) ||
	    strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &tm) == 0)
		day[0] = '\0';
	snprintf(text, sizeof(text), "%s.%03ldZ", day, now.tv_nsec / 1000000);
	snprintf(out, 25, "%.24s", text);
}

void
clock_sleep_ms(int64_t ms)
{
	struct timespec left;

	if (ms <= 0)
		return;
	left.tv_sec = (time_t)(ms / 1000);
	left.tv_nsec = (long)(ms % 1000) * 1000000;
	(void)nanosleep(&left, NULL);
}
