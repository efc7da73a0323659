/*
 * The words of the gate's memory, which other processes read and write at any
 * time. All of the gate's code goes through these, so that a test can let
 * anything happen between any two of its steps. Sequentially consistent.
 */
#ifndef IO_GATE_WORD_H
#define IO_GATE_WORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

uint64_t
gate_load(const _Atomic uint64_t *word);
void
gate_store(_Atomic uint64_t *word, uint64_t value);
/* Replaces *seen; false: *seen is set to what is there instead. */
bool
gate_swap(_Atomic uint64_t *word, uint64_t *seen, uint64_t value);

#endif
