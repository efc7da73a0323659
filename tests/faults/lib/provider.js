"use strict";
// The stand-in provider's levers: faults, its clock, its books.

const assert = require("node:assert/strict");
const { setTimeout: sleep } = require("node:timers/promises");
const { request, PAY, JSON_TYPE } = require("../../flow/lib/http.js");
const { setting } = require("../../flow/lib/shop.js");

async function lever(path, content = {}, statuses = [200]) {
	const answer = await request("POST", `/sandbox/${path}`, { base: PAY,
		headers: JSON_TYPE, body: JSON.stringify(content) });
	assert.ok(statuses.includes(answer.status),
		`${path}: ${answer.status} ${answer.text}`);
	return answer.json;
}

async function look(path) {
	const answer = await request("GET", `/sandbox/${path}`, { base: PAY });
	assert.equal(answer.status, 200, answer.text);
	return answer.json;
}

// Every object of a list of the provider's interface, page by page.
async function list(path, key = "open_key") {
	const all = [];
	for (let after = ""; ;) {
		const answer = await request("GET",
			`/v1/${path}?limit=100${after && `&starting_after=${after}`}`, {
				base: PAY,
				headers: { Authorization: `Bearer ${setting("stripe", key)}`,
					"Stripe-Version": setting("stripe", "version") },
			});
		assert.equal(answer.status, 200, answer.text);
		all.push(...answer.json.data);
		if (!answer.json.has_more)
			return all;
		after = all.at(-1).id;
	}
}

// Another pay page of an order, as a try that got no answer may leave one: it
// carries the order's name, and no key that the shop knows.
async function twin(hold) {
	const { amount, currency } = hold.price;
	const form = new URLSearchParams({
		mode: "payment",
		"line_items[0][quantity]": "1",
		"line_items[0][price_data][currency]": currency.toLowerCase(),
		"line_items[0][price_data][unit_amount]": String(amount),
		"line_items[0][price_data][product_data][name]": "A twin",
		"metadata[hold_id]": hold.id,
		"payment_intent_data[metadata][hold_id]": hold.id,
		"allowed_payment_method_types[0]": "card",
		"adaptive_pricing[enabled]": "false",
		success_url: "http://shop.test/",
		cancel_url: "http://shop.test/",
	});
	for (;;) {
		// An answer that is cut off never ends.
		const answer = await Promise.race([sleep(4000, { status: 0 }),
			request("POST", "/v1/checkout/sessions", {
				base: PAY,
				headers: {
					Authorization: `Bearer ${setting("stripe", "open_key")}`,
					"Stripe-Version": setting("stripe", "version"),
					"Content-Type": "application/x-www-form-urlencoded",
				},
				body: form.toString(),
			}).catch(() => ({ status: 0 }))]);
		if (answer.status === 200)
			return answer.json.id;
		assert.ok([0, 409, 429, 500, 503].includes(answer.status),
			`a twin: ${answer.status} ${answer.text}`);
	}
}

module.exports = { lever, look, list, twin };
