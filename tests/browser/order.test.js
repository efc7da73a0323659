"use strict";
// The order page between buying and paying: giving up, coming back, limits, a
// pay page that takes its time.

const assert = require("node:assert/strict");
const { suite } = require("./lib/suite.js");
const { onSale, holds, taken, shop, provider, sql, quote } =
	require("./lib/site.js");
const { button, atProvider, toPayPage } = require("./lib/steps.js");
const { until } = require("../flow/lib/wait.js");

suite("giving up and coming back", (check) => {
	check("give it up: free for others at once", async (visit) => {
		const visitor = await visit();
		const { page } = visitor;
		const item = await onSale();
		await visitor.open(`/item/${item}`);
		await button(page, "Buy").click();
		const hold = await visitor.order();
		await page.locator("summary:visible").click();
		await button(page, "Give it up").click();
		await visitor.panel("dropped");
		assert.equal((await shop.show(item)).free, 1);
		await page.getByRole("link", { name: "Start again" }).click();
		await button(page, "Buy").click();
		assert.notEqual(await visitor.order(), hold);
	});

	check("give it up without JavaScript", async (visit) => {
		const visitor = await visit({ javaScriptEnabled: false });
		const { page } = visitor;
		const item = await onSale();
		await visitor.open(`/item/${item}`);
		await button(page, "Buy").click();
		await visitor.order();
		await page.locator("summary:visible").click();
		await button(page, "Give it up").click();
		await visitor.panel("dropped");
		assert.equal((await shop.show(item)).free, 1);
	});

	check("a limit: the page leads to the buyer's own order",
		async (visit) => {
			const visitor = await visit();
			visitor.excuse(409);
			const { page } = visitor;
			const item = await onSale({ total: 9, "per-buyer": 2 });
			await visitor.open(`/item/${item}`);
			await page.getByLabel("How many").fill("2");
			await button(page, "Buy").click();
			const hold = await visitor.order();
			await button(page, "Pay 258.00 EUR").click();
			await atProvider(page);
			await button(page, "Pay 258.00 EUR").click();
			await visitor.panel("paid");
			await visitor.open(`/item/${item}`);
			await page.getByText("You have bought this.").waitFor();
			await button(page, "Buy").click();
			await page.getByText("at most 2, and you have 2 already")
				.waitFor();
			await page.locator("#message")
				.getByRole("link", { name: "Go to your order" }).click();
			assert.equal(await visitor.order(), hold);
			assert.equal((await holds(item)).length, 1);
		});

	check("one per person, bought: the button leads to the order",
		async (visit) => {
			const visitor = await visit();
			const item = await onSale({ total: 9 });
			const hold = await toPayPage(visitor, item);
			await button(visitor.page, "Pay 129.00 EUR").click();
			await visitor.panel("paid");
			await visitor.open(`/item/${item}`);
			await button(visitor.page, "See your order").click();
			assert.equal(await visitor.order(), hold);
			// A form without a script goes there too.
			await visitor.open(`/item/${item}`);
			await visitor.page.evaluate(() =>
				document.querySelector("#buy").submit());
			assert.equal(await visitor.order(), hold);
			assert.equal((await holds(item)).length, 1);
		});

	check("somebody else's order can be seen, not paid", async (visit) => {
		const visitor = await visit();
		const { hold } = await taken(await onSale());
		await visitor.open(`/order/${hold}`);
		await visitor.panel("held");
		await button(visitor.page, "Pay 129.00 EUR").click();
		await visitor.page.waitForURL("**/problems/not-yours*");
		await visitor.page.getByRole("heading",
			{ name: "belongs to somebody else" }).waitFor();
		assert.equal((await sql().row(`select count(*) as n
			from data.payment join data.hold h using (hold_id)
			where h.id = ${quote(hold)}`)).n, 0);
	});
});

// The cashier stands still, so that the pay page takes its time.
suite("a pay page that opens slowly", (check) => {
	for (const [how, options] of [["with", {}],
		["without", { javaScriptEnabled: false }]])
		check(`it moves on by itself, and back leads to the order, ${how} ` +
			"JavaScript", async (visit) => {
			const visitor = await visit(options);
			const { page } = visitor;
			const item = await onSale();
			await visitor.open(`/item/${item}`);
			await button(page, "Buy").click();
			const hold = await visitor.order();
			await shop.frozen([shop.processOf("cashier")], async () => {
				await button(page, "Pay 129.00 EUR").click();
				await page.getByRole("heading",
					{ name: "Your pay page is opening" }).waitFor();
				await until("it asks again", () =>
					visitor.sent("GET", "/pay").length > 2);
			});
			await atProvider(page);
			await page.goBack();
			assert.equal(await visitor.order(), hold);
			await visitor.panel("held");
			await button(page, "Pay 129.00 EUR").click();
			await atProvider(page);
			await button(page, "Pay 129.00 EUR").click();
			await visitor.panel("paid");
			assert.equal((await holds(item))[0].attempts, 1);
			assert.equal(await provider.sessionCount(hold), 1);
		});
}, { concurrency: 1 });
