"use strict";
// The stand-in provider's levers: faults, its clock, its books.

const assert = require("node:assert/strict");
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

module.exports = { lever, look, list };
