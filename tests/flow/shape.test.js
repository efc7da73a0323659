"use strict";
// /pay-callback: what it can read, and what it makes of the rest.

const test = require("node:test");
const assert = require("node:assert/strict");
const { request } = require("./lib/http.js");
const { payable } = require("./lib/pay.js");
const stripe = require("./lib/stripe.js");
const shop = require("./lib/shop.js");

const { paidEvent } = stripe;

test("C67: only an integer in range is an amount", async () => {
	const { hold, item, buyer } = await payable({ total: 1 });
	const event = await paidEvent(hold);
	const amounts = ["2500.0", "2.5e3", "2500.5", "9223372036854775808",
		"-9223372036854775808", "1e999", "00012", "\"2500\"", "-1",
		"[2500]", "{}", "true"];
	for (const amount of amounts) {
		event.id = stripe.id("evt_");
		const body = JSON.stringify(event)
			.replace(/"amount_total":2500/, `"amount_total":${amount}`);
		const answer = await stripe.post(body);
		assert.equal(answer.status, 400, amount);
	}
	assert.equal((await shop.stock(item)).sold, 0);
	assert.equal((await buyer.page(hold)).state, "held");
	// 2^63 - 1 is an integer in range, and not what was asked for.
	event.id = stripe.id("evt_");
	const most = await stripe.post(JSON.stringify(event).replace(
		/"amount_total":2500/, "\"amount_total\":9223372036854775807"));
	assert.equal(most.status, 200);
	assert.equal((await stripe.inbox(event.id)).outcome, "person");
	// 18 digits survive, digit for digit.
	const long = `evt_${"987654321".repeat(2)}${Date.now()}`;
	await stripe.send(stripe.event("x.y", {}, { id: long }));
	assert.ok(await stripe.inbox(long));
	await shop.audit();
});

test("C65: a NUL in a key or value never means the short one", async () => {
	const { hold, item } = await payable({ total: 1 });
	const event = await paidEvent(hold);
	const swap = (from, to) => {
		event.id = stripe.id("evt_");
		return JSON.stringify(event).replaceAll(from, to);
	};
	const id = event.data.object.id;
	for (const body of [
		swap("\"hold_id\"", "\"hold_id\\u0000x\""),
		swap(`"${hold}"`, `"${hold}\\u0000zz"`),
		swap(`"${id}"`, `"${id}\\u0000"`),
		swap("\"paid\"", "\"paid\\u0000\""),
		swap(hold, "\\uD800"), swap(hold, "\\uDBFF\u{1F3AB}")])
		assert.equal((await stripe.post(body)).status, 400, body);
	for (const byte of [[0xff], [0xc0, 0x80]]) {
		const body = Buffer.from(swap(hold, "@@"));
		const at = body.indexOf("@@");
		const broken = Buffer.concat([body.subarray(0, at),
			Buffer.from(byte), body.subarray(at + 2)]);
		assert.equal((await stripe.post(broken)).status, 400);
	}
	assert.equal((await shop.stock(item)).sold, 0);
});

test("C34: every shape: a 2xx or a 4xx, and the same workers", async () => {
	const workers = shop.workers();
	const event = (rest) => JSON.stringify(stripe.event("foo.bar", {}, rest));
	const ignored = [event(), event({ livemode: true }),
		JSON.stringify(stripe.event("checkout.session.completed",
			{ id: stripe.id("cs_"), mode: "subscription" })),
		JSON.stringify(stripe.event("charge.succeeded", { id: "ch_x" }))];
	const counted = async () => {
		const { out } = await shop.lastpair("event", "list", "--limit", "1");
		return Number((/\b(\d+) ignored\b/.exec(out) || [0, 0])[1]);
	};
	const before = await counted();
	for (const body of ignored) {
		assert.equal((await stripe.post(body)).status, 200, body);
		const { outcome } = await stripe.inbox(JSON.parse(body).id);
		assert.equal(outcome, "ignored");
	}
	assert.equal(await counted(), before + ignored.length);
	const big = event({ pad: "x".repeat(136 * 1024) });
	assert.equal((await stripe.post(big)).status, 200);
	assert.equal((await stripe.post(event({ pad: "x".repeat(200 * 1024) })))
		.status, 200);
	for (const size of [257 * 1024, 2 << 20]) {
		const answer = await stripe.post("x".repeat(size));
		assert.equal(answer.status, 413, String(size));
	}
	for (const type of ["application/x-www-form-urlencoded", "text/plain",
		"", "application/octet-stream"]) {
		const answer = await stripe.post(event(),
			{ headers: { "Content-Type": type } });
		assert.ok([200, 415].includes(answer.status), type);
	}
	const shapes = ["", " ", "null", "[]", "{}", "7", "\"x\"", "{",
		"{\"type\":5}", "{\"type\":\"x\"}", "{\"id\":\"evt_x\"}",
		"{\"id\":5,\"type\":\"x.y\"}", "{\"id\":\"\",\"type\":\"x.y\"}",
		"{\"id\":\"evt_a\",\"id\":\"evt_b\",\"type\":\"x.y\"}",
		"{\"id\":\"evt_a\",\"type\":\"checkout.session.completed\"}",
		"{\"id\":\"evt_a\",\"type\":\"checkout.session.completed\"," +
			"\"data\":{}}",
		"{\"id\":\"evt_a\",\"type\":\"checkout.session.completed\"," +
			"\"data\":{\"object\":[]}}",
		`{"id":"${"x".repeat(300)}","type":"x.y"}`,
		JSON.stringify({ id: "evt_thin", object: "v2.core.event",
			type: "v1.checkout.session.completed",
			related_object: { id: "cs_x" } }),
		"[".repeat(100000), "{\"a\":".repeat(20000),
		"{\"x\":{\"y\":true \"z\":[1,}}"];
	for (const body of shapes) {
		const answer = await shop.cheap(() => stripe.post(body));
		assert.equal(answer.status, 400, body.slice(0, 60));
	}
	for (const method of ["GET", "PUT", "DELETE"]) {
		const answer = await request(method, "/pay-callback");
		assert.equal(answer.status, 405);
		assert.equal(answer.headers.allow, "POST");
	}
	const named = await stripe.post(event(), { path: "/pay-callback/stripe" });
	assert.equal(named.status, 200);
	const other = await stripe.post(event(), { path: "/pay-callback/none" });
	assert.equal(other.status, 404);
	assert.deepEqual(shop.workers(), workers);
	await shop.audit();
});

test("a signed event that cannot be used is listed with its id", async () => {
	const id = stripe.id("evt_");
	const body = `{"id":"${id}","type":"checkout.session.completed","data":7}`;
	for (let i = 0; i < 2; i += 1)
		assert.equal((await stripe.post(body)).status, 400);
	const { out } = await shop.lastpair("event", "list", "--outcome",
		"unusable", "--json");
	const kept = JSON.parse(out).filter(({ event_id: name }) =>
		name.includes(id));
	assert.equal(kept.length, 1);
	// A good one of that id still counts.
	const { hold, item } = await payable({ total: 1 });
	const good = await paidEvent(hold, {}, { id });
	assert.equal((await stripe.send(good)).status, 200);
	assert.equal((await shop.stock(item)).sold, 1);
	await shop.audit();
});
