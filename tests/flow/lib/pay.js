"use strict";
// A buyer who pays: the provider's pay page, as a browser without JavaScript
// uses it, and the way there and back.

const assert = require("node:assert/strict");
const { Buyer, request } = require("./http.js");
const shop = require("./shop.js");
const { until } = require("./wait.js");

const entities = { amp: "&", lt: "<", gt: ">", quot: "\"", "#39": "'" };
const plain = (text) => text.replace(/&(#?\w+);/g, (all, name) =>
	entities[name] || all);

function attributes(tag) {
	const found = {};
	for (const [, name, value] of tag.matchAll(/([\w-]+)="([^"]*)"/g))
		found[name] = plain(value);
	return found;
}

// The forms of a page: where they go, what they say, their buttons.
function forms(html) {
	return [...html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)]
		.map(([, head, inside]) => ({
			...attributes(head),
			fields: [...inside.matchAll(/<input\b[^>]*>/g)]
				.map(([tag]) => attributes(tag))
				.filter(({ name, type }) => name && type !== "submit"),
			buttons: [...inside.matchAll(
				/<button\b([^>]*)>([\s\S]*?)<\/button>/g)]
				.map(([, tag, text]) => ({ ...attributes(tag),
					text: plain(text.replace(/<[^>]*>/g, " ")).trim() })),
		}));
}

// Presses the button that does this, on the page at url.
async function press(url, act) {
	const page = await request("GET", url, { base: url });
	assert.equal(page.status, 200, page.text);
	for (const form of forms(page.text)) {
		const all = [...form.fields, ...form.buttons];
		if (!all.some(({ name, value }) => name === "do" && value === act))
			continue;
		const fields = form.fields.filter(({ name }) => name !== "do")
			.map(({ name, value }) => [name, value || ""]);
		return request("POST", form.action || url, {
			base: url,
			headers: {
				"Content-Type": "application/x-www-form-urlencoded",
				Origin: new URL(url).origin,
			},
			body: new URLSearchParams([...fields, ["do", act]]).toString(),
		});
	}
	throw new Error(`no button to ${act} on ${url}`);
}

// The address of a hold's pay page, once the cashier has opened it.
async function pageOf(buyer, hold) {
	return until("the pay page", async () => {
		const answer = await buyer.pay(hold);
		assert.ok([200, 202].includes(answer.status), answer.text);
		if (answer.status === 202)
			assert.equal(answer.json.state, "opening");
		return answer.json.url;
	});
}

// A hold with an open pay page, of an item of its own; email is the buyer's.
async function payable({ email, ...options } = {}) {
	const item = await shop.item(options);
	const buyer = new Buyer();
	const { json, status, text } = await buyer.post(
		`/hold?item=${encodeURIComponent(item)}`, { item, qty: 1, email });
	assert.equal(status, 201, text);
	const url = await pageOf(buyer, json.id);
	return { item, buyer, hold: json.id, number: json.order, url };
}

// Waits until the shop says that the hold is in this state of its page.
function turns(buyer, hold, state, options) {
	return until(`${hold} turns ${state}`, async () => {
		const page = await buyer.page(hold);
		return page.state === state && page;
	}, options);
}

module.exports = { press, pageOf, payable, turns };
