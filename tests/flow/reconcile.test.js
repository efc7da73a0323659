"use strict";
// The provider's books against ours: money that was missed is found and
// repaired, what cannot be repaired is somebody's task, a run that was killed
// is gone on with, and a live shop shows no false difference.

const test = require("node:test");
const assert = require("node:assert/strict");
const { spawn } = require("node:child_process");
const { Buyer } = require("./lib/http.js");
const { until } = require("./lib/wait.js");
const { sql, quote } = require("./lib/sql.js");
const { payable, press, turns } = require("./lib/pay.js");
const provider = require("./lib/provider.js");
const standard = require("./lib/standard.js");
const stripe = require("./lib/stripe.js");
const shop = require("./lib/shop.js");

const REASON = /^lastpair: [^\n]+\n$/;

// Other files make up money that the provider knows nothing of: it lies before
// all that is compared here.
test.before(() => sql().run(`do $$ begin
	update data.payment set created_at = created_at - interval '60 days',
		opened_at = opened_at - interval '60 days',
		paid_at = paid_at - interval '60 days';
	update data.refund set created_at = created_at - interval '60 days';
	end $$`));

// Runs it without waiting for news that may be under way; the document. What
// somebody else has begun was perhaps read too early: only --resume goes on
// with that.
async function reconcile(...words) {
	const done = await shop.lastpair("reconcile", "--grace", "0", "--json",
		...words.filter((word) => word !== "--resume"),
		...(words.includes("--resume") ? [] : ["--restart"]));
	assert.ok([0, 1].includes(done.status), done.err);
	if (done.status === 1)
		assert.match(done.err, /(^|\n)lastpair: the books differ [^\n]+\n/);
	return { ...done.json(), status: done.status };
}

// What it says of these holds: [what, here, there, state] each. Other files
// leave things in the provider's books that were made up.
const about = (holds, { differences }) => differences
	.filter(({ hold }) => [holds].flat().includes(hold))
	.map(({ what, here, there, state }) => [what, here, there, state])
	.sort();

// Without the news itself: [what, here, there].
const money = (holds, run, state) => about(holds, run)
	.filter(([what, , , is]) => what !== "event" && is === state)
	.map(([what, here, there]) => [what, here, there]);

// While work runs, no webhook is sent. They count as given up then.
async function unheard(work) {
	const { fault } = await provider.lever("faults",
		{ target: "delivery", kind: "drop" });
	try {
		return await work();
	} finally {
		await provider.lever(`faults/${fault}/clear`);
	}
}

// An order that was paid; its buyer, hold and payment at the provider.
async function paid(options) {
	const bought = await payable(options);
	await press(bought.url, "pay");
	await turns(bought.buyer, bought.hold, "paid");
	const { payment_intent: intent } = await provider.session(bought.hold);
	return { ...bought, intent };
}

// The same, and its webhook was dropped: nobody here knows.
async function missed(options) {
	const bought = await payable(options);
	await unheard(async () => {
		await press(bought.url, "pay");
		await until("the provider has the money", async () =>
			(await provider.session(bought.hold)).payment_status === "paid");
		await until("its events are there", async () =>
			(await sql().row(`select count(*) as n
				from sandbox_data.event e
				where e.body like ${quote(`%${bought.hold}%`)}`)).n > 0);
	});
	return bought;
}

// Ours happened a while ago: what is not in the provider's lists counts.
const past = (hold) => sql().run(`do $$ begin
	update data.payment p set paid_at = paid_at - interval '2 minutes'
	from data.hold h where h.hold_id = p.hold_id and h.id = ${quote(hold)};
	end $$`);

test("money there and not here: a webhook was dropped; found and repaired",
	async () => {
		const { item, buyer, hold } = await missed({ total: 2 });
		const found = await reconcile();
		assert.equal(found.status, 1);
		assert.deepEqual(money(hold, found, "open"),
			[["paid_there", "open", "paid 2500 EUR"]]);
		assert.ok(about(hold, found).some(([what]) => what === "event"));
		// Looking changes nothing.
		assert.equal((await shop.stock(item)).sold, 0);
		const mended = await reconcile("--repair");
		assert.deepEqual(money(hold, mended, "open"), []);
		assert.deepEqual(money(hold, mended, "repaired"),
			[["paid_there", "open", "paid 2500 EUR"]]);
		await turns(buyer, hold, "paid");
		assert.equal((await shop.stock(item)).sold, 1);
		assert.deepEqual(about(hold, await reconcile()), []);
		// The webhook comes after all: it says nothing new.
		await provider.lever("deliveries/flush", { dropped: true });
		await until("it is here twice", async () => (await sql().row(`
			select count(*) as n from data.event where hold = ${quote(hold)}
			and event_id like 'evt_%' and deliveries > 1`)).n > 0);
		assert.equal((await shop.stock(item)).sold, 1);
		await shop.audit();
	});

test("late money that nobody heard of is served or goes back", async () => {
	const item = await shop.item({ total: 1, late: "refund" });
	const buyer = new Buyer();
	const { json } = await buyer.take(item);
	await until("a session", () => buyer.pay(json.id).then(
		({ json: answer }) => answer.url));
	await buyer.drop(json.id);
	await until("its page is closed", async () =>
		(await provider.session(json.id)).status === "expired");
	await unheard(() => provider.payAnyway(json.id));
	const run = await reconcile("--repair");
	assert.equal(money(json.id, run, "repaired").length, 1);
	await turns(buyer, json.id, "refunded");
	await shop.audit();
});

test("an amount that differs is somebody's task, once, until it is settled",
	async () => {
		const { hold } = await paid({ total: 1 });
		const change = (by) => sql().run(`do $$ begin
			update data.payment p set captured = captured + ${by}
			from data.hold h where h.hold_id = p.hold_id
			and h.id = ${quote(hold)}; end $$`);
		const tasks = async () => (await shop.lastpair("task", "list",
			"--all", "--json")).json()
			.filter(({ kind, hold: of }) => kind === "difference" &&
				of === hold);
		const row = [["amount", "paid 2499 of 2500 EUR", "paid 2500 EUR"]];
		await change(-1);
		try {
			assert.deepEqual(money(hold, await reconcile(),
				"open"), row);
			assert.equal((await tasks()).length, 0);
			for (let i = 0; i < 2; i += 1)
				assert.deepEqual(money(hold,
					await reconcile("--repair"), "open"),
				row);
			const [task, ...others] = await tasks();
			assert.deepEqual(others, []);
			assert.match(task.detail, /2499 of 2500 EUR.*paid 2500 EUR/);
			const settled = await shop.lastpair("task", "settle",
				String(task.task), "--note", "a cent of rounding");
			assert.equal(settled.status, 0, settled.err);
			assert.deepEqual(about(hold,
				await reconcile("--repair")), []);
		} finally {
			await change(1);
		}
		await shop.audit();
	});

test("money here that is not there is looked for, then a task", async () => {
	const { buyer, hold } = await payable({ total: 1 });
	// Somebody who knows the secret says so; the provider does not.
	await stripe.send(await stripe.paidEvent(hold));
	await turns(buyer, hold, "paid");
	// It may have been paid a moment ago, after the lists were read.
	assert.deepEqual(about(hold, await reconcile()), []);
	await past(hold);
	const run = await reconcile("--repair");
	assert.deepEqual(money(hold, run, "open"),
		[["paid_here", "paid 2500 EUR", "nothing"]]);
	assert.equal((await shop.order(hold)).tasks.length, 1);
	const text = await shop.lastpair("reconcile", "--last");
	assert.equal(text.status, 0, text.err);
	assert.match(text.out, /paid here, not there/);
	assert.match(text.out, /stripe from \S+ to \S+: \d+ sessions, \d+ refunds/);
	// It turns out to be there: the task settles itself.
	const intent = await unheard(() => provider.payAnyway(hold));
	await sql().run(`do $$ begin
		update data.hold set created_at = created_at - interval '5 minutes',
			expires_at = expires_at - interval '5 minutes'
		where id = ${quote(hold)};
		update data.payment p set payment_ref = ${quote(intent)}
		from data.hold h where h.hold_id = p.hold_id
			and h.id = ${quote(hold)}; end $$`);
	await reconcile("--repair", "--since", "1h");
	const [task] = (await shop.order(hold)).tasks;
	assert.ok(task.settled_at, JSON.stringify(task));
});

test("refunds that were missed: at the dashboard, and one that failed",
	async () => {
		const first = await paid({ total: 1 });
		const second = await paid({ total: 1 });
		const back = await shop.lastpair("order", "refund", second.hold,
			"--yes");
		assert.equal(back.status, 0, back.err);
		await turns(second.buyer, second.hold, "refunded");
		const [ours] = await provider.refunds(second.intent);
		await unheard(async () => {
			await provider.lever(`payments/${first.intent}/refund`,
				{ amount: 700 });
			await provider.lever(`refunds/${ours.id}/fail`);
		});
		const holds = [first.hold, second.hold];
		const rows = [["refund_state", "succeeded", "failed"],
			["refund_there", "nothing", "succeeded 700 EUR"]];
		assert.deepEqual(money(holds, await reconcile(),
			"open"), rows);
		assert.deepEqual(money(holds,
			await reconcile("--repair"), "repaired"), rows);
		const [{ refunds: [given] }] = (await shop.order(first.hold)).payments;
		assert.deepEqual([given.reason, given.amount, given.state],
			["at_provider", 700, "succeeded"]);
		assert.equal((await first.buyer.page(first.hold)).state, "paid");
		assert.equal((await second.buyer.page(second.hold)).state,
			"refund_failed");
		const { tasks } = await shop.order(second.hold);
		assert.deepEqual(tasks.map(({ kind }) => kind), ["refund_failed"]);
		assert.deepEqual(about(holds, await reconcile()), []);
		await shop.audit();
	});

test("news that is under way is no difference", async () => {
	const { buyer, hold, url } = await payable({ total: 1 });
	const { fault } = await provider.lever("faults",
		{ target: "delivery", kind: "delay", ms: 3000 });
	try {
		await press(url, "pay");
		const run = await shop.lastpair("reconcile",
			"--grace", "40s", "--json");
		assert.deepEqual(about(hold, run.json()), [], run.err);
	} finally {
		await provider.lever(`faults/${fault}/clear`);
	}
	assert.equal((await buyer.page(hold)).state, "paid");
	await shop.audit();
});

test("a provider that another process connects has books, too", async () => {
	const secret = standard.newSecret();
	const events = await standard.relay(standard.HOOK);
	const connected = new standard.Connected(await standard.freePort(),
		secret, events.url);
	await connected.start();
	try {
		await standard.withSettings({
			payment: { provider: "standard" },
			standard: { url: connected.url, webhook_secret: secret },
		}, async () => {
			const { buyer, hold, url } = await payable({ total: 1 });
			events.open = false;
			await press(url, "pay");
			const row = [["paid_there", "open", "paid 2500 EUR"]];
			const found = await reconcile();
			assert.equal(found.provider, "standard");
			assert.deepEqual(money(hold, found, "open"), row);
			assert.deepEqual(money(hold, await reconcile("--repair"),
				"repaired"), row);
			await turns(buyer, hold, "paid");
			const again = await shop.lastpair("event", "replay", "--all");
			assert.equal(again.status, 0, again.err);
			assert.deepEqual(about(hold, await reconcile()), []);
			// The one before is still asked for what it has.
			assert.equal((await reconcile("--provider", "stripe")).provider,
				"stripe");
		});
	} finally {
		await connected.stop();
		events.close();
	}
	await shop.audit();
});

test("the cashier compares at its start and repairs by itself", async () => {
	const { item, buyer, hold } = await missed({ total: 1 });
	process.kill(shop.processOf("cashier"), "SIGKILL");
	const { n } = await until("it has seen that", () => sql().row(`
		select r.run_id as n from data.reconcile_run r
		join data.reconcile_difference d using (run_id)
		join data.hold h using (hold_id)
		where h.id = ${quote(hold)} and d.what = 'paid_there'
		and r.state = 'running' and r.started_by = 'cashier'`),
	{ within: 30000 });
	// A minute goes by.
	await sql().run(`do $$ begin
		update data.reconcile_statement
		set seen_at = seen_at - interval '1 minute';
		update data.reconcile_difference
		set fresh_since = fresh_since - interval '1 minute'
		where run_id = ${n}; end $$`);
	await turns(buyer, hold, "paid", { within: 30000 });
	assert.equal((await shop.stock(item)).sold, 1);
	await until("it has ended", () => sql().row(`select from
		data.reconcile_run where run_id = ${n} and state = 'finished'`));
	await shop.audit();
});

// A run that is under way while the provider takes its time; its row.
async function underWay(work) {
	const { fault } = await provider.lever("faults",
		{ target: "look", kind: "slow", ms: 1000 });
	const words = ["-c", shop.CONF, "reconcile", "--grace",
		"0", "--json"];
	const child = spawn(shop.BIN, words, { stdio: "ignore" });
	const ended = new Promise((done) => {
		child.on("exit", (code, signal) => done({ code, signal }));
	});
	try {
		const run = await until("its first page is stored", () =>
			sql().row(`select run_id, sessions from data.reconcile_run
				where state = 'running' and list = 'refunds'`));
		return await work(child, run, ended);
	} finally {
		child.kill("SIGKILL");
		await provider.lever(`faults/${fault}/clear`);
	}
}

test("a run that was killed is gone on with; one that was stopped, at once",
	async () => {
		await paid({ total: 1 });
		const killed = await underWay(async (child, run, ended) => {
			child.kill("SIGKILL");
			await ended;
			return run;
		});
		assert.ok(killed.sessions > 0);
		// Its lease runs out.
		await sql().run(`update data.reconcile_run
			set lease_until = clock_timestamp() where state = 'running'`);
		const next = await reconcile("--resume");
		assert.equal(next.run, killed.run_id);
		assert.equal(next.sessions, killed.sessions);
		assert.equal(next.state, "finished");
		const stopped = await underWay(async (child, run, ended) => {
			child.kill("SIGINT");
			assert.deepEqual(await ended, { code: 1, signal: null });
			return run;
		});
		assert.equal((await reconcile("--resume")).run, stopped.run_id);
		const anew = await underWay(async (child, run, ended) => {
			child.kill("SIGTERM");
			await ended;
			return run;
		});
		assert.notEqual((await reconcile()).run,
			anew.run_id);
		assert.equal((await sql().row(`select count(*) as n
			from data.reconcile_statement`)).n, 0);
	});

test("two at once take turns", async () => {
	await underWay(async (child, run, ended) => {
		const other = reconcile();
		const first = await ended;
		assert.ok([0, 1].includes(first.code), JSON.stringify(first));
		assert.notEqual((await other).run, run.run_id);
	});
});

test("who cannot be reached is 3; what is typed wrong is 2", async () => {
	const nobody = await shop.lastpairWith({ env: {
		LASTPAIR_STRIPE_API_BASE: "http://127.0.0.1:9" } }, "reconcile");
	assert.equal(nobody.status, 3);
	assert.match(nobody.err, /lastpair: stripe cannot be reached: [^\n]+\n$/);
	const none = await shop.lastpairWith({ env: { LASTPAIR_DATABASE_URL:
		"host=/nowhere port=5432 dbname=lastpair connect_timeout=2" } },
	"reconcile");
	assert.equal(none.status, 3);
	const key = await shop.lastpairWith({ env: {
		LASTPAIR_STRIPE_OPEN_KEY: "sk_test_wrong",
		LASTPAIR_STRIPE_REFUND_KEY: "sk_test_wrong" } }, "reconcile");
	assert.equal(key.status, 1);
	assert.doesNotMatch(key.err, /sk_test_wrong/);
	for (const words of [["--since", "tomorrow"], ["--since", "0"],
		["--since", "2026-11-01T10:00:00"], ["--grace", "2h"],
		["--provider", "nobody"], ["now"]]) {
		const done = await shop.lastpair("reconcile", ...words);
		assert.equal(done.status, 2, words.join(" "));
		assert.match(done.err, REASON);
	}
	// A clean end: nothing is left for the next one to go on with.
	assert.ok((await reconcile()).run > 0);
});
