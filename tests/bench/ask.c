/*
 * What pages, buyers and the provider send. A hold is made as static/js/buy.js
 * makes it, with the headers of the browser that the shop looks at. An event is
 * signed as the provider signs it.
 */
#include "ask.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/sign.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_LEN 36
#define VISIT_LEN 32
#define EVENT_PARTS_MAX 16

/* A piece of the event, then what stands between it and the next. */
struct part {
	struct str text;
	char then; /* E event, S session, H hold, 0: nothing */
};

struct asks {
	struct ask_options options;
	bool (*next)(struct asks *asks, struct ask *ask);
	uint64_t random; /* state */
	struct buf event;
	struct part parts[EVENT_PARTS_MAX];
	size_t part_count;
	struct buf list;
	size_t list_at;
	struct buf body;
};

static void
usage(const char *text)
{
	fprintf(stderr, "load: %s\n", text);
	exit(2);
}

/* splitmix64: not for secrets; each call is another. */
static uint64_t
random_next(struct asks *asks)
{
	uint64_t z = asks->random += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* 32 random digits. */
static void
hex_fill(struct asks *asks, char out[VISIT_LEN])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t half = 0; half < 2; half++) {
		uint64_t bits = random_next(asks);

		for (size_t i = 0; i < 16; i++, bits >>= 4)
			out[half * 16 + i] = digits[bits & 15];
	}
}

/* A random UUID: 8-4-4-4-12, version 4. */
static void
key_fill(struct asks *asks, char out[KEY_LEN])
{
	static const char form[] = "xxxxxxxx-xxxx-4xxx-9xxx-xxxxxxxxxxxx";
	char hex[VISIT_LEN];
	size_t n = 0;

	hex_fill(asks, hex);
	for (size_t i = 0; i < KEY_LEN; i++) {
		if (form[i] == 'x')
			out[i] = hex[n++];
		else
			out[i] = form[i];
	}
}

/* --- a file or a page's question */

static bool
get_next(struct asks *asks, struct ask *ask)
{
	if (ask->bytes.len == 0)
		buf_printf(&ask->bytes,
		    "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
		    "Accept: application/json, application/problem+json\r\n"
		    "\r\n",
		    asks->options.path, asks->options.port);
	return true;
}

/* --- a buyer */

static void
hold_first(struct asks *asks, struct ask *ask)
{
	const struct ask_options *options = &asks->options;
	char visit[VISIT_LEN + 1] = "";
	char key[KEY_LEN + 1] = "";
	struct buf body = {0};

	memset(visit, '0', VISIT_LEN);
	memset(key, '0', KEY_LEN);
	buf_str(&body, "{\"item\":");
	str_json(&body, str_of(options->item));
	buf_str(&body, ",\"qty\":1}");
	buf_printf(&ask->bytes, "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n",
	    options->path, options->port);
	buf_str(&ask->bytes,
	    "Accept: application/json, application/problem+json\r\n"
	    "Content-Type: application/json\r\n");
	buf_printf(&ask->bytes,
	    "Origin: http://127.0.0.1:%d\r\n"
	    "Sec-Fetch-Site: same-origin\r\n"
	    "Content-Length: %zu\r\nIdempotency-Key: ",
	    options->port, body.len);
	ask->key_at = ask->bytes.len;
	buf_printf(&ask->bytes, "%s\r\nCookie: lp_visit=", key);
	ask->visit_at = ask->bytes.len;
	buf_printf(&ask->bytes, "%s\r\n\r\n%s", visit, buf_text(&body));
	buf_release(&body);
}

static bool
hold_next(struct asks *asks, struct ask *ask)
{
	if (ask->bytes.len == 0)
		hold_first(asks, ask);
	key_fill(asks, ask->bytes.data + ask->key_at);
	hex_fill(asks, ask->bytes.data + ask->visit_at);
	return true;
}

/* --- the provider */

static void
file_read(struct buf *out, const char *name)
{
	char bytes[65536];
	FILE *file = name ? fopen(name, "r") : NULL;
	size_t n;

	if (!file)
		usage("an event and a list are needed that can be read");
	while ((n = fread(bytes, 1, sizeof(bytes), file)) > 0)
		buf_add(out, bytes, n);
	(void)fclose(file);
}

/* Cuts the event at its @WORDS@. */
static void
event_cut(struct asks *asks)
{
	static const char *const words[] = {"@EVENT@", "@SESSION@", "@HOLD@"};
	const char *at = buf_text(&asks->event);
	const char *mark;

	while ((mark = strchr(at, '@'))) {
		struct part *part = &asks->parts[asks->part_count++];
		size_t len = 1;

		if (asks->part_count == EVENT_PARTS_MAX)
			usage("too many words in the event");
		for (size_t i = 0; i < 3; i++) {
			if (strncmp(mark, words[i], strlen(words[i])) == 0)
				len = strlen(words[i]);
		}
		/* Any other @ stays as it is. */
		if (len > 1)
			part->then = mark[1];
		part->text =
		    (struct str){at, (size_t)(mark - at) + (len > 1 ? 0 : 1)};
		at = mark + len;
	}
	asks->parts[asks->part_count++].text = str_of(at);
}

/* Takes the next word off the list. */
static bool
list_next(struct asks *asks, struct str *word)
{
	const char *text = buf_text(&asks->list);

	asks->list_at += strspn(text + asks->list_at, " \n");
	word->text = text + asks->list_at;
	word->len = strcspn(word->text, " \n");
	asks->list_at += word->len;
	return word->len > 0;
}

static void
event_sign(struct asks *asks, struct buf *header)
{
	unsigned char mac[SIGN_SHA256_LEN];
	char moment[24];

	snprintf(moment, sizeof(moment), "%lld", (long long)clock_unix());
	sign_hmac_sha256(mac, str_of(asks->options.secret),
	    (const struct str[]){str_of(moment), str_of("."),
		str_view(&asks->body)},
	    3);
	buf_printf(header, "t=%s,v1=", moment);
	str_hex(header, mac, sizeof(mac));
}

static bool
callback_next(struct asks *asks, struct ask *ask)
{
	char event[VISIT_LEN];
	struct str hold;
	struct str session;

	if (!list_next(asks, &hold) || !list_next(asks, &session))
		return false;
	hex_fill(asks, event);
	buf_reset(&asks->body);
	for (size_t i = 0; i < asks->part_count; i++) {
		struct part *part = &asks->parts[i];

		buf_add(&asks->body, part->text.text, part->text.len);
		if (part->then == 'E')
			buf_add(&asks->body, event, sizeof(event));
		else if (part->then == 'S')
			buf_add(&asks->body, session.text, session.len);
		else if (part->then == 'H')
			buf_add(&asks->body, hold.text, hold.len);
	}
	buf_reset(&ask->bytes);
	buf_printf(&ask->bytes,
	    "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
	    "Accept: */*\r\nUser-Agent: Stripe/1.0 "
	    "(+https://stripe.com/docs/webhooks)\r\n"
	    "Content-Type: application/json; charset=utf-8\r\n"
	    "Content-Length: %zu\r\nStripe-Signature: ",
	    asks->options.path, asks->options.port, asks->body.len);
	event_sign(asks, &ask->bytes);
	buf_str(&ask->bytes, "\r\n\r\n");
	buf_add(&ask->bytes, asks->body.data, asks->body.len);
	return true;
}

/* --- all of them */

struct asks *
asks_open(const struct ask_options *options)
{
	struct asks *asks = calloc(1, sizeof(*asks));

	if (!asks)
		log_bug("out of memory");
	asks->options = *options;
	sign_random(&asks->random, sizeof(asks->random));
	if (strcmp(options->kind, "get") == 0) {
		asks->next = get_next;
	} else if (strcmp(options->kind, "hold") == 0) {
		if (!options->item)
			usage("a hold needs an item");
		asks->next = hold_next;
	} else if (strcmp(options->kind, "callback") == 0) {
		if (!options->secret)
			usage("a callback needs a secret");
		asks->next = callback_next;
		file_read(&asks->event, options->event);
		file_read(&asks->list, options->list);
		event_cut(asks);
	} else {
		usage("it is get, hold or callback that is asked");
	}
	return asks;
}

void
asks_close(struct asks *asks)
{
	if (!asks)
		return;
	buf_release(&asks->event);
	buf_release(&asks->list);
	buf_release(&asks->body);
	free(asks);
}

bool
asks_next(struct asks *asks, struct ask *ask, struct str *request)
{
	if (!asks->next(asks, ask))
		return false;
	*request = str_view(&ask->bytes);
	return true;
}

void
ask_release(struct ask *ask)
{
	buf_release(&ask->bytes);
}
