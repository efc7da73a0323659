/*
 * The requests of a measurement: one after the other, each as its sender would
 * make it, and no two alike where the shop could tell. Made where the next one
 * will be, so that they cost little.
 */
#ifndef BENCH_ASK_H
#define BENCH_ASK_H

#include "base/buf.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>

struct asks;

struct ask_options {
	const char *kind; /* "get", "hold" or "callback" */
	const char *path; /* with its query */
	int port;
	const char *item; /* hold: its SKU */
	/*
	 * callback: a file with the event, @EVENT@, @SESSION@ and @HOLD@ in it;
	 * a file with a hold and its session in each line; what it is signed
	 * with.
	 */
	const char *event;
	const char *list;
	const char *secret;
};

/* The place of one request at a time; zeroed before its first. */
struct ask {
	struct buf bytes;
	size_t key_at; /* hold: where its key is */
	size_t visit_at; /* and the visitor's cookie */
};

/* Ends the program with a sentence when the options are of no use. */
struct asks *
asks_open(const struct ask_options *options);
void
asks_close(struct asks *asks);
/* Makes the next request; valid until the ask's next one. false: no more. */
bool
asks_next(struct asks *asks, struct ask *ask, struct str *request);
void
ask_release(struct ask *ask);

#endif
