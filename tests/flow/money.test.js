"use strict";
// C31: what a buyer sees, what the provider is asked for and what the books
// say are one amount, whatever the currency; a price that nobody could pay is
// refused when the seller sets it. And how long a pay page takes to open.

const test = require("node:test");
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { Buyer } = require("./lib/http.js");
const { payable, press, turns } = require("./lib/pay.js");
const provider = require("./lib/provider.js");
const shop = require("./lib/shop.js");
const { sql, quote } = require("./lib/sql.js");

const REASON = /^lastpair: [^\n]+\n$/;

// What the page's script makes of a price: a module without an import.
async function scriptMoney() {
	const file = path.resolve(__dirname, "../../static/js/stock.js");
	const text = fs.readFileSync(file).toString("base64");
	const { formatMoney } = await import(`data:text/javascript;base64,${text}`);
	return formatMoney;
}

function add(price, currency, more = {}) {
	const sku = shop.sku("M");
	return shop.lastpair("item", "add", sku, ...Object.entries({ title: "T",
		price, currency, total: "1", ...more })
		.flatMap(([word, value]) => [`--${word}`, value]))
		.then((done) => ({ ...done, sku }));
}

const reprice = (sku, price) =>
	shop.lastpair("item", "set", sku, "--price", price);

// Price and currency as typed, minor units, and the words of the pages.
const PRICES = [
	["500", "JPY", 500, "500 JPY"],
	["18.600", "KWD", 18600, "18.600 KWD"],
	["5.12", "KWD", 5120, "5.120 KWD"],
	["19.99", "EUR", 1999, "19.99 EUR"],
	["0.50", "EUR", 50, "0.50 EUR"],
	["5", "ISK", 500, "5.00 ISK"],
	["700", "UGX", 70000, "700.00 UGX"],
	["199.50", "HUF", 19950, "199.50 HUF"],
	["30", "TWD", 3000, "30.00 TWD"],
	["12000", "MGA", 12000, "12000 MGA"],
	["99999999", "VND", 99999999, "99999999 VND"],
	["99999.990", "BHD", 99999990, "99999.990 BHD"],
];

for (const [price, currency, amount, words] of PRICES)
	test(`C31: ${price} ${currency}: shown, charged and recorded alike`,
		async () => {
			const { item, hold, buyer, url } =
				await payable({ price, currency });
			const page = await shop.lastpair("page", item);
			assert.ok(page.out.includes(`id="price">${words}<`), page.out);
			assert.ok((await buyer.page(hold)).text.includes(words));
			const object = await provider.session(hold);
			assert.equal(object.amount_total, amount);
			assert.equal(object.currency, currency.toLowerCase());
			await press(url, "pay");
			const paid = await turns(buyer, hold, "paid");
			assert.ok(paid.text.includes(words));
			const { json } = await buyer.hold(hold);
			assert.deepEqual(json.price, { amount, currency });
			const { captured } = await sql().row(`select captured
				from data.payment join data.hold h using (hold_id)
				where h.id = ${quote(hold)}`);
			assert.equal(captured, amount);
			assert.equal((await scriptMoney())(json.price), words);
		});

test("C31: what nobody could pay is refused when the item is added, with " +
	"the limit", async () => {
	for (const [price, currency, limit, more] of [
		["5.124", "KWD", "must be 0"],
		["1.00", "XXQ", "unknown"],
		["1.5", "JPY", "too many decimals"],
		["1.001", "EUR", "too many decimals"],
		["5.50", "ISK", "whole units"],
		["0", "EUR", "more than 0"],
		["-1", "EUR", "no decimal number"],
		["1e3", "EUR", "no decimal number"],
		["1,00", "EUR", "no decimal number"],
		["0.49", "EUR", "at least 0.50 EUR"],
		["0.29", "GBP", "at least 0.30 GBP"],
		["49", "JPY", "at least 50 JPY"],
		["174.99", "HUF", "at least 175.00 HUF"],
		["1000000.00", "EUR", "at most 999999.99"],
		["100000000", "JPY", "at most 99999999"],
		["100000.000", "KWD", "at most 99999.990"],
		["500000", "EUR", "at most 999999.99 EUR", { "per-buyer": "2" }],
	]) {
		const done = await add(price, currency, more);
		assert.equal(done.status, 2, `${price} ${currency}: ${done.out}`);
		assert.match(done.err, REASON);
		assert.ok(done.err.includes(limit), done.err);
		assert.equal((await shop.lastpair("item", "show", done.sku)).status,
			1);
	}
});

test("C31: a new price keeps to the limits of the item's currency",
	async () => {
		const yen = await add("500", "JPY");
		const pair = await add("1.00", "EUR", { "per-buyer": "2" });
		for (const [{ sku }, price, limit] of [
			[yen, "49", "at least 50 JPY"], [yen, "1.50", "decimals"],
			[pair, "0.49", "at least 0.50 EUR"],
			[pair, "500000", "at most 999999.99 EUR"]]) {
			const done = await reprice(sku, price);
			assert.equal(done.status, 2, price);
			assert.match(done.err, REASON);
			assert.ok(done.err.includes(limit), done.err);
		}
		assert.equal((await shop.show(yen.sku)).price.amount, 500);
		assert.equal((await reprice(yen.sku, "700")).status, 0);
		assert.equal((await shop.show(yen.sku)).price.amount, 700);
		assert.equal((await reprice(pair.sku, "499999.99")).status, 0);
	});

test("C31: decimals that are not paid out are sold, and the seller is told",
	async () => {
		const huf = await add("199.50", "HUF");
		assert.equal(huf.status, 0);
		assert.match(huf.err, /199\.50 HUF is taken.*whole units only\n$/);
		assert.equal((await shop.show(huf.sku)).price.amount, 19950);
		const whole = await add("200", "HUF");
		assert.deepEqual([whole.status, whole.err], [0, ""]);
	});

test("the ladder for late money: four forms, the longest unless told",
	async () => {
		for (const late of ["refund", "retake,refund", "allowance,refund",
			"retake,allowance,refund"]) {
			const { sku } = await add("1.00", "EUR", { late });
			assert.equal((await shop.show(sku)).late.join(), late);
		}
		const { sku } = await add("1.00", "EUR");
		assert.equal((await shop.show(sku)).late.join(),
			"retake,allowance,refund");
		const wrong = await add("1.00", "EUR", { late: "refund,retake" });
		assert.equal(wrong.status, 2);
		assert.match(wrong.err, REASON);
		const { out } = await shop.lastpair("--help");
		assert.match(out, /--late STEPS/);
	});

test("a pay page says how many are opened before it, and how long that takes",
	async () => {
		const pace = Number(shop.setting("stripe", "opens_per_second"));
		const item = await shop.item({ total: 3 });
		const buyers = [new Buyer(), new Buyer(), new Buyer()];
		const holds = [];
		for (const buyer of buyers)
			holds.push((await buyer.take(item)).json.id);
		await shop.frozen([shop.processOf("cashier")], async () => {
			for (const [i, buyer] of buyers.entries())
				assert.equal((await buyer.pay(holds[i])).status, 202);
			const answers = await Promise.all(buyers.map((buyer, i) =>
				buyer.pay(holds[i])));
			const first = answers[0].json.ahead;
			for (const [i, { status, json }] of answers.entries()) {
				assert.equal(status, 202);
				assert.equal(json.state, "opening");
				assert.equal(json.ahead, first + i);
				assert.equal(json.ready_in_ms,
					Math.floor(json.ahead * 1000 / pace) + 1000);
				assert.ok(json.retry_in_ms >= 500 &&
					json.retry_in_ms <= 5000);
			}
			const words = `${first + 2} pages are opened before yours`;
			const page = await buyers[2].get(`/pay?id=${holds[2]}`,
				{ Accept: "text/html" });
			assert.ok(page.text.includes(words), page.text);
			assert.ok(page.text.includes("data-in-time=\"yes\""));
			// Two seconds before the end it would be too late.
			await sql().run(`update data.hold set
				expires_at = clock_timestamp() + interval '900 ms',
				created_at = created_at - interval '1 hour'
				where id = ${quote(holds[1])}`);
			const late = await buyers[1].get(`/pay?id=${holds[1]}`,
				{ Accept: "text/html" });
			assert.match(late.text, /data-in-time="no"|data-state="expired"/);
		});
	});
