"use strict";
// What a buyer does in many tests.

const { PAY } = require("./suite.js");

const button = (page, name) => page.getByRole("button", { name });
const atProvider = (page) => page.waitForURL(`${PAY}/c/pay/**`);

// The product page says this of the stock.
const says = (page, text) => page.locator("#stock-head", { hasText: text })
	.waitFor();

// From the product page to the pay page; the hold.
async function toPayPage(visitor, item) {
	await visitor.open(`/item/${item}`);
	await button(visitor.page, "Buy").click();
	const hold = await visitor.order();
	await button(visitor.page, "Pay 129.00 EUR").click();
	await atProvider(visitor.page);
	return hold;
}

module.exports = { button, atProvider, says, toPayPage };
