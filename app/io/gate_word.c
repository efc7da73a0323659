/* One step each on a word that is shared. Any thread of any process. */
#include "io/gate_word.h"

uint64_t
gate_load(const _Atomic uint64_t *word)
{
	return atomic_load(word);
}

void
gate_store(_Atomic uint64_t *word, uint64_t value)
{
	atomic_store(word, value);
}

bool
gate_swap(_Atomic uint64_t *word, uint64_t *seen, uint64_t value)
{
	uint64_t before = *seen;
	bool done = atomic_compare_exchange_strong(word, &before, value);

	*seen = before;
	return done;
}
