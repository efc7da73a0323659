"use strict";
// The provider's side of /pay-callback: events as Stripe sends them, signed
// as Stripe signs them, by code that shares nothing with the shop's.

const { createHmac, randomBytes } = require("node:crypto");
const { request } = require("./http.js");
const { sql, quote } = require("./sql.js");
const provider = require("./provider.js");
const { setting } = require("./shop.js");

const now = () => Math.floor(Date.now() / 1000);
const id = (prefix) => prefix + randomBytes(12).toString("hex");

function mac(secret, t, body) {
	return createHmac("sha256", secret).update(`${t}.`).update(body)
		.digest("hex");
}

function signature(body, { secret, t = now() } = {}) {
	const key = secret === undefined
		? setting("stripe", "webhook_secret") : secret;
	return `t=${t},v1=${mac(key, t, body)}`;
}

// Posts these bytes. options: header (instead of a right signature), secret,
// t, headers, method, path.
function post(body, options = {}) {
	const bytes = Buffer.from(body);
	const { header = signature(bytes, options) } = options;
	return request(options.method || "POST", options.path || "/pay-callback", {
		body: bytes,
		headers: {
			"Content-Type": "application/json; charset=utf-8",
			...(header === null ? {} : { "Stripe-Signature": header }),
			...options.headers,
		},
	});
}

function event(type, object, rest = {}) {
	return {
		id: id("evt_"),
		object: "event",
		api_version: setting("stripe", "version"),
		created: now(),
		data: { object },
		livemode: false,
		pending_webhooks: 1,
		request: { id: null, idempotency_key: null },
		type,
		...rest,
	};
}

const send = (content, options) => post(JSON.stringify(content), options);

// The session of a hold as the provider shows it, but paid.
async function paid(hold, change = {}) {
	return { ...await provider.session(hold), status: "complete",
		payment_status: "paid", payment_intent: id("pi_"), url: null,
		...change };
}

const completed = (object, rest) =>
	event("checkout.session.completed", object, rest);

// The event that says so.
async function paidEvent(hold, change, rest) {
	return completed(await paid(hold, change), rest);
}

// How many events the inbox has.
async function stored() {
	return (await sql().row("select count(*) as n from data.event")).n;
}

// What the inbox says of an event.
function inbox(eventId) {
	return sql().row(`select kind, outcome, detail, deliveries, type
from data.event where event_id = ${quote(eventId)}`);
}

module.exports = { mac, signature, post, send, event, paid, completed,
	paidEvent, stored, inbox, id, now };
