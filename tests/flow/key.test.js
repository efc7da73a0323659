"use strict";
// One request, one effect: order keys and cookies.

const test = require("node:test");
const assert = require("node:assert/strict");
const { randomUUID } = require("node:crypto");
const { Buyer, request, JSON_TYPE } = require("./lib/http.js");
const { age } = require("./lib/sql.js");
const shop = require("./lib/shop.js");

test("a first-time buyer whose answer was lost gets the same hold and cookie",
	async () => {
		const item = await shop.item({ total: 5 });
		const key = randomUUID();
		const [lost, again] = [new Buyer(), new Buyer()];
		const first = await lost.take(item, 1, key);
		const second = await again.take(item, 1, key);
		assert.equal(first.status, 201);
		assert.equal(second.status, 200);
		assert.equal(second.json.id, first.json.id);
		assert.equal(second.json.existing, true);
		assert.equal(again.cookies.get("lp_buyer"),
			lost.cookies.get("lp_buyer"));
		assert.equal((await again.drop(first.json.id)).status, 200);
		assert.equal((await shop.stock(item)).held, 0);
		// Given up: the key still leads to that order, and takes nothing.
		const third = await again.take(item, 1, key);
		assert.equal(third.json.id, first.json.id);
		assert.equal(third.json.state, "released");
		await shop.audit();
	});

test("ten times the same key at once: one hold", async () => {
	const item = await shop.item({ total: 50 });
	const key = randomUUID();
	const answers = await Promise.all(Array.from({ length: 10 }, () =>
		new Buyer().take(item, 1, key)));
	const created = answers.filter(({ status }) => status === 201);
	assert.equal(created.length, 1);
	answers.forEach(({ status, json }) => {
		assert.ok([200, 201].includes(status));
		assert.equal(json.id, created[0].json.id);
	});
	assert.equal((await shop.stock(item)).held, 1);
	await shop.audit();
});

test("ten clicks at once with nginx's cookie and no key: one hold",
	async () => {
		const item = await shop.item({ total: 50, "per-buyer": 3 });
		const visitor = new Buyer();
		await visitor.get("/");
		assert.match(visitor.cookies.get("lp_visit"), /^[0-9a-f]{32}$/);
		const answers = await Promise.all(Array.from({ length: 10 }, () =>
			visitor.take(item)));
		assert.equal(new Set(answers.map(({ json }) => json.id)).size, 1);
		assert.equal((await shop.stock(item)).held, 1);
		await shop.audit();
	});

test("one buyer, twenty keys at once, limit 3: one live hold", async () => {
	const item = await shop.item({ total: 50, "per-buyer": 3 });
	const buyer = new Buyer();
	await buyer.get("/");
	const answers = await Promise.all(Array.from({ length: 20 }, () =>
		buyer.take(item, 2, randomUUID())));
	assert.equal(answers.filter(({ status }) => status === 201).length, 1);
	assert.equal(new Set(answers.map(({ json }) => json.id)).size, 1);
	assert.equal((await shop.stock(item)).held, 2);
	await shop.audit();
});

test("the same key with other content or of another buyer is 422", async () => {
	const [a, b] = [await shop.item({ total: 5, "per-buyer": 3 }),
		await shop.item({ total: 5 })];
	const key = randomUUID();
	const buyer = new Buyer();
	await buyer.take(a, 1, key);
	const stranger = new Buyer();
	await stranger.take(b);
	for (const answer of [await buyer.take(a, 2, key),
		await buyer.take(b, 1, key), await stranger.take(a, 1, key)]) {
		assert.equal(answer.status, 422, answer.text);
		assert.equal(answer.problem, "key-reused");
	}
	// One hold in a, the stranger's in b.
	assert.equal((await shop.stock(a)).held, 1);
	assert.equal((await shop.stock(b)).held, 1);
	await shop.audit();
});

test("keys: 16 to 255 visible ASCII characters, else 400", async () => {
	const item = await shop.item({ total: 9 });
	const good = ["x".repeat(16), "~!\"#$%&'()*+,-./", "k".repeat(255)]
		.map((key) => key.replace(/^.{8}/, () =>
			randomUUID().slice(0, 8)));
	for (const key of good)
		assert.equal((await new Buyer().take(item, 1, key)).status, 201, key);
	const bad = ["x", "x".repeat(15), "x".repeat(256), "with a blank in it ok",
		"caf\u00e9-0123456789abcdef", "tab\tinside-0123456789"];
	for (const key of bad) {
		const answer = await new Buyer().take(item, 1, key);
		assert.equal(answer.status, 400, key);
		assert.equal(answer.problem, "malformed");
	}
	assert.equal((await shop.stock(item)).held, good.length);
});

test("a key is for ever: after the hold has lapsed it takes nothing new",
	async () => {
		const item = await shop.item({ total: 5 });
		const key = randomUUID();
		const buyer = new Buyer();
		const { json: hold } = await buyer.take(item, 1, key);
		await age(hold.id, 700);
		const late = await buyer.take(item, 1, key);
		assert.equal(late.json.id, hold.id);
		assert.equal(late.json.state, "released");
		const fresh = await buyer.take(item, 1, randomUUID());
		assert.equal(fresh.status, 201);
		assert.notEqual(fresh.json.id, hold.id);
		await shop.audit();
	});

test("forged, garbled and foreign cookies count as none", async () => {
	const item = await shop.item({ total: 30 });
	const owner = new Buyer();
	const { json: hold } = await owner.take(item);
	const mine = owner.cookies.get("lp_buyer");
	const last = mine.at(-1) === "A" ? "B" : "A";
	const forged = [
		mine.slice(0, -1),
		mine.replace(/.$/, last),
		mine.replace(/^buyer/, "pass"),
		mine.replace(/\.([0-9a-f])/, (_, c) => c === "0" ? ".1" : ".0"),
		mine.toUpperCase(),
		`${mine}x`, "", ".", "buyer..", "%00", "x".repeat(4000),
		"buyer.00000000000000000000000000000000.",
	];
	for (const cookie of forged) {
		const answer = await request("POST", "/hold/drop", {
			headers: { ...JSON_TYPE, Cookie: `lp_buyer=${cookie}` },
			body: JSON.stringify({ id: hold.id }),
		});
		assert.ok([401, 403].includes(answer.status), cookie.slice(0, 60));
		assert.equal(answer.problem, "not-yours");
	}
	assert.equal((await owner.hold(hold.id)).json.state, "held");
	for (const cookie of forged.slice(0, 4)) {
		const buyer = new Buyer();
		buyer.cookies.set("lp_buyer", cookie);
		const taken = await buyer.take(item);
		assert.equal(taken.status, 201);
		assert.notEqual(buyer.cookies.get("lp_buyer"), cookie);
	}
	await shop.audit();
});

test("the buyer's cookie: HttpOnly, SameSite=Lax, whole site, once",
	async () => {
		const item = await shop.item({ total: 2 });
		const buyer = new Buyer();
		const taken = await buyer.take(item);
		const set = taken.cookies.filter((c) => c.startsWith("lp_buyer="));
		assert.equal(set.length, 1);
		assert.match(set[0], /; HttpOnly/);
		assert.match(set[0], /; SameSite=Lax/);
		assert.match(set[0], /; Path=\//);
		assert.match(set[0], /; Max-Age=\d+/);
		assert.equal(taken.headers["cache-control"], "no-store");
		const again = await buyer.take(item);
		assert.deepEqual(again.cookies, []);
	});

test("what a stranger sees of a hold: no address of its pay page",
	async () => {
		const item = await shop.item({ total: 1 });
		const owner = new Buyer();
		const { json: hold } = await owner.take(item);
		await shop.until("ready", async () =>
			(await owner.pay(hold.id)).status === 200);
		const own = (await owner.hold(hold.id)).json;
		assert.ok(own.payment.url);
		const seen = await new Buyer().hold(hold.id);
		assert.ok([200, 401, 403].includes(seen.status));
		assert.doesNotMatch(seen.text, new RegExp(
			own.payment.url.replace(/[^\w]/g, "\\$&")));
	});

test("while the buyers' secret is rolled, old cookies stay good", async () => {
	const item = await shop.item({ total: 9 });
	const buyer = new Buyer();
	const { json } = await buyer.take(item);
	const old = shop.setting("buyer", "secret");
	const fresh = "rolled-0123456789abcdef0123456789abcdef";
	await shop.withSettings({ secret: fresh, old_secret: old }, async () => {
		const again = await buyer.take(item);
		assert.equal(again.json.id, json.id);
		const other = new Buyer();
		assert.equal((await other.take(item)).status, 201);
	});
	await shop.withSettings({ secret: fresh }, async () =>
		assert.equal((await buyer.drop(json.id)).problem, "not-yours"));
	assert.equal((await buyer.drop(json.id)).status, 200);
	await shop.audit();
});
