"use strict";
// Money that comes too late: the unit again if one is free, else the money
// back, once; and the buyer is told.

const test = require("node:test");
const assert = require("node:assert/strict");
const { Buyer } = require("./lib/http.js");
const { sleep, until } = require("./lib/wait.js");
const { Session, age, sql, quote } = require("./lib/sql.js");
const { pageOf, press, turns } = require("./lib/pay.js");
const provider = require("./lib/provider.js");
const stripe = require("./lib/stripe.js");
const shop = require("./lib/shop.js");

// A buyer at an open pay page whose hold has just lapsed.
async function lapsed(item) {
	const buyer = new Buyer();
	const { json, status, text } = await buyer.take(item);
	assert.equal(status, 201, text);
	await pageOf(buyer, json.id);
	await age(json.id, 605);
	return { buyer, hold: json.id };
}

async function bought(item) {
	const buyer = new Buyer();
	const { json, status } = await buyer.take(item);
	assert.equal(status, 201);
	await press(await pageOf(buyer, json.id), "pay");
	await turns(buyer, json.id, "paid");
	return { buyer, hold: json.id };
}

test("C11: paid late, nobody took it: the order completes, sold = 1",
	async () => {
		const item = await shop.item({ total: 1 });
		const { buyer, hold } = await lapsed(item);
		const intent = await provider.payAnyway(hold);
		await turns(buyer, hold, "paid");
		assert.deepEqual(await shop.stock(item),
			{ total: 1, held: 0, sold: 1, free: 0 });
		assert.deepEqual(await provider.refunds(intent), []);
		await shop.audit();
	});

test("C11: paid late, none free: refunded once, and the page says why",
	async () => {
		const item = await shop.item({ total: 1 });
		const b1 = await lapsed(item);
		const b2 = await bought(item);
		const intent = await provider.payAnyway(b1.hold);
		const page = await turns(b1.buyer, b1.hold, "refunded");
		assert.match(page.text, /data-refund-reason="paid_late"/);
		const { json } = await b1.buyer.hold(b1.hold);
		assert.equal(json.state, "released");
		assert.deepEqual(json.refund,
			{ state: "succeeded", reason: "paid_late", amount: 2500 });
		const refunds = await provider.refunds(intent);
		assert.equal(refunds.length, 1);
		assert.equal(refunds[0].amount, 2500);
		assert.notEqual(refunds[0].reason, "fraudulent");
		assert.equal((await shop.show(item)).sold, 1);
		assert.equal((await b2.buyer.page(b2.hold)).state, "paid");
		// All of it again, late and twice: still one.
		assert.ok(await provider.resend(b1.hold) > 1);
		const again = await stripe.send(stripe.completed(
			await stripe.paid(b1.hold, { payment_intent: intent })));
		assert.equal(again.status, 200);
		assert.equal((await provider.refunds(intent)).length, 1);
		const order = await shop.order(b1.hold);
		assert.deepEqual(order.payments[0].refunds.map(({ key }) => key),
			[`refund-${b1.hold}`]);
		await shop.audit();
	});

test("paid late after giving up: the same ladder", async () => {
	const item = await shop.item({ total: 1 });
	const buyer = new Buyer();
	const { json } = await buyer.take(item);
	await pageOf(buyer, json.id);
	await buyer.drop(json.id);
	await bought(item);
	const intent = await provider.payAnyway(json.id);
	await turns(buyer, json.id, "refunded");
	assert.equal((await provider.refunds(intent)).length, 1);
	await shop.audit();
});

// One unit and one of an allowance; whether another buyer has the unit; which
// step serves the money that comes late.
const LADDERS = [
	["retake,allowance,refund", false, "retake"],
	["retake,allowance,refund", true, "allowance"],
	["allowance,refund", true, "allowance"],
	["retake,refund", true, "refund"],
	["refund", false, "refund"],
];

for (const [late, taken, step] of LADDERS)
	test(`C11: late money, ladder ${late}, the unit is ` +
		`${taken ? "sold" : "free"}: ${step}, and the page says so`,
	async () => {
		const item = await shop.item({ total: 1, allowance: 1, late });
		const { buyer, hold } = await lapsed(item);
		if (taken)
			await bought(item);
		const intent = await provider.payAnyway(hold);
		const served = step !== "refund";
		const page = await turns(buyer, hold, served ? "paid" : "refunded");
		assert.ok(page.text.includes(`data-late="${served ? step : ""}"`));
		assert.ok(page.text.includes(
			`data-refund-reason="${served ? "" : "paid_late"}"`));
		const { json } = await buyer.hold(hold);
		assert.equal(json.late, served ? step : null);
		assert.deepEqual(json.refund, served ? null : { state: "succeeded",
			reason: "paid_late", amount: 2500 });
		assert.equal((await provider.refunds(intent)).length, served ? 0 : 1);
		assert.equal((await shop.stock(item)).sold,
			Number(served) + Number(taken));
		await shop.audit();
	});

test("paid late, while the buyer holds it anew: the limit is kept",
	async () => {
		const item = await shop.item({ total: 5 });
		const { buyer, hold } = await lapsed(item);
		const second = await buyer.take(item);
		assert.equal(second.status, 201);
		const intent = await provider.payAnyway(hold);
		await turns(buyer, hold, "refunded");
		assert.equal((await provider.refunds(intent)).length, 1);
		assert.equal((await buyer.hold(second.json.id)).json.state, "held");
		await shop.audit();
	});

test("an expired session that was not paid owes nothing", async () => {
	const item = await shop.item({ total: 1 });
	const { buyer, hold } = await lapsed(item);
	await until("expired", async () =>
		(await provider.session(hold)).status === "expired");
	await until("its event is in the inbox", async () => (await sql().row(`
		select count(*) as n from data.event
		where type = 'checkout.session.expired'
		and hold = ${quote(hold)}`)).n === 1);
	assert.equal((await buyer.page(hold)).state, "expired");
	assert.equal((await shop.show(item)).free, 1);
	await shop.audit();
});

test("a refund that fails later is a person's business", async () => {
	const item = await shop.item({ total: 1 });
	const { buyer, hold } = await lapsed(item);
	await bought(item);
	const intent = await provider.payAnyway(hold);
	await turns(buyer, hold, "refunded");
	const [refund] = await provider.refunds(intent);
	await provider.refundFails(refund.id);
	await turns(buyer, hold, "refund_failed");
	assert.deepEqual(await shop.taskKinds(hold), ["refund_failed"]);
	// Older news does not bring it back.
	await stripe.send(stripe.event("refund.updated", refund));
	assert.equal((await buyer.page(hold)).state, "refund_failed");
});

// The success event meets the sweep at the end of the hold: each unit ends
// one way. Both sides through the functions that the processes call.
test("C14: payment against sweep, 200 rounds: sold or free, never both",
	async () => {
		const rounds = 200;
		const item = await shop.item({ total: rounds });
		const [payer, sweeper] =
			[new Session("lastpair_web"), new Session("lastpair_sweeper")];
		const holds = await Promise.all(Array.from({ length: rounds },
			async () => {
				const buyer = new Buyer();
				const { json } = await buyer.take(item);
				await buyer.pay(json.id);
				return json.id;
			}));
		for (const hold of holds) {
			// It ends within this very round.
			await age(hold, 599);
			await sql().run(`do $$ begin
				update data.hold_line l
				set expires_at = clock_timestamp() + interval '20 ms'
				from data.hold h where h.hold_id = l.hold_id
				and h.id = ${quote(hold)};
				update data.hold
				set expires_at = clock_timestamp() + interval '20 ms'
				where id = ${quote(hold)}; end $$`);
			await sleep(Math.random() * 40);
			await Promise.all([
				payer.run(`select api.payment_settle('stripe',
					${quote(stripe.id("evt_"))}, 'checkout.session.completed',
					'paid', null, ${quote(hold)}, null,
					${quote(stripe.id("pi_"))}, null, null, 2500, 'EUR',
					null, '{}')`),
				sweeper.run("select * from api.sweep(500)"),
			]);
		}
		payer.close();
		sweeper.close();
		// Each was paid, late or not, and a unit was free: all are served.
		const states = await sql().rows(`select h.state, count(*) as n
			from data.hold h join data.hold_line l using (hold_id)
			join data.item i using (item_id) where i.sku = ${quote(item)}
			group by 1`);
		assert.deepEqual(states, [{ state: "paid", n: rounds }]);
		assert.deepEqual(await shop.stock(item),
			{ total: rounds, held: 0, sold: rounds, free: 0 });
		await shop.audit();
	});
