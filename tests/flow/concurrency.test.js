"use strict";
// Overselling, attacked with more buyers than units.

const test = require("node:test");
const assert = require("node:assert/strict");
const { Buyer } = require("./lib/http.js");
const { barrier, until } = require("./lib/wait.js");
const { Session, sql, quote } = require("./lib/sql.js");
const provider = require("./lib/provider.js");
const shop = require("./lib/shop.js");

// Everybody takes at the same moment; the answers counted by what they say.
async function rush(count, item, qty = 1) {
	const { gate, open } = barrier();
	const all = Array.from({ length: count }, async () => {
		const buyer = new Buyer();
		await gate;
		return { buyer, ...await buyer.take(item, qty) };
	});
	open();
	const answers = await Promise.all(all);
	const counts = {};
	for (const { status, problem } of answers) {
		const name = problem ? `${status} ${problem}` : String(status);
		counts[name] = (counts[name] || 0) + 1;
	}
	return { answers, counts };
}

// Samples the promises that a single query sees, every 50 ms.
function watch(item) {
	const session = new Session();
	const seen = { samples: 0, breaches: [] };
	let on = true;
	const loop = (async () => {
		while (on) {
			const row = await session.row(`select
				bool_and(held + sold <= total + allowance) as never_more,
				bool_and(held = lines_held and sold = lines_sold) as counted
			from (select s.*, coalesce(sum(l.qty) filter (
					where l.state = 'held'), 0) as lines_held,
				coalesce(sum(l.qty) filter (
					where l.state = 'paid'), 0) as lines_sold
				from data.stock s join data.item i using (item_id)
				left join data.hold_line l using (item_id, bucket)
				where i.sku = ${quote(item)}
				group by s.item_id, s.bucket) s`);
			seen.samples += 1;
			if (!row.never_more || !row.counted)
				seen.breaches.push(row);
			await new Promise((done) => setTimeout(done, 50));
		}
		session.close();
	})();
	return {
		async end() {
			on = false;
			await loop;
			assert.deepEqual(seen.breaches, []);
			assert.ok(seen.samples > 0);
		},
	};
}

test("the last pair: 1,000 buyers at once, one unit, one 201", async () => {
	const item = await shop.item({ total: 1 });
	const { answers, counts } = await rush(1000, item);
	assert.deepEqual(counts, { 201: 1, "409 sold-out": 999 });
	const refused = answers.find(({ status }) => status === 409);
	assert.equal(refused.json.free, 0);
	assert.equal(refused.json.held, 1);
	assert.deepEqual(await shop.stock(item),
		{ total: 1, held: 1, sold: 0, free: 0 });
	await shop.audit();
});

test("600 units, 1,000 buyers at once: 600 are granted", async () => {
	const item = await shop.item({ total: 600 });
	const { answers, counts } = await rush(1000, item);
	assert.deepEqual(counts, { 201: 600, "409 sold-out": 400 });
	const holds = answers.filter(({ status }) => status === 201)
		.map(({ json }) => json.id);
	assert.equal(new Set(holds).size, 600);
	assert.deepEqual(await shop.stock(item),
		{ total: 600, held: 600, sold: 0, free: 0 });
	await shop.audit();
});

test("C01 a: 6 and 6 of 10, 200 rounds: one is granted, 4 are left",
	async () => {
		for (let round = 0; round < 200; round += 20) {
			const items = await Promise.all(Array.from({ length: 20 }, () =>
				shop.item({ total: 10, "per-buyer": 10 })));
			for (const item of items) {
				const { answers, counts } = await rush(2, item, 6);
				assert.deepEqual(counts, { 201: 1, "409 sold-out": 1 });
				const { json } = answers.find((a) => a.status === 409);
				assert.equal(json.free, 4);
				assert.equal((await shop.stock(item)).free, 4);
			}
		}
		await shop.audit();
	});

test("C01 b: 100 units, 1,000 buyers, invariants sampled every 50 ms",
	async () => {
		const item = await shop.item({ total: 100 });
		const watcher = watch(item);
		const { counts } = await rush(1000, item);
		await watcher.end();
		assert.deepEqual(counts, { 201: 100, "409 sold-out": 900 });
		assert.equal((await shop.show(item)).free, 0);
		await shop.audit();
	});

test("C02: three buyers, one unit: the provider sees one attempt",
	async () => {
		const item = await shop.item({ total: 1 });
		const { answers } = await rush(3, item);
		const holder = answers.find(({ status }) => status === 201);
		const losers = answers.filter((answer) => answer !== holder);
		losers.forEach(({ problem }) => assert.equal(problem, "sold-out"));
		// The losers try to pay the holder's hold.
		const hold = holder.json.id;
		const pays = await Promise.all(answers.map(({ buyer }) =>
			buyer.pay(hold)));
		pays.forEach((pay, i) => assert.equal(pay.status < 300,
			answers[i] === holder));
		await until("the pay page", async () =>
			(await holder.buyer.pay(hold)).status === 200);
		assert.equal(await provider.sessionCount(hold), 1);
		await shop.audit();
	});

test("C07: units spread over buckets are sold to the last one", async () => {
	const item = await shop.item({ total: 10, buckets: 4, "per-buyer": 5 });
	const spread = () => sql().rows(`select total, total - held - sold as free
		from data.stock join data.item using (item_id)
		where sku = ${quote(item)} order by bucket`);
	assert.deepEqual((await spread()).map(({ total }) => total),
		[3, 3, 2, 2]);
	const first = await new Buyer().take(item, 5);
	assert.equal(first.status, 201);
	const second = await new Buyer().take(item, 3);
	assert.equal(second.status, 201);
	// Two are left, in whichever buckets: one buyer gets both.
	const last = await new Buyer().take(item, 2);
	assert.equal(last.status, 201);
	assert.deepEqual(last.json.lines.map(({ qty }) => qty), [2]);
	assert.equal((await new Buyer().take(item, 1)).problem, "sold-out");
	const few = await shop.item({ total: 3, buckets: 8 });
	assert.deepEqual((await rush(3, few)).counts, { 201: 3 });
	assert.equal((await new Buyer().take(few)).problem, "sold-out");
	await shop.audit();
});

test("C08: an allowance of 3 on 100; blank and 0 mean none", async () => {
	const item = await shop.item({ total: 100, allowance: 3 });
	const { counts } = await rush(110, item);
	assert.deepEqual(counts, { 201: 103, "409 sold-out": 7 });
	for (const allowance of ["", "0"]) {
		const none = await shop.item({ total: 1, allowance });
		assert.deepEqual((await rush(2, none)).counts,
			{ 201: 1, "409 sold-out": 1 });
	}
	await shop.audit();
});

test("C55 a: a wait for the row does not shorten the hold", async () => {
	const item = await shop.item({ total: 1, hold: "600s" });
	const locker = new Session();
	await locker.run(`begin; select 1 from data.stock
		join data.item using (item_id)
		where sku = ${quote(item)} for update of stock`);
	const waiting = new Buyer().take(item);
	await until("the take waits for the row", async () => (await sql().row(`
		select count(*) as n from pg_stat_activity
		where wait_event_type = 'Lock' and query like '%hold_take%'`)).n > 0);
	await new Promise((done) => setTimeout(done, 1000));
	await locker.run("rollback");
	locker.close();
	const { status, json } = await waiting;
	assert.equal(status, 201);
	assert.equal(json.expires_in_ms, 600000);
	assert.match(json.expires_at, /T\d\d:\d\d:\d\d\.\d{3}Z$/);
	await shop.audit();
});
