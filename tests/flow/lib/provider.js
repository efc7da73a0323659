"use strict";
// The provider, asked as its customers ask it: the shop's own keys, and the
// sandbox's levers for what no page can bring about.

const assert = require("node:assert/strict");
const { request, PAY, JSON_TYPE } = require("./http.js");
const { sql, quote } = require("./sql.js");
const { setting } = require("./shop.js");
const { until } = require("./wait.js");

// What a call must carry, under one of the shop's keys.
const keys = (key) => ({
	Authorization: `Bearer ${setting("stripe", key)}`,
	"Stripe-Version": setting("stripe", "version"),
});

async function ask(path, key = "open_key") {
	const answer = await request("GET", path, { base: PAY,
		headers: keys(key) });
	assert.equal(answer.status, 200, answer.text);
	return answer.json;
}

// The session that the cashier opened for a hold, as the provider shows it.
async function session(hold) {
	const { id } = await until(`a session for ${hold}`, () => sql().row(`
		select p.session_id as id from data.payment p
		join data.hold h using (hold_id)
		where h.id = ${quote(hold)} and p.session_id is not null
		order by p.attempt desc limit 1`));
	return ask(`/v1/checkout/sessions/${id}`);
}

// How many sessions the provider ever saw for a hold.
async function sessionCount(hold) {
	const { n } = await sql().row(`select count(*) as n
		from sandbox_data.session
		where success_url like ${quote(`%${hold}%`)}`);
	return n;
}

const intent = (id) => ask(`/v1/payment_intents/${id}`);

async function refunds(id) {
	const { data } = await ask(
		`/v1/refunds?payment_intent=${id}&limit=10`, "refund_key");
	return data;
}

async function lever(path, content = {}) {
	const answer = await request("POST", `/sandbox/${path}`, { base: PAY,
		headers: JSON_TYPE, body: JSON.stringify(content) });
	assert.equal(answer.status, 200, answer.text);
	return answer.json;
}

// Pays though the page would not let one any more: a payment that began
// before the session expired is carried out. Returns the payment.
async function payAnyway(hold, delay = 0) {
	const { id } = await session(hold);
	await lever(`sessions/${id}/pay`,
		{ even_if_expired: true, delay_ms: delay });
	return (await session(hold)).payment_intent;
}

// Pays by a bank debit: outcome null is under way, or "succeeded", "failed".
async function bank(hold, outcome) {
	const { id } = await session(hold);
	return lever(`sessions/${id}/bank`, outcome === null ? {} : { outcome });
}

const refundFails = (id) => lever(`refunds/${id}/fail`);

// What somebody does at the provider's dashboard, and what the bank does.
const refundThere = (id, amount) => lever(`payments/${id}/refund`,
	amount === undefined ? {} : { amount });
const dispute = (id) => lever(`payments/${id}/dispute`);
const inquire = (id) => lever(`payments/${id}/dispute`, { inquiry: true });
const closeDispute = (id, outcome) =>
	lever(`disputes/${id}/close`, { outcome });

// Adds a fault; how often it has struck.
async function fault(target, kind, more = {}) {
	const { fault: added } = await lever("faults",
		{ target, kind, ...more });
	return async () => {
		const { json } = await request("GET", "/sandbox/faults",
			{ base: PAY });
		return json.find(({ fault: id }) => id === added).struck;
	};
}

const noFaults = () => lever("faults/clear");

// Sends all webhooks of a hold once more.
async function resend(hold) {
	const { id } = await session(hold);
	const { json } = await request("GET",
		`/sandbox/deliveries?session=${id}`, { base: PAY });
	const events = new Set(json.map(({ event }) => event));
	for (const event of events)
		await lever(`events/${event}/resend`);
	await until("they have been delivered", async () => {
		const again = await request("GET",
			`/sandbox/deliveries?session=${id}`, { base: PAY });
		return again.json.every(({ state }) => state === "delivered");
	});
	return events.size;
}

module.exports = { keys, ask, lever, session, sessionCount, intent, refunds,
	payAnyway, bank, refundFails, refundThere, dispute, inquire, closeDispute,
	fault, noFaults, resend };
