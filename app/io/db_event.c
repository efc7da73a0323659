/* Into the inbox: one event, or many in one transaction. */
#include "io/db.h"

#include "base/log.h"
#include "io/db_call.h"

#include <stdio.h>
#include <string.h>

/* The arguments of both functions, in their order. */
#define TEXTS_BEFORE 10
#define TEXTS_AFTER 2
#define ARGS (TEXTS_BEFORE + 1 + TEXTS_AFTER + 1)

struct words {
	struct str texts[TEXTS_BEFORE];
	int64_t amount; /* below 0: none */
	struct str after[TEXTS_AFTER];
	struct str body;
};

static struct words
settlement_words(const struct settlement *s)
{
	return (struct words){
	    .texts = {str_of(s->provider), s->event_id, s->type,
		str_of(s->kind), s->key, s->hold, s->session_id, s->payment_ref,
		s->refund_ref, s->state},
	    .amount = s->amount,
	    .after = {s->currency, s->detail},
	    .body = s->body,
	};
}

enum db_status
db_payment_settle(struct db *db, const struct settlement *settlement,
    struct answer *answer)
{
	const struct words words = settlement_words(settlement);
	struct buf bufs[ARGS] = {0};
	const char *values[ARGS];
	struct pg_rows *rows;
	enum db_status status;
	size_t n = 0;

	for (size_t i = 0; i < TEXTS_BEFORE; i++, n++)
		values[n] = db_value(&bufs[n], words.texts[i]);
	buf_printf(&bufs[n], "%lld", (long long)words.amount);
	values[n] = words.amount < 0 ? NULL : buf_text(&bufs[n]);
	n++;
	for (size_t i = 0; i < TEXTS_AFTER; i++, n++)
		values[n] = db_value(&bufs[n], words.after[i]);
	pg_bytea(&bufs[n], words.body);
	values[n] = buf_text(&bufs[n]);
	status = db_call(db, "payment_settle", values, ARGS, &rows);
	if (status == DB_OK) {
		db_outcome(answer, rows, 0, 0);
		pg_rows_free(rows);
	}
	for (size_t i = 0; i < ARGS; i++)
		buf_release(&bufs[i]);
	return status;
}

static void
array_add(struct buf *array, struct str s)
{
	pg_array_add(array, s.len == 0 ? NULL : s.text, s.len);
}

/* Appends one delivery to the arrays. */
static void
arrays_add(struct buf *arrays, const struct settlement *settlement)
{
	const struct words words = settlement_words(settlement);
	struct buf text = {0};
	size_t n = 0;

	for (size_t i = 0; i < TEXTS_BEFORE; i++)
		array_add(&arrays[n++], words.texts[i]);
	if (words.amount >= 0)
		buf_printf(&text, "%lld", (long long)words.amount);
	array_add(&arrays[n++], str_view(&text));
	for (size_t i = 0; i < TEXTS_AFTER; i++)
		array_add(&arrays[n++], words.after[i]);
	buf_reset(&text);
	pg_bytea(&text, words.body);
	array_add(&arrays[n], str_view(&text));
	buf_release(&text);
}

static void
outcomes_read(struct answer *const *answers, size_t n,
    const struct pg_rows *rows)
{
	if (pg_rows_count(rows) != n)
		log_bug("payment_settle_all answered %zu deliveries, not %zu",
		    pg_rows_count(rows), n);
	for (size_t row = 0; row < n; row++) {
		int64_t nr = pg_int(rows, row, 0);

		if (nr < 1 || (uint64_t)nr > n)
			log_bug("payment_settle_all answered delivery %lld of "
				"%zu",
			    (long long)nr, n);
		db_outcome(answers[nr - 1], rows, row, 1);
	}
}

enum db_status
db_payment_settle_all(struct db *db,
    const struct settlement *const *settlements, struct answer *const *answers,
    size_t n)
{
	struct buf arrays[ARGS] = {0};
	const char *values[ARGS];
	struct pg_rows *rows;
	enum db_status status;

	for (size_t i = 0; i < n; i++)
		arrays_add(arrays, settlements[i]);
	for (size_t i = 0; i < ARGS; i++)
		values[i] = pg_array_end(&arrays[i]);
	status = db_call(db, "payment_settle_all", values, ARGS, &rows);
	if (status == DB_OK) {
		outcomes_read(answers, n, rows);
		pg_rows_free(rows);
	}
	for (size_t i = 0; i < ARGS; i++)
		buf_release(&arrays[i]);
	return status;
}
