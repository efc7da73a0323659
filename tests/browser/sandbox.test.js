"use strict";
// The sandbox's pages for sellers, in a browser: on a phone and a desk, by day
// and by night, with and without JavaScript. Pictures are in build/screens.

const assert = require("node:assert/strict");
const { suite, PAY } = require("./lib/suite.js");
const { inspect } = require("./lib/look.js");
const { onSale, taken, bought, become, pay, provider } =
	require("./lib/site.js");
const { button } = require("./lib/steps.js");
const { request } = require("../flow/lib/http.js");

const exact = (page, name) =>
	page.getByRole("button", { name, exact: true });
const unfold = (page, text) => page.locator("summary", { hasText: text })
	.first().click();
const endAll = () => request("POST", "/sandbox/faults/clear", { base: PAY });

// The fold of a session on the index.
const entryOf = (page, session) =>
	page.locator(`details[id="${session}"]`);

suite("the sandbox's pages for sellers", (check) => {
	check("axe and pictures: the faults, none and some of them on",
		async (visit) => {
			await endAll();
			const visitor = await visit();
			const { page } = visitor;
			await page.goto(`${PAY}/faults`);
			await page.getByText("Nothing goes wrong.").waitFor();
			await inspect(page, "sandbox-faults");
			for (const title of ["Answer lost", "Sent late",
				"Refund takes days and fails"]) {
				await page.locator("summary", { hasText: title }).click();
				const fold = page.locator("details[open]");
				await fold.getByLabel("Of a hundred").fill("5");
				await fold.getByLabel("Times in all").fill("2");
				await button(fold, `Switch on ${title}`).click();
				await page.waitForURL(/#active$/);
				await exact(page, `End it ${title}`).waitFor();
			}
			for (const fold of ["Slow answer", "The bank takes it back"])
				await unfold(page, fold);
			await inspect(page, "sandbox-faults-on");
			await exact(page, "End it Sent late").click();
			await page.getByText("Over by now").waitFor();
			await button(page, "End all of them").click();
			await button(page, "End it").waitFor({ state: "detached" });
		});

	check("axe and pictures: the pay page unfolded, and a bank that needs days",
		async (visit) => {
			const one = await taken(await onSale());
			const visitor = await visit();
			const { page } = visitor;
			const url = await pay.pageOf(one.buyer, one.hold);
			await page.goto(url);
			await unfold(page, "More to try");
			await inspect(page, "sandbox-pay-more");
			await page.getByLabel("What the bank does").selectOption("failed");
			await button(page, "Order that way").click();
			await page.getByText("bank debit is under way").waitFor();
			await page.getByRole("link", { name: "Try what can go wrong" })
				.click();
			await page.waitForURL(`${PAY}/faults`);
			await button(page, "A week on").click();
			await page.waitForURL(/#clock$/);
			await pay.turns(one.buyer, one.hold, "payment_failed");
			await page.goto(url);
			await page.getByText("The bank refused the debit").waitFor();
		});

	for (const [how, options] of [["with", {}],
		["without", { javaScriptEnabled: false }]])
		check(`disputed and refunded by hand, ${how} JavaScript`,
			async (visit) => {
				const one = await bought(await onSale());
				const { id } = await provider.session(one.hold);
				const visitor = await visit(options);
				const { page } = visitor;
				await page.goto(PAY);
				const entry = entryOf(page, id);
				await entry.locator("summary").click();
				await entry.getByLabel("EUR").fill("29.00");
				await button(entry, "Refund").click();
				await page.waitForURL(/\?show=/);
				await entry.getByText("29.00 EUR refunded").waitFor();
				await button(entry, "The bank disputes it").click();
				await entry.getByText("Dispute about 100.00 EUR").waitFor();
				if (how === "with")
					await inspect(page, "sandbox-index-unfolded");
				await button(entry, "Won").click();
				await entry.getByText("dispute won").waitFor();
				await button(entry, "Let it fail").click();
				await entry.getByText("failed", { exact: true }).waitFor();
				await become(visitor, one);
				await pay.turns(one.buyer, one.hold, "paid");
				await visitor.open(`/order/${one.hold}`);
				await visitor.panel("paid");
				await page.getByText("29.00 EUR of it is owed to you.")
					.waitFor();
			});

	check("axe and pictures: what cannot be is said, and leads back",
		async (visit) => {
			const visitor = await visit();
			const { page } = visitor;
			const one = await bought(await onSale());
			const { id } = await provider.session(one.hold);
			visitor.excuse(400);
			await page.goto(`${PAY}/?show=${id}`);
			const entry = entryOf(page, id);
			await entry.getByLabel("EUR").fill("a lot");
			await button(entry, "Refund").click();
			await page.getByText("the amount is no decimal number").waitFor();
			await inspect(page, "sandbox-refused");
			await page.getByRole("link", { name: "Go back" }).click();
			await page.waitForURL(new RegExp(`show=${id}`));
			assert.equal(await entry.getAttribute("open"), "");
		});
}, { concurrency: 1 });
