"use strict";
// A worker's socket, spoken to by hand: what nginx never says.

const test = require("node:test");
const assert = require("node:assert/strict");
const fs = require("node:fs");
const net = require("node:net");
const { Buyer, request } = require("./lib/http.js");
const { until } = require("./lib/wait.js");
const fcgi = require("./lib/fcgi.js");
const stripe = require("./lib/stripe.js");
const shop = require("./lib/shop.js");

const WEB = `${shop.STATE}/s/web.0.sock`;

let workers;
test.before(() => {
	workers = shop.workers();
});
test.after(async () => {
	assert.deepEqual(shop.workers(), workers, "a worker has ended");
	await shop.audit();
});

// A signed event of about 100 KB, with letters of two to four bytes.
function large() {
	const event = stripe.event("x.y", {},
		{ note: "caf\u00e9 \u20ac \u{1F3AB} ".repeat(7000) });
	return { id: event.id, body: Buffer.from(JSON.stringify(event)) };
}

const hook = (body, options = {}) => fcgi.ask(WEB, "POST", "/pay-callback", {
	body,
	...options,
	params: { HTTP_STRIPE_SIGNATURE: stripe.signature(Buffer.from(body)),
		...options.params },
});

test("C58: a 100 KB body in records of 1 byte, 8 KB, 65,535 bytes",
	async () => {
		for (const size of [1, 8192, 65535]) {
			const { id, body } = large();
			assert.ok(body.length > 100000);
			const answer = await hook(body, { size, timeout: 30000 });
			assert.equal(answer.status, 200, answer.text.slice(0, 300));
			assert.ok(await stripe.inbox(id));
		}
	});

test("C58: records that end inside a letter", async () => {
	const { id, body } = large();
	const at = body.indexOf(Buffer.from("\u00e9"));
	const ticket = body.indexOf(Buffer.from("\u{1F3AB}"));
	const answer = await hook(body, { size: [at + 1, ticket + 1, ticket + 2,
		ticket + 3].concat(Array.from({ length: 4 }, (_, i) =>
		ticket + 3 + 30000 * (i + 1)).filter((n) => n < body.length)) });
	assert.equal(answer.status, 200, answer.text.slice(0, 300));
	assert.ok(await stripe.inbox(id));
	const item = await shop.item({ total: 1,
		sku: `caf\u00e9-${shop.sku()}` });
	const hold = Buffer.from(JSON.stringify({ item, qty: 1 }));
	const split = hold.indexOf(Buffer.from("\u00e9")) + 1;
	const taken = await fcgi.ask(WEB, "POST", "/hold",
		{ body: hold, size: [split] });
	assert.equal(taken.status, 201, taken.text);
	assert.equal(JSON.parse(taken.body).lines[0].item, item);
});

test("C58: no CONTENT_LENGTH, or an odd one: whole, or a clean refusal",
	async () => {
		const item = await shop.item({ total: 99 });
		const body = JSON.stringify({ item, qty: 1 });
		const missing = await fcgi.ask(WEB, "POST", "/hold",
			{ body, params: { CONTENT_LENGTH: undefined } });
		assert.ok([201, 411].includes(missing.status), missing.text);
		const held = missing.status === 201 ? 1 : 0;
		const wrong = { "": [411], abc: [400], "-1": [400],
			"999999999999": [413], "99999999999999999999": [400, 413],
			"1e3": [400], " 5": [400], "+5": [400], "0x10": [400],
			[String(body.length - 1)]: [400],
			[String(body.length + 1)]: [400], 0: [400] };
		for (const [length, statuses] of Object.entries(wrong)) {
			const answer = await fcgi.ask(WEB, "POST", "/hold",
				{ body, params: { CONTENT_LENGTH: length } });
			assert.ok(statuses.includes(answer.status),
				`${JSON.stringify(length)}: ${answer.text.slice(0, 200)}`);
		}
		for (const length of ["abc", "-1", "999999999999"]) {
			const answer = await hook(body,
				{ params: { CONTENT_LENGTH: length } });
			assert.ok([400, 413].includes(answer.status));
		}
		assert.equal((await shop.stock(item)).held, held);
	});

test("C58: a chunked request through nginx arrives whole", async () => {
	const { id, body } = large();
	const parts = [];
	for (let at = 0; at < body.length; at += 7777)
		parts.push(body.subarray(at, at + 7777));
	const answer = await request("POST", "/pay-callback", {
		body: parts,
		headers: { "Content-Type": "application/json",
			"Stripe-Signature": stripe.signature(body) },
	});
	assert.ok([200, 411].includes(answer.status), answer.text);
	if (answer.status === 200)
		assert.ok(await stripe.inbox(id));
});

test("C62: the socket is this user's alone", () => {
	const { mode } = fs.statSync(WEB);
	assert.equal(mode & 0o007, 0);
	assert.equal(fs.statSync(`${shop.STATE}/s`).mode & 0o077, 0);
});

test("C62: crafted lengths end that connection only", async () => {
	const four = (n) => {
		const bytes = Buffer.alloc(4);
		bytes.writeUInt32BE((n | 0x80000000) >>> 0);
		return bytes;
	};
	const params = (bytes) => Buffer.concat([fcgi.begin(),
		fcgi.record(fcgi.PARAMS, bytes),
		fcgi.record(fcgi.PARAMS, Buffer.alloc(0)), fcgi.stdin(Buffer.alloc(0))]);
	const crafted = [
		params(Buffer.concat([four(0x7fffffff), four(0x7fffffff),
			Buffer.alloc(64)])),
		params(Buffer.concat([four(0x7fffffff), Buffer.from([1]),
			Buffer.alloc(64)])),
		params(Buffer.concat([Buffer.from([1]), four(0x7fffffff),
			Buffer.alloc(64)])),
		params(Buffer.from([0x80])),
		params(Buffer.from([0xff, 0xff])),
		Buffer.concat([fcgi.begin(), fcgi.record(99, Buffer.alloc(8))]),
		Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		Buffer.alloc(64), Buffer.from([1]), Buffer.alloc(0),
		Buffer.alloc(4096, 0xff),
	];
	for (const bytes of crafted) {
		const answer = await fcgi.exchange(WEB, bytes,
			{ end: true, timeout: 3000 });
		assert.ok(answer.status === null ||
			(answer.status >= 400 && answer.status < 500), answer.text);
	}
	assert.equal((await request("GET", "/healthz")).status, 200);
	assert.deepEqual(shop.workers(), workers);
});

test("C62: 8,191, 8,192 and 20,000 bytes of parameters work or give 4xx",
	async () => {
		for (const size of [8191, 8192, 20000])
			for (const paramSize of [65535, 1000, 16]) {
				const answer = await fcgi.ask(WEB, "GET", "/healthz", {
					params: { HTTP_X_LONG: "x".repeat(size) }, paramSize,
					timeout: 20000 });
				assert.ok(answer.status === 200 ||
					(answer.status >= 400 && answer.status < 500),
				`${size} in ${paramSize}: ${answer.text.slice(0, 100)}`);
			}
		const bytewise = await fcgi.ask(WEB, "GET", "/healthz",
			{ paramSize: 1 });
		assert.equal(bytewise.status, 200);
		const cookie = await request("GET", "/healthz",
			{ headers: { Cookie: `a=${"x".repeat(7000)}` } });
		assert.equal(cookie.status, 200);
	});

test("C61: a hold whose answer was lost is found by its key", async () => {
	const item = await shop.item({ total: 5 });
	const key = "c61-vanished-client-0001";
	const body = JSON.stringify({ item, qty: 1 });
	const bytes = Buffer.concat([fcgi.begin(), fcgi.params({
		REQUEST_METHOD: "POST", REQUEST_URI: "/hold", DOCUMENT_URI: "/hold",
		CONTENT_TYPE: "application/json",
		CONTENT_LENGTH: String(body.length),
		HTTP_IDEMPOTENCY_KEY: `${key}-${item}` }),
	fcgi.stdin(Buffer.from(body))]);
	await new Promise((done) => {
		const socket = net.connect(WEB, () => socket.end(bytes, () =>
			socket.destroy()));
		socket.on("error", () => {});
		socket.on("close", done);
	});
	await until("the hold is made", async () =>
		(await shop.stock(item)).held === 1);
	const again = await new Buyer().take(item, 1, `${key}-${item}`);
	assert.equal(again.status, 200);
	assert.equal(again.json.existing, true);
	assert.equal((await shop.stock(item)).held, 1);
});

test("C61: more connections than workers: nobody waits for ever",
	async () => {
		const answers = await Promise.all(Array.from({ length: 300 }, () =>
			request("GET", "/healthz")));
		answers.forEach(({ status }) => assert.equal(status, 200));
		// Silent connections do not take the workers away for good.
		const silent = Array.from({ length: 2 }, () => net.connect(WEB));
		silent.forEach((socket) => socket.on("error", () => {}));
		await until("an answer past the silent ones", async () =>
			(await request("GET", "/healthz")).status === 200,
		{ within: 25000 });
		silent.forEach((socket) => socket.destroy());
	});
