"use strict";
// What providers do: repeats, late and early news, odd amounts.

const test = require("node:test");
const assert = require("node:assert/strict");
const { until } = require("./lib/wait.js");
const { Session, sql, quote } = require("./lib/sql.js");
const { payable } = require("./lib/pay.js");
const { address } = require("./lib/mail.js");
const provider = require("./lib/provider.js");
const stripe = require("./lib/stripe.js");
const shop = require("./lib/shop.js");

async function effects(item, hold) {
	const { sold, held } = await shop.stock(item);
	const row = await sql().row(`select
		(select count(*) from data.payment p where p.hold_id = h.hold_id
			and p.state = 'paid') as paid,
		(select count(*) from data.refund r join data.payment p
			using (payment_id) where p.hold_id = h.hold_id) as refunds,
		(select count(*) from data.mail m
			where m.hold_id = h.hold_id) as mails
		from data.hold h where h.id = ${quote(hold)}`);
	return { sold, held, ...row };
}

// Who left no address gets no mail.
const ONCE = { sold: 1, held: 0, paid: 1, refunds: 0, mails: 0 };
const TOLD = { ...ONCE, mails: 1 };

test("C22: one event ten times at once, again, under another id, after a " +
	"reload and after three days: one effect, one mail, all 200", async () => {
	const { item, hold, buyer } = await payable({ total: 3,
		email: address() });
	const event = await stripe.paidEvent(hold);
	const ten = await Promise.all(Array.from({ length: 10 }, () =>
		stripe.send(event)));
	ten.forEach(({ status, text }) => assert.equal(status, 200, text));
	assert.deepEqual(await effects(item, hold), TOLD);
	assert.equal((await stripe.send(event)).status, 200);
	const twin = { ...event, id: stripe.id("evt_") };
	assert.equal((await stripe.send(twin)).status, 200);
	assert.equal((await stripe.inbox(twin.id)).outcome, "repeat");
	const intent = stripe.event("payment_intent.succeeded", {
		id: event.data.object.payment_intent, object: "payment_intent",
		amount: 2500, amount_received: 2500, currency: "eur",
		status: "succeeded", metadata: { hold_id: hold } });
	assert.equal((await stripe.send(intent)).status, 200);
	await shop.reload();
	assert.equal((await stripe.send(event)).status, 200);
	// Signed anew, as a retry is; the event itself is three days old.
	await sql().run(`update data.event
		set received_at = received_at - interval '3 days'
		where event_id = ${quote(event.id)}`);
	assert.equal((await stripe.send(event)).status, 200);
	assert.deepEqual(await effects(item, hold), TOLD);
	const seen = await stripe.inbox(event.id);
	assert.deepEqual([seen.outcome, seen.deliveries], ["applied", 13]);
	assert.equal((await buyer.page(hold)).state, "paid");
	await shop.audit();
});

test("C22: a worker killed among ten copies: redelivery finishes it once",
	async () => {
		const { item, hold } = await payable({ total: 3,
			email: address() });
		const event = await stripe.paidEvent(hold);
		const [victim] = shop.workers();
		const ten = Array.from({ length: 10 }, () =>
			stripe.send(event).catch(() => null));
		process.kill(victim, "SIGKILL");
		(await Promise.all(ten)).forEach((answer) =>
			assert.ok([200, 503].includes(answer.status), answer.text));
		await until("200", async () =>
			(await stripe.send(event)).status === 200);
		assert.deepEqual(await effects(item, hold), TOLD);
		await until("the worker is back", () =>
			shop.workers().length === 2 && !shop.workers().includes(victim));
		await shop.audit();
	});

test("an amount or a currency that differs goes to a person", async () => {
	for (const change of [{ amount_total: 2499 }, { amount_total: 2501 },
		{ currency: "usd" }, { amount_total: Number.MAX_SAFE_INTEGER }]) {
		const { hold, item, buyer } = await payable({ total: 1 });
		const event = await stripe.paidEvent(hold, change);
		const answer = await stripe.send(event);
		assert.equal(answer.status, 200, answer.text);
		assert.equal((await stripe.inbox(event.id)).outcome, "person");
		assert.equal((await shop.stock(item)).sold, 0);
		assert.equal((await buyer.page(hold)).state, "checking");
		assert.deepEqual(await shop.taskKinds(hold), ["mismatch"]);
		const { refunds } = await effects(item, hold);
		assert.equal(refunds, 0);
	}
	await shop.audit();
});

test("two events of two facts for one hold, in any order", async () => {
	// expired, then paid after all: the order is served, or refunded; once.
	const { hold, item, buyer } = await payable({ total: 1 });
	const object = await provider.session(hold);
	const expired = stripe.event("checkout.session.expired",
		{ ...object, status: "expired", payment_status: "unpaid" });
	const paid = await stripe.paidEvent(hold);
	for (const event of [expired, paid, expired, paid])
		assert.equal((await stripe.send(event)).status, 200);
	assert.deepEqual(await effects(item, hold), ONCE);
	assert.equal((await buyer.page(hold)).state, "paid");
	await shop.audit();
});

test("giving up meets the payment, 40 rounds: one of them, never both",
	async () => {
		for (let round = 0; round < 40; round += 1) {
			const { hold, item, buyer } = await payable({ total: 1,
				late: round % 2 ? "refund" : "retake,refund" });
			const event = await stripe.paidEvent(hold);
			const [drop, told] = await Promise.all(
				[buyer.drop(hold), stripe.send(event)]);
			assert.equal(told.status, 200);
			assert.ok([200, 410].includes(drop.status), drop.text);
			const { outcome } = await stripe.inbox(event.id);
			const { sold, held } = await shop.stock(item);
			assert.equal(held, 0);
			assert.equal(sold, outcome === "applied" ? 1 : 0);
			if (drop.status === 410)
				assert.equal(outcome, "applied");
		}
		await shop.audit();
	});

test("the database is busy: 503, and the event comes again", async () => {
	const { hold, item } = await payable({ total: 1 });
	const locker = new Session();
	await locker.run(`begin; select 1 from data.stock
		join data.item using (item_id)
		where sku = ${quote(item)} for update of stock`);
	const event = await stripe.paidEvent(hold);
	const answer = await stripe.send(event);
	assert.equal(answer.status, 503);
	assert.ok(answer.headers["retry-after"]);
	await locker.run("rollback");
	locker.close();
	assert.equal((await stripe.send(event)).status, 200);
	assert.deepEqual(await effects(item, hold), ONCE);
	await shop.audit();
});

// That record webhooks, of all workers.
const THREADS = 4;

async function othersOfLocked(locksFirst) {
	const orders = [await payable({ total: 1 }), await payable({ total: 1 })];
	const [busy, free] = locksFirst ? orders : orders.reverse();
	const locker = new Session();
	await locker.run(`begin; select 1 from data.stock
		join data.item using (item_id)
		where sku = ${quote(busy.item)} for update of stock`);
	// Each thread has one that waits for the lock; the others gather.
	const event = await stripe.paidEvent(busy.hold);
	const same = (n) => Array.from({ length: n }, () => stripe.send(event));
	// Not at once: one thread would take them all.
	const first = [];
	await until("all threads wait", async () => {
		first.push(...same(1));
		return (await sql().row(`select count(*) as n from pg_stat_activity
			where wait_event_type = 'Lock'
			and usename = 'lastpair_web'`)).n === THREADS;
	});
	first.push(...same(12));
	const other = await stripe.paidEvent(free.hold);
	const others = Array.from({ length: 12 }, (none, i) => stripe.send(
		{ ...other, id: `${other.id}_${i}` }));
	const more = same(12);
	(await Promise.all(others)).forEach(({ status, text }) =>
		assert.equal(status, 200, text));
	(await Promise.all([...first, ...more])).forEach(({ status }) =>
		assert.equal(status, 503));
	await locker.run("rollback");
	locker.close();
	assert.equal((await stripe.send(event)).status, 200);
	assert.deepEqual(await effects(busy.item, busy.hold), ONCE);
	assert.deepEqual(await effects(free.item, free.hold), ONCE);
	await shop.audit();
}

// What is locked first may be had while one waits for the other.
test("the stock of one order is locked: the news of others, that wait behind " +
	"its own, is taken all the same", () => othersOfLocked(true));
test("and when their own stock is locked first", () => othersOfLocked(false));
