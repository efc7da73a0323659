"use strict";
// More questions than can be answered: they wait, but not in the way of holds,
// and who comes when too many wait already is told so at once.

const test = require("node:test");
const assert = require("node:assert/strict");
const { Buyer, request } = require("./lib/http.js");
const { sql } = require("./lib/sql.js");
const { until } = require("./lib/wait.js");
const shop = require("./lib/shop.js");

const THREADS = Number(shop.setting("server", "threads"));

test("1,200 questions to a frozen database: holds and /healthz go on",
	async () => {
		const item = await shop.item({ total: 50 });
		const unknown = "/hold?id=hld_0123456789abcdefghijkl";
		// Each request thread connects with its first question.
		const pids = await until("all threads are connected", async () => {
			await Promise.all(Array.from({ length: 40 },
				() => request("GET", unknown)));
			const found = await sql().rows(`select pid from pg_stat_activity
				where application_name like 'lastpair worker%'
				and application_name not like '% lane'`);
			return found.length === shop.workers().length * THREADS &&
				found.map(({ pid }) => pid);
		});
		let asked;
		await shop.frozen(pids, async () => {
			asked = Array.from({ length: 1200 }, () => request("GET", unknown));
			// Answered while all the others still wait.
			const told = await Promise.any(asked);
			assert.equal(told.status, 503);
			assert.equal(told.problem, "busy");
			assert.ok(Number(told.headers["retry-after"]) >= 1);
			for (let i = 0; i < 20; i += 1) {
				assert.equal((await new Buyer().take(item)).status, 201);
				assert.equal((await request("GET", "/healthz")).status, 200);
			}
		});
		const answers = await Promise.all(asked);
		const count = (status) =>
			answers.filter((answer) => answer.status === status).length;
		assert.equal(count(404) + count(503), answers.length);
		assert.ok(count(404) > 0);
		assert.equal((await shop.stock(item)).held, 20);
		await shop.audit();
	});
