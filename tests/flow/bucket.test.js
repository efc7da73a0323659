"use strict";
// C07: an item's units in buckets, split and merged on the command line while
// buyers take, pay and give up over HTTP.

const test = require("node:test");
const assert = require("node:assert/strict");
const { Buyer } = require("./lib/http.js");
const { sql, quote, ageAll } = require("./lib/sql.js");
const { pageOf, press, turns } = require("./lib/pay.js");
const shop = require("./lib/shop.js");

const REASON = /^lastpair: [^\n]+\n$/;

// What is free in each row of stock, as SQL sees it.
const free = async (item) => (await sql().rows(`select
	total + allowance - held - sold as free
	from data.stock join data.item using (item_id)
	where sku = ${quote(item)} order by bucket`)).map((row) => row.free);

// A hold's units by bucket.
const parts = (hold) => sql().rows(`select l.bucket, l.qty, l.lead
	from data.hold_line l join data.hold h using (hold_id)
	where h.id = ${quote(hold)} order by l.bucket`);

async function split(item, n) {
	const done = n === 1 ? await shop.lastpair("item", "merge", item)
		: await shop.lastpair("item", "split", item, String(n));
	assert.equal(done.status, 0, done.err);
	return done.out;
}

const taken = (answers, name) => answers.filter(({ status, problem }) =>
	name === (problem || String(status)));

test("C07: 10 units over 4 buckets are 3, 3, 2 and 2", async () => {
	const item = await shop.item({ total: 10 });
	assert.deepEqual(await free(item), [10]);
	assert.equal(await split(item, 4),
		`${item}: 4 buckets, 3 + 3 + 2 + 2 free\n`);
	assert.deepEqual(await free(item), [3, 3, 2, 2]);
	const { buckets, total, free: left } = await shop.show(item);
	assert.deepEqual([buckets, total, left], [4, 10, 10]);
	// To more, to fewer, to one: the sum is 10.
	const json = await shop.lastpair("item", "split", item, "3", "--json");
	assert.deepEqual(json.json(),
		{ item, buckets: 3, spread: [4, 3, 3] });
	assert.equal(await split(item, 1), `${item}: 1 bucket, 10 free\n`);
	assert.deepEqual(await free(item), [10, 0, 0, 0]);
	assert.equal((await shop.show(item)).buckets, 1);
	assert.equal(await split(item, 64),
		`${item}: 64 buckets, 0 to 1 free in each\n`);
	assert.equal((await shop.show(item)).free, 10);
	const all = await new Buyer().take(item);
	assert.equal(all.status, 201);
	await shop.audit();
});

test("C07: with 1, 0, 1, 0 left one buyer gets both", async () => {
	const item = await shop.item({ total: 10, "per-buyer": 5 });
	await split(item, 4);
	const buyers = Array.from({ length: 10 }, () => new Buyer());
	const holds = [];
	for (const buyer of buyers) {
		const { status, json } = await buyer.take(item);
		assert.equal(status, 201);
		const [{ bucket, qty }] = await parts(json.id);
		assert.equal(qty, 1);
		holds.push({ buyer, id: json.id, bucket });
	}
	assert.equal((await new Buyer().take(item)).problem, "sold-out");
	for (const wanted of [1, 3]) {
		const { buyer, id } = holds.find(({ bucket }) => bucket === wanted);
		assert.equal((await buyer.drop(id)).status, 200);
	}
	assert.deepEqual(await free(item), [1, 0, 1, 0]);
	const three = await new Buyer().take(item, 3);
	assert.equal(three.problem, "sold-out");
	assert.equal(three.json.free, 2);
	const b1 = new Buyer();
	const both = await b1.take(item, 2);
	assert.equal(both.status, 201);
	assert.deepEqual(both.json.lines.map(({ qty }) => qty), [2]);
	assert.deepEqual(await parts(both.json.id), [
		{ bucket: 1, qty: 1, lead: true }, { bucket: 3, qty: 1, lead: false }]);
	assert.equal((await new Buyer().take(item)).problem, "sold-out");
	// Merged while they are out, they are paid all the same.
	await split(item, 1);
	await press(await pageOf(b1, both.json.id), "pay");
	await turns(b1, both.json.id, "paid");
	assert.deepEqual(await shop.stock(item),
		{ total: 10, held: 8, sold: 2, free: 0 });
	await shop.audit();
});

test("C07: 3 units over 8 buckets serve three buyers", async () => {
	const item = await shop.item({ total: 3 });
	await split(item, 8);
	assert.deepEqual(await free(item), [1, 1, 1, 0, 0, 0, 0, 0]);
	const answers = await Promise.all([1, 2, 3].map(() =>
		new Buyer().take(item)));
	assert.equal(taken(answers, "201").length, 3);
	const { problem, json } = await new Buyer().take(item);
	assert.deepEqual([problem, json.free], ["sold-out", 0]);
	await shop.audit();
});

test("C07: what comes back to a bucket merged away is on sale", async () => {
	const item = await shop.item({ total: 6, buckets: 3, "per-buyer": 6 });
	await new Buyer().take(item, 6);
	await split(item, 1);
	await ageAll(item, 601);
	const next = await new Buyer().take(item, 6);
	assert.equal(next.status, 201);
	assert.deepEqual(await shop.stock(item),
		{ total: 6, held: 6, sold: 0, free: 0 });
	await shop.audit();
});

test("C07: 60 buyers, 50 units, split and merged meanwhile: 50 are granted",
	async () => {
		const item = await shop.item({ total: 50 });
		const answers = [];
		for (const n of [4, 1, 7, 2, 10, 1]) {
			const [all] = await Promise.all([
				Promise.all(Array.from({ length: 10 }, () =>
					new Buyer().take(item))),
				split(item, n), split(item, n + 1),
			]);
			answers.push(...all);
			assert.equal((await shop.stock(item)).total, 50);
		}
		assert.equal(taken(answers, "201").length, 50);
		const refused = taken(answers, "sold-out");
		assert.equal(refused.length, 10);
		refused.forEach(({ json }) => assert.equal(json.free, 0));
		assert.deepEqual(await shop.stock(item),
			{ total: 50, held: 50, sold: 0, free: 0 });
		await shop.audit();
	});

// Splits and merges until told to end; how often.
function rebalance(item) {
	const seen = { rounds: 0, sums: new Set(), on: true };
	const loop = (async () => {
		for (let i = 0; seen.on; i += 1) {
			await split(item, [5, 1, 3, 8, 2][i % 5]);
			const { total } = await shop.stock(item);
			seen.sums.add(total);
			seen.rounds += 1;
		}
	})();
	return {
		seen,
		async end() {
			seen.on = false;
			await loop;
		},
	};
}

// Takes up to three units, then pays, gives up or does nothing.
async function visit(item, nr) {
	const buyer = new Buyer();
	const qty = 1 + nr % 3;
	const { status, problem, json } = await buyer.take(item, qty);
	if (status !== 201) {
		assert.equal(problem, "sold-out");
		assert.ok(json.free < qty, `${json.free} free, ${qty} refused`);
		return { qty, end: "refused" };
	}
	const { id } = json;
	if (nr % 4 === 0) {
		await press(await pageOf(buyer, id), "pay");
		await turns(buyer, id, "paid");
		return { qty, end: "paid" };
	}
	if (nr % 2 === 0) {
		assert.equal((await buyer.drop(id)).status, 200);
		return { qty, end: "dropped" };
	}
	return { qty, end: "held" };
}

test("C07: split and merged while 50 buyers take, pay and give up",
	async () => {
		const item = await shop.item({ total: 40, allowance: 2,
			"per-buyer": 3 });
		const other = rebalance(item);
		const visits = await Promise.all(Array.from({ length: 50 },
			(_, nr) => visit(item, nr)));
		await shop.until("the command has run in between", () =>
			other.seen.rounds >= 5, { within: 30000 });
		const sum = (end) => visits.filter((one) => one.end === end)
			.reduce((all, { qty }) => all + qty, 0);
		const stock = await shop.stock(item);
		assert.deepEqual([stock.held, stock.sold], [sum("held"), sum("paid")]);
		// The rest, one by one, while it goes on: all of it is found.
		const left = stock.free;
		assert.equal(left, 42 - sum("held") - sum("paid"));
		const rest = await Promise.all(Array.from({ length: left + 5 }, () =>
			new Buyer().take(item)));
		assert.equal(taken(rest, "201").length, left);
		assert.equal(taken(rest, "sold-out").length, 5);
		await other.end();
		assert.deepEqual([...other.seen.sums], [40]);
		assert.deepEqual(await shop.stock(item), { total: 40,
			held: sum("held") + left, sold: sum("paid"), free: 0 });
		await shop.audit();
	});

test("split, merge: refused in one line; who did it is kept", async () => {
	const item = await shop.item({ total: 4 });
	for (const words of [["split", "none", "2"], ["merge", "none"]]) {
		const done = await shop.lastpair("item", ...words);
		assert.equal(done.status, 1, words.join(" "));
		assert.match(done.err, REASON);
	}
	for (const words of [["split"], ["split", item], ["split", item, "0"],
		["split", item, "1"], ["split", item, "1001"], ["split", item, "x"],
		["split", item, "2.5"], ["split", item, "2", "3"],
		["split", item, "2", "--xml"], ["merge"], ["merge", item, "2"]]) {
		const done = await shop.lastpair("item", ...words);
		assert.equal(done.status, 2, words.join(" "));
		assert.match(done.err, REASON);
		assert.equal(done.out, "");
	}
	await sql().run(`update data.item set kind = 'unit'
		where sku = ${quote(item)}`);
	const unit = await shop.lastpair("item", "split", item, "2");
	await sql().run(`update data.item set kind = 'count'
		where sku = ${quote(item)}`);
	assert.equal(unit.status, 1);
	assert.match(unit.err, REASON);
	assert.deepEqual(await free(item), [4]);
	const { version } = await shop.show(item);
	await split(item, 2);
	const stale = await shop.lastpair("item", "set", item, "--total", "9",
		"--version", String(version));
	assert.equal(stale.status, 1);
	const [change, ...more] = await sql().rows(`select c.changed_by as by,
		(c.before ->> 'buckets')::int as before,
		(c.after ->> 'buckets')::int as after
		from data.item_change c join data.item i using (item_id)
		where i.sku = ${quote(item)}`);
	assert.deepEqual([change.before, change.after, more], [1, 2, []]);
	assert.ok(change.by.length > 0);
	// A new total goes to the buckets that there are now.
	assert.equal((await shop.lastpair("item", "set", item, "--total", "9"))
		.status, 0);
	assert.deepEqual(await free(item), [5, 4]);
	await shop.audit();
});
