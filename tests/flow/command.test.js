"use strict";
// The command line: exit statuses, one-line reasons, JSON, and the audit.

const test = require("node:test");
const assert = require("node:assert/strict");
const { Buyer } = require("./lib/http.js");
const { until } = require("./lib/wait.js");
const { sql, quote } = require("./lib/sql.js");
const { pageOf, press, turns } = require("./lib/pay.js");
const provider = require("./lib/provider.js");
const stripe = require("./lib/stripe.js");
const shop = require("./lib/shop.js");

const REASON = /^lastpair: [^\n]+\n$/;

function add(sku, change = {}) {
	const words = { title: "T", price: "1.00", currency: "EUR", total: "1",
		...change };
	return shop.lastpair("item", "add", sku, ...Object.entries(words)
		.filter(([, value]) => value !== null)
		.flatMap(([word, value]) => [`--${word}`, value]));
}

test("usage is 2, refused is 1, done is 0; reasons are one line",
	async () => {
		for (const words of [[], ["nonsense"], ["item"], ["item", "paint"],
			["item", "add"], ["item", "show"], ["item", "list", "--xml"],
			["item", "show", "a", "b"], ["audit", "now"],
			["hold", "list", "--state", "lost"],
			["hold", "list", "--limit", "0"], ["order", "show"], ["page"],
			["serve", "--fast"], ["item", "add", "X", "--title"]]) {
			const done = await shop.lastpair(...words);
			assert.equal(done.status, 2, words.join(" "));
			assert.notEqual(done.err, "");
			assert.equal(done.out, "");
		}
		for (const words of [["item", "show", "none"],
			["item", "set", "none", "--title", "T"], ["page", "none"],
			["order", "show", "ord_1"], ["order", "show", "hld_x"]]) {
			const done = await shop.lastpair(...words);
			assert.equal(done.status, 1, words.join(" "));
			assert.match(done.err, REASON);
		}
		for (const words of [["--help"], ["--version"], ["item", "list"],
			["hold", "list"], ["event", "list"], ["audit"],
			["serve", "--check"], ["setup", "--print"]]) {
			const done = await shop.lastpair(...words);
			assert.equal(done.status, 0, `${words}: ${done.err}`);
			assert.notEqual(done.out, "");
		}
	});

test("a database that cannot be reached is 3", async () => {
	const env = { LASTPAIR_DATABASE_URL:
		"host=/nowhere port=5432 dbname=lastpair connect_timeout=2" };
	for (const words of [["item", "list"], ["audit"], ["migrate"]]) {
		const done = await shop.lastpairWith({ env }, ...words);
		assert.equal(done.status, 3, words.join(" "));
		assert.match(done.err, /lastpair: [^\n]+\n$/);
	}
});

test("settings: unknown, out of range, missing: 1 and the key's name",
	async () => {
		for (const [key, value] of [["SERVER_WORKERS", "0"],
			["SERVER_WORKERS", "65"], ["SERVER_WORKERS", "two"],
			["BUYER_SECRET", "short"], ["BUYER_SECRET", ""],
			["STRIPE_WEBHOOK_SECRET", ""], ["SERVER_PUBLIC_URL", "shop"]]) {
			const done = await shop.lastpairWith(
				{ env: { [`LASTPAIR_${key}`]: value } }, "serve", "--check");
			assert.equal(done.status, 1, `${key}=${value}`);
			assert.match(done.err, REASON);
			const [section, ...rest] = key.toLowerCase().split("_");
			assert.ok(done.err.includes(`${section}.${rest.join("_")}`),
				done.err);
		}
		const none = await shop.lastpairWith({ conf: "/nowhere/x.conf" },
			"serve", "--check");
		assert.equal(none.status, 1);
		assert.match(none.err, REASON);
	});

test("item add refuses what cannot be sold", async () => {
	const sku = shop.sku();
	for (const change of [{ title: null }, { price: null }, { total: null },
		{ currency: null }, { total: "-1" }, { total: "1.5" },
		{ total: "x" }, { hold: "0s" }, { hold: "25h" }, { hold: "10 m" },
		{ hold: "-1m" }, { "per-buyer": "0" }, { buckets: "0" },
		{ opens: "2026-12-05T10:00:00" }, { opens: "tomorrow" },
		{ opens: "2026-12-05" }, { late: "never" }, { kind: "unit" },
		{ allowance: "-1" }, { title: "" }, { title: "a\nb" },
		{ opens: "2026-12-05T10:00:00Z", closes: "2026-12-04T10:00:00Z" },
		{ opens: "2026-13-45T10:00:00Z" },
		{ price: "999999.99", "per-buyer": "2" }]) {
		const done = await add(sku, change);
		assert.ok([1, 2].includes(done.status),
			`${JSON.stringify(change)}: ${done.status} ${done.err}`);
		assert.match(done.err, REASON);
	}
	assert.equal((await shop.lastpair("item", "show", sku)).status, 1);
	assert.equal((await add(sku)).status, 0);
	const twice = await add(sku, { total: "500" });
	assert.equal(twice.status, 1);
	assert.match(twice.err, REASON);
	assert.equal((await shop.show(sku)).total, 1);
});

test("--json on every listing is JSON", async () => {
	const sku = await shop.item({ total: 3 });
	const buyer = new Buyer();
	const { json: hold } = await buyer.take(sku);
	const items = (await shop.lastpair("item", "list", "--json")).json();
	const item = items.find(({ item: name }) => name === sku);
	assert.deepEqual([item.total, item.free, item.held, item.sold],
		[3, 2, 1, 0]);
	const holds = (await shop.lastpair("hold", "list", "--item", sku,
		"--state", "held", "--json")).json();
	assert.deepEqual(holds.map(({ id }) => id), [hold.id]);
	const text = await shop.lastpair("hold", "list", "--item", sku);
	assert.ok(text.out.includes(hold.id));
	await stripe.send(stripe.event("x.y", {}, { id: `evt_${sku}` }));
	const events = (await shop.lastpair("event", "list", "--json",
		"--limit", "5")).json();
	assert.ok(events.some(({ event_id: id }) => id === `evt_${sku}`));
	assert.deepEqual((await shop.lastpair("audit", "--json")).json(), []);
	assert.equal((await shop.order(hold.id)).hold.state, "held");
});

test("C04: an edit of the title writes no old stock back", async () => {
	const sku = await shop.item({ total: 10 });
	const { version } = await shop.show(sku);
	for (let i = 0; i < 3; i += 1) {
		const buyer = new Buyer();
		const { json } = await buyer.take(sku);
		await press(await pageOf(buyer, json.id), "pay");
		await turns(buyer, json.id, "paid");
	}
	const title = await shop.lastpair("item", "set", sku, "--title",
		"New words", "--version", String(version));
	assert.equal(title.status, 0, title.err);
	const after = await shop.show(sku);
	assert.deepEqual([after.total, after.sold, after.free, after.title],
		[10, 3, 7, "New words"]);
	// The second operator still has the first form open.
	const stale = await shop.lastpair("item", "set", sku, "--total", "20",
		"--version", String(version));
	assert.equal(stale.status, 1);
	assert.match(stale.err, REASON);
	assert.equal((await shop.show(sku)).total, 10);
	const fresh = await shop.lastpair("item", "set", sku, "--total", "20",
		"--version", String(after.version));
	assert.equal(fresh.status, 0);
	const grown = await shop.show(sku);
	assert.deepEqual([grown.total, grown.sold, grown.free], [20, 3, 17]);
	const changes = await sql().rows(`select c.changed_by as by,
		(c.before ->> 'total')::int as before, (c.after ->> 'total')::int
		as after from data.item_change c join data.item i using (item_id)
		where i.sku = ${quote(sku)} order by change_id`);
	assert.deepEqual(changes.map(({ before, after: to }) => [before, to]),
		[[10, 10], [10, 20]]);
	changes.forEach(({ by }) => assert.ok(by.length > 0));
	await shop.audit();
});

test("C08: a total below what is held and sold is refused", async () => {
	const sku = await shop.item({ total: 3, buckets: 2 });
	await Promise.all([1, 2].map(() => new Buyer().take(sku)));
	const less = await shop.lastpair("item", "set", sku, "--total", "1");
	assert.equal(less.status, 1);
	assert.match(less.err, REASON);
	assert.equal((await shop.lastpair("item", "set", sku, "--total", "2"))
		.status, 0);
	assert.equal((await shop.show(sku)).free, 0);
	assert.equal((await new Buyer().take(sku)).problem, "sold-out");
	await shop.audit();
});

test("page prints a whole product page, escaped", async () => {
	const sku = await shop.item({ total: 1, title: "<b>&\"' Runner",
		price: "129.00" });
	const page = await shop.lastpair("page", sku);
	assert.equal(page.status, 0);
	assert.match(page.out, /^<!doctype html>/i);
	assert.match(page.out, /129\.00 EUR/);
	assert.match(page.out, /&lt;b&gt;&amp;/);
	assert.doesNotMatch(page.out, /\{\{|<b>&/);
	assert.ok(page.out.includes(`name="item" value="${sku}"`));
	// nginx chooses the worker by the address, whatever is in an SKU.
	const odd = await shop.item({ sku: `A&B =é-${shop.sku()}` });
	assert.ok((await shop.lastpair("page", odd)).out.includes(
		`action="/hold?item=${encodeURIComponent(odd)}"`));
	const index = await shop.lastpair("page", "--index");
	assert.ok(index.out.includes(`href="/item/${sku}"`));
});

test("C55: with zones of all kinds, a hold lasts its minutes", async () => {
	const sku = await shop.item({ total: 2,
		opens: "2026-10-25T10:00:00+01:00" });
	assert.equal((await shop.show(sku)).opens_at, "2026-10-25T09:00:00.000Z");
	const far = shop.sku();
	const added = await shop.lastpairWith({ env: { TZ: "America/New_York",
		PGTZ: "Asia/Kolkata" } }, "item", "add", far, "--title", "T",
	"--price", "1.00", "--currency", "EUR", "--total", "1", "--opens",
	"2026-10-25T10:00:00+01:00");
	assert.equal(added.status, 0, added.err);
	assert.equal((await shop.show(far)).opens_at, "2026-10-25T09:00:00.000Z");
	// The hour that comes twice in Berlin, told by a session in Kolkata.
	const said = await sql().run(`set timezone = 'Asia/Kolkata';
		select api.iso('2026-10-25T00:55:00Z'::timestamptz
			+ make_interval(secs => 600));
		reset timezone`);
	assert.equal(said, "2026-10-25T01:05:00.000Z");
});

// An order that was paid too late, with its money sent back.
async function refunded() {
	const late = await shop.item({ total: 1, late: "refund" });
	const buyer = new Buyer();
	const { json } = await buyer.take(late);
	await pageOf(buyer, json.id);
	await buyer.drop(json.id);
	await provider.payAnyway(json.id);
	await turns(buyer, json.id, "refunded");
	return json.id;
}

// Damage by hand, and mended again: other audits see nothing of it.
test("audit: exits 1 for each row that is damaged by hand, names it",
	async () => {
		const sku = await shop.item({ total: 5 });
		const buyer = new Buyer();
		const { json: paid } = await buyer.take(sku);
		await press(await pageOf(buyer, paid.id), "pay");
		await turns(buyer, paid.id, "paid");
		const { json: held } = await new Buyer().take(sku);
		const item = `item_id = (select item_id from data.item
			where sku = ${quote(sku)})`;
		const hold = (id) => `hold_id = (select hold_id from data.hold
			where id = ${quote(id)})`;
		const damages = [
			["update data.stock set held = held + 1 where " + item,
				"update data.stock set held = held - 1 where " + item, sku],
			["update data.stock set sold = sold - 1 where " + item,
				"update data.stock set sold = sold + 1 where " + item, sku],
			[`update data.hold_line set state = 'held' where ${hold(paid.id)}`,
				`update data.hold_line set state = 'paid'
				where ${hold(paid.id)}`, paid.id],
			[`update data.hold set amount = amount + 1 where ${hold(held.id)}`,
				`update data.hold set amount = amount - 1
				where ${hold(held.id)}`, held.id],
			[`update data.hold set state = 'released', reason = 'expired'
				where ${hold(paid.id)}`,
			`update data.hold set state = 'paid', reason = null
				where ${hold(paid.id)}`, paid.id],
			[`update data.payment set captured = captured - 1
				where ${hold(paid.id)}`,
			`update data.payment set captured = captured + 1
				where ${hold(paid.id)}`, paid.id],
		];
		const late = await refunded();
		damages.push([`update data.refund set amount = amount + 1
			where key = 'refund-${late}'`, `update data.refund
			set amount = amount - 1 where key = 'refund-${late}'`, late],
		[`update data.refund set state = 'owed'
			where key = 'refund-${late}'`, `update data.refund
			set state = 'succeeded' where key = 'refund-${late}'`, late],
		[`update data.event set outcome = 'received' where hold =
			${quote(late)} and outcome = 'refund'`, `update data.event
			set outcome = 'refund' where hold = ${quote(late)}
			and outcome = 'received'`, "stripe evt_"]);
		for (const [damage, mend, name] of damages) {
			await sql().run(damage);
			try {
				const audit = await shop.lastpair("audit");
				assert.equal(audit.status, 1, damage);
				assert.ok(audit.out.includes(name), `${damage}: ${audit.out}`);
				const json = await shop.lastpair("audit", "--json");
				assert.equal(json.status, 1);
				assert.ok(json.json().length > 0);
			} finally {
				await sql().run(mend);
			}
			await shop.audit();
		}
		// What the tables themselves refuse.
		await assert.rejects(sql().run(`update data.stock
			set held = total + allowance + 1 where ${item}`),
		/never_more/);
		await until("quiet", async () => (await shop.stock(sku)).held === 1);
	});
