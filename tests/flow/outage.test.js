"use strict";
// Promise 11: the database goes away and comes back under a running shop.

const test = require("node:test");
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { execFileSync } = require("node:child_process");
const { randomUUID } = require("node:crypto");
const { Buyer, request } = require("./lib/http.js");
const { until } = require("./lib/wait.js");
const { Session, quote } = require("./lib/sql.js");
const { payable } = require("./lib/pay.js");
const stripe = require("./lib/stripe.js");
const shop = require("./lib/shop.js");

const CLUSTER = path.join(__dirname, "../../app/demo/cluster.sh");
const cluster = (command) => execFileSync(CLUSTER, [command, shop.STATE],
	{ stdio: "ignore" });

// This file asks for a connection of its own each time: they do not last.
async function ask(query) {
	const session = new Session();
	try {
		return await session.row(query);
	} finally {
		session.close();
	}
}

const held = async (item) => (await ask(`select sum(held)::int as n
	from data.stock join data.item using (item_id)
	where sku = ${quote(item)}`)).n;

test("the database is stopped: 503, nothing lost; it is back: all goes on",
	async () => {
		const workers = shop.workers();
		const { hold, item } = await payable({ total: 1 });
		const other = await shop.item({ total: 5 });
		const event = await stripe.paidEvent(hold);
		const known = `/availability?item=${other}`;
		assert.equal((await request("GET", known)).status, 200);
		const buyer = new Buyer();
		const key = randomUUID();
		cluster("stop");
		try {
			for (let i = 0; i < 4; i += 1) {
				const start = Date.now();
				const taken = await buyer.take(other, 1, key);
				assert.equal(taken.status, 503);
				assert.equal(taken.problem, "busy");
				assert.ok(Number(taken.headers["retry-after"]) >= 1);
				assert.ok(Date.now() - start < 3000);
			}
			const form = await buyer.form("/hold", { item: other, qty: "1" });
			assert.equal(form.status, 303);
			assert.match(form.headers.location, /^\/problems\/busy/);
			assert.equal((await buyer.get("/problems/busy")).status, 200);
			assert.equal((await stripe.send(event)).status, 503);
			assert.equal((await stripe.send(event, { header: "" })).status,
				400);
			assert.equal((await request("GET", "/healthz")).status, 200);
			assert.equal((await request("GET", "/readyz")).status, 503);
			assert.equal((await shop.lastpair("audit")).status, 3);
			// Who looks at the stock gets what was true before.
			assert.equal((await request("GET", known)).status, 200);
			assert.equal((await request("GET", "/item/RUN-42")).status, 200);
		} finally {
			cluster("start");
		}
		const taken = await until("a take works again", async () => {
			const answer = await buyer.take(other, 1, key);
			return answer.status < 300 && answer;
		}, { within: 15000 });
		assert.ok(taken.json.id);
		assert.equal(await held(other), 1);
		assert.equal((await stripe.send(event)).status, 200);
		const { sold } = await ask(`select sum(sold)::int as sold
			from data.stock join data.item using (item_id)
			where sku = ${quote(item)}`);
		assert.equal(sold, 1);
		assert.deepEqual(shop.workers(), workers, "no worker has died of it");
		await shop.audit();
	});

test("sweeper and cashier find the database again", async () => {
	cluster("stop");
	cluster("start");
	const item = await shop.item({ total: 1, hold: "1s" });
	await until("a take works", async () =>
		(await new Buyer().take(item)).status === 201);
	await until("the sweeper sweeps", async () => await held(item) === 0,
		{ within: 15000 });
	// And the cashier opens pages. A worker whose connection was lost says so
	// once, when it finds out.
	const other = await shop.item({ total: 1 });
	const buyer = new Buyer();
	await until("a pay page", async () => {
		const { status, json } = await buyer.take(other);
		return status < 300 && (await buyer.pay(json.id)).status === 200;
	}, { within: 15000 });
	await shop.audit();
});

// A frozen server hangs up on nobody. The shop itself must say busy (nginx
// would after 15 s, in other words), again and again: a call has a deadline,
// and whatever waited for the server is free again afterwards.
test("the database freezes: busy within the deadline, then all is well",
	async () => {
		const workers = shop.workers();
		const item = await shop.item({ total: 4 });
		const postmaster = Number(fs.readFileSync(
			`${shop.STATE}/pg/postmaster.pid`, "utf8").split("\n")[0]);
		const buyers = Array.from({ length: 4 }, () =>
			({ buyer: new Buyer(), key: randomUUID() }));
		const takeAll = () => Promise.all(buyers.map(({ buyer, key }) =>
			buyer.take(item, 1, key)));
		await shop.frozen([postmaster, ...shop.childrenOf(postmaster)],
			async () => {
				// The first wave is under way when the server is given up,
				// the second finds no server to connect to.
				for (let wave = 0; wave < 2; wave += 1) {
					for (const answer of await takeAll()) {
						assert.equal(answer.status, 503);
						assert.equal(answer.problem, "busy");
						assert.match(answer.json.detail, /could not answer/);
						assert.ok(Number(answer.headers["retry-after"]) >= 1);
					}
				}
				assert.equal((await request("GET",
					`/hold?id=hld_${"x".repeat(22)}`)).status, 503);
				assert.equal((await request("GET", "/healthz")).status, 200);
				assert.equal((await request("GET", "/readyz")).status, 503);
			});
		// What was sent before may have been carried out since: the key finds
		// it, and nobody gets two.
		await until("each has a hold", async () =>
			(await takeAll()).every(({ status }) => status < 300),
		{ within: 20000 });
		assert.equal(await held(item), 4);
		assert.equal((await new Buyer().take(item)).problem, "sold-out");
		assert.deepEqual(shop.workers(), workers, "no worker has died of it");
		await shop.audit();
	});
