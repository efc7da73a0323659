"use strict";
// The cashier and a provider that is slow, strict, broken or away: its pace is
// kept, nobody else waits for it, no call is lost and none is made twice.

const test = require("node:test");
const assert = require("node:assert/strict");
const { Buyer, request, PAY } = require("./lib/http.js");
const { until } = require("./lib/wait.js");
const { age, sql, quote } = require("./lib/sql.js");
const { pageOf, payable, press, turns } = require("./lib/pay.js");
const { mailsTo } = require("./lib/mail.js");
const provider = require("./lib/provider.js");
const stripe = require("./lib/stripe.js");
const shop = require("./lib/shop.js");

// A suite that runs these files once more need not wait half a minute again.
const FIRST_TIME = !shop.SANITIZED && !process.env.LASTPAIR_SERVER_BATCH_MAX;

test.afterEach(provider.noFaults);

// So many buyers, each with a hold of one unit of an item.
async function crowd(count) {
	const item = await shop.item({ total: count });
	const buyers = await Promise.all(Array.from({ length: count },
		async () => {
			const buyer = new Buyer();
			const { json, status, text } = await buyer.take(item);
			assert.equal(status, 201, text);
			return { buyer, hold: json.id,
				number: Number(json.order.slice("ord_".length)) };
		}));
	return { item, buyers: buyers.sort((a, b) => a.number - b.number) };
}

const payments = (item) => sql().rows(`select h.hold_id as number, p.state,
	p.session_id as id, extract(epoch from p.opened_at) * 1000 as at
	from data.item i join data.hold_line l using (item_id)
	join data.payment p using (hold_id) join data.hold h using (hold_id)
	where i.sku = ${quote(item)} order by h.hold_id`);

const opened = async (item) => (await payments(item))
	.filter(({ state }) => state === "open").length;

// Ends all pages of an item at the provider, so that none is left for later.
async function endAll(item) {
	await Promise.all((await payments(item)).map(async ({ id }) => {
		const answer = await request("POST",
			`/v1/checkout/sessions/${id}/expire`, { base: PAY,
				headers: provider.keys("open_key") });
		assert.equal(answer.status, 200, answer.text);
	}));
	await until("all are released", async () =>
		(await shop.stock(item)).held === 0, { within: 60000 });
}

// What somebody who waits is told, from second to second until it is open.
async function watch({ buyer, hold, number }) {
	const said = [];
	const begun = Date.now();
	for (;;) {
		const { status, json } = await buyer.pay(hold);
		if (status === 200)
			return { number, said, took: Date.now() - begun };
		assert.equal(json.state, "opening");
		said.push(json);
		await until("the next look", () => Date.now() > begun +
			1000 * said.length, { within: 5000 });
	}
}

// What these were told is honest: of whom is before them, of how long it takes,
// and less from look to look.
function checkWords(watched, first) {
	for (const { number, said, took } of watched) {
		const [{ ahead, ready_in_ms: ready }] = said;
		assert.ok(Math.abs(ahead - (number - first)) <= 60,
			`${ahead} ahead of ${number}`);
		assert.ok(took > ready / 2 && took < ready + 15000,
			`told ${ready} ms, took ${took}`);
		for (let i = 1; i < said.length; i += 1) {
			assert.ok(said[i].ahead <= said[i - 1].ahead);
			assert.ok(said[i].ready_in_ms <= said[i - 1].ready_in_ms);
		}
		assert.ok(said.length < 5 || said.at(-1).ahead < ahead / 2);
	}
}

// The calls for pages of an item as they came to the provider.
const callsFor = (item) => sql().rows(`select h.hold_id as number,
	extract(epoch from k.created_at) * 1000 as at
	from sandbox_data.strike k join data.payment p on p.key = k.subject
	join data.hold h using (hold_id) join data.hold_line l using (hold_id)
	join data.item i using (item_id)
	where i.sku = ${quote(item)} order by k.created_at`);

// At most 25 in any second, and the oldest hold's first.
function checkPace(calls, numbers) {
	assert.equal(calls.length, numbers.length);
	calls.forEach(({ at, number }, i) => {
		// A provider that stalls takes afterwards what came meanwhile.
		const pause = i ? at - calls[i - 1].at : 0;
		const n = calls.filter((call, k) => k >= i && call.at < at + 1000)
			.length;
		assert.ok(n <= 25 + 20 * Math.max(0, pause - 50) / 1000,
			`${n} in the second after call ${i}`);
		// Some are under way at the same time.
		assert.ok(Math.abs(number - numbers[i]) <= 8, `${number} as ${i}`);
	});
}

if (FIRST_TIME)
	test("500 pay pages at once: 20 in a second, the oldest hold's first, " +
		"and who waits is told how long", async () => {
		assert.equal(shop.setting("stripe", "opens_per_second"), "20");
		const { item, buyers } = await crowd(500);
		await provider.fault("open", "slow", { ms: 300 });
		await shop.frozen([shop.processOf("cashier")], () =>
			Promise.all(buyers.map(async ({ buyer, hold }) =>
				assert.equal((await buyer.pay(hold)).status, 202))));
		const begun = Date.now();
		const watched = await Promise.all([0, 100, 250, 400, 499].map((i) =>
			watch(buyers[i])));
		await until("all are open", async () => await opened(item) === 500);
		const took = Date.now() - begun;
		assert.ok(took < 500 / 20 * 1000 + 15000, `${took} ms`);
		checkWords(watched, buyers[0].number);
		checkPace(await callsFor(item), buyers.map(({ number }) => number));
		await provider.noFaults();
		await endAll(item);
		await shop.audit();
	});

// The longest that each question takes, in milliseconds, of so many.
async function questions(item, { buyer, hold }, times = 10) {
	const asked = {
		hold: () => new Buyer().take(item),
		show: () => buyer.hold(hold),
		pay: () => buyer.pay(hold),
		// Another question each time: nginx would keep the answer.
		availability: () => request("GET",
			`/availability?item=${item}&item=${shop.sku()}`),
		callback: () => stripe.send(stripe.event("x.y", {})),
	};
	const most = {};
	for (const [name, ask] of Object.entries(asked)) {
		most[name] = 0;
		for (let i = 0; i < times; i += 1) {
			const begun = Date.now();
			const { status, text } = await ask();
			assert.ok(status < 300, `${name}: ${text}`);
			most[name] = Math.max(most[name], Date.now() - begun);
		}
	}
	return most;
}

const idle = () => sql().rows(`select pid, query from pg_stat_activity
	where state like 'idle in transaction%'
	and state_change < clock_timestamp() - interval '1 s'`);

test("C52: a provider that takes 20 s and 60 who wait for it: all else is " +
	"answered as before, ends and refunds go through", async () => {
	const shelf = await shop.item({ total: 100 });
	const [given, late, asker] = await Promise.all([payable({ total: 1 }),
		payable({ total: 1, late: "refund" }), payable({ total: 1 })]);
	await shop.withSettings({ timeout_ms: 25000 }, async () => {
		const { item, buyers } = await crowd(60);
		const before = await questions(shelf, asker);
		const struck = await provider.fault("open", "slow", { ms: 20000 });
		const begun = Date.now();
		await Promise.all(buyers.map(async ({ buyer, hold }) =>
			assert.equal((await buyer.pay(hold)).status, 202)));
		// All but those that are kept for ends and refunds.
		await until("24 calls are under way", async () =>
			await struck() === 24);
		const during = await questions(shelf, asker);
		for (const [name, ms] of Object.entries(during))
			assert.ok(ms < before[name] + 3000,
				`${name}: ${before[name]} ms before, then ${ms}`);
		assert.equal((await given.buyer.drop(given.hold)).status, 200);
		await age(late.hold, 605);
		await until("the page has ended", async () =>
			(await provider.session(given.hold)).status === "expired");
		await provider.payAnyway(late.hold);
		await turns(late.buyer, late.hold, "refunded");
		assert.deepEqual(await idle(), []);
		assert.equal(await opened(item), 0);
		assert.equal(await struck(), 24);
		assert.ok(Date.now() - begun < 20000, "this took too long to tell");
		// A stop ends their wait; nobody waits the 20 s.
		await provider.noFaults();
		const server = shop.sandboxServer();
		process.kill(server, "SIGTERM");
		await until("all are open", async () => await opened(item) === 60,
			{ within: 30000 });
		for (const { hold } of buyers)
			assert.equal(await provider.sessionCount(hold), 1);
		await endAll(item);
	});
	await shop.audit();
});

// A refund that is owed for a late payment.
async function owed() {
	const sale = await payable({ total: 1, late: "refund" });
	await sale.buyer.drop(sale.hold);
	await until("the page has ended", async () =>
		(await provider.session(sale.hold)).status === "expired");
	return { ...sale, pay: () => provider.payAnyway(sale.hold) };
}

test("C52: a refund that is given up: a task, a mail and an error; retry " +
	"sends it", async () => {
	const { buyer, hold, pay } = await owed();
	await provider.fault("refund", "unavailable");
	const [task] = await shop.withSettings({ tries: 2 }, async () => {
		await pay();
		return until("it is a task", async () => {
			const tasks = await shop.tasks(hold);
			return tasks.length > 0 && tasks;
		});
	});
	assert.equal(task.kind, "stuck");
	assert.match(task.detail, /refund, 2 tries: status 503/);
	assert.ok(shop.log().split("\n").some((line) =>
		/level=error .*given up after 2 tries/.test(line) &&
			line.includes(hold)));
	const operator = shop.setting("mail", "operator");
	const { order } = (await shop.order(hold)).hold;
	await until("the operator has mail", () => mailsTo(operator).some(
		({ text }) => text.includes(order) && text.includes("503")));
	assert.equal((await buyer.page(hold)).state, "refund_owed");
	await shop.audit();
	await provider.noFaults();
	const retry = () => shop.lastpair("task", "retry", String(task.task));
	assert.equal((await retry()).status, 0);
	await turns(buyer, hold, "refunded");
	assert.deepEqual(await shop.tasks(hold), []);
	const again = await retry();
	assert.deepEqual([again.status, again.err],
		[1, `lastpair: task ${task.task} was settled before\n`]);
	const { payment_intent: intent } = await provider.session(hold);
	assert.equal((await provider.refunds(intent)).length, 1);
	await shop.audit();
});

// Lets the 5 s pass after which a buyer may ask for a page once more.
const laterAsk = (hold) => sql().run(`update data.payment p
	set created_at = p.created_at - interval '5 s' from data.hold h
	where h.hold_id = p.hold_id and h.id = ${quote(hold)}`);

// Asks until the answer is no, which is told in words.
async function refusedPage({ buyer, hold }) {
	const no = await until("503", async () => {
		const answer = await buyer.pay(hold);
		return answer.status !== 202 && answer;
	});
	assert.deepEqual([no.status, no.problem], [503, "provider"]);
	assert.ok(no.headers["retry-after"]);
	assert.match(no.json.detail, /Nothing was charged/);
	assert.equal((await buyer.page(hold)).state, "held");
}

// What the operator is told about pages that cannot be opened.
const pageTasks = async () => (await shop.tasks()).filter(({ subject }) =>
	subject.startsWith("pay pages of "));

test("pages that are given up: their buyers hear it, one task; another try " +
	"under a new key", async () => {
	const before = (await pageTasks()).length;
	const { buyers } = await crowd(4);
	await provider.fault("open", "unavailable");
	await shop.withSettings({ tries: 2 }, () =>
		Promise.all(buyers.map(refusedPage)));
	// One an hour, and this may have been the end of one.
	assert.ok((await pageTasks()).length <= before + 2);
	assert.ok((await pageTasks()).some(({ kind, detail }) =>
		kind === "stuck" && /pay pages.* 503/.test(detail)));
	await provider.noFaults();
	for (const { buyer, hold } of buyers) {
		await laterAsk(hold);
		await press(await pageOf(buyer, hold), "pay");
		await turns(buyer, hold, "paid");
		assert.deepEqual((await shop.order(hold)).payments.map(
			({ key, state }) => [key, state]),
		[[`cs-${hold}`, "refused"], [`cs-${hold}-2`, "paid"]]);
	}
	await shop.audit();
});

test("the provider refuses our key: an alarm, one task, 503 in words; with " +
	"the right key by reload it goes on", async () => {
	const before = (await pageTasks()).length;
	const { item, buyers } = await crowd(6);
	const from = shop.log().length;
	await shop.withSettings({ open_key: "sk_test_wrong" }, async () => {
		await Promise.all(buyers.map(refusedPage));
		assert.ok((await pageTasks()).length <= before + 2);
		assert.ok((await pageTasks()).some(({ kind, detail }) =>
			kind === "refused" && /pay pages.* 401/.test(detail)),
		"nobody is told");
		assert.match(shop.log().slice(from),
			/level=error .*refuses our key, stripe\.open_key/);
		await shop.audit();
	});
	for (const { buyer, hold } of buyers) {
		await laterAsk(hold);
		await press(await pageOf(buyer, hold), "pay");
		await turns(buyer, hold, "paid");
	}
	assert.equal((await shop.stock(item)).sold, 6);
	await shop.audit();
});

// What strikes each first call, how often; how many pages the provider then
// has that nobody was shown.
const TROUBLES = [
	[[["lost", 1]], 0],
	[[["timeout", 1]], 0],
	[[["error", 1]], 0],
	[[["error_after", 1]], 1],
	[[["conflict", 1], ["rate", 1], ["unavailable", 1]], 0],
];

const expiries = async (hold) => (await sql().row(`select count(*) as n
	from sandbox_data.event e join sandbox_data.session s using (session_id)
	where e.type = 'checkout.session.expired'
	and s.success_url like ${quote(`%${hold}%`)}`)).n;

async function opens(twins) {
	const item = await shop.item({ total: 1 });
	const buyer = new Buyer();
	const { json } = await buyer.take(item);
	await press(await pageOf(buyer, json.id), "pay");
	await turns(buyer, json.id, "paid");
	assert.equal(await provider.sessionCount(json.id), 1 + twins);
	assert.equal((await shop.stock(item)).sold, 1);
}

async function ends({ buyer, hold }) {
	await buyer.drop(hold);
	await until("the page has ended", async () =>
		(await shop.order(hold)).payments[0].calls
			.every(({ done_at: at }) => at));
	assert.equal((await provider.session(hold)).status, "expired");
	assert.equal(await expiries(hold), 1);
	assert.equal((await buyer.page(hold)).state, "dropped");
}

async function refunds({ buyer, hold, pay }) {
	const intent = await pay();
	await turns(buyer, hold, "refunded");
	const sent = await provider.refunds(intent);
	assert.deepEqual(sent.map(({ amount, status }) => [amount, status]),
		[[2500, "succeeded"]]);
}

for (const [faults, twins] of TROUBLES)
	test(`C52: ${faults.map(([kind]) => kind).join(", ")}: one page, one ` +
		"end, one refund", async () => {
		const [given, late] = await Promise.all([payable({ total: 1 }),
			owed()]);
		const run = async () => {
			const struck = [];
			for (const target of ["open", "end", "refund"])
				for (const [kind, times] of faults)
					struck.push([times, await provider.fault(target, kind,
						{ times, ...kind === "timeout" && { ms: 2500 } })]);
			await Promise.all([opens(twins), ends(given), refunds(late)]);
			for (const [times, count] of struck)
				assert.equal(await count(), times);
		};
		if (faults[0][0] === "timeout")
			await shop.withSettings({ timeout_ms: 1000 }, run);
		else
			await run();
		for (const { hold } of [given, late])
			assert.deepEqual(await shop.tasks(hold), []);
		await shop.audit();
	});
