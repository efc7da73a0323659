"use strict";
// C25: events that come before our own record of what they speak of, and
// those that were never about us.

const test = require("node:test");
const assert = require("node:assert/strict");
const { Buyer } = require("./lib/http.js");
const { until } = require("./lib/wait.js");
const { sql, quote } = require("./lib/sql.js");
const { payable, press, turns } = require("./lib/pay.js");
const provider = require("./lib/provider.js");
const stripe = require("./lib/stripe.js");
const shop = require("./lib/shop.js");

test.afterEach(provider.noFaults);

async function held() {
	const item = await shop.item({ total: 1 });
	const buyer = new Buyer();
	const { json, status, text } = await buyer.take(item);
	assert.equal(status, 201, text);
	return { item, buyer, hold: json.id };
}

// A paid session that the shop does not know; change says what of.
const paid = (change) => stripe.completed({ id: stripe.id("cs_test_"),
	object: "checkout.session", mode: "payment", status: "complete",
	payment_status: "paid", payment_intent: stripe.id("pi_"),
	amount_total: 2500, currency: "eur", metadata: {}, ...change });

// Sends an event that has nothing to act on yet.
async function park(event) {
	assert.equal((await stripe.send(event)).status, 200);
	assert.equal((await stripe.inbox(event.id)).outcome, "unmatched");
}

const outcome = async ({ id }) => (await stripe.inbox(id)).outcome;

test("C25: known by its hold only: parked, and applied when the payment is " +
	"recorded", async () => {
	const { item, buyer, hold } = await held();
	const event = paid({ metadata: { hold_id: hold } });
	await park(event);
	assert.equal((await buyer.page(hold)).state, "held");
	const { json } = await buyer.pay(hold);
	assert.equal(json.state, "paid");
	assert.equal((await buyer.page(hold)).state, "paid");
	assert.equal(await outcome(event), "applied");
	assert.equal((await shop.stock(item)).sold, 1);
	await shop.audit();
});

test("C25: known by its session only, while the answer that names it is " +
	"still on its way", async () => {
	const { item, buyer, hold } = await held();
	await provider.fault("open", "timeout", { times: 1, ms: 1500 });
	assert.equal((await buyer.pay(hold)).status, 202);
	// The provider has it already.
	const { id } = await until("the session", () => sql().row(`select id
		from sandbox_data.session
		where success_url like ${quote(`%${hold}%`)}`));
	const event = paid({ id });
	await park(event);
	await turns(buyer, hold, "paid");
	assert.equal(await outcome(event), "applied");
	assert.equal((await shop.stock(item)).sold, 1);
	await shop.audit();
});

// Refunds and disputes carry the payment's name alone: the event that ties it
// to an order is the one that says paid.
test("C25: known by its payment only: a refund and a dispute before the money",
	async () => {
		for (const [early, state, tasks, free] of [
			[stripe.event("refund.created", { id: stripe.id("re_"),
				object: "refund", amount: 2500, currency: "eur",
				status: "succeeded" }), "refunded", [], 1],
			[stripe.event("charge.dispute.created", { id: stripe.id("du_"),
				object: "dispute", amount: 2500, currency: "eur",
				status: "needs_response" }), "paid", ["dispute"], 0],
		]) {
			const { item, buyer, hold } = await payable({ total: 1 });
			const event = await stripe.paidEvent(hold);
			Object.assign(early.data.object, { metadata: {},
				payment_intent: event.data.object.payment_intent });
			await park(early);
			assert.equal((await stripe.send(event)).status, 200);
			assert.equal((await buyer.page(hold)).state, state);
			assert.notEqual(await outcome(early), "unmatched");
			assert.deepEqual(await shop.taskKinds(hold), tasks);
			assert.equal((await shop.stock(item)).free, free);
			await shop.audit();
		}
	});

test("C25: the event meets the record of its payment, 30 rounds: always paid",
	async () => {
		const sales = await Promise.all(Array.from({ length: 30 }, held));
		await Promise.all(sales.map(async ({ buyer, hold }) => {
			const event = paid({ metadata: { hold_id: hold } });
			const [told] = await Promise.all(
				[stripe.send(event), buyer.pay(hold)]);
			assert.equal(told.status, 200, told.text);
		}));
		for (const { item, buyer, hold } of sales) {
			await turns(buyer, hold, "paid");
			assert.equal((await shop.stock(item)).sold, 1);
		}
		await shop.audit();
	});

// "3 unmatched" of the line that counts them all.
async function count(name) {
	const { out } = await shop.lastpair("event", "list", "--limit", "1");
	const [, n] = new RegExp(`\\b(\\d+) ${name}\\b`).exec(out) || [];
	return Number(n || 0);
}

test("C25: what never was ours is 200, kept as unmatched, listed and counted",
	async () => {
		const before = await count("unmatched");
		const events = [
			paid({ metadata: { hold_id: "hld_0000000000000000000000" } }),
			paid({}),
			stripe.event("refund.created", { id: stripe.id("re_"),
				object: "refund", amount: 2500, currency: "eur",
				status: "succeeded", payment_intent: stripe.id("pi_"),
				metadata: {} }),
		];
		for (const event of events) {
			await park(event);
			// A repeat is counted at its event, not as another one.
			assert.equal((await stripe.send(event)).status, 200);
		}
		assert.equal(await count("unmatched"), before + events.length);
		const listed = (await shop.lastpair("event", "list", "--outcome",
			"unmatched", "--json")).json();
		for (const { id } of events)
			assert.equal(listed.find(({ event_id: name }) => name === id)
				.deliveries, 2);
		assert.deepEqual((await shop.tasks()).filter(({ subject }) =>
			listed.some(({ seq }) => subject === `event ${seq}`)), []);
		await shop.audit();
	});

test("C25: a buyer who pays and never returns: the order completes, nobody " +
	"looks", async () => {
	const { item, hold, url } = await payable({ total: 1 });
	await press(url, "pay");
	await until("sold", async () => (await shop.stock(item)).sold === 1);
	assert.equal((await shop.order(hold)).hold.state, "paid");
	await shop.audit();
});
