"use strict";
// Money that goes back: by somebody at the provider, by the bank, twice over.
// What an order keeps and what is on sale follows from it, once.

const test = require("node:test");
const assert = require("node:assert/strict");
const { Buyer } = require("./lib/http.js");
const { until } = require("./lib/wait.js");
const { age } = require("./lib/sql.js");
const { pageOf, payable, press, turns } = require("./lib/pay.js");
const provider = require("./lib/provider.js");
const stripe = require("./lib/stripe.js");
const shop = require("./lib/shop.js");

// An order of three units, paid; intent is the provider's name for the money.
async function three() {
	const item = await shop.item({ total: 3, "per-buyer": 3 });
	const buyer = new Buyer();
	const { json } = await buyer.take(item, 3);
	await press(await pageOf(buyer, json.id), "pay");
	await turns(buyer, json.id, "paid");
	const { payment_intent: intent } = await provider.session(json.id);
	return { item, buyer, hold: json.id, intent };
}

// What the buyer is told of the money, once it is so much.
function told(buyer, hold, amount) {
	return until(`${amount} have gone back`, async () => {
		const { json } = await buyer.hold(hold);
		return json.refund && json.refund.amount === amount && json;
	});
}

const back = (...words) => shop.lastpair("order", "refund", ...words, "--yes");

const SOLD = { total: 3, held: 0, sold: 3, free: 0 };
const FREE = { total: 3, held: 0, sold: 0, free: 3 };

test("C32: 2500 of 7500 are refunded at the provider: the order stands, no " +
	"unit moves, repeats do nothing; the rest ends it", async () => {
	const { item, buyer, hold, intent } = await three();
	await provider.refundThere(intent, 2500);
	const { state, view, refund } = await told(buyer, hold, 2500);
	assert.deepEqual([state, view], ["paid", "paid"]);
	assert.deepEqual(refund, { state: "succeeded", reason: "at_provider",
		amount: 2500 });
	const page = await buyer.page(hold);
	assert.match(page.text, /data-refund-part="some"/);
	assert.ok(page.text.includes("25.00 EUR"));
	assert.deepEqual(await shop.stock(item), SOLD);
	const before = await shop.order(hold);
	await provider.resend(hold);
	const { payments } = await shop.order(hold);
	assert.deepEqual(payments, before.payments);
	assert.equal((await told(buyer, hold, 2500)).state, "paid");
	// What is left: a person may ask for it, but not for more.
	const much = await back(hold, "--amount", "50.01");
	assert.equal(much.status, 1, much.out);
	await provider.refundThere(intent);
	const over = await told(buyer, hold, 7500);
	assert.deepEqual([over.state, over.view], ["released", "refunded"]);
	assert.deepEqual(await shop.stock(item), FREE);
	await provider.resend(hold);
	assert.deepEqual(await shop.stock(item), FREE);
	// On sale again, and no refund of ours was sent for it.
	assert.equal((await new Buyer().take(item, 3)).status, 201);
	assert.equal((await provider.refunds(intent)).length, 2);
	assert.equal((await back(hold)).status, 1);
	await shop.audit();
});

test("C32: a dispute of a paid order is flagged, no unit moves; won, all is " +
	"as before; each event twice", async () => {
	const { item, buyer, hold, intent } = await three();
	const { dispute } = await provider.dispute(intent);
	await until("it is flagged", async () =>
		(await shop.order(hold)).payments[0].dispute === "open");
	await provider.resend(hold);
	assert.deepEqual(await shop.taskKinds(hold), ["dispute"]);
	assert.deepEqual(await shop.stock(item), SOLD);
	assert.equal((await buyer.page(hold)).state, "paid");
	// The bank has the money: none of it goes back by us.
	const no = await back(hold);
	assert.equal(no.status, 1);
	assert.match(no.err, /bank/);
	await provider.closeDispute(dispute, "won");
	await until("it is won", async () =>
		(await shop.order(hold)).payments[0].dispute === "won");
	await provider.resend(hold);
	assert.deepEqual(await shop.taskKinds(hold), []);
	assert.deepEqual(await shop.stock(item), SOLD);
	assert.equal((await buyer.page(hold)).state, "paid");
	// As before: the money is ours, so it can go back.
	assert.equal((await back(hold)).status, 0);
	await turns(buyer, hold, "refunded");
	assert.deepEqual(await shop.stock(item), FREE);
	await shop.audit();
});

test("C32: a dispute of a paid order is lost: a person's, and no unit moves",
	async () => {
		const { item, buyer, hold, intent } = await three();
		const { dispute } = await provider.dispute(intent);
		await provider.closeDispute(dispute, "lost");
		await until("it is lost", async () =>
			(await shop.order(hold)).payments[0].dispute === "lost");
		await provider.resend(hold);
		assert.deepEqual(await shop.taskKinds(hold), ["dispute_lost"]);
		assert.deepEqual(await shop.stock(item), SOLD);
		assert.equal((await buyer.page(hold)).state, "paid");
		assert.equal((await back(hold)).status, 1);
		assert.deepEqual(await provider.refunds(intent), []);
		await shop.audit();
	});

// The word for all disputes of an order's payment, and where each stands.
const disputes = async (hold) => {
	const { dispute, disputes: each } = (await shop.order(hold)).payments[0];
	return [dispute, ...(each || []).map(({ state }) => state)].join(" ");
};
const stands = (hold, words) => until(words, async () =>
	await disputes(hold) === words);

test("an inquiry is closed, then the bank takes the money: by another name or " +
	"the same one, it is heard", async () => {
	const { item, buyer, hold, intent } = await three();
	const { dispute: asked } = await provider.inquire(intent);
	await stands(hold, "open inquiry");
	assert.deepEqual(await shop.taskKinds(hold), ["dispute"]);
	assert.equal((await back(hold)).status, 1);
	await provider.closeDispute(asked, "won");
	await stands(hold, "won inquiry_closed");
	assert.deepEqual(await shop.taskKinds(hold), []);
	// By another name, which begins by asking, too.
	const { dispute } = await provider.inquire(intent);
	assert.notEqual(dispute, asked);
	await stands(hold, "open inquiry_closed inquiry");
	assert.equal((await provider.dispute(intent)).dispute, dispute);
	await stands(hold, "open inquiry_closed open");
	await provider.resend(hold);
	assert.deepEqual(await shop.taskKinds(hold), ["dispute"]);
	assert.equal(await disputes(hold), "open inquiry_closed open");
	await provider.closeDispute(dispute, "lost");
	await stands(hold, "lost inquiry_closed lost");
	// The first one's name once more: what was closed is opened again.
	const object = { id: asked, object: "dispute", amount: 7500,
		currency: "eur", payment_intent: intent, metadata: {} };
	const more = [["charge.dispute.funds_withdrawn", "needs_response"],
		["charge.dispute.closed", "won"]];
	for (const [type, status] of more)
		await stripe.send(stripe.event(type, { ...object, status }));
	assert.equal(await disputes(hold), "lost won lost");
	await provider.resend(hold);
	assert.deepEqual(await shop.taskKinds(hold), ["dispute_lost"]);
	assert.deepEqual(await shop.stock(item), SOLD);
	assert.equal((await buyer.page(hold)).state, "paid");
	assert.deepEqual(await provider.refunds(intent), []);
	await shop.audit();
});

// The sandbox disputes no payment that was refunded; banks do.
for (const end of ["won", "lost"])
	test(`C32: a dispute of a cancelled order, ${end}: it stays cancelled, ` +
		"nothing is on sale twice", async () => {
		const { item, buyer, hold, intent } = await three();
		assert.equal((await back(hold)).status, 0);
		await turns(buyer, hold, "refunded");
		assert.deepEqual(await shop.stock(item), FREE);
		const object = { id: stripe.id("du_"), object: "dispute",
			amount: 7500, currency: "eur", payment_intent: intent,
			metadata: {} };
		const opened = stripe.event("charge.dispute.created",
			{ ...object, status: "needs_response" });
		const closed = stripe.event("charge.dispute.closed",
			{ ...object, status: end });
		for (const event of [opened, opened, closed, closed]) {
			assert.equal((await stripe.send(event)).status, 200);
			assert.deepEqual(await shop.stock(item), FREE);
			assert.equal((await buyer.page(hold)).state, "refunded");
		}
		assert.equal((await stripe.inbox(opened.id)).outcome, "person");
		assert.deepEqual(await shop.taskKinds(hold),
			end === "won" ? [] : ["dispute_lost"]);
		assert.equal((await provider.refunds(intent)).length, 1);
		await shop.audit();
	});

test("C32: what we owe is given back by hand meanwhile: it goes back once",
	async () => {
		const { item, buyer, hold } = await payable({ total: 1 });
		await age(hold, 605);
		assert.equal((await new Buyer().take(item)).status, 201);
		const intent = await shop.frozen([shop.processOf("cashier")],
			async () => {
				const name = await provider.payAnyway(hold);
				await turns(buyer, hold, "refund_owed");
				await provider.refundThere(name);
				await turns(buyer, hold, "refunded");
				return name;
			});
		assert.equal((await told(buyer, hold, 2500)).refund.reason,
			"paid_late");
		await until("no call is left", async () =>
			(await shop.order(hold)).payments[0].calls
				.every(({ done_at: at }) => at));
		assert.equal((await provider.refunds(intent)).length, 1);
		await shop.audit();
	});

test("a refund that waits at the provider is on its way until it is there",
	async () => {
		const { item, buyer, hold } = await payable({ total: 1 });
		await age(hold, 605);
		assert.equal((await new Buyer().take(item)).status, 201);
		await provider.fault("refund", "refund_pending_fails",
			{ times: 1, ms: 31536000000 });
		const intent = await provider.payAnyway(hold);
		await until("it is pending", async () =>
			(await buyer.hold(hold)).json.refund?.state === "pending");
		assert.equal((await buyer.page(hold)).state, "refund_owed");
		const [refund] = await provider.refunds(intent);
		assert.equal(refund.status, "pending");
		await provider.refundFails(refund.id);
		await turns(buyer, hold, "refund_failed");
		assert.deepEqual(await shop.taskKinds(hold), ["refund_failed"]);
		assert.equal((await provider.refunds(intent)).length, 1);
		await shop.audit();
	});
