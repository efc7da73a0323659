"use strict";
// What a buyer does in many tests.

const { PAY } = require("./suite.js");
const { until } = require("../../flow/lib/wait.js");

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

const clockOf = (page) => page.locator(".clock:visible");

// The page shows what is left, within a second.
async function exact(page, { buyer, hold }) {
	let seen = "";
	await until("the clock is right", async () => {
		const before = (await buyer.hold(hold)).json.expires_in_ms;
		const text = await clockOf(page).innerText();
		const after = (await buyer.hold(hold)).json.expires_in_ms;
		const [, minutes, seconds] = /^(\d\d):(\d\d)$/.exec(text) || [];
		const shown = (Number(minutes) * 60 + Number(seconds)) * 1000;
		seen = `${text}, left ${after} to ${before} ms`;
		return shown <= before + 1000 && shown >= after - 1000;
	}, { within: 3000 }).catch((error) => {
		throw new Error(`${error.message}: ${seen}`);
	});
}

module.exports = { button, atProvider, says, toPayPage, clockOf, exact };
