"use strict";
// A purchase as a buyer sees it, from the product page to the paid order: on a
// phone and at a desk, without JavaScript, without a mouse; and the ways in
// which the pay page can end.

const assert = require("node:assert/strict");
const { suite, picture, PHONE, DESK, SHOP } = require("./lib/suite.js");
const { onSale, holds, bought, age, shop, provider, quote } =
	require("./lib/site.js");
const { button, atProvider, says, toPayPage } = require("./lib/steps.js");
const { Session } = require("../flow/lib/sql.js");

async function whole(visitor, item, name) {
	const { page } = visitor;
	await visitor.open(`/item/${item}`);
	await page.getByRole("heading", { name: "Runner, size 42" }).waitFor();
	await picture(page, `${name}-1-item`);
	await button(page, "Buy").click();
	const hold = await visitor.order();
	await visitor.panel("held");
	await picture(page, `${name}-2-held`);
	await button(page, "Pay 129.00 EUR").click();
	await atProvider(page);
	assert.match(await page.locator("body").innerText(),
		/Runner, size 42[^]*129\.00 EUR/);
	await picture(page, `${name}-3-pay`);
	await button(page, "Pay 129.00 EUR").click();
	await page.waitForURL(`${SHOP}/order/${hold}`);
	await visitor.panel("paid");
	await picture(page, `${name}-4-paid`);
	assert.equal(await page.getByRole("timer").count(), 0);
	const rows = await holds(item);
	assert.equal(rows.length, 1);
	assert.equal(rows[0].id, hold);
	assert.equal(rows[0].state, "paid");
	assert.equal(rows[0].attempts, 1);
	assert.equal((await shop.show(item)).sold, 1);
}

suite("a purchase", (check) => {
	for (const [name, viewport] of [["phone", PHONE], ["desk", DESK]]) {
		check(`a purchase, ${name}`, async (visit) =>
			whole(await visit({ viewport }), await onSale({ total: 5 }),
				`buy-${name}`));
		check(`C70: a purchase without JavaScript, ${name}`, async (visit) =>
			whole(await visit({ viewport, javaScriptEnabled: false }),
				await onSale({ total: 5 }), `buy-plain-${name}`));
	}

	check("a purchase by the keyboard alone", async (visit) => {
		const visitor = await visit();
		const { page } = visitor;
		const item = await onSale({ total: 5, "per-buyer": 3 });
		// Tab until this has the focus, which must show.
		const reach = async (selector) => {
			for (let i = 0; i < 30; i += 1) {
				await page.keyboard.press("Tab");
				const [there, outline] = await page.evaluate((words) => [
					document.activeElement.matches(words),
					getComputedStyle(document.activeElement).outlineStyle],
				selector);
				if (there) {
					assert.notEqual(outline, "none", selector);
					return;
				}
			}
			assert.fail(`Tab does not lead to ${selector}`);
		};
		await visitor.open(`/item/${item}`);
		await says(page, "5 left");
		await page.keyboard.press("Tab");
		await page.keyboard.press("Enter");
		assert.equal(new URL(page.url()).hash, "#main");
		await reach("#qty");
		await page.keyboard.press("ArrowUp");
		await page.getByText("Total 258.00 EUR").waitFor();
		await reach("#buy-button");
		await page.keyboard.press("Enter");
		const hold = await visitor.order();
		await visitor.panel("held");
		await reach("form[data-pay] button");
		await page.keyboard.press("Space");
		await atProvider(page);
		await reach("button[value=pay]");
		await page.keyboard.press("Enter");
		await visitor.panel("paid");
		assert.equal((await shop.show(item)).sold, 2);
		assert.equal((await holds(item))[0].id, hold);
	});

	check("several at once: the total, and the line of the order",
		async (visit) => {
			const visitor = await visit();
			const { page } = visitor;
			const item = await onSale({ total: 9, "per-buyer": 4,
				price: "48.50", title: "Opening night" });
			await visitor.open(`/item/${item}`);
			await says(page, "9 left");
			await page.getByLabel("How many").fill("3");
			await page.getByText("Total 145.50 EUR").waitFor();
			await button(page, "Buy").click();
			await visitor.order();
			await page.getByText("3 x Opening night").first().waitFor();
			await button(page, "Pay 145.50 EUR").waitFor();
			assert.equal((await shop.show(item)).held, 3);
		});
});

suite("the pay page", (check) => {
	check("declined, then paid", async (visit) => {
		const visitor = await visit();
		const { page } = visitor;
		const item = await onSale();
		const hold = await toPayPage(visitor, item);
		await button(page, "declined").click();
		await page.getByText("The card was declined").waitFor();
		const { state } = (await holds(item))[0];
		assert.equal(state, "held");
		await button(page, "Pay 129.00 EUR").click();
		await visitor.panel("paid");
		assert.equal((await holds(item))[0].id, hold);
		assert.equal((await shop.show(item)).sold, 1);
	});

	check("C13: cancelled at the provider, bought again: the same hold",
		async (visit) => {
			const visitor = await visit();
			const { page } = visitor;
			const item = await onSale();
			const hold = await toPayPage(visitor, item);
			const [{ expires_at: end }] = await holds(item);
			await button(page, "Leave without paying").click();
			assert.equal(await visitor.order(), hold);
			await visitor.panel("held");
			// The page knows of the order,
			await visitor.open(`/item/${item}`);
			await button(page, "Continue to your order").click();
			assert.equal(await visitor.order(), hold);
			// and without that memory the shop does.
			await page.evaluate(() => localStorage.clear());
			await visitor.open(`/item/${item}`);
			await says(page, "All in baskets");
			await page.evaluate(() => {
				document.querySelector("#buy-button").disabled = false;
				document.querySelector("#buy").requestSubmit();
			});
			assert.equal(await visitor.order(), hold);
			const rows = await holds(item);
			assert.equal(rows.length, 1);
			assert.equal(rows[0].expires_at, end);
		});

	check("C13: lapsed and taken by another: gone, who pays undisturbed",
		async (visit) => {
			const [one, two] = [await visit(), await visit()];
			const item = await onSale();
			const first = await toPayPage(one, item);
			await age(first, 605);
			await toPayPage(two, item);
			await one.page.goBack();
			await one.panel("expired");
			await one.page.getByRole("link", { name: "Start again" }).click();
			await says(one.page, "All in baskets");
			assert.ok(await button(one.page, "All in baskets").isDisabled());
			await button(two.page, "Pay 129.00 EUR").click();
			await two.panel("paid");
			await says(one.page, "Sold out");
			assert.equal((await shop.show(item)).sold, 1);
		});

	check("C11: paid late, none free: the money goes back, the page says so",
		async (visit) => {
			const visitor = await visit();
			const { page } = visitor;
			const item = await onSale();
			const hold = await toPayPage(visitor, item);
			await button(page, "Pay late").click();
			await page.getByText("carried out in").waitFor();
			await page.getByRole("link", { name: "Back to the shop" })
				.click();
			assert.equal(await visitor.order(), hold);
			await age(hold, 605);
			await page.reload();
			await visitor.panel("expired");
			await bought(item);
			await provider.payAnyway(hold);
			// By itself: the page keeps asking after the end.
			await visitor.panel("refunded");
			const text = await page.locator("[data-for=refunded]").innerText();
			assert.match(text, /full amount of 129\.00 EUR/);
			assert.match(text, /after your hold had ended/);
			const { payment_intent: intent } = await provider.session(hold);
			const refunds = await provider.refunds(intent);
			assert.equal(refunds.length, 1);
			assert.equal(refunds[0].amount, 12900);
			assert.equal((await shop.show(item)).sold, 1);
		});

	check("C11: paid late, one still free: it is the buyer's",
		async (visit) => {
			const visitor = await visit();
			const item = await onSale();
			const hold = await toPayPage(visitor, item);
			await button(visitor.page, "Pay late").click();
			await visitor.page.getByText("carried out in").waitFor();
			await age(hold, 605);
			await visitor.open(`/order/${hold}`);
			await visitor.panel("expired");
			await provider.payAnyway(hold);
			await visitor.panel("paid");
			assert.equal((await shop.show(item)).sold, 1);
		});

	check("C29, C71: a bank debit: “do not pay again”, confirmed by itself",
		async (visit) => {
			const visitor = await visit();
			const { page } = visitor;
			const item = await onSale({ total: 5 });
			const hold = await toPayPage(visitor, item);
			await button(page, "bank debit").click();
			await page.getByRole("heading", { name: "under way" }).waitFor();
			await page.getByRole("link", { name: "Back to the shop" })
				.click();
			await visitor.panel("checking");
			await page.getByText("Do not pay again.").first().waitFor();
			await page.reload();
			await visitor.panel("checking");
			assert.equal(await page.locator("button:visible").count(), 0);
			// A second take leads to the order: by the page, and by a form.
			const tab = await visitor.tab();
			await tab.goto(`${SHOP}/item/${item}`);
			await button(tab, "Continue to your order").click();
			assert.equal(await visitor.order(tab), hold);
			await tab.goto(`${SHOP}/item/${item}`);
			await tab.evaluate(() => document.querySelector("#buy").submit());
			assert.equal(await visitor.order(tab), hold);
			await visitor.panel("checking", tab);
			// Three days later.
			assert.equal((await shop.show(item)).sold, 0);
			await age(hold, 3 * 86400);
			await tab.reload();
			await visitor.panel("checking", tab);
			await provider.bank(hold, "succeeded");
			await visitor.panel("paid");
			await visitor.panel("paid", tab);
			const rows = await holds(item);
			assert.equal(rows.length, 1);
			assert.equal(rows[0].attempts, 1);
			assert.equal((await shop.show(item)).sold, 1);
		});

	check("C71: the shop hears of the payment late: no “pay again”",
		async (visit) => {
			const visitor = await visit();
			const { page } = visitor;
			const item = await onSale();
			const hold = await toPayPage(visitor, item);
			// Nobody can write to this stock: the webhook has to wait.
			const busy = new Session();
			await busy.run(`begin; select 1 from data.stock
				join data.item using (item_id)
				where sku = ${quote(item)} for update of stock`);
			await button(page, "Pay 129.00 EUR").click();
			assert.equal(await visitor.order(), hold);
			await visitor.panel("held");
			await page.getByText("If you have just paid, wait a moment.")
				.first().waitFor();
			await picture(page, "order-just-back");
			await busy.run("rollback");
			busy.close();
			await visitor.panel("paid");
		});

	check("C29: the bank refuses the debit: not charged, free, start again",
		async (visit) => {
			const visitor = await visit();
			const item = await onSale();
			const hold = await toPayPage(visitor, item);
			await button(visitor.page, "bank debit").click();
			await visitor.page.getByRole("heading", { name: "under way" })
				.waitFor();
			await visitor.open(`/order/${hold}`);
			await visitor.panel("checking");
			await provider.bank(hold, "failed");
			await visitor.panel("payment_failed");
			assert.equal((await shop.show(item)).free, 1);
			await visitor.page.getByRole("link", { name: "Start again" })
				.click();
			await button(visitor.page, "Buy").click();
			assert.notEqual(await visitor.order(), hold);
		});
});
