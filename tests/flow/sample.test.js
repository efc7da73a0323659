"use strict";
// The provider's sample events, signed and delivered: as foreign ones, and
// with the ids of orders of ours.

const test = require("node:test");
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { Buyer } = require("./lib/http.js");
const { age } = require("./lib/sql.js");
const { payable } = require("./lib/pay.js");
const provider = require("./lib/provider.js");
const stripe = require("./lib/stripe.js");
const shop = require("./lib/shop.js");

const FOLDER = path.join(__dirname, "../data/stripe-events");
const NAMES = fs.readdirSync(FOLDER).filter((name) => !name.startsWith("_"));
const read = (name) => fs.readFileSync(path.join(FOLDER, name), "utf8").trim();

// A sample as if it spoke of this hold; the payment's id is made up.
async function ours(name, hold, intent = stripe.id("pi_")) {
	const { id } = await provider.session(hold);
	return read(name).replaceAll("hld_01J9ZC3V8T", hold)
		.replace(/evt_1QFlash\d+/g, stripe.id("evt_"))
		.replace(/cs_test_a1Q7flashsale\d+/g, id)
		.replace(/re_3QFlashSale\d+/g, stripe.id("re_"))
		.replace(/pi_3QFlashSale\d+/g, intent);
}

async function deliver(body) {
	const answer = await stripe.post(body);
	assert.equal(answer.status, 200, answer.text);
	return (await stripe.inbox(JSON.parse(body).id)).outcome;
}

const sale = (rest) => payable({ total: 1, price: "49.99", ...rest });

test("every sample of another's order is 200 and kept; a thin one is 400",
	async () => {
		assert.ok(NAMES.length > 20);
		for (const name of NAMES) {
			const body = read(name).replace(/evt_1QFlash\d+/g,
				stripe.id("evt_"));
			const answer = await stripe.post(body);
			if (name.startsWith("thin")) {
				assert.equal(answer.status, 400, name);
				continue;
			}
			assert.equal(answer.status, 200, `${name}: ${answer.text}`);
			const { outcome } = await stripe.inbox(JSON.parse(body).id);
			assert.ok(["ignored", "unmatched"].includes(outcome),
				`${name}: ${outcome}`);
		}
		await shop.audit();
	});

test("completed and paid, and payment_intent.succeeded: paid once",
	async () => {
		for (const names of [["checkout.session.completed.paid.json",
			"payment_intent.succeeded.json"],
		["payment_intent.succeeded.json",
			"checkout.session.completed.paid.json"]]) {
			const { hold, buyer, item } = await sale();
			const intent = stripe.id("pi_");
			assert.equal(await deliver(await ours(names[0], hold, intent)),
				"applied");
			assert.equal(await deliver(await ours(names[1], hold, intent)),
				"repeat");
			assert.equal((await buyer.page(hold)).state, "paid");
			assert.equal((await shop.stock(item)).sold, 1);
		}
		await shop.audit();
	});

test("yen for euros: a person decides; what the buyer was shown is not ours",
	async () => {
		const { hold, item } = await sale();
		assert.equal(await deliver(await ours(
			"checkout.session.completed.jpy.json", hold)), "person");
		assert.equal((await shop.stock(item)).sold, 0);
		// The buyer saw another currency; we were paid in ours.
		const shown = await sale();
		assert.equal(await deliver(await ours(
			"checkout.session.completed.adaptive_pricing.json", shown.hold)),
		"applied");
		await shop.audit();
	});

test("unpaid, then async success or failure", async () => {
	const won = await sale();
	const intent = stripe.id("pi_");
	assert.equal(await deliver(await ours(
		"checkout.session.completed.unpaid.json", won.hold, intent)),
	"applied");
	assert.equal((await won.buyer.page(won.hold)).state, "checking");
	assert.equal(await deliver(await ours(
		"checkout.session.async_payment_succeeded.json", won.hold, intent)),
	"applied");
	assert.equal((await won.buyer.page(won.hold)).state, "paid");
	const lost = await sale();
	assert.equal(await deliver(await ours(
		"checkout.session.async_payment_failed.json", lost.hold)), "applied");
	assert.equal((await lost.buyer.page(lost.hold)).state, "payment_failed");
	assert.equal((await shop.stock(lost.item)).free, 1);
	await shop.audit();
});

test("expired by us or by time: released; a failed try: nothing", async () => {
	for (const name of ["checkout.session.expired.by_us.json",
		"checkout.session.expired.by_time.json"]) {
		const { hold, buyer, item } = await sale();
		assert.equal(await deliver(await ours(
			"payment_intent.payment_failed.json", hold)), "ignored");
		assert.equal((await buyer.page(hold)).state, "held");
		assert.equal(await deliver(await ours(name, hold)), "applied");
		assert.equal((await buyer.page(hold)).state, "expired");
		assert.equal((await shop.stock(item)).free, 1);
	}
	await shop.audit();
});

test("paid after the hold: with a unit free, and with none", async () => {
	const name = "checkout.session.completed.paid.after_hold.json";
	const free = await sale();
	await age(free.hold, 638);
	assert.equal(await deliver(await ours(name, free.hold)), "applied");
	assert.equal((await free.buyer.page(free.hold)).state, "paid");
	const none = await sale();
	await age(none.hold, 638);
	assert.equal((await new Buyer().take(none.item)).status, 201);
	assert.equal(await deliver(await ours(name, none.hold)), "refund");
	assert.match((await none.buyer.page(none.hold)).state, /^refund/);
	await shop.audit();
});

test("a refund that nobody here asked for is applied; a dispute is a person's",
	async () => {
		const { hold, buyer, item } = await sale();
		const intent = stripe.id("pi_");
		await deliver(await ours("checkout.session.completed.paid.json",
			hold, intent));
		// All of it, by somebody at the provider: the order is over.
		assert.equal(await deliver(await ours("refund.created.json", hold,
			intent)), "applied");
		assert.equal(await deliver(await ours("charge.refunded.json", hold,
			intent)), "ignored");
		assert.equal((await buyer.page(hold)).state, "refunded");
		assert.equal((await shop.stock(item)).free, 1);
		assert.equal(await deliver(await ours("charge.dispute.created.json",
			hold, intent)), "person");
		assert.deepEqual(await shop.taskKinds(hold), ["dispute"]);
		assert.equal((await buyer.page(hold)).state, "refunded");
		assert.equal((await shop.stock(item)).free, 1);
		await shop.audit();
	});
