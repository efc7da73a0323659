"use strict";
// Workers that are replaced, frozen or killed while buyers come.

const test = require("node:test");
const assert = require("node:assert/strict");
const { randomUUID } = require("node:crypto");
const { Buyer } = require("./lib/http.js");
const { sleep, until } = require("./lib/wait.js");
const { Session, ageAll, sql, quote } = require("./lib/sql.js");
const shop = require("./lib/shop.js");

// Takes at a rate; who gets no clear answer tries again with the same key.
async function traffic(item, rate, running) {
	const tries = [];
	const results = [];
	while (running()) {
		results.push((async () => {
			const buyer = new Buyer();
			const key = randomUUID();
			for (let n = 1; n < 40; n += 1) {
				const answer = await buyer.take(item, 1, key)
					.catch((error) => ({ status: 0, error }));
				tries.push(answer.status);
				if ([200, 201, 409].includes(answer.status))
					return answer;
				await sleep(100);
			}
			throw new Error("no answer after 40 tries");
		})());
		await sleep(1000 / rate);
	}
	return { answers: await Promise.all(results), tries };
}

async function check(item, { answers, tries }) {
	const held = answers.filter(({ status }) => status < 300);
	const ids = new Set(held.map(({ json }) => json.id));
	assert.equal(ids.size, held.length, "one hold for each success");
	const { n } = await sql().row(`select count(distinct h.hold_id) as n
		from data.hold h join data.hold_line l using (hold_id)
		join data.item i using (item_id) where i.sku = ${quote(item)}`);
	assert.equal(n, held.length, "granted holds are the client's successes");
	assert.equal((await shop.stock(item)).held, held.length);
	await shop.audit();
	return tries.filter((status) => status >= 500 || status === 0).length;
}

test("C59: SIGHUP under 50 takes a second: none lost, none twice",
	async () => {
		const item = await shop.item({ total: 100000 });
		let on = true;
		const run = traffic(item, 50, () => on);
		for (let i = 0; i < 3; i += 1) {
			await sleep(500);
			await shop.reload();
		}
		on = false;
		const failed = await check(item, await run);
		assert.equal(failed, 0, "a reload loses no request");
	});

test("C59: all workers killed at once under load: retries get their holds",
	async () => {
		const item = await shop.item({ total: 100000 });
		let on = true;
		const run = traffic(item, 50, () => on);
		await sleep(500);
		const killed = shop.workers();
		killed.forEach((pid) => process.kill(pid, "SIGKILL"));
		await until("all are back", () => {
			const now = shop.workers();
			return now.length === killed.length &&
				now.every((pid) => !killed.includes(pid));
		}, { within: 20000 });
		await sleep(500);
		on = false;
		await check(item, await run);
	});

// The database carries out what a dead worker asked for; nobody was told.
test("C59, C61: workers die while their takes commit: the keys find them",
	async () => {
		const item = await shop.item({ total: 9 });
		const keys = shop.workers().map(() => randomUUID());
		const locker = new Session();
		await locker.run(`begin; select 1 from data.stock
			join data.item using (item_id)
			where sku = ${quote(item)} for update of stock`);
		const takes = keys.map((key) => new Buyer().take(item, 1, key));
		await until("each worker waits for the row", async () => (await sql()
			.row(`select count(*) as n from pg_stat_activity
			where usename = 'lastpair_web' and wait_event_type = 'Lock'`)).n
			=== keys.length);
		const killed = shop.workers();
		killed.forEach((pid) => process.kill(pid, "SIGKILL"));
		for (const { status, headers, problem } of await Promise.all(takes)) {
			assert.equal(status, 503);
			assert.equal(problem, "busy");
			assert.ok(headers["retry-after"]);
		}
		await locker.run("rollback");
		locker.close();
		await until("both are committed all the same", async () =>
			(await shop.stock(item)).held === keys.length);
		await until("the workers are back", () =>
			shop.workers().length === killed.length &&
			!shop.workers().some((pid) => killed.includes(pid)));
		// No cookie ever reached these buyers: the key alone names them.
		for (const key of keys) {
			const again = await new Buyer().take(item, 1, key);
			assert.equal(again.status, 200);
			assert.equal(again.json.existing, true);
		}
		assert.equal((await shop.stock(item)).held, keys.length);
		await shop.audit();
	});

// The worker is frozen while its statement waits for the row: what the row
// says afterwards decides, not what the worker believed before.
test("C05: a worker frozen in the take: one is granted, the other served",
	async () => {
		const item = await shop.item({ total: 1 });
		const locker = new Session();
		await locker.run(`begin; select 1 from data.stock
			join data.item using (item_id)
			where sku = ${quote(item)} for update of stock`);
		const first = new Buyer().take(item);
		const waiting = await until("a worker waits for the row", () =>
			sql().row(`select application_name as name from pg_stat_activity
				where usename = 'lastpair_web'
				and wait_event_type = 'Lock'`));
		const pid = shop.processOf(waiting.name.replace("lastpair ", ""));
		await shop.frozen([pid], async () => {
			await locker.run("rollback");
			locker.close();
			await until("the unit is taken", async () =>
				(await shop.stock(item)).held === 1);
			// The other worker goes on meanwhile.
			const start = Date.now();
			const second = await new Buyer().take(item);
			assert.equal(second.problem, "sold-out");
			assert.ok(Date.now() - start < 3000);
		});
		assert.equal((await first).status, 201);
		assert.deepEqual(await shop.stock(item),
			{ total: 1, held: 1, sold: 0, free: 0 });
		await shop.audit();
	});

test("C05: the row stays locked: busy within 3 s, and nothing is taken",
	async () => {
		const item = await shop.item({ total: 1 });
		const locker = new Session();
		await locker.run(`begin; select 1 from data.stock
			join data.item using (item_id)
			where sku = ${quote(item)} for update of stock`);
		const buyer = new Buyer();
		const key = randomUUID();
		const start = Date.now();
		const answer = await buyer.take(item, 1, key);
		assert.ok(Date.now() - start < 3000, `${Date.now() - start} ms`);
		assert.equal(answer.status, 503);
		assert.equal(answer.problem, "busy");
		assert.ok(Number(answer.headers["retry-after"]) >= 1);
		await locker.run("rollback");
		locker.close();
		assert.equal((await buyer.take(item, 1, key)).status, 201);
		await shop.audit();
	});

test("C73: a sweeper that dies is there again, and sweeps", async () => {
	const item = await shop.item({ total: 1, hold: "1s" });
	const pid = shop.processOf("sweeper");
	process.kill(pid, "SIGKILL");
	await new Buyer().take(item);
	await until("another sweeps", async () =>
		(await shop.stock(item)).free === 1, { within: 15000 });
	assert.notEqual(shop.processOf("sweeper"), pid);
});

test("C74: three sweepers at once over 100 lapsed holds: each unit once",
	async () => {
		const item = await shop.item({ total: 100 });
		await shop.frozen([shop.processOf("sweeper")], async () => {
			await Promise.all(Array.from({ length: 100 }, () =>
				new Buyer().take(item)));
			await ageAll(item, 3600);
			const sweepers = Array.from({ length: 3 }, () =>
				new Session("lastpair_sweeper"));
			await until("all are back", async () => {
				await Promise.all(sweepers.map((s) =>
					s.run("select * from api.sweep(7)")));
				return (await shop.stock(item)).free === 100;
			});
			sweepers.forEach((s) => s.close());
		});
		assert.deepEqual(await shop.stock(item),
			{ total: 100, held: 0, sold: 0, free: 100 });
		await shop.audit();
	});
