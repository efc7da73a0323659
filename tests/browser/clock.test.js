"use strict";
// The countdown: the server's time alone, whatever the device's clock, its
// zone, its sleep or a hidden tab make of it.

const assert = require("node:assert/strict");
const fs = require("node:fs");
const { suite, SHOP } = require("./lib/suite.js");
const { onSale, ahead, taken, become, age, shop } = require("./lib/site.js");
const { button, atProvider, says, clockOf, exact } =
	require("./lib/steps.js");
const { until } = require("../flow/lib/wait.js");

const HOUR_MS = 3600000;

// A visitor on the page of a hold of his own with so many seconds left.
async function holding(visit, left = 600, options = {}) {
	const item = await onSale();
	const one = await taken(item);
	await age(one.hold, 600 - left);
	const visitor = await visit(options);
	await become(visitor, one);
	await visitor.open(`/order/${one.hold}`);
	await visitor.panel("held");
	return { ...one, item, visitor, page: visitor.page };
}

suite("C16: the device's clock", (check) => {
	for (const [name, options] of [
		["an hour ahead", { wall: HOUR_MS }],
		["an hour behind", { wall: -HOUR_MS }],
		["in another zone", { timezoneId: "Pacific/Tarawa" }]])
		check(`C16: 08:00 on a device ${name}`, async (visit) => {
			const one = await holding(visit, 480, options);
			await exact(one.page, one);
			await one.page.reload();
			await exact(one.page, one);
			// Somebody sets the clock while the page is open.
			await one.page.evaluate((ms) => globalThis.device.setWall(ms),
				-5 * HOUR_MS);
			await exact(one.page, one);
			await until("the button is on", async () => await button(one.page,
				"Pay").getAttribute("aria-disabled") === "false");
			await button(one.page, "Pay").click();
			await atProvider(one.page);
		});

	check("C16: 06:00 when two minutes went by on the pay page",
		async (visit) => {
			const one = await holding(visit, 480);
			await button(one.page, "Pay").click();
			await atProvider(one.page);
			await age(one.hold, 120);
			await button(one.page, "Leave without paying").click();
			await one.visitor.panel("held");
			await exact(one.page, one);
			await button(one.page, "Pay").click();
			await atProvider(one.page);
			await age(one.hold, 60);
			await one.page.goBack();
			await one.visitor.panel("held");
			await exact(one.page, one);
			// A tab of its own does not start afresh either.
			const tab = await one.visitor.tab();
			await tab.goto(`${SHOP}/order/${one.hold}`);
			await exact(tab, one);
		});
});

suite("C17: what stops a page", (check) => {
	check("C17: a hidden tab, callbacks once a minute: right on return",
		async (visit) => {
			const one = await holding(visit);
			await exact(one.page, one);
			await one.page.evaluate(() => globalThis.device.hide(60000));
			await age(one.hold, 300);
			await one.page.evaluate(() => globalThis.device.pass(300000));
			await one.page.evaluate(() => globalThis.device.show());
			await exact(one.page, one);
		});

	check("C17: a click at the very return is not lost", async (visit) => {
		const one = await holding(visit);
		await one.page.evaluate(() => globalThis.device.hide(60000));
		await age(one.hold, 300);
		await one.page.evaluate(() => {
			globalThis.device.pass(300000);
			globalThis.device.show();
			document.querySelector("[data-for=held] [data-pay] button")
				.click();
		});
		await atProvider(one.page);
	});

	for (const asleep of [false, true])
		check("C17: asleep until after the end" +
			`${asleep ? ", with the steady clock" : ""}: no click lands`,
		async (visit) => {
			const one = await holding(visit);
			await exact(one.page, one);
			await age(one.hold, 700);
			await one.page.evaluate((sleep) => {
				globalThis.device.pass(700000, { asleep: sleep });
				document.querySelector("[data-for=held] [data-pay] button")
					.click();
			}, asleep);
			await one.visitor.panel("expired");
			assert.equal(await button(one.page, "Pay").count(), 0);
			assert.equal(one.visitor.sent("POST", "/pay").length, 0);
		});

	check("C17: hidden until after the end: expired at the return",
		async (visit) => {
			const one = await holding(visit);
			await one.page.evaluate(() => globalThis.device.hide(60000));
			await age(one.hold, 700);
			await one.page.evaluate(() => {
				globalThis.device.pass(700000);
				globalThis.device.show();
				document.querySelector("[data-for=held] [data-pay] button")
					.click();
			});
			await one.visitor.panel("expired");
			assert.equal(one.visitor.sent("POST", "/pay").length, 0);
		});
});

// As in a browser that reads nothing but ISO 8601 with T and Z.
function strictDates() {
	const Loose = globalThis.Date;
	const good = (text) => typeof text !== "string" ||
		/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z$/.test(text);
	globalThis.Date = class extends Loose {
		constructor(...words) {
			super(...words.map((word) => good(word) ? word : NaN));
		}

		static parse(text) {
			return good(text) ? Loose.parse(text) : NaN;
		}
	};
}

// Gives this word for a time in the real answer of the server.
function spoil(visitor, path, change) {
	return visitor.context.route((url) => url.pathname === path,
		async (route) => {
			const answer = await route.fetch();
			const json = await answer.json();
			change(json);
			await route.fulfill({ response: answer, json });
		});
}

suite("C19: long and unreadable times", (check) => {
	check("C19: 40 days: it counts, it does not fire", async (visit) => {
		const visitor = await visit();
		await visitor.context.addInitScript(strictDates);
		const { page } = visitor;
		const item = await onSale({ opens: ahead(3456000000) });
		await visitor.open(`/item/${item}`);
		const clock = page.locator("#clock");
		await says(page, "Not open yet");
		const seen = new Set();
		await until("it counts", async () => {
			seen.add(await clock.innerText());
			return seen.size > 2;
		});
		for (const text of seen)
			assert.match(text, /^(39|40) days \d\d:\d\d:\d\d$/);
		assert.match(await page.locator("#start-time").innerText(),
			/^[A-Z][a-z]+day,? \d+ [A-Z][a-z]+ at \d\d:\d\d UTC$/);
		assert.ok(await button(page, "Not open yet").isDisabled());
		assert.ok(visitor.sent("GET", "/availability").length < 4);
		assert.ok(await page.evaluate(() =>
			globalThis.device.longestDelay()) < 2 ** 31);
	});

	for (const word of ["", null, "soon"]) {
		check(`C19: the start is ${JSON.stringify(word)}: it asks again`,
			async (visit) => {
				const visitor = await visit();
				await spoil(visitor, "/availability", ({ items }) => {
					items[0].opens_in_ms = word;
				});
				const item = await onSale({ opens: ahead(HOUR_MS) });
				const file = `${shop.STATE}/site/item/${item}.html`;
				fs.writeFileSync(file, fs.readFileSync(file, "utf8").replace(
					/datetime="[^"]*"/, `datetime="${word ?? ""}"`));
				await visitor.open(`/item/${item}`);
				await until("it asks", () =>
					visitor.sent("GET", "/availability").length > 2);
				const text = await visitor.page.locator("main").innerText();
				assert.match(text, /Not open yet[^]*checking…/);
				assert.doesNotMatch(text, /00:00|NaN|Invalid|Sale start/);
				assert.ok(await button(visitor.page, "Not open yet")
					.isDisabled());
			});

		check(`C19: the end is ${JSON.stringify(word)}: Pay waits`,
			async (visit) => {
				const visitor = await visit();
				await spoil(visitor, "/hold", (hold) => {
					hold.expires_in_ms = word;
				});
				const one = await taken(await onSale());
				await become(visitor, one);
				await visitor.open(`/order/${one.hold}`);
				await clockOf(visitor.page).getByText("checking…").waitFor();
				await button(visitor.page, "Pay").click({ force: true });
				await until("it asks", () =>
					visitor.sent("GET", "/hold").length > 2);
				await visitor.panel("held");
				assert.equal(visitor.sent("POST", "/pay").length, 0);
				// Readable again: on by itself.
				await visitor.context.unrouteAll({ behavior: "wait" });
				await clockOf(visitor.page).getByText(/\d\d:\d\d/).waitFor();
				await exact(visitor.page, one);
			});
	}
});

suite("C20: the end, and after paying", (check) => {
	check("C20: it runs out on the payment step: Pay goes, “start again”",
		async (visit) => {
			const visitor = await visit();
			const { page } = visitor;
			const item = await onSale({ hold: "6s" });
			await visitor.open(`/item/${item}`);
			await button(page, "Buy").click();
			const hold = await visitor.order();
			await visitor.panel("held");
			await clockOf(page).getByText("00:02").waitFor();
			await visitor.panel("expired");
			assert.equal(await button(page, "Pay").count(), 0);
			assert.equal(await page.getByRole("timer").count(), 0);
			const heading = await page.locator("h2:visible").innerText();
			await page.getByRole("link", { name: "Start again" }).waitFor();
			// The server's own word for it.
			await page.reload();
			await visitor.panel("expired");
			const answer = await visitor.context.request.post(`${SHOP}/pay`, {
				form: { id: hold } });
			assert.match(answer.url(), /\/(order|problems\/ended)/);
			assert.ok((await answer.text()).includes(heading));
			await page.getByRole("link", { name: "Start again" }).click();
			await button(page, "Buy").click();
			assert.notEqual(await visitor.order(), hold);
		});

	check("C20: without JavaScript Pay after the end says so too",
		async (visit) => {
			const one = await holding(visit, 600,
				{ javaScriptEnabled: false });
			await age(one.hold, 605);
			await button(one.page, "Pay").click();
			await one.page.getByRole("heading", { name: "Your time is over" })
				.waitFor();
		});

	check("C20: paid: no countdown on any page, back shows the order",
		async (visit) => {
			const visitor = await visit();
			const { page } = visitor;
			const item = await onSale({ total: 5 });
			await visitor.open(`/item/${item}`);
			await button(page, "Buy").click();
			const hold = await visitor.order();
			await age(hold, 300);
			await button(page, "Pay").click();
			await atProvider(page);
			await button(page, "Pay 129.00 EUR").click();
			await visitor.panel("paid");
			await page.goBack();
			await page.getByText("This is paid").waitFor();
			await page.goBack();
			await visitor.panel("paid");
			assert.equal(await page.getByRole("timer").count(), 0);
			await page.goBack();
			await button(page, "See your order").waitFor();
			assert.equal(await page.getByRole("timer").count(), 0);
			await button(page, "See your order").click();
			assert.equal(await visitor.order(), hold);
		});
});
