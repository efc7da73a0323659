/* Token buckets. What flows into one in a millisecond is per_second
 * thousandths of a token, so that whole numbers do. */
#include "cashier_pace.h"

#include <limits.h>

#define TOKEN 1000
/* A burst is what comes in one part of so many of a second. */
#define BURST_PART 10

static void
bucket_init(struct bucket *bucket, int per_second, int64_t now_ms)
{
	int burst = per_second / BURST_PART;

	*bucket = (struct bucket){
	    .per_second = per_second,
	    .most = (int64_t)(burst > 1 ? burst : 1) * TOKEN,
	    /* Not full: another cashier may have asked until just now. */
	    .level = TOKEN,
	    .at_ms = now_ms,
	};
}

static int64_t
bucket_level(const struct bucket *bucket, int64_t now_ms)
{
	int64_t level =
	    bucket->level + (now_ms - bucket->at_ms) * bucket->per_second;

	return level < bucket->most ? level : bucket->most;
}

static int64_t
bucket_wait(const struct bucket *bucket, int64_t now_ms)
{
	int64_t lacking = TOKEN - bucket_level(bucket, now_ms);

	if (lacking <= 0)
		return 0;
	return (lacking + bucket->per_second - 1) / bucket->per_second;
}

static int64_t
bucket_within(const struct bucket *bucket, int64_t now_ms, int64_t ms)
{
	return (bucket_level(bucket, now_ms) + ms * bucket->per_second) / TOKEN;
}

static void
bucket_take(struct bucket *bucket, int64_t now_ms)
{
	bucket->level = bucket_level(bucket, now_ms) - TOKEN;
	bucket->at_ms = now_ms;
}

void
pace_init(struct pace *pace, const struct provider_pace *limits, int64_t now_ms)
{
	for (int i = 0; i < ENDPOINTS; i++)
		bucket_init(&pace->endpoints[i], limits->per_second[i], now_ms);
	bucket_init(&pace->all, limits->calls_per_second, now_ms);
}

int64_t
pace_wait(const struct pace *pace, enum endpoint endpoint, int64_t now_ms)
{
	int64_t own = bucket_wait(&pace->endpoints[endpoint], now_ms);
	int64_t all = bucket_wait(&pace->all, now_ms);

	return own > all ? own : all;
}

int
pace_within(const struct pace *pace, enum endpoint endpoint, int64_t now_ms,
    int64_t ms)
{
	int64_t own = bucket_within(&pace->endpoints[endpoint], now_ms, ms);
	int64_t all = bucket_within(&pace->all, now_ms, ms);
	int64_t least = own < all ? own : all;

	return least < INT_MAX ? (int)least : INT_MAX;
}

void
pace_take(struct pace *pace, enum endpoint endpoint, int64_t now_ms)
{
	bucket_take(&pace->endpoints[endpoint], now_ms);
	bucket_take(&pace->all, now_ms);
}
