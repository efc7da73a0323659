/*
 * A buyer with a hold: the order page, the pay page, the way out. Each is
 * followed until the shop says how it ended, and asks as often as it takes:
 * what it was promised does not depend on one answer.
 */
#include "drill.h"

#include "member.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Between two looks at an order, as static/js/order.js does it. */
#define LOOK_FIRST (1000 * MS)
#define LOOK_MOST (2500 * MS)
/* When a hold is over for sure: it is judged by another clock. */
#define OVER (250 * MS)
/* By how much a late payment is late, and one on the edge early or late. */
#define LATE_FIRST (1 * SECOND)
#define LATE_MOST (4 * SECOND)
#define EDGE (800 * MS)

static void
holder_ask(struct buyer *buyer);
static void
holder_pay(struct buyer *buyer);

static bool
id_take(struct buyer *buyer, struct str id)
{
	if (id.len == 0 || id.len >= sizeof(buyer->id))
		return false;
	memcpy(buyer->id, id.text, id.len);
	buyer->id[id.len] = '\0';
	return true;
}

/* {"id":"hld_…"} to path. */
static void
holder_send(struct buyer *buyer, const char *path,
    void (*then)(struct buyer *b))
{
	struct wire_post post = {.path = path, .type = "application/json"};
	char body[80];

	snprintf(body, sizeof(body), "{\"id\":\"%s\"}", buyer->id);
	post.body = body;
	wire_send(buyer, &post, then);
}

/* --- how it ended */

static void
holder_again(struct buyer *buyer)
{
	int64_t pause = LOOK_FIRST;

	for (int i = 0; i < buyer->asks && pause < LOOK_MOST; i++)
		pause = pause * 13 / 10;
	buyer->asks++;
	if (pause > LOOK_MOST)
		pause = LOOK_MOST;
	buyer_later(buyer, buyer_draw(buyer, pause * 8 / 10, pause * 12 / 10),
	    holder_ask);
}

/* Money is under way: only goods or money back are an end. */
static void
holder_charged(struct buyer *buyer, struct str view)
{
	if (str_is(view, "paid")) {
		buyer->paid_us = client_now_us();
		buyer_end(buyer,
		    buyer->plan == PLAN_LATE ? END_RETAKEN : END_PAID);
	} else if (str_is(view, "refunded")) {
		buyer_end(buyer, END_REFUNDED);
	} else if (str_is(view, "refund_failed") ||
	    str_is(view, "payment_failed") || str_is(view, "dropped")) {
		buyer_wrong(buyer, "charged, and neither served nor refunded");
	} else {
		holder_again(buyer);
	}
}

static void
holder_asked(struct buyer *buyer)
{
	struct str view = member_of(buyer->call.body, "view");

	if (buyer->call.status != 200 || !view.text)
		buyer_wrong(buyer, "the order");
	else if (buyer->charged)
		holder_charged(buyer, view);
	else if (str_is(view, "expired"))
		buyer_end(buyer,
		    buyer->plan == PLAN_LEAVE ? END_EXPIRED : END_UNPAID);
	else if (str_is(view, "dropped") && buyer->plan == PLAN_DROP)
		buyer_end(buyer, END_DROPPED);
	else if ((str_is(view, "held") || str_is(view, "opening")) &&
	    client_now_us() < buyer->over_us)
		holder_again(buyer);
	else
		buyer_wrong(buyer, "an order that should be over");
}

static void
holder_ask(struct buyer *buyer)
{
	char path[96];

	buyer->port = buyer->drill->options.port;
	snprintf(path, sizeof(path), "/hold?id=%s", buyer->id);
	wire_get(buyer, path, holder_asked);
}

/* Comes back when the hold is over, to see what has become of it. */
static void
holder_ask_then(struct buyer *buyer)
{
	int64_t rest = buyer->over_us - client_now_us();

	buyer_later(buyer,
	    (rest > 0 ? rest : 0) + buyer_draw(buyer, 0, 1 * SECOND),
	    holder_ask);
}

/* --- the provider's page */

/* Whether the provider has sent the buyer back with the order paid. */
static bool
holder_is_back(const struct buyer *buyer)
{
	struct str where = client_header(&buyer->call, "Location");
	char order[96];
	size_t len;

	snprintf(order, sizeof(order), "http://127.0.0.1:%d/order/%s",
	    (int)buyer->drill->options.port, buyer->id);
	len = strlen(order);
	return where.len >= len && memcmp(where.text, order, len) == 0;
}

static void
holder_pressed_pay(struct buyer *buyer)
{
	if (buyer->call.status != 303) {
		buyer_wrong(buyer, "the provider's answer to Pay");
		return;
	}
	/* A late payment is carried out later, whatever becomes of the page. */
	buyer->charged = buyer->plan == PLAN_LATE || holder_is_back(buyer);
	if (buyer->charged)
		buyer->drill->tally.charged++;
	if (buyer->charged && buyer->plan != PLAN_LATE)
		holder_ask(buyer);
	else
		holder_ask_then(buyer);
}

static void
holder_press_pay(struct buyer *buyer)
{
	struct wire_post post = {
	    .path = buyer->pay_path,
	    .type = "application/x-www-form-urlencoded",
	    .body = "do=pay",
	};
	int64_t late;
	char body[48];

	if (buyer->plan == PLAN_LATE) {
		late = buyer->over_us - client_now_us();
		late = (late > 0 ? late : 0) +
		    buyer_draw(buyer, LATE_FIRST, LATE_MOST);
		snprintf(body, sizeof(body), "do=late&seconds=%" PRId64,
		    late / SECOND + 1);
		post.body = body;
	}
	wire_send(buyer, &post, holder_pressed_pay);
}

static bool
text_has(struct str text, const char *words)
{
	size_t len = strlen(words);

	for (size_t i = 0; i + len <= text.len; i++) {
		if (memcmp(text.text + i, words, len) == 0)
			return true;
	}
	return false;
}

static void
holder_saw_page(struct buyer *buyer)
{
	int64_t pause = buyer_draw(buyer, 300 * MS, 2000 * MS);

	hist_add(&buyer->drill->tally.pay, buyer->call.latency_us);
	if (buyer->call.status != 200) {
		buyer_wrong(buyer, "the pay page");
		return;
	}
	/* Closed already: the hold was over first. */
	if (!text_has(buyer->call.body, "value=\"pay\"")) {
		holder_ask_then(buyer);
		return;
	}
	if (buyer->plan == PLAN_EDGE)
		pause = buyer->surely_us - client_now_us() +
		    buyer_draw(buyer, -EDGE, EDGE);
	buyer_later(buyer, pause > 0 ? pause : 0, holder_press_pay);
}

static void
holder_see_page(struct buyer *buyer)
{
	buyer->port = buyer->drill->options.pay_port;
	wire_get(buyer, buyer->pay_path, holder_saw_page);
}

/* The path of the pay page; false: that is not its address. */
static bool
page_take(struct buyer *buyer, struct str url)
{
	char base[48];
	size_t len;

	snprintf(base, sizeof(base), "http://127.0.0.1:%d/",
	    (int)buyer->drill->options.pay_port);
	len = strlen(base) - 1;
	if (url.len <= len || memcmp(url.text, base, len + 1) != 0 ||
	    url.len - len >= sizeof(buyer->pay_path))
		return false;
	memcpy(buyer->pay_path, url.text + len, url.len - len);
	buyer->pay_path[url.len - len] = '\0';
	return true;
}

/* Until it is there, the page in between loads itself anew each second. */
static void
holder_asked_to_pay(struct buyer *buyer)
{
	struct str body = buyer->call.body;
	struct str state = member_of(body, "state");

	if (buyer->call.status == 202) {
		buyer_later(buyer, buyer_draw(buyer, 900 * MS, 1100 * MS),
		    holder_pay);
	} else if (buyer->call.status == 200 && str_is(state, "ready") &&
	    page_take(buyer, member_of(body, "url"))) {
		buyer_later(buyer, 0, holder_see_page);
	} else if (buyer->call.status == 410 &&
	    client_now_us() >= buyer->surely_us) {
		holder_ask_then(buyer);
	} else {
		buyer_wrong(buyer, "asking for the pay page");
	}
}

static void
holder_pay(struct buyer *buyer)
{
	holder_send(buyer, "/pay", holder_asked_to_pay);
}

/* --- giving up */

static void
holder_dropped(struct buyer *buyer)
{
	struct str view = member_of(buyer->call.body, "view");

	if (buyer->call.status == 200 && str_is(view, "dropped"))
		buyer_end(buyer, END_DROPPED);
	else if (buyer->call.status == 410 &&
	    client_now_us() >= buyer->surely_us)
		buyer_end(buyer, END_EXPIRED);
	else
		buyer_wrong(buyer, "giving up");
}

static void
holder_drop(struct buyer *buyer)
{
	buyer->dropped_us = client_now_us();
	holder_send(buyer, "/hold/drop", holder_dropped);
}

/* --- from the hold on */

static void
holder_go(struct buyer *buyer)
{
	int64_t hold = buyer->drill->options.hold * SECOND;

	switch (buyer->plan) {
	case PLAN_LEAVE:
		holder_ask_then(buyer);
		break;
	case PLAN_DROP:
		buyer_later(buyer, buyer_draw(buyer, hold / 5, hold / 2),
		    holder_drop);
		break;
	default:
		buyer_later(buyer, buyer_draw(buyer, 300 * MS, 3000 * MS),
		    holder_pay);
	}
}

static void
holder_saw_order(struct buyer *buyer)
{
	hist_add(&buyer->drill->tally.order, buyer->call.latency_us);
	if (buyer->call.status == 200)
		holder_go(buyer);
	else
		buyer_wrong(buyer, "the order page");
}

static void
holder_see_order(struct buyer *buyer)
{
	char path[96];

	snprintf(path, sizeof(path), "/order/%s", buyer->id);
	wire_get(buyer, path, holder_saw_order);
}

/* The answer to the same press once more: the same hold, and no other. */
static void
holder_repeated(struct buyer *buyer)
{
	struct str id = member_of(buyer->call.body, "id");

	buyer->drill->tally.repeats++;
	if (buyer->call.status != 200 || !str_is(id, buyer->id)) {
		buyer->drill->tally.differ++;
		buyer_wrong(buyer, "the same press again");
		return;
	}
	holder_see_order(buyer);
}

void
holder_start(struct buyer *buyer)
{
	struct str body = buyer->call.body;
	int64_t left_ms = member_int(body, "expires_in_ms", -1);
	int64_t now = client_now_us();

	if (!id_take(buyer, member_of(body, "id")) || left_ms < 0) {
		buyer_wrong(buyer, "a hold");
		return;
	}
	buyer->drill->holders[buyer->drill->held++] = buyer;
	buyer->granted_us = now;
	/* The shop counted at some moment between sending and now. */
	buyer->surely_us = buyer->sent_us + left_ms * MS;
	buyer->over_us = now + left_ms * MS + OVER;
	buyer->stubborn = true;
	if (buyer->repeats)
		wire_same(buyer, holder_repeated);
	else
		holder_see_order(buyer);
}
