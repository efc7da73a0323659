"use strict";
// What a person does about money: giving it back, looking into the inbox and
// reading it again, and settling what waits for somebody.

const test = require("node:test");
const assert = require("node:assert/strict");
const { Buyer } = require("./lib/http.js");
const { until } = require("./lib/wait.js");
const { sql, quote } = require("./lib/sql.js");
const { payable, press, turns } = require("./lib/pay.js");
const provider = require("./lib/provider.js");
const stripe = require("./lib/stripe.js");
const shop = require("./lib/shop.js");

const REASON = /^lastpair: [^\n]+\n$/;

async function paid(options) {
	const bought = await payable(options);
	await press(bought.url, "pay");
	await turns(bought.buyer, bought.hold, "paid");
	const { payment_intent: intent } = await provider.session(bought.hold);
	return { ...bought, intent };
}

async function done(...words) {
	const result = await shop.lastpair(...words);
	assert.equal(result.status, 0, `${words.join(" ")}: ${result.err}`);
	return result;
}

async function refused(status, ...words) {
	const result = await shop.lastpair(...words);
	assert.equal(result.status, status, `${words.join(" ")}: ${result.out}`);
	assert.match(result.err, REASON);
	return result.err;
}

test("order refund: a part, then the rest; all of it cancels the order",
	async () => {
		const { item, buyer, hold, number, intent } =
			await paid({ total: 1, price: "129.00" });
		const part = await done("order", "refund", number, "--amount",
			"29.00", "--yes");
		assert.match(part.out, /was paid with 129\.00 EUR/);
		assert.match(part.out, /29\.00 EUR of it go back now, and 100\.00 EUR/);
		assert.match(part.out, /on its way back, 100\.00 EUR are left/);
		await until("it has gone back", async () => {
			const list = await provider.refunds(intent);
			return list.length === 1 && list[0].amount === 2900;
		});
		assert.equal((await shop.stock(item)).sold, 1);
		assert.equal((await buyer.page(hold)).state, "paid");
		assert.match(await refused(1, "order", "refund", hold, "--amount",
			"100.01", "--yes"), /not so much left/);
		const rest = await done("order", "refund", hold, "--yes", "--json");
		assert.deepEqual(rest.json(), { order: number, refunded: 12900,
			left: 0, currency: "EUR" });
		await turns(buyer, hold, "refunded");
		assert.deepEqual((await provider.refunds(intent))
			.map(({ amount }) => amount).sort(), [10000, 2900]);
		// The pair is on sale again.
		assert.deepEqual(await shop.stock(item),
			{ total: 1, held: 0, sold: 0, free: 1 });
		assert.equal((await new Buyer().take(item)).status, 201);
		assert.match(await refused(1, "order", "refund", hold, "--yes"),
			/gone back already/);
		const [{ refunds }] = (await shop.order(hold)).payments;
		assert.deepEqual(refunds.map(({ key, reason }) => [key, reason]), [
			[`refund-${hold}`, "asked_for"],
			[`refund-${hold}-2`, "asked_for"]]);
		refunds.forEach(({ asked_by: by }) => assert.ok(by.length > 0));
		await shop.audit();
	});

test("order refund asks, and says what it will not do", async () => {
	const { hold, intent } = await paid({ total: 1 });
	// Nobody is at a terminal here.
	assert.match(await refused(2, "order", "refund", hold), /--yes/);
	assert.match(await refused(2, "order", "refund", hold, "--json"), /--yes/);
	assert.match(await refused(2, "order", "refund", hold, "--yes",
		"--amount", "1.005"), /--amount/);
	await refused(2, "order", "refund", hold, "--yes", "--amount", "0");
	await refused(2, "order", "refund", "--yes");
	await refused(1, "order", "refund", "ord_1", "--yes");
	const { buyer, hold: unpaid } = await payable({ total: 1 });
	assert.match(await refused(1, "order", "refund", unpaid, "--yes"),
		/no money has come/);
	await buyer.drop(unpaid);
	await provider.lever(`payments/${intent}/dispute`);
	await until("the bank looks into it", async () =>
		(await shop.order(hold)).payments[0].dispute === "open");
	assert.match(await refused(1, "order", "refund", hold, "--yes"),
		/the bank/);
	assert.deepEqual(await provider.refunds(intent), []);
	await shop.audit();
});

test("order list: what was paid, by state and item", async () => {
	const { item, hold, number } = await paid({ total: 2, price: "12.50" });
	const rows = (await done("order", "list", "--item", item, "--json"))
		.json();
	assert.deepEqual(rows.map((row) => [row.order, row.hold, row.state,
		row.captured, row.refunded]), [[number, hold, "paid", 1250, 0]]);
	const text = await done("order", "list", "--item", item);
	assert.match(text.out, /12\.50 EUR\s+12\.50 EUR\s+0\.00 EUR/);
	assert.deepEqual((await done("order", "list", "--item", item, "--state",
		"released", "--json")).json(), []);
	await refused(2, "order", "list", "--state", "lost");
	await refused(2, "order", "list", "--limit", "0");
});

test("event show: the bytes as they came; event list: how many of each",
	async () => {
		const { hold } = await payable({ total: 1 });
		const event = await stripe.paidEvent(hold);
		await stripe.send(event);
		const shown = (await done("event", "show", event.id, "--json")).json();
		assert.deepEqual(JSON.parse(shown.body), event);
		assert.equal(shown.outcome, "applied");
		assert.equal(shown.hold, hold);
		const byNumber = (await done("event", "show", String(shown.seq),
			"--json")).json();
		assert.equal(byNumber.event_id, event.id);
		const text = await done("event", "show", event.id);
		assert.match(text.out, new RegExp(`outcome\\s+applied`));
		const list = await done("event", "list", "--limit", "3");
		assert.match(list.out, /\n(\d+ \w+, )*\d+ \w+ in all\n$/);
		await refused(1, "event", "show", "evt_nobody");
		await refused(2, "event", "show");
		await refused(2, "event", "list", "--outcome", "splendid");
	});

test("event replay: what could not be used is read again by a better reader",
	async () => {
		const { item, buyer, hold } = await payable({ total: 1 });
		const event = await stripe.paidEvent(hold);
		await stripe.send(event);
		await turns(buyer, hold, "paid");
		// As if a version that knew nothing of it had kept it.
		await sql().run(`do $$ begin
			update data.event set kind = 'ignore', outcome = 'ignored',
				hold = null, key = null, session_id = null, amount = null,
				detail = 'a type that is not needed'
			where event_id = ${quote(event.id)};
			update data.hold_line l set state = 'held'
			from data.hold h where h.hold_id = l.hold_id
				and h.id = ${quote(hold)};
			update data.stock s set sold = sold - 1, held = held + 1
			from data.item i where i.item_id = s.item_id
				and i.sku = ${quote(item)};
			update data.hold set state = 'held', ended_at = null
			where id = ${quote(hold)};
			update data.payment p set state = 'open', captured = 0,
				paid_at = null
			from data.hold h where h.hold_id = p.hold_id
				and h.id = ${quote(hold)};
			end $$`);
		assert.equal((await buyer.hold(hold)).json.state, "held");
		const first = await done("event", "replay", event.id);
		assert.match(first.out, /applied\s+evt_/);
		assert.match(first.out, /1 read again: 1 applied\n$/);
		assert.equal((await buyer.hold(hold)).json.state, "paid");
		assert.equal((await stripe.inbox(event.id)).kind, "paid");
		const again = (await done("event", "replay", event.id, "--json"))
			.json();
		assert.deepEqual(again.map(({ event_id: id }) => id), [event.id]);
		assert.equal((await shop.stock(item)).sold, 1);
		await refused(1, "event", "replay", "evt_nobody");
		await refused(2, "event", "replay");
		await refused(2, "event", "replay", event.id, "--all");
		await refused(2, "event", "replay", "--outcome", "splendid");
		assert.deepEqual((await done("event", "replay", "--outcome",
			"unusable", "--json")).json().filter(({ event_id: id }) =>
			id === event.id), []);
		await shop.audit();
	});

// Everything that money and goods are, but for when something was tried.
const books = () => sql().row(`select
	(select md5(string_agg(h::text, '' order by hold_id)) from data.hold h)
		as holds,
	(select md5(string_agg(l::text, '' order by hold_id, item_id, bucket))
		from data.hold_line l) as lines,
	(select md5(string_agg(p::text, '' order by payment_id))
		from data.payment p) as payments,
	(select md5(string_agg(r::text, '' order by refund_id))
		from data.refund r) as refunds,
	(select md5(string_agg(concat_ws(',', item_id, bucket, total, allowance,
		held, sold), ';' order by item_id, bucket)) from data.stock) as stock,
	(select count(*) from data.task where settled_at is null) as tasks,
	(select count(*) from data.outbox where done_at is null
		and kind <> 'fetch') as calls,
	(select count(*) from data.mail) as mails,
	(select md5(string_agg(concat_ws(',', event_seq, outcome), ';'
		order by event_seq)) from data.event) as outcomes`);

test("event replay --all changes nothing, however often", async () => {
	const late = await shop.item({ total: 1, late: "refund" });
	const buyer = new Buyer();
	const { json } = await buyer.take(late);
	await until("a page", () => buyer.pay(json.id).then(
		({ json: answer }) => answer.url));
	await buyer.drop(json.id);
	await provider.payAnyway(json.id);
	await turns(buyer, json.id, "refunded");
	await paid({ total: 1 });
	await stripe.send(stripe.event("customer.created", { id: "cus_1",
		object: "customer" }));
	// Nothing else is under way: no call, no webhook.
	await until("quiet", async () => (await sql().row(`select
		(select count(*) from data.outbox where done_at is null and not stuck
			and next_try <= clock_timestamp() + interval '1 second')
		+ (select count(*) from sandbox_data.delivery
			where next_try <= clock_timestamp() + interval '1 minute')
		as n`)).n === 0, { within: 30000 });
	// Holds end at their time, whoever looks.
	const others = ["sweeper", "cashier"].map(shop.processOf);
	await shop.frozen(others, async () => {
		const { n } = await sql().row("select count(*) as n from data.event");
		const before = await books();
		for (let i = 0; i < 2; i += 1) {
			const all = await done("event", "replay", "--all", "--json");
			assert.equal(all.json().length, n);
			assert.deepEqual(await books(), before);
		}
	});
	await shop.audit();
});

// A refund that the provider did not answer until its call was given up.
async function stuck() {
	const { hold, buyer, intent } = await paid({ total: 1 });
	const { fault } = await provider.lever("faults",
		{ target: "refund", kind: "unavailable" });
	await done("order", "refund", hold, "--yes");
	const task = await until("the call is given up", async () => {
		await sql().run(`do $$ begin
			update data.outbox o set try = 1000, next_try = clock_timestamp()
			from data.hold h where h.hold_id = o.hold_id
				and h.id = ${quote(hold)} and o.kind = 'refund'
				and o.done_at is null and not o.stuck and try < 1000;
			perform pg_notify('lastpair_cashier', ''); end $$`);
		return (await done("task", "list", "--json")).json()
			.find(({ kind, hold: of }) => kind === "stuck" && of === hold);
	}, { within: 30000 });
	await provider.lever(`faults/${fault}/clear`);
	return { hold, buyer, intent, task };
}

test("task retry makes a call again that was given up; settle says how",
	async () => {
		const { hold, buyer, intent, task } = await stuck();
		const text = await done("audit");
		assert.ok(text.out.includes(task.subject), text.out);
		assert.deepEqual(await provider.refunds(intent), []);
		await done("task", "retry", String(task.task));
		await turns(buyer, hold, "refunded");
		assert.equal((await provider.refunds(intent)).length, 1);
		// What became of it was not known: the key is the same.
		assert.deepEqual((await sql().rows(`select key
			from sandbox_data.idempotency
			where key like 'refund-${hold}%'`)).map(({ key }) => key),
		[`refund-${hold}`]);
		assert.match(await refused(1, "task", "retry", String(task.task)),
			/settled before/);
		const all = (await done("task", "list", "--all", "--json")).json();
		const over = all.find(({ task: n }) => n === task.task);
		assert.ok(over.settled_at);
		assert.ok(over.settled_by.length > 0);
		await shop.audit();
	});

// The bank looked into it, and we were not told: the provider's no is stored
// under the refund's key, and stays its answer for a day.
test("task retry of a call that was refused takes a new key", async () => {
	const { hold, buyer, intent } = await paid({ total: 1 });
	await provider.fault("delivery", "drop");
	const { dispute } = await provider.dispute(intent);
	await done("order", "refund", hold, "--yes");
	const task = await until("the call is refused", async () =>
		(await done("task", "list", "--json")).json()
			.find(({ kind, hold: of }) => kind === "refused" && of === hold));
	assert.match(task.detail, /charge_disputed/);
	await provider.closeDispute(dispute, "won");
	await provider.noFaults();
	assert.deepEqual(await provider.refunds(intent), []);
	await done("task", "retry", String(task.task));
	await turns(buyer, hold, "refunded");
	const there = await provider.refunds(intent);
	assert.deepEqual(there.map(({ metadata }) => metadata.key),
		[`refund-${hold}`]);
	const keys = await sql().rows(`select key, status
		from sandbox_data.idempotency where key like 'refund-${hold}%'
		order by key`);
	assert.deepEqual(keys.map(({ key, status }) => [key, status]), [
		[`refund-${hold}`, 400], [`refund-${hold}-again-2`, 200]]);
	await shop.audit();
});

test("task settle needs a note, and keeps it", async () => {
	const { hold } = await payable({ total: 1 });
	await stripe.send(await stripe.paidEvent(hold, { amount_total: 2600 }));
	const task = await until("somebody is needed", async () =>
		(await done("task", "list", "--json")).json()
			.find(({ hold: of }) => of === hold));
	assert.equal(task.kind, "mismatch");
	assert.match((await done("task", "list")).out, /paid 2600 EUR/);
	const number = String(task.task);
	assert.match(await refused(1, "task", "retry", number), /no call/);
	await refused(2, "task", "settle", number);
	await refused(2, "task", "settle", number, "--note", "");
	await refused(2, "task", "settle", "--note", "x");
	await refused(2, "task", "settle", "one", "--note", "x");
	await refused(1, "task", "settle", "999999999", "--note", "x");
	await done("task", "settle", number, "--note", "sent 1.00 back by hand");
	assert.match(await refused(1, "task", "settle", number, "--note", "y"),
		/settled before/);
	const all = (await done("task", "list", "--all", "--json")).json();
	assert.equal(all.find(({ task: n }) => n === task.task).note,
		"sent 1.00 back by hand");
	assert.match((await done("task", "list", "--all")).out,
		/sent 1\.00 back by hand/);
});
