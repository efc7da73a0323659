"use strict";
// What the product page says of the stock, live; and the opening of a sale.

const assert = require("node:assert/strict");
const { suite, SHOP } = require("./lib/suite.js");
const { onSale, ahead, holds, taken, bought, age, shop, sql, quote } =
	require("./lib/site.js");
const { button, says } = require("./lib/steps.js");

suite("the stock, live", (check) => {
	check("all held: it comes back when given up, and again when expired",
		async (visit) => {
			const visitor = await visit();
			const { page } = visitor;
			const item = await onSale();
			const one = await taken(item);
			await visitor.open(`/item/${item}`);
			await says(page, "All in baskets");
			await page.getByText("1 unit is held. One may come back.")
				.waitFor();
			assert.ok(await button(page, "All in baskets").isDisabled());
			await one.buyer.drop(one.hold);
			await says(page, "The last one");
			const two = await taken(item);
			await says(page, "All in baskets");
			await age(two.hold, 605);
			await says(page, "The last one");
			await button(page, "Buy").click();
			await visitor.order();
		});

	check("sold out: it says so, and no button can be pressed",
		async (visit) => {
			const visitor = await visit();
			const { page } = visitor;
			const item = await onSale();
			await visitor.open(`/item/${item}`);
			await says(page, "The last one");
			await bought(item);
			await says(page, "Sold out");
			assert.ok(await button(page, "Sold out").isDisabled());
			assert.equal(visitor.sent("POST", "/hold").length, 0);
		});

	check("a refusal is shown at once, and goes when one comes back",
		async (visit) => {
			const visitor = await visit();
			visitor.excuse(409);
			const { page } = visitor;
			const item = await onSale();
			await visitor.open(`/item/${item}`);
			await says(page, "The last one");
			const { buyer, hold } = await taken(item);
			await button(page, "Buy").click();
			await page.getByText("1 is in another person's basket")
				.waitFor();
			await says(page, "All in baskets");
			await buyer.drop(hold);
			await says(page, "The last one");
			assert.equal(await page.locator("#message").innerText(), "");
		});

	check("paused and closed by the seller", async (visit) => {
		const visitor = await visit();
		const item = await onSale();
		const set = (status) => sql().run(`update data.item
			set status = ${quote(status)} where sku = ${quote(item)}`);
		await visitor.open(`/item/${item}`);
		await says(visitor.page, "The last one");
		await set("paused");
		await says(visitor.page, "Paused");
		assert.ok(await button(visitor.page, "Paused").isDisabled());
		await set("open");
		await says(visitor.page, "The last one");
		await set("closed");
		await says(visitor.page, "This sale has ended");
		assert.ok(await button(visitor.page, "Sale ended").isDisabled());
	});

	check("the shop out of reach: no old count, and back by itself",
		async (visit) => {
			const visitor = await visit();
			visitor.excuseNetwork();
			const { page } = visitor;
			const item = await onSale({ total: 7 });
			await visitor.open(`/item/${item}`);
			await says(page, "7 left");
			await visitor.context.setOffline(true);
			await says(page, "Checking the stock");
			await visitor.context.setOffline(false);
			await says(page, "7 left");
		});

	check("nginx repeats what was true before: the page asks less and less",
		async (visit) => {
			const visitor = await visit();
			const { page } = visitor;
			const item = await onSale({ opens: ahead(3600000) });
			let old = null;
			await visitor.context.route(/\/availability/, async (route) => {
				const answer = await route.fetch();
				const body = await answer.json();
				// The sale is always about to open.
				body.items[0].opens_in_ms = 300;
				old ??= body;
				await route.fulfill({ response: answer, json: old });
			});
			await visitor.open(`/item/${item}`);
			await says(page, "Not open yet");
			await says(page, "Checking the stock");
			const asked = visitor.sent("GET", "/availability").length;
			assert.ok(asked < 25, `asked ${asked} times`);
			await visitor.context.unroute(/\/availability/);
			await says(page, "Not open yet");
		});

	check("the front: each item with its stock, and the way to it",
		async (visit) => {
			const visitor = await visit();
			await visitor.open("/");
			const card = visitor.page.locator("[data-sku=RUN-43]");
			await card.getByText(/On sale|All in baskets|Sold out/).waitFor();
			await card.getByRole("link").click();
			await visitor.page.waitForURL(`${SHOP}/item/RUN-43`);
			await visitor.page.getByRole("heading",
				{ name: "Runner, size 43" }).waitFor();
		});
});

suite("the opening", (check) => {
	check("a countdown, then Buy by itself", async (visit) => {
		const visitor = await visit();
		const { page } = visitor;
		const item = await onSale({ opens: ahead(7000) });
		await visitor.open(`/item/${item}`);
		await says(page, "Not open yet");
		assert.ok(await button(page, "Not open yet").isDisabled());
		assert.match(await page.locator("#clock").innerText(), /^00:0\d$/);
		await button(page, "Buy").click();
		await visitor.order();
		assert.equal((await holds(item)).length, 1);
	});

	check("without JavaScript: too early is a plain page with the time",
		async (visit) => {
			const visitor = await visit({ javaScriptEnabled: false });
			const item = await onSale({ opens: ahead(86400000) });
			await visitor.open(`/item/${item}`);
			await button(visitor.page, "Buy").click();
			await visitor.page.getByRole("heading",
				{ name: "The sale has not begun" }).waitFor();
			await visitor.page.getByRole("link", { name: "Go back" })
				.click();
			await visitor.page.waitForURL(`${SHOP}/item/${item}`);
			assert.equal((await holds(item)).length, 0);
		});
});

suite("who gets it", (check) => {
	check("C02: three at once for one: one order, two plain refusals",
		async (visit) => {
			const item = await onSale();
			const visitors = await Promise.all([visit(), visit(), visit()]);
			await Promise.all(visitors.map(async (visitor) => {
				visitor.excuse(409);
				await visitor.open(`/item/${item}`);
				await says(visitor.page, "The last one");
			}));
			// Nobody's page hears of another's click before its own.
			await Promise.all(visitors.map(({ page }) =>
				page.route("**/availability*", () => {})));
			await Promise.all(visitors.map(({ page }) =>
				button(page, "Buy").click()));
			await Promise.all(visitors.map(({ page }) =>
				page.unroute("**/availability*")));
			const outcomes = await Promise.all(visitors.map(({ page }) =>
				Promise.race([
					page.waitForURL(/\/order\//).then(() => "order"),
					page.locator("#message").getByText("All are taken")
						.waitFor().then(() => "refused"),
				])));
			assert.deepEqual(outcomes.sort(),
				["order", "refused", "refused"]);
			const winner = visitors.find(({ page }) =>
				/\/order\//.test(page.url()));
			await button(winner.page, "Pay").click();
			await button(winner.page, "Pay 129.00 EUR").click();
			await winner.panel("paid");
			for (const { page } of visitors.filter((one) => one !== winner))
				await says(page, "Sold out");
			const rows = await holds(item);
			assert.deepEqual(rows.map(({ state, attempts }) =>
				[state, attempts]), [["paid", 1]]);
			await shop.audit();
		});

	check("C02: without JavaScript the loser gets a plain page",
		async (visit) => {
			const item = await onSale();
			const visitors = await Promise.all([1, 2, 3].map(() =>
				visit({ javaScriptEnabled: false })));
			await Promise.all(visitors.map((visitor) =>
				visitor.open(`/item/${item}`)));
			await Promise.all(visitors.map(({ page }) =>
				button(page, "Buy").click()));
			await Promise.all(visitors.map(({ page }) =>
				page.waitForURL(/\/order\/|\/problems\/sold-out/)));
			const losers = visitors.filter(({ page }) =>
				page.url().includes("/problems/"));
			assert.equal(losers.length, 2);
			for (const { page } of losers)
				await page.getByRole("heading", { name: "None left" })
					.waitFor();
			assert.equal((await holds(item)).length, 1);
		});

	check("C68: nobody gets another's cookie or sees another's order",
		async (visit) => {
			const item = await onSale({ total: 9 });
			const visitors = await Promise.all([visit(), visit(), visit()]);
			const answers = [];
			for (const { context } of visitors)
				context.on("response", (answer) => answers.push(answer));
			const [first, ...others] = visitors;
			await first.open(`/item/${item}`);
			await button(first.page, "Buy").click();
			const hold = await first.order();
			await first.panel("held");
			for (const visitor of others) {
				await visitor.open(`/item/${item}`);
				await says(visitor.page, "8 left");
				assert.ok(!(await visitor.page.content()).includes(hold));
				await button(visitor.page, "Buy").waitFor();
			}
			const cookies = (await Promise.all(visitors.map(({ context }) =>
				context.cookies()))).flat();
			for (const { httpOnly, sameSite } of cookies)
				assert.deepEqual([httpOnly, sameSite], [true, "Lax"]);
			const values = cookies.map(({ value }) => value);
			assert.equal(new Set(values).size, values.length);
			assert.deepEqual(cookies.map(({ name }) => name).sort(),
				["lp_buyer", "lp_visit", "lp_visit", "lp_visit"]);
			let files = 0;
			for (const answer of answers) {
				const headers = await answer.allHeaders();
				const cache = headers["cache-control"] || "";
				const { pathname } = new URL(answer.url());
				if (headers["set-cookie"] || /^\/(hold$|order\/)/.test(pathname))
					assert.match(cache, /no-store/, pathname);
				if (/\.(js|css|svg)$/.test(pathname)) {
					assert.match(cache, /public, max-age=300/, pathname);
					assert.equal(headers["set-cookie"], undefined);
					files += 1;
				}
			}
			assert.ok(files > 5);
		});
});

