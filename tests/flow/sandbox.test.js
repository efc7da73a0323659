"use strict";
// The sandbox's pages for sellers: each form is pressed as a browser without
// JavaScript would, and the shop shows what comes of it.

const test = require("node:test");
const assert = require("node:assert/strict");
const { request, PAY } = require("./lib/http.js");
const { payable, turns } = require("./lib/pay.js");
const { page, post, press, formsOf, words } = require("./lib/panel.js");
const provider = require("./lib/provider.js");
const shop = require("./lib/shop.js");
const { until } = require("./lib/wait.js");

const look = async (path) => (await request("GET", `/sandbox/${path}`,
	{ base: PAY })).json;
const active = async () => (await look("faults"))
	.filter((fault) => fault.active);
const endAll = () => post("/faults", { do: "end_all" });
const pathOf = (url) => new URL(url).pathname;
const sessionOf = (url) => pathOf(url).replace("/c/pay/", "");

// The tasks that wait for a person about a hold's order.
async function tasks(order) {
	const list = await shop.lastpair("task", "list", "--json");
	assert.equal(list.status, 0, list.err);
	return list.json().filter((task) => task.order === order ||
		task.hold === order);
}

// A paid order, by the button that says what comes then.
async function paidThen(what, days) {
	const one = await payable({ price: "25.00" });
	const path = pathOf(one.url);
	const location = await press(path, "then", { fill: { what, days } });
	assert.ok(location.includes(one.hold), location);
	await turns(one.buyer, one.hold, "paid");
	const { payment_intent: intent } = await provider.session(one.hold);
	return { ...one, path, intent, session: sessionOf(one.url) };
}

// The part of the index about one session.
async function entry(session) {
	const html = await page(`/?show=${session}`);
	const found = new RegExp(`<details[^>]* id="${session}" open>` +
		"([\\s\\S]*?)</details>").exec(html);
	assert.ok(found, `${session} is not on the index`);
	return words(found[1]);
}

const refundOf = async ({ buyer, hold }) => (await buyer.hold(hold)).json.refund;

test.beforeEach(endAll);
test.after(endAll);

test("every fault of the page can be switched on, is listed, and ended",
	async () => {
		const forms = formsOf(await page("/faults"))
			.filter(({ fields }) => fields.kind);
		assert.equal(forms.length, 16);
		for (const { fields: { kind } } of forms)
			assert.equal(await press("/faults", "add", { where: { kind } }),
				"/faults#active");
		const listed = await active();
		assert.deepEqual(listed.map(({ kind }) => kind).sort(),
			forms.map(({ fields }) => fields.kind).sort());
		const wait = Number(shop.setting("stripe", "timeout_ms")) + 5000;
		assert.equal(listed.find(({ kind }) => kind === "timeout").ms, wait);
		assert.equal(listed.find(({ kind }) => kind === "refund_pending").ms,
			3 * 86400000);
		for (const { fault } of listed.slice(0, 2))
			await press("/faults", "end", { where: { fault: `${fault}` } });
		assert.equal((await active()).length, 14);
		assert.match(words(await page("/")), /14 faults are switched on/);
		await press("/faults", "end_all");
		assert.deepEqual(await active(), []);
	});

test("target, percent, times and milliseconds are what was filled in",
	async () => {
		await press("/faults", "add", { where: { kind: "slow" },
			fill: { target: "look", percent: "7", times: "3", ms: "40" } });
		const [fault] = await active();
		assert.deepEqual([fault.target, fault.kind, fault.percent,
			fault.times, fault.ms], ["look", "slow", 7, 3, 40]);
		assert.match(words(await page("/faults")), new RegExp("Slow answer " +
			"questions 7 of a hundred, 3 times in all, for 40 ms. Struck 0 t"));
	});

test("a lost answer strikes once, and the buyer gets one pay page all the same",
	async () => {
		await press("/faults", "add", { where: { kind: "lost" },
			fill: { target: "open", times: "1" } });
		const { hold } = await payable();
		assert.equal(await provider.sessionCount(hold), 1);
		assert.match(words(await page("/faults")),
			/Over by now .* Answer lost opening a pay page [^.]*\. Struck 1 time\./);
	});

test("a payment that the bank takes back: it stays paid, and waits for a person",
	async () => {
		const one = await paidThen("dispute", "2");
		assert.match(await entry(one.session), /The bank disputes it in 2 days/);
		assert.deepEqual(await tasks(one.hold), []);
		await press("/faults", "forward", { fill: { hours: "168" } });
		const [task] = await until("a task", async () => {
			const found = await tasks(one.hold);
			return found.length && found;
		});
		assert.equal(task.kind, "dispute");
		assert.equal((await one.buyer.page(one.hold)).state, "paid");
		assert.match(await entry(one.session), /disputed .* Dispute about 25\.00/);
		const refused = await shop.lastpair("order", "refund", one.hold, "--yes");
		assert.equal(refused.status, 1, refused.out);
		const dashboard = await post("/", { do: "refund", payment: one.intent });
		assert.equal(dashboard.status, 409);
		assert.match(words(dashboard.text), /has been charged back/);
		assert.equal(await press(`/?show=${one.session}`, "won",
			{ where: { session: one.session } }),
		`/?show=${one.session}#${one.session}`);
		await until("the task is over", async () =>
			(await tasks(one.hold)).length === 0);
		assert.match(await entry(one.session), /dispute won/);
		await shop.audit();
	});

test("a dispute from the index that is lost waits for a person, too",
	async () => {
		const one = await paidThen("refund_pending", "1");
		await press("/", "dispute", { where: { payment: one.intent } });
		await press("/", "lost", { where: { session: one.session } });
		await until("a task", async () => (await tasks(one.hold))
			.some(({ kind }) => kind === "dispute_lost"));
		assert.match(await entry(one.session), /dispute lost/);
		assert.equal((await one.buyer.page(one.hold)).state, "paid");
		await shop.audit();
	});

test("a refund that is pending and then fails: the page says that a person is " +
	"needed", async () => {
	const one = await paidThen("refund_pending_fails", "3");
	const done = await shop.lastpair("order", "refund", one.hold, "--yes");
	assert.equal(done.status, 0, done.err);
	await until("it is pending", async () =>
		(await refundOf(one))?.state === "pending");
	assert.equal((await one.buyer.page(one.hold)).state, "refund_owed");
	assert.match(await entry(one.session),
		/Refund of 25\.00 EUR pending It is to be failed in 3 days/);
	await press("/faults", "forward", { fill: { hours: "720" } });
	const failed = await turns(one.buyer, one.hold, "refund_failed");
	assert.match(failed.text, /Your refund needs a person/);
	assert.ok((await tasks(one.hold))
		.some(({ kind }) => kind === "refund_failed"));
	await shop.audit();
});

test("a refund that succeeds and is then made to fail on the index", async () => {
	const one = await paidThen("refund_pending", "0");
	const done = await shop.lastpair("order", "refund", one.hold, "--yes");
	assert.equal(done.status, 0, done.err);
	await turns(one.buyer, one.hold, "refunded");
	await press("/", "fail", { where: { session: one.session } });
	await turns(one.buyer, one.hold, "refund_failed");
});

test("the dashboard refunds a part, then the rest; then nothing is left",
	async () => {
		const one = await paidThen("dispute", "365");
		await press("/", "refund", { where: { payment: one.intent },
			fill: { amount: "10.00" } });
		await until("the shop knows of 10.00", async () =>
			(await refundOf(one))?.amount === 1000);
		assert.equal((await one.buyer.page(one.hold)).state, "paid");
		assert.match(await entry(one.session), /10\.00 EUR refunded/);
		await press("/", "refund", { where: { payment: one.intent } });
		await until("the shop knows of all of it", async () =>
			(await refundOf(one))?.amount === 2500);
		const html = await page("/");
		assert.ok(!formsOf(html).some(({ fields }) =>
			fields.payment === one.intent), "it still offers to refund");
		const again = await post("/", { do: "refund", payment: one.intent });
		assert.equal(again.status, 409);
		assert.match(words(again.text), /has already been refunded/);
	});

for (const [what, state] of [["succeeded", "paid"],
	["failed", "payment_failed"]])
	test(`a bank payment that has ${what} after days of the clock`, async () => {
		const one = await payable();
		const path = pathOf(one.url);
		assert.equal(await press(path, "debit", { fill: { what, days: "3" } }),
			path);
		await turns(one.buyer, one.hold, "checking");
		assert.match(await entry(sessionOf(one.url)),
			/The bank .* in 3 days/);
		await press("/faults", "forward", { fill: { hours: "24" } });
		assert.equal((await one.buyer.page(one.hold)).state, "checking");
		await press("/faults", "forward", { fill: { hours: "168" } });
		await turns(one.buyer, one.hold, state);
	});

test("nobody pays twice: what is pressed on a paid page does nothing",
	async () => {
		const one = await paidThen("refund_pending", "0");
		const before = (await look("faults")).length;
		for (const fields of [{ do: "pay" }, { do: "debit", what: "failed",
			days: "0" }, { do: "then", what: "dispute", days: "0" },
		{ do: "then", what: "refund_fails", days: "0" }]) {
			const answer = await post(one.path, fields);
			assert.equal(answer.status, 303);
			assert.ok(answer.headers.location.includes(one.hold));
		}
		assert.equal((await look("faults")).length, before);
		assert.doesNotMatch(await entry(one.session),
			/disputed|Dispute about|disputes it in/);
		assert.equal((await provider.refunds(one.intent)).length, 0);
	});

test("a webhook that was dropped is sent after all, and again by hand",
	async () => {
		await press("/faults", "add", { where: { kind: "drop" } });
		const { url, hold, buyer } = await payable();
		await post(pathOf(url), { do: "pay" });
		const session = sessionOf(url);
		const mine = () => look(`deliveries?session=${session}`);
		const dropped = await until("they were dropped", async () => {
			const all = await mine();
			return all.length >= 2 && all;
		});
		assert.ok(dropped.every(({ state }) => state === "given up"));
		assert.notEqual((await buyer.page(hold)).state, "paid");
		assert.match(words(await page("/")), /given up [^,]*, 0 tries, dropped by a fault/);
		await press("/faults", "end_all");
		await press("/", "flush");
		assert.ok((await mine()).every(({ tries }) => tries === 0));
		assert.equal(await press("/", "flush_dropped"), "/#deliveries");
		await turns(buyer, hold, "paid");
		await press("/", "resend", { where: { event: dropped[0].event } });
		await until("it was sent again", async () => {
			const again = (await mine())
				.filter(({ event }) => event === dropped[0].event);
			return again.length === 2 &&
				again.every(({ state }) => state === "delivered");
		});
		assert.equal((await buyer.page(hold)).state, "paid");
	});

test("the books of the page are the books", async () => {
	const { captured, refunds_failed: failed } = await look("books");
	const text = words(await page("/"));
	const sum = `${(captured.EUR / 100).toFixed(2)} EUR`;
	// Among the other currencies that were paid in here.
	assert.match(text, new RegExp(
		`Paid (?:[0-9.]+ [A-Z]{3}, )*${sum.replace(".", "\\.")}`));
	assert.match(text, new RegExp(`Refunds that failed ${failed} `));
});

test("clock and seed: what is pressed is what it is then", async () => {
	const before = (await look("clock")).ahead_ms;
	assert.equal(await press("/faults", "forward", { fill: { hours: "1" } }),
		"/faults#clock");
	assert.equal((await look("clock")).ahead_ms, before + 3600000);
	const seed = "<b>&\"'€";
	await press("/faults", "seed", { fill: { seed } });
	assert.equal((await look("seed")).seed, seed);
	assert.ok(formsOf(await page("/faults"))
		.some(({ fields }) => fields.seed === seed));
	await press("/faults", "seed", { fill: { seed: "seed" } });
});

const ADD = { do: "add", kind: "slow", target: "any" };
const BAD = [
	["/faults", {}, 400, "can do"],
	["/faults", { do: "fly" }, 400, "can do"],
	["/faults", { do: "add" }, 400, "no such fault"],
	["/faults", { ...ADD, kind: "fire" }, 400, "no such fault"],
	["/faults", { ...ADD, target: "payment" }, 400, "cannot happen to that"],
	["/faults", { ...ADD, target: "" }, 400, "cannot happen to that"],
	["/faults", { ...ADD, percent: "0" }, 400,
		"“Of a hundred” is a whole number from 1 to 100"],
	["/faults", { ...ADD, percent: "1e1" }, 400, "“Of a hundred”"],
	["/faults", { ...ADD, times: "-1" }, 400, "“Times in all”"],
	["/faults", { ...ADD, ms: "100001" }, 400, "from 0 to 100000"],
	["/faults", { ...ADD, kind: "dispute", target: "payment", days: "366" },
		400, "“After days” is a whole number from 0 to 365"],
	["/faults", { do: "end" }, 400, "fault's number"],
	["/faults", { do: "end", fault: "9999999" }, 404, "no such fault"],
	["/faults", { do: "forward", hours: "0" }, 400, "“Hours”"],
	["/faults", { do: "seed", seed: "" }, 400, "1 to 200"],
	["/faults", { do: "seed", seed: "x".repeat(201) }, 400, "1 to 200"],
	["/", { do: "fly" }, 400, "can do"],
	["/", { do: "refund", payment: "pi_none" }, 404, "no such thing"],
	["/", { do: "refund", payment: "pi_none", amount: "1,5",
		currency: "EUR" }, 400, "no decimal number"],
	["/", { do: "refund", payment: "pi_none", amount: "1.5",
		currency: "JPY" }, 400, "too many decimals"],
	["/", { do: "refund", amount: "1", currency: "EU" }, 400,
		"currency is unknown"],
	["/", { do: "dispute", payment: "" }, 404, "no such thing"],
	["/", { do: "won", dispute: "du_none" }, 404, "no such thing"],
	["/", { do: "fail", refund: "<b>" }, 404, "no such thing"],
	["/", { do: "resend" }, 404, "no such thing"],
];

for (const [path, fields, status, why] of BAD)
	test(`${path} ${new URLSearchParams(fields)}`.slice(0, 70) +
		`: ${status}, and why`, async () => {
		const before = await look("faults");
		const answer = await post(path, fields);
		assert.equal(answer.status, status, answer.text);
		assert.match(answer.headers["content-type"], /^text\/html/);
		assert.ok(words(answer.text).includes(why), words(answer.text));
		assert.match(words(answer.text), /Go back/);
		assert.deepEqual(await look("faults"), before);
	});

test("a body that is no form, and one that is too long", async () => {
	for (const path of ["/", "/faults"]) {
		const damaged = await request("POST", path, { base: PAY,
			body: "do=%zz", headers: { Origin: PAY } });
		assert.equal(damaged.status, 400);
		assert.match(damaged.text, /The form is damaged/);
		const long = await post(path, { do: "x".repeat(70000) });
		assert.equal(long.status, 413);
	}
});

test("another site's page cannot press a button", async () => {
	const one = await payable();
	for (const [path, fields] of [["/faults", ADD], ["/", { do: "flush" }],
		[pathOf(one.url), { do: "pay" }]])
		for (const headers of [{ Origin: "http://evil.example" },
			{ Origin: "null" }, { "Sec-Fetch-Site": "cross-site" },
			{ "Sec-Fetch-Site": "same-site", Origin: shop.setting("server",
				"public_url") }]) {
			const answer = await post(path, fields, headers);
			assert.equal(answer.status, 403, JSON.stringify(headers));
			assert.match(answer.text, /another site/);
		}
	assert.deepEqual(await active(), []);
	assert.match(await entry(sessionOf(one.url)), / open /);
});

test("every page leads to the faults, and holds nothing that runs", async () => {
	const one = await payable();
	for (const path of ["/", pathOf(one.url), "/c/pay/none", "/nowhere"]) {
		const { text } = await request("GET", path, { base: PAY });
		assert.match(text, /href="\/faults"/);
		assert.doesNotMatch(text, /<script|style="|\son\w+="/);
	}
});
