"use strict";
// Two payments for one order: one is kept, one goes back, whichever comes
// first. The second page is a twin of the shop's: opened with its key and its
// metadata, as by a call whose answer was lost.

const test = require("node:test");
const assert = require("node:assert/strict");
const { request, PAY } = require("./lib/http.js");
const { until } = require("./lib/wait.js");
const { age, sql, quote } = require("./lib/sql.js");
const { payable, turns } = require("./lib/pay.js");
const provider = require("./lib/provider.js");
const stripe = require("./lib/stripe.js");
const shop = require("./lib/shop.js");

// Opens a second page for a hold; its session's id.
async function twin(hold) {
	const { metadata } = await provider.session(hold);
	const fields = {
		mode: "payment",
		success_url: `http://127.0.0.1/order/${hold}`,
		"line_items[0][quantity]": "1",
		"line_items[0][price_data][currency]": "eur",
		"line_items[0][price_data][unit_amount]": "2500",
		"line_items[0][price_data][product_data][name]": "Twin",
		"allowed_payment_method_types[0]": "card",
	};
	for (const [name, value] of Object.entries(metadata)) {
		fields[`metadata[${name}]`] = value;
		fields[`payment_intent_data[metadata][${name}]`] = value;
	}
	const answer = await request("POST", "/v1/checkout/sessions", {
		base: PAY,
		headers: {
			...provider.keys("open_key"),
			"Idempotency-Key": stripe.id("twin-"),
			"Content-Type": "application/x-www-form-urlencoded",
		},
		body: new URLSearchParams(fields).toString(),
	});
	assert.equal(answer.status, 200, answer.text);
	return answer.json.id;
}

const pay = (id) => provider.lever(`sessions/${id}/pay`,
	{ even_if_expired: true });

const intentOf = async (id) =>
	(await provider.ask(`/v1/checkout/sessions/${id}`)).payment_intent;

// What became of the money of these sessions, once none of it is owed.
async function books(hold, ids) {
	const { n } = await until("all money is where it belongs", () =>
		sql().row(`select count(*) as n from data.payment p
			join data.hold h using (hold_id)
			where h.id = ${quote(hold)} and p.captured > 0
			having count(*) = ${ids.length} and not exists (
				select from data.refund r join data.payment q
				using (payment_id) where q.hold_id = min(p.hold_id)
				and r.state in ('owed', 'pending'))`));
	assert.equal(n, ids.length);
	const gone = await Promise.all(ids.map(async (id) => {
		const refunds = await provider.refunds(await intentOf(id));
		return refunds.reduce((sum, { amount }) => sum + amount, 0);
	}));
	return gone;
}

const orders = [
	["the shop's page first", async ([own, other]) => {
		await pay(own);
		await pay(other);
	}],
	["the twin first", async ([own, other]) => {
		await pay(other);
		await pay(own);
	}],
	["both at once", (ids) => Promise.all(ids.map(pay))],
];

for (const [name, act] of orders)
	test(`two payments for one order, ${name}: one kept, one refunded`,
		async () => {
			const { item, buyer, hold } = await payable({ total: 2 });
			const ids = [(await provider.session(hold)).id,
				await twin(hold)];
			await act(ids);
			await turns(buyer, hold, "paid");
			const gone = await books(hold, ids);
			assert.deepEqual([...gone].sort((a, b) => a - b), [0, 2500]);
			const { json } = await buyer.hold(hold);
			assert.deepEqual(json.refund, { state: "succeeded",
				reason: "paid_twice", amount: 2500 });
			const page = await buyer.page(hold);
			assert.match(page.text, /data-refund-reason="paid_twice"/);
			assert.equal(page.state, "paid");
			assert.equal((await shop.stock(item)).sold, 1);
			// All news once more: nothing moves.
			await provider.resend(hold);
			assert.deepEqual(await books(hold, ids), gone);
			assert.equal((await shop.stock(item)).sold, 1);
			assert.deepEqual(await shop.tasks(hold), []);
			await shop.audit();
		});

test("two payments that come too late, none free: both go back", async () => {
	const { item, buyer, hold } = await payable({ total: 1, late: "refund" });
	const ids = [(await provider.session(hold)).id, await twin(hold)];
	await age(hold, 605);
	await Promise.all(ids.map(pay));
	await turns(buyer, hold, "refunded");
	assert.deepEqual(await books(hold, ids), [2500, 2500]);
	assert.equal((await buyer.hold(hold)).json.refund.amount, 5000);
	assert.equal((await shop.stock(item)).sold, 0);
	await shop.audit();
});
