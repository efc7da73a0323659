"use strict";
// The sandbox provider's faults, as its customer meets them: what is carried
// out and what is not, what the answer looks like, and that a call that takes
// long keeps nobody else waiting. Whom they strike is tests/sql's business.

const test = require("node:test");
const assert = require("node:assert/strict");
const crypto = require("node:crypto");
const { PAY } = require("./lib/http.js");
const shop = require("./lib/shop.js");
const { until } = require("./lib/wait.js");

// Longer than any test takes: who waits for it has lost.
const LONG_MS = 60000;

const newKey = () => `fault-${crypto.randomUUID()}`;

async function lever(path, content) {
	const answer = await fetch(`${PAY}/sandbox/${path}`, content === undefined
		? {}
		: { method: "POST", body: JSON.stringify(content) });
	const json = await answer.json();
	assert.equal(answer.status, 200, JSON.stringify(json));
	return json;
}

// Adds a fault; how often it has struck.
async function fault(target, kind, more = {}) {
	const { fault: id } = await lever("faults", { target, kind, ...more });
	return async () => (await lever("faults"))
		.find((one) => one.fault === id).struck;
}

test.afterEach(() => lever("faults/clear", {}));

function call(path, options = {}) {
	return fetch(`${PAY}${path}`, { ...options, headers: {
		Authorization: `Bearer ${shop.setting("stripe", "open_key")}`,
		"Stripe-Version": shop.setting("stripe", "version"),
		...options.headers,
	} });
}

// Opens a pay page that is not the shop's.
function open(key, options = {}) {
	return call("/v1/checkout/sessions", {
		...options,
		method: "POST",
		headers: { "Idempotency-Key": key },
		body: new URLSearchParams({
			mode: "payment",
			success_url: "http://127.0.0.1/",
			"line_items[0][quantity]": "1",
			"line_items[0][price_data][currency]": "eur",
			"line_items[0][price_data][unit_amount]": "4999",
			"line_items[0][price_data][product_data][name]": "Lamp",
			"allowed_payment_method_types[0]": "card",
		}),
	});
}

const end = (id, key) => call(`/v1/checkout/sessions/${id}/expire`,
	{ method: "POST", headers: { "Idempotency-Key": key } });

async function look(id) {
	const answer = await call(`/v1/checkout/sessions/${id}`);
	return answer.json();
}

async function newest() {
	const answer = await call("/v1/checkout/sessions?limit=1");
	return (await answer.json()).data[0]?.id;
}

// What a struck call answers, and whether it was carried out.
const REFUSALS = [
	["conflict", 409, /idempotency_key_in_use/, "stripe-should-retry", "true"],
	["rate", 429, /rate_limit/, "stripe-rate-limited-reason", "endpoint-rate"],
	["unavailable", 503, /^<html>/, "content-type", "text/html"],
];

for (const [kind, status, body, header, value] of REFUSALS)
	test(`${kind}: ${status}, and nothing is done`, async () => {
		const key = newKey();
		const before = await newest();
		await fault("open", kind, { times: 1 });
		const answer = await open(key);
		assert.equal(answer.status, status);
		assert.match(await answer.text(), body);
		assert.equal(answer.headers.get(header), value);
		assert.equal(await newest(), before);
		const again = await open(key);
		assert.equal(again.status, 200);
		assert.equal(again.headers.get("idempotent-replayed"), null);
	});

for (const [kind, done] of [["error", false], ["error_after", true]])
	test(`${kind}: a 500 that stays, ${done ? "all the same" : "not"} done`,
		async () => {
			const { id } = await (await open(newKey())).json();
			const key = newKey();
			await fault("end", kind, { times: 1 });
			const answer = await end(id, key);
			assert.equal(answer.status, 500);
			assert.equal(answer.headers.get("stripe-should-retry"), "false");
			const again = await end(id, key);
			assert.equal(again.status, 500);
			assert.equal(again.headers.get("idempotent-replayed"), "true");
			assert.equal((await look(id)).status, done ? "expired" : "open");
		});

test("lost: done, and the answer is cut off", async () => {
	const key = newKey();
	await fault("open", "lost", { times: 1 });
	const answer = await open(key);
	assert.equal(answer.status, 200);
	await assert.rejects(answer.text());
	const again = await open(key);
	assert.equal(again.headers.get("idempotent-replayed"), "true");
	assert.equal((await again.json()).id, await newest());
});

test("timeout: done at once, answered when nobody waits any more", async () => {
	const key = newKey();
	const gone = new AbortController();
	const struck = await fault("open", "timeout", { times: 1, ms: LONG_MS });
	const late = open(key, { signal: gone.signal });
	const lost = assert.rejects(late);
	await until("it is struck", async () => await struck() === 1);
	const again = await until("it is done", async () => {
		const answer = await open(key);
		return answer.status === 200 && answer;
	});
	assert.equal(again.headers.get("idempotent-replayed"), "true");
	gone.abort();
	await lost;
});

test("slow: done and answered later, not before", async () => {
	await fault("open", "slow", { times: 1, ms: 300 });
	const began = Date.now();
	const answer = await open(newKey());
	assert.equal(answer.status, 200);
	assert.ok(Date.now() - began >= 300);
});

test("a hundred slow calls keep nobody waiting, and a stop ends their wait",
	async () => {
		const keys = Array.from({ length: 100 }, newKey);
		const struck = await fault("open", "slow", { ms: LONG_MS });
		let answered = 0;
		const calls = keys.map(async (key) => {
			const answer = await open(key);
			answered++;
			return answer;
		});
		await until("all wait", async () => await struck() === 100);
		const { id } = await (await call("/v1/checkout/sessions?limit=1"))
			.json().then(({ data }) => data[0] || {});
		if (id)
			assert.equal((await look(id)).id, id);
		// Not begun, and yet its key is in use.
		const same = await open(keys[0]);
		assert.equal(same.status, 409);
		assert.match(await same.text(), /idempotency_key_in_use/);
		assert.equal(answered, 0);
		const server = shop.sandboxServer();
		process.kill(server, "SIGTERM");
		const answers = await Promise.all(calls);
		assert.deepEqual([...new Set(answers.map(({ status }) => status))],
			[200]);
	});

test("a webhook that is dropped is listed, and sent when asked for",
	async () => {
		const { id } = await (await open(newKey())).json();
		await fault("delivery", "drop", { times: 1 });
		await lever(`sessions/${id}/decline`, {});
		const state = async () => (await lever(`deliveries?session=${id}`))
			.map((one) => one.state).join();
		assert.equal(await state(), "given up");
		const list = await (await call("/v1/events?delivery_success=false")
		).json();
		const [event] = list.data.filter((one) =>
			one.type === "payment_intent.payment_failed");
		assert.equal(event.data.object.last_payment_error.code,
			"card_declined");
		await lever("deliveries/flush", { dropped: true });
		await until("it is delivered", async () =>
			await state() === "delivered");
	});

test("a webhook that is duplicated is delivered twice", async () => {
	const { id } = await (await open(newKey())).json();
	await fault("delivery", "duplicate", { times: 1, ms: 100 });
	await lever(`sessions/${id}/decline`, {});
	await until("both are delivered", async () =>
		(await lever(`deliveries?session=${id}`))
			.map((one) => one.state).join() === "delivered,delivered");
});
