"use strict";
// C70: impatient fingers. Whatever is pressed and whatever answer gets lost,
// there is one hold and one attempt to pay, and the buyer sees them.

const assert = require("node:assert/strict");
const { suite, SHOP } = require("./lib/suite.js");
const { onSale, holds, provider } = require("./lib/site.js");
const { button, atProvider } = require("./lib/steps.js");
const { sleep, until } = require("../flow/lib/wait.js");

async function ready(visit, options = {}) {
	const visitor = await visit(options);
	const item = await onSale({ total: 9, "per-buyer": 5 });
	await visitor.open(`/item/${item}`);
	return { visitor, item, page: visitor.page };
}

// The middle of an element, where a finger hits it.
async function middle(locator) {
	await locator.scrollIntoViewIfNeeded();
	const { x, y, width, height } = await locator.boundingBox();
	return [x + width / 2, y + height / 2];
}

async function one(item, hold) {
	const rows = await holds(item);
	assert.deepEqual(rows.map(({ id }) => id), [hold]);
	return rows[0];
}

// Lets the server act on each POST of a path, then does this with the answer.
function delay(visitor, path, act) {
	return visitor.context.route((url) => url.pathname === path,
		async (route) => {
			if (route.request().method() !== "POST")
				return route.continue();
			const answer = await route.fetch({ maxRedirects: 0 });
			return act(route, answer);
		});
}

suite("C70: one press or ten", (check) => {
	for (const [how, options] of [["", {}],
		[" without JavaScript", { javaScriptEnabled: false }]])
		check(`C70: two clicks 80 ms apart${how}`, async (visit) => {
			const { visitor, item, page } = await ready(visit, options);
			const at = await middle(button(page, "Buy"));
			await page.mouse.click(...at);
			await sleep(80);
			await page.mouse.click(...at);
			await one(item, await visitor.order());
		});

	check("C70: Enter and a click", async (visit) => {
		const { visitor, item, page } = await ready(visit);
		const at = await middle(button(page, "Buy"));
		await button(page, "Buy").focus();
		await Promise.all([page.keyboard.press("Enter"),
			page.mouse.click(...at)]);
		await one(item, await visitor.order());
	});

	for (const [how, options] of [["", {}],
		[" without JavaScript", { javaScriptEnabled: false }]])
		check(`C70: two tabs${how}`, async (visit) => {
			const { visitor, item, page } = await ready(visit, options);
			const tab = await visitor.tab();
			await tab.goto(page.url());
			await Promise.all([page, tab].map((each) =>
				button(each, "Buy").click()));
			const hold = await visitor.order();
			assert.equal(await visitor.order(tab), hold);
			await one(item, hold);
		});

	check("C70: an answer that takes 5 s, a click every second",
		async (visit) => {
			const { visitor, item, page } = await ready(visit);
			await delay(visitor, "/hold", async (route, answer) => {
				await sleep(5000);
				await route.fulfill({ response: answer });
			});
			const at = await middle(button(page, "Buy"));
			await page.mouse.click(...at);
			await page.getByText("Holding it for you…").waitFor();
			while (!page.url().includes("/order/")) {
				await page.mouse.click(...at);
				await Promise.race([sleep(1000),
					page.waitForURL(/\/order\//)]);
			}
			await one(item, await visitor.order());
			assert.equal(visitor.sent("POST", "/hold").length, 1);
		});

	check("C70: the answer is lost: the page asks again, the same hold",
		async (visit) => {
			const { visitor, item, page } = await ready(visit);
			visitor.excuseNetwork();
			let lost = 0;
			await delay(visitor, "/hold", (route, answer) => {
				lost += 1;
				return lost < 3 ? route.abort()
					: route.fulfill({ response: answer });
			});
			await page.context().clearCookies();
			await button(page, "Buy").click();
			await page.getByText("You will not get two").waitFor();
			await one(item, await visitor.order());
			assert.equal(lost, 3);
			const keys = new Set(await Promise.all(visitor.sent("POST",
				"/hold").map((request) =>
				request.headerValue("idempotency-key"))));
			assert.equal(keys.size, 1);
		});

	check("C70: a reload while the answer is on its way: the same hold",
		async (visit) => {
			const { visitor, item, page } = await ready(visit);
			visitor.excuseNetwork();
			let acted = false;
			await delay(visitor, "/hold", async (route, answer) => {
				acted = true;
				await sleep(1000);
				await route.fulfill({ response: answer }).catch(() => {});
			});
			await button(page, "Buy").click();
			await until("the server has acted", () => acted);
			await page.reload();
			await visitor.context.unrouteAll({ behavior: "wait" });
			await button(page, "Buy").click();
			await one(item, await visitor.order());
		});

	check("C70: storage switched off: the same hold all the same",
		async (visit) => {
			const { visitor, item, page } = await ready(visit);
			await visitor.context.addInitScript(() => {
				for (const name of ["localStorage", "sessionStorage"])
					Object.defineProperty(globalThis, name, { get() {
						throw new DOMException("no", "SecurityError");
					} });
			});
			await page.reload();
			await button(page, "Buy").click();
			const hold = await visitor.order();
			await visitor.panel("held");
			await visitor.open(`/item/${item}`);
			await button(page, "Buy").click();
			assert.equal(await visitor.order(), hold);
			await one(item, hold);
		});

	check("C70: Pay pressed twice, and in two tabs: one attempt",
		async (visit) => {
			const { visitor, item, page } = await ready(visit);
			await button(page, "Buy").click();
			const hold = await visitor.order();
			const tab = await visitor.tab();
			await tab.goto(`${SHOP}/order/${hold}`);
			const at = await middle(button(page, "Pay 129.00 EUR"));
			await Promise.all([button(tab, "Pay 129.00 EUR").click(),
				page.mouse.click(...at), page.mouse.click(...at)]);
			await Promise.all([page, tab].map((each) =>
				atProvider(each)));
			assert.equal(page.url(), tab.url());
			await Promise.all([page, tab].map((each) =>
				button(each, "Pay 129.00 EUR").click()));
			await Promise.all([page, tab].map((each) =>
				each.waitForURL(`${SHOP}/order/${hold}`)));
			await visitor.panel("paid");
			await visitor.panel("paid", tab);
			assert.equal((await one(item, hold)).attempts, 1);
			assert.equal(await provider.sessionCount(hold), 1);
		});
});
