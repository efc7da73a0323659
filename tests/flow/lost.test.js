"use strict";
// Promise 9, the worst moment: a take is committed, and its answer is lost on
// the way from the database. A standby that does not exist keeps the commit
// waiting when it is on disk already; then its connection is cut.

const test = require("node:test");
const assert = require("node:assert/strict");
const { randomUUID } = require("node:crypto");
const { Buyer } = require("./lib/http.js");
const { until } = require("./lib/wait.js");
const { sql } = require("./lib/sql.js");
const shop = require("./lib/shop.js");

// Lanes whose commit is on disk and waits all the same.
const waiting = async () => (await sql().rows(`select pid
	from pg_stat_activity where wait_event = 'SyncRep'
	and application_name like '% lane'`)).map(({ pid }) => pid);

async function standby(name) {
	await sql().run(`alter system set synchronous_standby_names = '${name}'`);
	await sql().run("select pg_reload_conf()");
	await until("the setting is known", async () => (await sql().row(
		"select current_setting('synchronous_standby_names') as name"))
		.name === name);
}

test("C59: the answer to a commit is lost: the same hold is found, once",
	async () => {
		const item = await shop.item({ total: 40 });
		const buyers = Array.from({ length: 20 }, () => new Buyer());
		let answers;
		await standby("nobody");
		try {
			// With a key, by cookie alone, and without either.
			const takes = buyers.map((buyer, i) => buyer.take(item, 1,
				i % 2 ? randomUUID() : undefined));
			const lanes = await until("a commit waits", async () => {
				const pids = await waiting();
				return pids.length > 0 && pids;
			});
			for (const pid of lanes)
				await sql().run(`select pg_terminate_backend(${pid})`);
			await until("another connection has asked again", async () =>
				(await waiting()).some((pid) => !lanes.includes(pid)));
			await standby("");
			answers = await Promise.all(takes);
		} finally {
			await standby("");
		}
		for (const answer of answers) {
			assert.equal(answer.status, 201, answer.text);
			assert.equal(answer.json.existing, false);
		}
		const ids = new Set(answers.map(({ json }) => json.id));
		assert.equal(ids.size, buyers.length);
		assert.equal((await shop.stock(item)).held, buyers.length);
		await shop.audit();
	});
