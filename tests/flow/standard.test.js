"use strict";
// A provider that a process of the operator's connects: the documented example
// itself, behind a shop that speaks Standard Webhooks with it.

const test = require("node:test");
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { Buyer } = require("./lib/http.js");
const { until } = require("./lib/wait.js");
const { age, sql, quote } = require("./lib/sql.js");
const { pageOf, payable, press, turns } = require("./lib/pay.js");
const standard = require("./lib/standard.js");
const shop = require("./lib/shop.js");

const secret = standard.newSecret();
let connected = null;
let calls = null; // the way from the shop to the example
let events = null; // and back

// A shop whose new payments go to the connected process.
async function withStandard(more, work) {
	await standard.withSettings({
		payment: { provider: "standard" },
		standard: { url: calls.url, webhook_secret: secret,
			old_webhook_secret: "", call_secret: "", timeout_ms: 2000,
			...more },
	}, work);
}

const data = async (hold, more = {}) => {
	const { session, key, amount, currency } = await connected.session(hold);
	return { session, key, hold, amount, currency, ...more };
};

const outcome = async (id) => (await standard.inbox(id)).outcome;

test.before(async () => {
	events = await standard.relay(standard.HOOK);
	connected = new standard.Connected(await standard.freePort(), secret,
		events.url);
	await connected.start();
	calls = await standard.relay(connected.url);
});

test.after(async () => {
	await connected.stop();
	events.close();
	calls.close();
});

test("the documentation shows the example that is tested", () => {
	const page = fs.readFileSync(path.join(__dirname,
		"../../app/pay/STANDARD.md"), "utf8");
	const shown = [...page.matchAll(/^```js\n([\s\S]*?)^```$/gm)]
		.map(([, text]) => text);
	const tested = standard.EXAMPLE.map((file) =>
		fs.readFileSync(file, "utf8"));
	assert.deepEqual(shown, tested);
	const lines = tested[0].trimEnd().split("\n");
	assert.ok(lines.length <= 60, "short enough to be read");
	for (const line of lines)
		assert.ok(line.replaceAll("\t", "    ").length <= 80, line);
});

// The example without a shop: its news reach nobody.
async function alone(work) {
	const process = new standard.Connected(await standard.freePort(), secret,
		`http://127.0.0.1:${await standard.freePort()}/`);
	await process.start();
	try {
		await work(process);
	} finally {
		await process.stop();
	}
}

// An order as the shop describes it.
const order = (key, more = {}) => ({ key, hold: key, amount: 2500,
	currency: "EUR", title: "One", return_url: standard.HOOK,
	expires_at: standard.now() + 600, ...more });

test("the example takes the shop's word only, and lives on", async () => {
	const other = standard.newSecret();
	const [id, time] = ["cs-word", standard.now()];
	const data = order(id);
	const body = JSON.stringify({ type: "session.open", data });
	const signature = [other, secret].map((by) =>
		standard.sign(by, id, time, body)).join(" ");
	const right = { id, time, body, signature };
	await alone(async (example) => {
		const status = async (options) => (await example.send("session.open",
			data, options)).status;
		for (const wrong of [{ by: other }, { signature: "" },
			{ ...right, signature: signature.slice(0, -1) },
			{ signature: `v1,${"\u00e9".repeat(44)}` },
			{ ...right, time: time + 1 }, { ...right, body: `${body} ` },
			{ time: time - 301 }, { time: time + 330 }, { time: "soon", body },
			{ body: " ".repeat(65536) }, { ...right, body: [body] }])
			assert.equal(await status(wrong), 401, JSON.stringify(wrong));
		for (const broken of ["", "{", "null", "7", "{}", "\u0000",
			"{\"type\":\"constructor\",\"data\":{}}",
			"{\"type\":\"session.open\"}", "{\"type\":\"hello\"}"])
			assert.equal(await status({ body: broken }), 400, broken);
		const { items } = await example.ask("list",
			{ list: "sessions", since: 0, limit: 100 });
		assert.deepEqual(items, []);
		for (const away of [-295, 0, 295])
			assert.equal(await status({ time: standard.now() + away }), 200);
		assert.equal(await status(right), 200);
	});
});

test("the example does a thing once", () => alone(async (example) => {
	const open = () => example.ask("session.open", order("cs-once"));
	const [first, ...others] = await Promise.all([open(), open(), open()]);
	assert.deepEqual(others, [first, first]);
	const { session, url } = first;
	assert.equal((await press(url, "pay")).status, 303);
	await press(url, "pay");
	const { payment, state } = await example.ask("session.end", { session });
	assert.equal(state, "paid");
	assert.deepEqual([(await open()).session, (await open()).url],
		[session, url]);
	const show = (refund) => example.ask("refund.show", refund);
	const send = (key, amount) => example.send("refund.send",
		order(key, { payment, amount }));
	assert.deepEqual(await show({ payment, key: "refund-once" }),
		{ refund: null });
	const [sent, twice] = await Promise.all([send("refund-once", 2000),
		send("refund-once", 2000)]);
	assert.equal(sent.json.state, "pending");
	assert.equal(sent.json.refund, twice.json.refund);
	const more = await send("refund-more", 501);
	assert.deepEqual([more.status, more.json],
		[422, { error: "not_so_much_left" }]);
	await until("it is done", async () =>
		(await show({ refund: sent.json.refund })).state === "succeeded");
	const refunds = await example.refunds(payment);
	assert.deepEqual(refunds, [await show({ payment, key: "refund-once" })]);
	const none = await example.send("session.show", { session: "no" });
	assert.equal(none.status, 404);
}));

// Each in the same shop, one after the other.
const scenarios = {
	"a purchase": async () => {
		const { item, buyer, hold, number, url } = await payable();
		assert.ok(url.startsWith(`http://127.0.0.1:${connected.payPort}/`));
		const open = await connected.session(hold);
		assert.equal(open.state, "open");
		assert.equal(open.amount, 2500);
		assert.equal(open.currency, "EUR");
		assert.equal(open.key, `cs-${hold}`);
		assert.equal(open.hold, hold);
		assert.equal(open.order, number);
		assert.ok(open.return_url.endsWith(`/order/${hold}`));
		const back = await press(url, "pay");
		assert.equal(back.status, 303);
		await turns(buyer, hold, "paid");
		assert.equal((await shop.stock(item)).sold, 1);
	},

	"giving up ends the session": async () => {
		const { buyer, hold } = await payable();
		await buyer.drop(hold);
		await until("the session has ended", async () =>
			(await connected.session(hold)).state === "expired");
	},

	"a hold whose time is over ends the session": async () => {
		const { buyer, hold } = await payable();
		await age(hold, 605);
		await until("the session has ended", async () =>
			(await connected.session(hold)).state === "expired");
		await turns(buyer, hold, "expired");
	},

	"paid late, none free: refunded once": async () => {
		const { item, buyer, hold, url } = await payable({ total: 1 });
		// While the cashier stands still, the session outlives its hold.
		await shop.frozen([shop.processOf("cashier")], async () => {
			await age(hold, 605);
			const other = new Buyer();
			assert.equal((await other.take(item)).status, 201);
			await press(url, "pay");
			await turns(buyer, hold, "refund_owed");
		});
		await turns(buyer, hold, "refunded");
		const { payment } = await connected.session(hold);
		const refunds = await connected.refunds(payment);
		assert.equal(refunds.length, 1);
		assert.equal(refunds[0].key, `refund-${hold}`);
		assert.equal(refunds[0].amount, 2500);
		assert.equal(refunds[0].state, "succeeded");
	},

	"paid, and given back by hand": async () => {
		const { item, buyer, hold, number, url } = await payable();
		await press(url, "pay");
		await turns(buyer, hold, "paid");
		const given = await shop.lastpair("order", "refund", number, "--yes");
		assert.equal(given.status, 0, given.err);
		const { payment } = await connected.session(hold);
		const [refund] = await until("the money is back", async () => {
			const all = await connected.refunds(payment);
			return all[0]?.state === "succeeded" && all;
		});
		assert.equal(refund.amount, 2500);
		assert.equal((await shop.stock(item)).sold, 0);
	},

	"a lost answer: one session, one refund": async () => {
		const first = calls.seen.length;
		calls.lose = "session.open";
		const { item, buyer, hold, url } = await payable({ late: "refund" });
		const opens = calls.seen.slice(first);
		assert.deepEqual(opens, Array(2).fill(
			{ type: "session.open", id: `cs-${hold}` }));
		await shop.frozen([shop.processOf("cashier")], async () => {
			await age(hold, 605);
			await press(url, "pay");
			await turns(buyer, hold, "refund_owed");
			// Only answers tell, not the example's own event.
			events.open = false;
			calls.lose = "refund.send";
		});
		const refundCalls = () => calls.seen.slice(first)
			.map(({ type }) => type).filter((t) => t.startsWith("refund."));
		await until("it is looked for", () => refundCalls().length > 1);
		events.open = true;
		await turns(buyer, hold, "refunded");
		assert.deepEqual(refundCalls(), ["refund.send", "refund.show"]);
		const { payment } = await connected.session(hold);
		assert.equal((await connected.refunds(payment)).length, 1);
		assert.equal((await shop.stock(item)).sold, 0);
	},

	"killed in the middle of a refund: no second one": async () => {
		const first = calls.seen.length;
		const { buyer, hold, url } = await payable({ late: "refund" });
		await shop.frozen([shop.processOf("cashier")], async () => {
			await age(hold, 605);
			await press(url, "pay");
			await turns(buyer, hold, "refund_owed");
			calls.meanwhile = () => connected.stop("SIGKILL");
			calls.lose = "refund.send";
		});
		const count = (type) => calls.seen.slice(first)
			.filter((call) => call.type === type).length;
		await until("it is looked for", () => count("refund.show") > 0);
		calls.meanwhile = () => {};
		await connected.start();
		await turns(buyer, hold, "refunded", { within: 30000 });
		assert.equal(count("refund.send"), 1);
		const { payment } = await connected.session(hold);
		assert.equal((await connected.refunds(payment)).length, 1);
	},

	"an event that only says look is looked up": async () => {
		const { buyer, hold, url } = await payable();
		const id = `evt_${Date.now()}`;
		// Its own event does not come through.
		events.open = false;
		await press(url, "pay");
		assert.notEqual((await buyer.page(hold)).state, "paid");
		const { status } = await standard.send("payment.changed",
			{ session: (await connected.session(hold)).session },
			{ id, by: secret });
		assert.equal(status, 200);
		await turns(buyer, hold, "paid");
		assert.equal((await standard.inbox(id)).kind, "look");
		events.open = true;
	},

	"news is told until the shop has it": async () => {
		const { buyer, hold, url } = await payable();
		const before = events.seen.map(({ id }) => id);
		const told = () => events.seen.map(({ id }) => id)
			.filter((id) => !before.includes(id));
		events.open = false;
		await press(url, "pay");
		await until("it was told in vain twice", () => told().length > 1);
		assert.notEqual((await buyer.page(hold)).state, "paid");
		events.open = true;
		await turns(buyer, hold, "paid");
		const [id, ...again] = told();
		assert.deepEqual(again, again.map(() => id));
		assert.equal(await outcome(id), "applied");
	},

	"wrong signatures change nothing": async () => {
		const { hold, buyer } = await payable();
		const paid = await data(hold, { payment: "pay_forged" });
		const wrong = [
			{ by: standard.newSecret() },
			{ by: standard.newPair().privateKey },
			{ by: secret, time: standard.now() - 301 },
			{ by: secret, time: standard.now() + 330 },
			{ by: secret, id: "evt.1" },
			{ signature: "" },
		];
		for (const options of wrong) {
			const { status } = await standard.send("payment.paid", paid,
				options);
			assert.equal(status, 400, JSON.stringify(options));
		}
		assert.notEqual((await buyer.page(hold)).state, "paid");
		await buyer.drop(hold);
	},

	"repeats, foreign and unusable events": async () => {
		const { buyer, hold } = await payable();
		const id = `evt_${hold}`;
		const paid = await data(hold, { payment: `pay_${hold}` });
		const send = (type, content, more) => standard.send(type, content,
			{ by: secret, ...more });
		assert.equal((await send("payment.paid", paid, { id })).status, 200);
		await turns(buyer, hold, "paid");
		const again = await send("payment.paid", paid, { id });
		assert.equal(again.json.outcome, "repeat");
		assert.equal((await send("payment.liked", { x: 1 })).status, 200);
		assert.equal((await send("payment.paid",
			{ ...paid, livemode: false })).json.outcome, "ignored");
		for (const bad of [{ ...paid, amount: 25.5 },
			{ ...paid, amount: "2500" }, { ...paid, currency: "eur" },
			{ ...paid, payment: undefined }])
			assert.equal((await send("payment.paid", bad)).status, 400);
		assert.equal(await outcome(id), "applied");
	},

	"a process that is down: the page opens later": async () => {
		const item = await shop.item();
		const buyer = new Buyer();
		const { json } = await buyer.take(item);
		await connected.stop();
		assert.equal((await buyer.pay(json.id)).status, 202);
		await until("a call has failed", async () => (await sql().row(`
			select o.last_error as error from data.outbox o
			join data.payment p using (payment_id)
			join data.hold h on h.hold_id = p.hold_id
			where h.id = ${quote(json.id)}`)).error);
		await connected.start();
		await press(await pageOf(buyer, json.id), "pay");
		await turns(buyer, json.id, "paid");
	},
};

test("the shop with a connected provider", async (t) => {
	await withStandard({}, async () => {
		for (const [name, run] of Object.entries(scenarios))
			await t.test(name, run);
	});
	await shop.audit();
});

test("secrets that change: old and new, v1 and v1a", async () => {
	const pair = standard.newPair();
	await withStandard({ webhook_secret: pair.whpk, old_webhook_secret: secret,
		call_secret: secret }, async () => {
		// The example has the old one still.
		const first = await payable();
		await press(first.url, "pay");
		await turns(first.buyer, first.hold, "paid");
		// Another process would sign with its private key.
		const { buyer, hold } = await payable();
		const paid = await data(hold, { payment: `pay_${hold}` });
		const { status } = await standard.send("payment.paid", paid,
			{ by: pair.privateKey });
		assert.equal(status, 200);
		await turns(buyer, hold, "paid");
		const forged = await standard.send("payment.paid", paid,
			{ by: standard.newPair().privateKey });
		assert.equal(forged.status, 400);
	});
	await shop.audit();
});

test("a secret that is none stops the start with a sentence", async () => {
	const key = "QhkbyvllUIg1Nd7KydKe6deYIppAmrhU1FbZAu5IVec=";
	const wrong = [
		["webhook_secret", "whsec_tooshort", "must be whsec_"],
		["webhook_secret", `whsk_${key}`, "must be whsec_"],
		["webhook_secret", `whpk_${key}`, ""],
		["old_webhook_secret", "whpk_AAAA", "must be whsec_"],
		["call_secret", `whpk_${key}`, "must be whsec_"],
	];
	for (const [name, value, why] of wrong) {
		const env = { LASTPAIR_PAYMENT_PROVIDER: "standard",
			LASTPAIR_STANDARD_URL: "http://127.0.0.1:9/",
			LASTPAIR_STANDARD_WEBHOOK_SECRET: secret,
			[`LASTPAIR_STANDARD_${name.toUpperCase()}`]: value };
		const { status, err } = await shop.lastpairWith({ env }, "serve",
			"--check");
		assert.notEqual(status, 0, name);
		assert.ok(err.includes(why ? `standard.${name} ${why}`
			: "standard.call_secret is missing"), err);
		assert.ok(!err.includes(value.slice(6)), "no secret is repeated");
	}
});
