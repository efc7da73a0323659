"use strict";
// A hold's life: taken, looked at, given up, lapsed.

const test = require("node:test");
const assert = require("node:assert/strict");
const { Buyer, request, JSON_TYPE } = require("./lib/http.js");
const { until } = require("./lib/wait.js");
const { age, ageAll, sql, quote } = require("./lib/sql.js");
const shop = require("./lib/shop.js");

const ID = /^hld_[A-Za-z0-9_-]{22}$/;

test("a hold says all that the contract names", async () => {
	const item = await shop.item({ total: 3, price: "129.00", "per-buyer": 2 });
	const buyer = new Buyer();
	const taken = await buyer.take(item, 2);
	assert.equal(taken.status, 201);
	assert.equal(taken.headers["cache-control"], "no-store");
	assert.match(taken.headers["content-type"], /^application\/json/);
	const hold = taken.json;
	assert.match(hold.id, ID);
	assert.match(hold.order, /^ord_\d+$/);
	assert.equal(hold.state, "held");
	assert.equal(hold.reason, null);
	assert.equal(hold.existing, false);
	assert.deepEqual(hold.lines, [{ item, title: `Test ${item}`, qty: 2,
		units: [] }]);
	assert.deepEqual(hold.price, { amount: 25800, currency: "EUR" });
	assert.equal(hold.payment, null);
	assert.equal(hold.refund, null);
	assert.ok(hold.expires_in_ms > 599000 && hold.expires_in_ms <= 600000);
	assert.equal(Date.parse(hold.expires_at) - Date.parse(hold.now), 600000);
	const shown = await buyer.hold(hold.id);
	assert.equal(shown.status, 200);
	assert.equal(shown.json.id, hold.id);
	assert.equal(shown.json.expires_at, hold.expires_at);
	assert.ok(shown.json.expires_in_ms <= hold.expires_in_ms);
	await shop.audit();
});

test("a basket is taken whole or not at all", async () => {
	const a = await shop.item({ total: 2 });
	const b = await shop.item({ total: 1 });
	const lines = [{ item: a, qty: 1 }, { item: b, qty: 1 }];
	const first = await new Buyer().post("/hold", { lines });
	assert.equal(first.status, 201);
	assert.equal(first.json.lines.length, 2);
	assert.equal(first.json.price.amount, 5000);
	const second = await new Buyer().post("/hold", { lines });
	assert.equal(second.problem, "sold-out");
	assert.equal((await shop.stock(a)).held, 1);
	await shop.audit();
});

test("C50: baskets in opposite order, 100 rounds: no deadlock reaches a buyer",
	async () => {
		const a = await shop.item({ total: 1000 });
		const b = await shop.item({ total: 1000 });
		const there = [{ item: a, qty: 1 }, { item: b, qty: 1 }];
		const back = [there[1], there[0]];
		for (let round = 0; round < 100; round += 10) {
			const answers = await Promise.all(Array.from({ length: 20 },
				(_, i) => new Buyer().post("/hold",
					{ lines: i % 2 ? there : back })));
			answers.forEach(({ status }) => assert.equal(status, 201));
		}
		assert.equal((await shop.stock(b)).held, 200);
		await shop.audit();
	});

test("only its buyer gives a hold up, and twice is once", async () => {
	const item = await shop.item({ total: 1 });
	const buyer = new Buyer();
	const { json: hold } = await buyer.take(item);
	for (const stranger of [new Buyer(), await visitor()]) {
		const answer = await stranger.drop(hold.id);
		assert.ok([401, 403].includes(answer.status), answer.text);
		assert.equal(answer.problem, "not-yours");
		const pay = await stranger.pay(hold.id);
		assert.ok([401, 403].includes(pay.status));
	}
	assert.equal((await shop.stock(item)).held, 1);
	for (let i = 0; i < 2; i += 1) {
		const dropped = await buyer.drop(hold.id);
		assert.equal(dropped.status, 200, dropped.text);
		assert.equal(dropped.json.state, "released");
		assert.equal(dropped.json.reason, "dropped");
	}
	assert.deepEqual(await shop.stock(item),
		{ total: 1, held: 0, sold: 0, free: 1 });
	assert.equal((await buyer.page(hold.id)).state, "dropped");
	assert.equal((await buyer.pay(hold.id)).status, 410);
	assert.equal((await new Buyer().take(item)).status, 201);
	await shop.audit();
});

async function visitor() {
	const buyer = new Buyer();
	await buyer.take(await shop.item({ total: 1 }));
	return buyer;
}

test("a hold that does not exist is 404, whatever its name", async () => {
	const buyer = await visitor();
	for (const id of ["hld_0000000000000000000000", "hld_x", "ord_1001",
		"1001", "'"]) {
		for (const answer of [await buyer.hold(encodeURIComponent(id)),
			await buyer.drop(id), await buyer.pay(id)]) {
			assert.ok([400, 404].includes(answer.status), answer.text);
			if (answer.status === 404)
				assert.equal(answer.problem, "no-such-hold");
		}
	}
});

test("extending is not in this version: a plain 4xx", async () => {
	const item = await shop.item({ total: 1 });
	const buyer = new Buyer();
	const { json: hold } = await buyer.take(item);
	const answer = await buyer.post("/hold/extend", { id: hold.id });
	assert.ok(answer.status >= 400 && answer.status < 500, answer.text);
	assert.ok(answer.problem);
	assert.equal((await buyer.hold(hold.id)).json.expires_at,
		hold.expires_at);
});

test("one live hold per buyer and item; a second take finds it", async () => {
	const item = await shop.item({ total: 5, "per-buyer": 3 });
	const buyer = new Buyer();
	const first = await buyer.take(item, 1);
	const again = await buyer.take(item, 1);
	assert.equal(again.status, 200);
	assert.equal(again.json.id, first.json.id);
	assert.equal(again.json.existing, true);
	assert.equal(again.json.expires_at, first.json.expires_at);
	assert.equal((await shop.stock(item)).held, 1);
	await shop.audit();
});

test("C10: expiry is judged when taking; the sweep changes no count",
	async () => {
		const item = await shop.item({ total: 1 });
		const [b1, b2] = [new Buyer(), new Buyer()];
		const { json: hold } = await b1.take(item);
		await shop.frozen([shop.processOf("sweeper")], async () => {
			await age(hold.id, 595);
			assert.equal((await b2.take(item)).problem, "sold-out");
			await age(hold.id, 6);
			const { state } = (await available(item))[0];
			assert.equal(state, "on_sale");
			assert.equal((await shop.stock(item)).held, 1);
			assert.equal((await b2.take(item)).status, 201);
		});
		const after = await shop.stock(item);
		assert.deepEqual(after, { total: 1, held: 1, sold: 0, free: 0 });
		await until("two sweeps", async () => {
			await sql().run("select * from api.sweep(500)");
			return sql().run("select * from api.sweep(500)").then(() => true);
		});
		assert.deepEqual(await shop.stock(item), after);
		assert.equal((await b1.page(hold.id)).state, "expired");
		assert.equal((await b1.hold(hold.id)).json.reason, "expired");
		await shop.audit();
	});

// Past nginx's cache, which keeps an answer for a second: another query.
let asked = 0;
async function available(...items) {
	asked += 1;
	const query = items.map((item) => `item=${encodeURIComponent(item)}`);
	const { json } = await request("GET",
		`/availability?${query.join("&")}&item=none-${asked}`);
	return json.items;
}

test("the sweeper returns what has lapsed, in slices", async () => {
	const item = await shop.item({ total: 700 });
	await Promise.all(Array.from({ length: 700 }, () =>
		new Buyer().take(item)));
	assert.equal((await shop.stock(item)).held, 700);
	await ageAll(item, 3600);
	await until("all 700 are free again", async () =>
		(await shop.stock(item)).free === 700);
	await shop.audit();
});

test("C13: the own hold stands in nobody's way", async () => {
	const item = await shop.item({ total: 1 });
	const [b1, b2] = [new Buyer(), new Buyer()];
	const { json: h1 } = await b1.take(item);
	await b1.pay(h1.id);
	await age(h1.id, 60);
	const same = await b1.take(item);
	assert.equal(same.status, 200);
	assert.equal(same.json.id, h1.id);
	assert.equal(Date.parse(same.json.expires_at),
		Date.parse(h1.expires_at) - 60000);
	await age(h1.id, 545);
	const { json: h2, status } = await b2.take(item);
	assert.equal(status, 201);
	const late = await b1.take(item);
	assert.equal(late.problem, "sold-out");
	assert.equal((await b1.page(h1.id)).state, "expired");
	const pay = await until("b2's pay page", async () => {
		const answer = await b2.pay(h2.id);
		return answer.status === 200 && answer.json;
	});
	assert.equal(pay.state, "ready");
	await shop.audit();
});

test("per buyer: the limit holds over holds and names itself", async () => {
	const item = await shop.item({ total: 10, "per-buyer": 2 });
	const buyer = new Buyer();
	const answer = await buyer.take(item, 3);
	assert.equal(answer.status, 409);
	assert.equal(answer.problem, "limit");
	assert.equal(answer.json.limit, 2);
	assert.equal(answer.json.have, 0);
	assert.equal((await shop.stock(item)).held, 0);
	await shop.audit();
});

test("not open yet, paused, closed: said, and nothing is taken", async () => {
	const later = await shop.item({ total: 1,
		opens: "2999-01-01T10:00:00+01:00" });
	const early = await new Buyer().take(later);
	assert.equal(early.status, 409);
	assert.equal(early.problem, "not-open");
	assert.ok(early.json.opens_in_ms > 2147483647);
	const paused = await shop.item({ total: 1 });
	await sql().run(`update data.item set status = 'paused'
		where sku = ${quote(paused)}`);
	assert.equal((await new Buyer().take(paused)).problem, "paused");
	const closed = await shop.item({ total: 1,
		opens: "2020-01-01T10:00:00Z", closes: "2020-01-02T10:00:00Z" });
	const over = await new Buyer().take(closed);
	assert.equal(over.status, 410);
	assert.equal(over.problem, "closed");
	const none = await new Buyer().take("no-such-item-here");
	assert.equal(none.status, 404);
	assert.equal(none.problem, "no-such-item");
	const states = await available(later, paused, closed);
	assert.deepEqual(states.map(({ state }) => state),
		["upcoming", "paused", "closed"]);
	await shop.audit();
});

test("availability: every state, cached a second, HEAD as GET", async () => {
	const item = await shop.item({ total: 1 });
	const state = async () => (await available(item))[0];
	assert.deepEqual(await state(), { item, title: `Test ${item}`,
		kind: "count", state: "on_sale", free: 1, held: 0,
		price: { amount: 2500, currency: "EUR" }, opens_in_ms: null,
		closes_in_ms: null, hold_seconds: 600, per_buyer: 1, room: false });
	const buyer = new Buyer();
	const { json: hold } = await buyer.take(item);
	assert.deepEqual(pick(await state()), ["all_held", 0, 1]);
	const path = `/availability?item=${item}`;
	const answer = await request("GET", path);
	assert.equal(answer.status, 200);
	assert.doesNotMatch(answer.headers["cache-control"] || "", /no-store/);
	assert.deepEqual(answer.cookies, []);
	const head = await request("HEAD", path);
	assert.equal(head.status, 200);
	assert.equal(head.bytes.length, 0);
	await buyer.drop(hold.id);
	assert.deepEqual(pick(await state()), ["on_sale", 1, 0]);
	// The cached answer turns within a second or so.
	await until("the cache forgets", async () =>
		(await request("GET", path)).json.items[0].free === 1,
	{ within: 3000 });
});

const pick = ({ state, free, held }) => [state, free, held];

test("availability refuses 51 items, none, and what is no name", async () => {
	const many = Array.from({ length: 51 }, (_, i) => `item=x${i}`).join("&");
	for (const query of [many, "", "other=1", "item=%ff", "item=%00"]) {
		const answer = await request("GET", `/availability?${query}`);
		assert.equal(answer.status, 400, query.slice(0, 40));
		assert.equal(answer.problem, "malformed");
	}
	const fifty = many.slice(0, many.lastIndexOf("&"));
	assert.equal((await request("GET", `/availability?${fifty}`)).status, 200);
	assert.deepEqual((await available("unknown-item")), []);
});

test("C49: SKUs are text: 01234 is not 1234, case and form count",
	async () => {
		const tag = shop.sku("C49");
		const names = ["01234", "1234", "0", "caf\u00e9", "cafe\u0301",
			"sku-a", "SKU-A", "\uff11\uff12", "a b", "x;y&z=<1>"]
			.map((name) => `${name}~${tag}`);
		// As they are: without the tag they are numbers to a careless eye.
		for (const sku of names)
			assert.equal(await shop.item({ sku, total: 1 }), sku);
		for (const sku of names) {
			assert.equal((await new Buyer().take(sku)).status, 201, sku);
			assert.equal((await new Buyer().take(sku)).problem, "sold-out");
			assert.equal((await available(sku))[0].item, sku);
		}
		for (const sku of ["", " x", "x ", "x\t", ".x", "a/b", "a\\b",
			"a\nb", "x".repeat(101)]) {
			const added = await shop.lastpair("item", "add", sku, "--title",
				"T", "--price", "1.00", "--currency", "EUR", "--total", "1");
			assert.ok([1, 2].includes(added.status),
				`${JSON.stringify(sku)}: ${added.status} ${added.err}`);
			assert.match(added.err, /^lastpair: .+\n$/);
		}
		await shop.audit();
	});

test("a sale's own clock: hold times of each item are kept", async () => {
	for (const [hold, ms] of [["90s", 90000], ["1h", 3600000], ["30", 30000]]) {
		const item = await shop.item({ total: 1, hold });
		const { json } = await new Buyer().take(item);
		assert.equal(Date.parse(json.expires_at) - Date.parse(json.now), ms);
	}
});

test("a request from another site cannot take or drop", async () => {
	const item = await shop.item({ total: 1 });
	for (const headers of [{ Origin: "https://evil.example" },
		{ "Sec-Fetch-Site": "cross-site" }, { Origin: "null" }]) {
		const answer = await request("POST", "/hold", {
			headers: { ...JSON_TYPE, ...headers },
			body: JSON.stringify({ item, qty: 1 }),
		});
		assert.equal(answer.status, 403, JSON.stringify(headers));
		assert.ok(answer.problem);
	}
	assert.equal((await shop.stock(item)).held, 0);
});
