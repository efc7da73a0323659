/*
 * A buyer without a hold: loads the page, looks at the stock as
 * static/js/item.js does, presses Buy, and goes away when there is nothing to
 * wait for. A buyer has a call under way, or an alarm set, or has ended.
 */
#include "drill.h"

#include "member.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* A person who is told again and again that none is left goes away. */
#define PRESSES 5
/* Lines about what was wrong, before they are only counted. */
#define LINES 20

static void
buyer_look(struct buyer *buyer);
static void
buyer_press(struct buyer *buyer);

/* --- dice and alarms */

/* splitmix64: any seed will do, also 0, 1, 2 … for one buyer each. */
static uint64_t
dice_next(uint64_t *dice)
{
	uint64_t z = *dice += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

int64_t
buyer_draw(struct buyer *buyer, int64_t low, int64_t high)
{
	uint64_t span = (uint64_t)(high - low) + 1;

	return low + (int64_t)(dice_next(&buyer->dice) % span);
}

bool
buyer_chance(struct buyer *buyer, int percent)
{
	return buyer_draw(buyer, 0, 99) < percent;
}

static void
buyer_fire(struct alarm *alarm)
{
	struct buyer *buyer = alarm->owner;

	buyer->due_us = alarm->due_us;
	buyer->step(buyer);
}

void
buyer_later(struct buyer *buyer, int64_t us, void (*step)(struct buyer *buyer))
{
	struct client *client = buyer->drill->client;

	client_cancel(client, &buyer->alarm);
	buyer->alarm.due_us = client_now_us() + us;
	buyer->step = step;
	client_at(client, &buyer->alarm);
}

void
buyer_end(struct buyer *buyer, enum end end)
{
	struct drill *drill = buyer->drill;

	buyer->end = end;
	drill->tally.ends[end]++;
	if (end == END_PAID || end == END_RETAKEN)
		drill->tally.paid++;
	wire_end(buyer);
	if (--drill->left == 0)
		client_stop(drill->client);
}

void
buyer_say(struct buyer *buyer, const char *what)
{
	struct str body = buyer->call.body;
	struct str type = member_of(body, "type");

	if (buyer->drill->tally.lines++ < LINES)
		fprintf(stderr,
		    "drill: buyer %" PRIu32 " %s: %s: status %d (%s) %.*s\n",
		    buyer->number, buyer->id, what, buyer->call.status,
		    client_failure_text(buyer->call.failure),
		    type.text ? (int)type.len : 0, type.text ? type.text : "");
}

void
buyer_wrong(struct buyer *buyer, const char *what)
{
	buyer_say(buyer, what);
	buyer_end(buyer, wire_undecided(buyer) ? END_UNANSWERED : END_WRONG);
}

/* --- looking */

/* Looks again after so long, a fifth more or less; or goes away first. */
static void
buyer_wait(struct buyer *buyer, int64_t us)
{
	us = buyer_draw(buyer, us * 8 / 10, us * 12 / 10);
	if (client_now_us() + us > buyer->gone_us || buyer->presses >= PRESSES)
		buyer_end(buyer, END_AWAY);
	else
		buyer_later(buyer, us, buyer_look);
}

/*
 * The page counts down to the opening and looks again within 400 ms of it; the
 * earlier end is the right one, because a cached answer names too much time.
 */
static void
buyer_count_down(struct buyer *buyer, int64_t opens_ms)
{
	int64_t now = client_now_us();
	int64_t zero = now + opens_ms * MS;
	int64_t again;

	if (buyer->zero_us > now && buyer->zero_us < zero)
		zero = buyer->zero_us;
	if (opens_ms <= 0) {
		buyer_later(buyer, buyer_draw(buyer, 960 * MS, 1440 * MS),
		    buyer_look);
		return;
	}
	buyer->zero_us = zero;
	again = zero - now + 100 * MS;
	if (again > 6 * SECOND)
		again = 6 * SECOND;
	again = buyer_draw(buyer, again * 8 / 10, again * 12 / 10);
	if (now + again < zero)
		buyer_later(buyer, again, buyer_look);
	else if (buyer->eager)
		buyer_later(buyer,
		    zero - now + buyer_draw(buyer, 20 * MS, 80 * MS),
		    buyer_press);
	else
		buyer_later(buyer, zero - now + buyer_draw(buyer, 0, 400 * MS),
		    buyer_look);
}

static void
buyer_looked(struct buyer *buyer)
{
	struct str item = member_first(buyer->call.body, "items");
	struct str state = member_of(item, "state");

	hist_add(&buyer->drill->tally.look, buyer->call.latency_us);
	if (!buyer->gone_us && !str_is(state, "upcoming"))
		buyer->gone_us = client_now_us() + buyer->patience_us;
	if (buyer->call.status != 200 || !item.text)
		buyer_wrong(buyer, "the stock");
	else if (str_is(state, "upcoming"))
		buyer_count_down(buyer, member_int(item, "opens_in_ms", -1));
	else if (str_is(state, "on_sale") && buyer->presses < PRESSES)
		buyer_later(buyer, buyer_draw(buyer, 50 * MS, 350 * MS),
		    buyer_press);
	else if (str_is(state, "on_sale") || str_is(state, "all_held"))
		buyer_wait(buyer, 2 * SECOND);
	else if (str_is(state, "sold_out"))
		buyer_wait(buyer, 15 * SECOND);
	else
		buyer_wrong(buyer, "the state of the stock");
}

static void
buyer_look(struct buyer *buyer)
{
	char path[96];

	snprintf(path, sizeof(path), "/availability?item=%.*s",
	    (int)buyer->drill->options.item.len,
	    buyer->drill->options.item.text);
	wire_get(buyer, path, buyer_looked);
}

/* --- pressing Buy */

static void
buyer_refused(struct buyer *buyer)
{
	struct str body = buyer->call.body;
	struct str type = member_of(body, "type");

	buyer->drill->tally.refused++;
	hist_add(&buyer->drill->tally.refusal,
	    client_now_us() - buyer->pressed_us);
	if (str_is(type, "/problems/sold-out")) {
		if (member_int(body, "free", -1) != 0)
			buyer_later(buyer, 0, buyer_look);
		else
			buyer_wait(buyer, 1750 * MS);
	} else if (str_is(type, "/problems/not-open")) {
		/* The shop's clock decides, not the page's. */
		buyer_later(buyer,
		    member_int(body, "opens_in_ms", 0) * MS +
			buyer_draw(buyer, 20 * MS, 80 * MS),
		    buyer_press);
	} else {
		buyer_wrong(buyer, "a refusal");
	}
}

static void
buyer_pressed(struct buyer *buyer)
{
	struct tally *tally = &buyer->drill->tally;
	int status = buyer->call.status;

	tally->waiting--;
	if (status == 201 || status == 200) {
		tally->granted++;
		if (!buyer->hangs_up)
			hist_add(&tally->grant,
			    client_now_us() - buyer->pressed_us);
		holder_start(buyer);
	} else if (status == 409) {
		buyer_refused(buyer);
	} else {
		buyer_wrong(buyer, "Buy");
	}
}

/*
 * A key for each press, as the page makes one; of the same seed the same one,
 * so that a run's keys can be found again.
 */
static void
buyer_press(struct buyer *buyer)
{
	const struct drill_options *options = &buyer->drill->options;
	struct wire_post post = {.type = "application/json"};
	char path[96];
	char body[96];
	char key[64];

	if (buyer->presses++ == 0)
		buyer->drill->tally.asked++;
	buyer->drill->tally.presses++;
	buyer->drill->tally.waiting++;
	buyer->pressed_us = buyer->due_us;
	if (!buyer->gone_us)
		buyer->gone_us = buyer->due_us + buyer->patience_us;
	snprintf(path, sizeof(path), "/hold?item=%.*s", (int)options->item.len,
	    options->item.text);
	snprintf(body, sizeof(body), "{\"item\":\"%.*s\",\"qty\":1}",
	    (int)options->item.len, options->item.text);
	snprintf(key, sizeof(key), "drill-%016" PRIx64 "-%08" PRIx32 "-%d",
	    (uint64_t)options->seed, buyer->number, buyer->presses);
	post.path = path;
	post.body = body;
	post.key = key;
	wire_send(buyer, &post, buyer_pressed);
	if (buyer->hangs_up && buyer->presses == 1)
		buyer_later(buyer,
		    buyer_chance(buyer, 60) ? 0 : buyer_draw(buyer, 0, 6 * MS),
		    wire_hang_up);
}

/* --- coming */

static void
buyer_loaded(struct buyer *buyer)
{
	struct drill *drill = buyer->drill;
	bool open = client_now_us() >= drill->opening_us;

	drill->tally.pages++;
	hist_add(&drill->tally.page, buyer->call.latency_us);
	if (buyer->call.status != 200 || !buyer->visit[0]) {
		buyer_wrong(buyer, "the page");
		return;
	}
	if (open)
		buyer->gone_us = client_now_us() + buyer->patience_us;
	if (open && buyer->eager)
		buyer_later(buyer, buyer_draw(buyer, 300 * MS, 1500 * MS),
		    buyer_press);
	else
		buyer_later(buyer, 0, buyer_look);
}

static void
buyer_come(struct buyer *buyer)
{
	char path[96];

	snprintf(path, sizeof(path), "/item/%.*s",
	    (int)buyer->drill->options.item.len,
	    buyer->drill->options.item.text);
	wire_get(buyer, path, buyer_loaded);
}

/* Most go away soon, some wait for what comes back, a few for all of it. */
static int64_t
draw_patience(struct buyer *buyer)
{
	int64_t hold_us = buyer->drill->options.hold * SECOND;
	int64_t kind = buyer_draw(buyer, 0, 99);

	if (kind < 70)
		return buyer_draw(buyer, 0, 3 * SECOND);
	if (kind < 95)
		return buyer_draw(buyer, 3 * SECOND, 3 * SECOND + hold_us / 2);
	return buyer_draw(buyer, hold_us, hold_us * 14 / 10);
}

static enum plan
draw_plan(struct buyer *buyer)
{
	static const int shares[PLANS] = {60, 12, 10, 12, 6};
	int64_t kind = buyer_draw(buyer, 0, 99);
	int plan = 0;

	while (kind >= shares[plan])
		kind -= shares[plan++];
	return (enum plan)plan;
}

void
buyer_start(struct buyer *buyer, struct drill *drill, uint32_t number)
{
	const struct drill_options *options = &drill->options;
	bool early = number * (int64_t)100 < options->buyers * options->early;
	int64_t lead = options->lead * SECOND;
	int64_t come_us;

	buyer->drill = drill;
	buyer->number = number;
	buyer->dice = (uint64_t)options->seed ^ (uint64_t)number << 32;
	buyer->alarm.fire = buyer_fire;
	buyer->alarm.owner = buyer;
	buyer->port = options->port;
	buyer->plan = draw_plan(buyer);
	buyer->patience_us = draw_patience(buyer);
	buyer->eager = buyer_chance(buyer, 50);
	buyer->bare = !early && buyer_chance(buyer, 2);
	buyer->hangs_up = buyer_chance(buyer, 2);
	buyer->repeats = buyer_chance(buyer, 10);
	come_us = drill->opening_us +
	    (early ? -buyer_draw(buyer, lead / 10, lead)
		   : buyer_draw(buyer, 0, options->seconds * SECOND));
	buyer_later(buyer, come_us - client_now_us(),
	    buyer->bare ? buyer_press : buyer_come);
}
