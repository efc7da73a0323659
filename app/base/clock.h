/*
 * The only place that reads a clock. Decisions about stock and holds use the
 * database's clock; these serve signatures, back-off and logs.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

/* Seconds since 1970, UTC. */
int64_t
clock_unix(void);
/* Milliseconds since some fixed moment; never goes back. */
int64_t
clock_monotonic_ms(void);
/* "2026-11-30T15:00:00.123Z" and the NUL. */
void
clock_iso(char out[25]);
/* Sleeps, and comes back early when a signal arrives. */
void
clock_sleep_ms(int64_t ms);

#endif
