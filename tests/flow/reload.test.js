"use strict";
// Workers that are replaced, frozen or killed while buyers come.

const test = require("node:test");
const assert = require("node:assert/strict");
const { randomUUID } = require("node:crypto");
const { Buyer, request } = require("./lib/http.js");
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

test("C59: SIGHUP while all kinds of requests come over kept connections",
	async () => {
		const item = await shop.item({ total: 100000 });
		const { json } = await new Buyer().take(item);
		const reads = [`/hold?id=${json.id}`, `/order/${json.id}`, "/readyz",
			`/availability?item=${item}&item=none`];
		const wrong = [];
		let answered = 0;
		let held = 1;
		let on = true;
		const repeat = async (ask) => {
			while (on) {
				const answer = await ask().catch((error) =>
					({ status: 0, text: String(error) }));
				if (answer.status >= 500 || answer.status === 0)
					wrong.push(`${answer.status} ${answer.text}`);
				held += answer.status === 201 ? 1 : 0;
				answered += 1;
			}
		};
		const clients = Array.from({ length: 12 }, (_, i) => repeat(i < 8
			? () => new Buyer().take(item)
			: () => request("GET", reads[i % reads.length])));
		for (let i = 0; i < 3; i += 1) {
			const enough = answered + 100;
			await until("requests come", () => answered >= enough);
			await shop.reload();
		}
		on = false;
		await Promise.all(clients);
		assert.deepEqual(wrong, []);
		assert.equal((await shop.stock(item)).held, held);
		await shop.audit();
	});

test("C59: all workers killed at once under load: retries get their holds",
	async () => {
		const item = await shop.item({ total: 100000 });
		let on = true;
		const run = traffic(item, 50, () => on);
		await sleep(500);
		const killed = shop.workers();
		killed.forEach((pid) => process.kill(pid, "SIGKILL"));
		await allBack(killed);
		await sleep(500);
		on = false;
		await check(item, await run);
	});

const locked = (items) => `begin; select 1 from data.stock
	join data.item using (item_id)
	where sku in (${items.map(quote).join(", ")}) for update of stock`;

// The workers whose takes wait for a row, as the database knows them.
const waiting = async () => (await sql().rows(`select distinct
	application_name as name from pg_stat_activity
	where usename = 'lastpair_web' and wait_event_type = 'Lock'`))
	.map(({ name }) => /worker \d+/.exec(name)[0]);

const allBack = (killed) => until("the workers are back", () => {
	const now = shop.workers();
	return now.length === killed.length &&
		!now.some((pid) => killed.includes(pid));
}, { within: 20000 });

// The database carries out what a dead worker asked for; nobody was told. Of
// so many items, each worker has some.
test("C59, C61: workers die while their takes commit: the keys find them",
	async () => {
		const takes = await Promise.all(Array.from({ length: 24 },
			async () => ({ item: await shop.item({ total: 9 }),
				key: randomUUID() })));
		const locker = new Session();
		await locker.run(locked(takes.map(({ item }) => item)));
		const answers = takes.map(({ item, key }) =>
			new Buyer().take(item, 1, key));
		const killed = shop.workers();
		await until("each worker waits for a row", async () =>
			new Set(await waiting()).size === killed.length);
		killed.forEach((pid) => process.kill(pid, "SIGKILL"));
		await locker.run("rollback");
		locker.close();
		const held = async () => (await Promise.all(takes.map(({ item }) =>
			shop.stock(item)))).reduce((sum, row) => sum + row.held, 0);
		await until("what was under way is committed all the same",
			async () => await held() >= killed.length);
		let lost = 0;
		for (const answer of await Promise.all(answers)) {
			// What no worker had accepted has waited for the next.
			if (answer.status < 300)
				continue;
			lost += 1;
			assert.equal(answer.status, 503);
			assert.equal(answer.problem, "busy");
			assert.ok(answer.headers["retry-after"]);
		}
		assert.ok(lost >= killed.length);
		await allBack(killed);
		// No cookie ever reached these buyers: the key alone names them.
		let found = 0;
		for (const { item, key } of takes) {
			const again = await new Buyer().take(item, 1, key);
			assert.ok(again.status < 300, again.text);
			found += again.json.existing ? 1 : 0;
			assert.equal((await shop.stock(item)).held, 1);
		}
		assert.ok(found >= killed.length);
		await shop.audit();
	});

test("C59: a worker is killed: the others serve its items within a second",
	async () => {
		const takes = await Promise.all(Array.from({ length: 24 },
			async () => ({ item: await shop.item({ total: 9 }),
				key: randomUUID() })));
		for (const take of takes)
			take.id = (await new Buyer().take(take.item, 1, take.key))
				.json.id;
		// The best of three, so that a busy machine is not to blame.
		let fastest = Infinity;
		for (let i = 0; i < 3; i += 1) {
			const workers = shop.workers();
			const start = Date.now();
			process.kill(workers[i % workers.length], "SIGKILL");
			await Promise.all(takes.map(({ item }) => until("it is sold",
				async () => (await new Buyer().take(item)).status === 201,
				{ every: 20 })));
			fastest = Math.min(fastest, Date.now() - start);
			for (const { item, key, id } of takes) {
				const again = await new Buyer().take(item, 1, key);
				assert.equal(again.status, 200);
				assert.equal(again.json.id, id);
			}
			await until("all workers are back", () =>
				shop.workers().length === workers.length);
		}
		assert.ok(fastest < 1000, `${fastest} ms`);
		for (const { item } of takes)
			assert.equal((await shop.stock(item)).held, 4);
		await shop.audit();
	});

// The worker is frozen while its statement waits for the row: what the row
// says afterwards decides, not what the worker believed before. Whoever it
// kept waiting is told so, and served by another.
test("C05: a worker frozen in the take: busy within 3 s, then one is granted",
	async () => {
		const item = await shop.item({ total: 1 });
		const locker = new Session();
		await locker.run(locked([item]));
		const [one, other] = [new Buyer(), new Buyer()];
		const [key, otherKey] = [randomUUID(), randomUUID()];
		const first = one.take(item, 1, key);
		const [name] = await until("a worker waits for the row", async () => {
			const names = await waiting();
			return names.length > 0 && names;
		});
		await shop.frozen([shop.processOf(name)], async () => {
			await locker.run("rollback");
			locker.close();
			await until("the unit is taken", async () =>
				(await shop.stock(item)).held === 1);
			const start = Date.now();
			const second = await other.take(item, 1, otherKey);
			assert.ok(Date.now() - start < 3000);
			assert.ok(["busy", "sold-out"].includes(second.problem));
			const answer = await until("the other is served", async () => {
				const again = await other.take(item, 1, otherKey);
				return again.status !== 503 && again;
			});
			assert.equal(answer.problem, "sold-out");
		});
		assert.equal((await first).problem, "busy");
		const again = await one.take(item, 1, key);
		assert.equal(again.status, 200);
		assert.equal(again.json.existing, true);
		assert.deepEqual(await shop.stock(item),
			{ total: 1, held: 1, sold: 0, free: 0 });
		await shop.audit();
	});

test("C05: the row stays locked: busy within 3 s, and nothing is taken",
	async () => {
		const item = await shop.item({ total: 1 });
		const locker = new Session();
		await locker.run(locked([item]));
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
