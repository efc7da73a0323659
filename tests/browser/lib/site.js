"use strict";
// Items of a test's own with their pages, and orders in any state.

const assert = require("node:assert/strict");
const fs = require("node:fs");
const shop = require("../../flow/lib/shop.js");
const { Buyer, SHOP } = require("../../flow/lib/http.js");
const { age, sql, quote } = require("../../flow/lib/sql.js");
const pay = require("../../flow/lib/pay.js");
const provider = require("../../flow/lib/provider.js");
const { until } = require("../../flow/lib/wait.js");

const SITE = `${shop.STATE}/site/item`;

// Puts an item on sale, with a page; its SKU.
async function onSale(options = {}) {
	const item = await shop.item({ title: "Runner, size 42", price: "129.00",
		...options });
	const page = await shop.lastpair("page", item);
	assert.equal(page.status, 0, page.err);
	fs.writeFileSync(`${SITE}/${item}.html`, page.out);
	return item;
}

const ahead = (ms) => new Date(Date.now() + ms).toISOString();

// The holds of an item as the database has them, and what was asked of the
// provider for them.
function holds(item) {
	return sql().rows(`select h.id, h.state, h.expires_at,
(select count(*) from data.payment p where p.hold_id = h.hold_id) as attempts
from data.hold h join data.hold_line l using (hold_id)
join data.item i using (item_id) where i.sku = ${quote(item)}
order by h.hold_id`);
}

// Somebody else, without a browser.
async function taken(item, qty = 1) {
	const buyer = new Buyer();
	const { json, status, text } = await buyer.take(item, qty);
	assert.equal(status, 201, text);
	return { buyer, hold: json.id };
}

async function bought(item, qty = 1) {
	const { buyer, hold } = await taken(item, qty);
	await pay.press(await pay.pageOf(buyer, hold), "pay");
	await pay.turns(buyer, hold, "paid");
	return { buyer, hold };
}

// Lets so many seconds pass since the provider said that money is on its way.
async function ageChecking(hold, seconds) {
	await until("money is on its way", async () => (await sql().row(`
		select p.checking_at is not null as known from data.payment p
		join data.hold h using (hold_id) where h.id = ${quote(hold)}`)).known);
	await sql().run(`update data.payment p
		set checking_at = checking_at - ${seconds} * interval '1 s'
		from data.hold h where h.hold_id = p.hold_id
			and h.id = ${quote(hold)}`);
}

// Gives a visitor the cookies of such a buyer.
function become(visitor, { buyer }) {
	return visitor.context.addCookies([...buyer.cookies].map(
		([name, value]) => ({ name, value, url: SHOP, httpOnly: true,
			sameSite: "Lax" })));
}

module.exports = { onSale, ahead, holds, taken, bought, become, age,
	ageChecking, shop, pay, provider, sql, quote };
