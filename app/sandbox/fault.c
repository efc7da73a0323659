/* Pure: names and numbers of faults. */
#include "sandbox/fault.h"

#include "base/log.h"

#include <string.h>

static const char *const names[] = {
    [FAULT_NONE] = "",
    [FAULT_SLOW] = "slow",
    [FAULT_CONFLICT] = "conflict",
    [FAULT_RATE] = "rate",
    [FAULT_ERROR] = "error",
    [FAULT_ERROR_AFTER] = "error_after",
    [FAULT_UNAVAILABLE] = "unavailable",
    [FAULT_TIMEOUT] = "timeout",
    [FAULT_LOST] = "lost",
};

enum fault_kind
fault_kind_of(const char *name)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(name, names[i]) == 0)
			return (enum fault_kind)i;
	}
	log_bug("there is no fault of the kind %s", name);
}

void
fault_begin(struct fault *fault, enum fault_kind kind, int64_t ms)
{
	fault->kind = kind;
	fault->decided = true;
	if (kind == FAULT_SLOW || kind == FAULT_TIMEOUT)
		fault->wait_ms = ms;
	fault->unanswered = kind == FAULT_SLOW && ms > 0;
}

/* A half: the headers arrive, and JSON that does not end. */
size_t
fault_cut(const struct fault *fault, size_t bytes)
{
	return fault->kind == FAULT_LOST ? bytes - bytes / 2 : 0;
}
