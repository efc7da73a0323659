"use strict";
// C29: money that takes days. The page says so, nothing is given away for a
// promise, and what comes of it in the end comes once.

const test = require("node:test");
const assert = require("node:assert/strict");
const { Buyer } = require("./lib/http.js");
const { until } = require("./lib/wait.js");
const { age, sql, quote } = require("./lib/sql.js");
const { payable, turns } = require("./lib/pay.js");
const provider = require("./lib/provider.js");
const stripe = require("./lib/stripe.js");
const shop = require("./lib/shop.js");

// Lets so many seconds pass since the provider said that money is on its way.
const wait = (hold, seconds) => sql().run(`update data.payment p
	set checking_at = checking_at - ${seconds} * interval '1 s'
	from data.hold h where h.hold_id = p.hold_id and h.id = ${quote(hold)}`);

// A buyer who has paid by a bank debit that is under way.
async function debited(options = {}) {
	const sale = await payable({ total: 1, ...options });
	await provider.bank(sale.hold, null);
	await turns(sale.buyer, sale.hold, "checking");
	return sale;
}

// The same, days after the hold has ended.
async function daysLater(options) {
	const sale = await debited(options);
	await age(sale.hold, 3 * 86400);
	await wait(sale.hold, 3 * 86400);
	await turns(sale.buyer, sale.hold, "pending");
	return sale;
}

test("C29: unpaid after a minute: pending, neither failed nor paid; no " +
	"goods, no second payment", async () => {
	const { item, buyer, hold } = await debited();
	await wait(hold, 55);
	assert.equal((await buyer.page(hold)).state, "checking");
	await wait(hold, 6);
	const page = await buyer.page(hold);
	assert.equal(page.state, "pending");
	assert.match(page.text, /bank payment is pending/i);
	assert.match(page.text, /do not pay again/i);
	const { json } = await buyer.hold(hold);
	assert.deepEqual([json.state, json.view, json.payment.state],
		["held", "pending", "checking"]);
	assert.equal((await shop.stock(item)).sold, 0);
	const pay = await buyer.pay(hold);
	assert.deepEqual([pay.status, pay.json], [200, { state: "checking" }]);
	await provider.bank(hold, "succeeded");
	await turns(buyer, hold, "paid");
	await shop.audit();
});

test("C29: the debit fails days later: the unit is freed once, the buyer told",
	async () => {
		const { item, buyer, hold } = await daysLater();
		// Its time was over: another has it, and keeps it.
		const other = await new Buyer().take(item);
		assert.equal(other.status, 201);
		await provider.bank(hold, "failed");
		const page = await turns(buyer, hold, "payment_failed");
		assert.match(page.text, /have not been charged/);
		const held = { total: 1, held: 1, sold: 0, free: 0 };
		assert.deepEqual(await shop.stock(item), held);
		await provider.resend(hold);
		assert.deepEqual(await shop.stock(item), held);
		assert.equal((await buyer.page(hold)).state, "payment_failed");
		assert.equal((await buyer.hold(hold)).json.refund, null);
		await shop.audit();
	});

test("C29: the money comes days later, the unit is still there: it is taken " +
	"again", async () => {
	const { item, buyer, hold } = await daysLater();
	await provider.bank(hold, "succeeded");
	const page = await turns(buyer, hold, "paid");
	assert.match(page.text, /data-late="retake"/);
	assert.equal((await shop.stock(item)).sold, 1);
	await provider.resend(hold);
	assert.equal((await shop.stock(item)).sold, 1);
	await shop.audit();
});

for (const [allowance, step] of [[0, "refund"], [1, "allowance"]])
	test("C29: the money comes days later, the unit has gone: the late " +
		`ladder, here to ${step}`, async () => {
		const { item, buyer, hold } = await daysLater({ allowance });
		assert.equal((await new Buyer().take(item)).status, 201);
		await provider.bank(hold, "succeeded");
		const page = await turns(buyer, hold,
			allowance ? "paid" : "refunded");
		assert.match(page.text, allowance ? /data-late="allowance"/
			: /data-refund-reason="paid_late"/);
		const { payment_intent: intent } = await provider.session(hold);
		assert.equal((await provider.refunds(intent)).length, 1 - allowance);
		await shop.audit();
	});

for (const [kind, state] of [["succeeded", "paid"],
	["failed", "payment_failed"]])
	test(`C29: async ${kind} as the first event ever seen`, async () => {
		const { item, buyer, hold } = await payable({ total: 1 });
		const paid = kind === "succeeded";
		const event = await stripe.paidEvent(hold,
			paid ? {} : { payment_status: "unpaid" },
			{ type: `checkout.session.async_payment_${kind}` });
		assert.equal((await stripe.send(event)).status, 200);
		assert.equal((await stripe.inbox(event.id)).outcome, "applied");
		assert.equal((await buyer.page(hold)).state, state);
		// Older news afterwards undoes nothing.
		for (const [type, status] of [
			["checkout.session.completed", "unpaid"],
			["checkout.session.expired", "unpaid"],
			...paid ? [["checkout.session.async_payment_failed", "unpaid"]]
				: []])
			assert.equal((await stripe.send({ ...event, type,
				id: stripe.id("evt_"), data: { object: {
					...event.data.object, payment_status: status } } }))
				.status, 200);
		assert.equal((await buyer.page(hold)).state, state);
		const { held, sold } = await shop.stock(item);
		assert.deepEqual([held, sold], [0, paid ? 1 : 0]);
		await shop.audit();
	});

test("C29: paid, then reported as under way and as failed: it stays paid",
	async () => {
		const { item, buyer, hold } = await debited();
		await provider.bank(hold, "succeeded");
		await turns(buyer, hold, "paid");
		const object = await provider.session(hold);
		for (const type of ["completed", "async_payment_failed"])
			assert.equal((await stripe.send(stripe.event(
				`checkout.session.${type}`,
				{ ...object, payment_status: "unpaid" }))).status, 200);
		assert.equal((await buyer.page(hold)).state, "paid");
		assert.equal((await shop.stock(item)).sold, 1);
		await until("its calls are over", async () =>
			(await shop.order(hold)).payments[0].calls
				.every(({ done_at: at }) => at));
		await shop.audit();
	});
