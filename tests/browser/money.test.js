"use strict";
// What the order page says of money that came late, goes back, or takes days;
// and of a pay page that has to wait for its turn.

const assert = require("node:assert/strict");
const { suite, SHOP } = require("./lib/suite.js");
const { inspect } = require("./lib/look.js");
const { onSale, taken, bought, become, age, ageChecking, shop, pay,
	provider } = require("./lib/site.js");
const { button, exact } = require("./lib/steps.js");
const { until } = require("../flow/lib/wait.js");

// What the document of a hold says besides, and what the page makes of it.
const NOTES = {
	"paid-retake": { late: "retake",
		says: ["It came late, after your time was over, but one was still " +
			"free: it is yours."],
		keeps: ["kept one", "paid twice", "of it"] },
	"paid-allowance": { late: "allowance",
		says: ["the shop had kept one for such cases: it is yours."],
		keeps: ["still free", "paid twice"] },
	"paid-part-owed": { refund: ["owed", "asked_for", 2500],
		says: ["25.00 EUR of it goes back."],
		keeps: ["paid twice", "has gone", "did not work", "came late"] },
	"paid-part-sent": { refund: ["succeeded", "at_provider", 2500],
		says: ["25.00 EUR of it has gone back", "5 to 10 days"],
		keeps: ["paid twice", "goes back", "did not work"] },
	"paid-part-failed": { refund: ["failed", "asked_for", 2500],
		says: ["25.00 EUR of it is owed to you.", "did not work"],
		keeps: ["paid twice", "goes back", "has gone"] },
	"paid-twice-owed": { refund: ["pending", "paid_twice", 12900],
		says: ["You have paid twice.", "129.00 EUR is on its way"],
		keeps: ["of it", "has gone", "did not work"] },
	"paid-twice-sent": { refund: ["succeeded", "paid_twice", 12900],
		says: ["You had paid twice.", "has gone back to where it came " +
			"from: 129.00 EUR."],
		keeps: ["of it", "on its way", "did not work"] },
	"paid-twice-failed": { refund: ["failed", "paid_twice", 12900],
		says: ["You had paid twice.", "129.00 EUR, did not work."],
		keeps: ["of it", "on its way", "has gone"] },
	"owed-late": { view: "refund_owed", refund: ["owed", "paid_late", 12900],
		says: ["The full amount of 129.00 EUR goes back", "We are sorry."],
		keeps: ["cancelled", "paid twice", "payment provider"] },
	"sent-asked": { view: "refunded",
		refund: ["succeeded", "asked_for", 12900],
		says: ["The full amount of 129.00 EUR has gone back",
			"The shop has cancelled this order."],
		keeps: ["We are sorry", "paid twice", "payment provider"] },
	"sent-provider": { view: "refunded",
		refund: ["succeeded", "at_provider", 10000],
		says: ["100.00 EUR of 129.00 EUR has gone back",
			"through its payment provider"],
		keeps: ["We are sorry", "paid twice", "The full amount"] },
	"failed-twice": { view: "refund_failed",
		refund: ["failed", "paid_twice", 12900],
		says: ["We owe you the full amount of 129.00 EUR.",
			"The order was paid twice."],
		keeps: ["We are sorry", "cancelled"] },
};

const textOf = async (page) => (await page.locator("[data-for]:visible")
	.innerText()).replace(/\s+/g, " ");

async function reads(page, { says, keeps }) {
	await until(`the page says ${says[0]}`, async () =>
		(await textOf(page)).includes(says[0]));
	const text = await textOf(page);
	for (const words of says)
		assert.ok(text.includes(words), `no “${words}” in: ${text}`);
	for (const words of keeps)
		assert.ok(!text.includes(words), `“${words}” in: ${text}`);
}

// The same order, as the server would tell of it if it had come to that.
function told(note) {
	const [state, reason, amount] = note.refund ?? [];

	return { view: note.view ?? "paid", late: note.late ?? null,
		refund: state ? { state, reason, amount } : null };
}

async function retold(visitor, note) {
	await visitor.context.route(/\/hold\?id=/, async (route) => {
		const answer = await route.fetch();
		await route.fulfill({ response: answer,
			json: { ...await answer.json(), ...told(note) } });
	});
}

// A page as the server fills it in, for a browser without scripts.
async function refilled(visitor, note) {
	const { view, late, refund } = told(note);
	const part = refund === null ? "" : refund.amount < 12900 ? "some" : "all";
	const money = refund === null ? "" : `${refund.amount / 100}.00 EUR`;

	await visitor.context.route(/\/order\//, async (route) => {
		const answer = await route.fetch();
		const text = (await answer.text())
			.replace(/data-state="[^"]*"/, `data-state="${view}"`)
			.replace(/data-late="[^"]*"/, `data-late="${late ?? ""}"`)
			.replace(/data-refund-state="[^"]*"/,
				`data-refund-state="${refund?.state ?? ""}"`)
			.replace(/data-refund-reason="[^"]*"/,
				`data-refund-reason="${refund?.reason ?? ""}"`)
			.replace(/data-refund-part="[^"]*"/,
				`data-refund-part="${part}"`)
			.replaceAll("<span data-refunded>",
				`<span data-refunded>${money}`);
		await route.fulfill({ response: answer, body: text });
	});
}

suite("money that came late or goes back", (check) => {
	for (const [name, note] of Object.entries(NOTES)) {
		check(`axe and a picture: order ${name}`, async (visit) => {
			const visitor = await visit();
			const one = await bought(await onSale());
			await become(visitor, one);
			await retold(visitor, note);
			await visitor.open(`/order/${one.hold}`);
			await reads(visitor.page, note);
			await inspect(visitor.page, `order-${name}`);
		});
		check(`without JavaScript: order ${name}`, async (visit) => {
			const visitor = await visit({ javaScriptEnabled: false });
			const one = await bought(await onSale());
			await refilled(visitor, note);
			await visitor.open(`/order/${one.hold}`);
			await reads(visitor.page, note);
		});
	}
});

// Paid when the hold had ended; meanwhile somebody else may have bought.
async function paidLate(item, meanwhile = () => {}) {
	const one = await taken(item);
	await pay.pageOf(one.buyer, one.hold);
	await age(one.hold, 605);
	await meanwhile(item);
	await provider.payAnyway(one.hold);
	return one;
}

async function refund(hold, ...more) {
	const done = await shop.lastpair("order", "refund", hold, "--yes", ...more);
	assert.equal(done.status, 0, done.err);
}

// The same brought about, from the payment to the page.
const ORDERS = {
	"paid-retake": async () => paidLate(await onSale()),
	"paid-allowance": async () =>
		paidLate(await onSale({ allowance: 1 }), bought),
	async "paid-part-sent"() {
		const one = await bought(await onSale());
		const { payment_intent: intent } = await provider.session(one.hold);
		await provider.refundThere(intent, 2500);
		return one;
	},
	async "sent-asked"() {
		const one = await bought(await onSale());
		await refund(one.hold, "--amount", "29.00");
		await refund(one.hold);
		return one;
	},
};

suite("the same, from the payment to the page", (check) => {
	for (const [name, make] of Object.entries(ORDERS))
		check(`order ${name}, without JavaScript and with it`,
			async (visit) => {
				const one = await make();
				const [plain, visitor] = [
					await visit({ javaScriptEnabled: false }), await visit()];
				const note = NOTES[name];
				await until("the server says it", async () => {
					await plain.open(`/order/${one.hold}`);
					return (await textOf(plain.page)).includes(note.says[0]);
				});
				await reads(plain.page, note);
				await visitor.open(`/order/${one.hold}`);
				await reads(visitor.page, note);
			});

	check("a part goes back while the page of the order is open",
		async (visit) => {
			const one = await bought(await onSale());
			const visitor = await visit();
			await shop.frozen([shop.processOf("cashier")], async () => {
				await refund(one.hold, "--amount", "25.00");
				await visitor.open(`/order/${one.hold}`);
				await reads(visitor.page, NOTES["paid-part-owed"]);
			});
			await until("it has gone", async () =>
				(await textOf(visitor.page)).includes("25.00 EUR of it has"),
			{ within: 30000 });
			await shop.audit();
		});
}, { concurrency: 1 });

suite("C29: a bank payment that takes days", (check) => {
	check("pending: neither failed nor paid, nothing to press, then paid",
		async (visit) => {
			const item = await onSale();
			const one = await taken(item);
			await pay.pageOf(one.buyer, one.hold);
			await provider.bank(one.hold, null);
			const visitor = await visit();
			const { page } = visitor;
			await become(visitor, one);
			await visitor.open(`/order/${one.hold}`);
			await visitor.panel("checking");
			await ageChecking(one.hold, 61);
			await visitor.panel("pending");
			await reads(page, { says: ["Do not pay again.",
				"It has not failed, and it is not paid yet"],
			keeps: ["Thank you", "Start again", "few seconds"] });
			assert.equal(await page.locator("button:visible").count(), 0);
			assert.equal(await page.getByRole("timer").count(), 0);
			// The item's page leads there, too.
			const tab = await visitor.tab();
			await tab.goto(`${SHOP}/item/${item}`);
			await tab.getByText("Your bank payment is pending.").waitFor();
			await button(tab, "Continue to your order").click();
			await visitor.panel("pending", tab);
			await provider.bank(one.hold, "succeeded");
			await pay.turns(one.buyer, one.hold, "paid");
			await tab.reload();
			await visitor.panel("paid", tab);
			assert.equal((await shop.show(item)).sold, 1);
		});
});

// The cashier stands still: whoever pays first is before the others.
suite("a pay page that waits for its turn", (check) => {
	for (const [how, options] of [["with", {}],
		["without", { javaScriptEnabled: false }]])
		check(`it says how long, and counts the hold down, ${how} JavaScript`,
			async (visit) => {
				const item = await onSale({ total: 2 });
				const first = await taken(item);
				const one = await taken(item);
				const visitor = await visit(options);
				const { page } = visitor;
				await become(visitor, one);
				await shop.frozen([shop.processOf("cashier")], async () => {
					await first.buyer.pay(first.hold);
					await visitor.open(`/pay?id=${one.hold}`);
					await page.getByText(/pages? (is|are) opened before yours/)
						.waitFor();
					assert.match(await page.getByRole("timer").innerText(),
						how === "with" ? /^\d\d:\d\d$/ : /^\d+ min( \d+ s)?$/);
					assert.equal(await page.locator(".too-long:visible")
						.count(), 0);
					await page.getByText("held for you").waitFor();
				});
				await page.waitForURL(/\/c\/pay\//);
			});

	check("the order page says how long, too", async (visit) => {
		const item = await onSale({ total: 2 });
		const first = await taken(item);
		const one = await taken(item);
		const visitor = await visit();
		await become(visitor, one);
		await shop.frozen([shop.processOf("cashier")], async () => {
			await first.buyer.pay(first.hold);
			await one.buyer.pay(one.hold);
			await visitor.open(`/order/${one.hold}`);
			await visitor.panel("opening");
			await visitor.page.getByText(/pages? (is|are) opened before yours/)
				.waitFor();
		});
		await visitor.panel("held");
	});

	check("axe and pictures: a hold that ends before its turn",
		async (visit) => {
			const one = await taken(await onSale());
			const visitor = await visit();
			const { page } = visitor;
			const late = { state: "opening", retry_in_ms: 500,
				ready_in_ms: 700000, ahead: 9999 };
			await become(visitor, one);
			await shop.frozen([shop.processOf("cashier")], async () => {
				await one.buyer.pay(one.hold);
				await visitor.open(`/pay?id=${one.hold}`);
				await visitor.context.route(/\/pay\?/, (route) =>
					route.fulfill({ status: 202, json: late }));
				await page.getByText("About 12 minutes: 9999 pages are")
					.waitFor();
				await page.getByText("Your time ends before it is your turn")
					.waitFor();
				await inspect(page, "pay-opening-too-long");
				await visitor.open(`/order/${one.hold}`);
				await page.locator("[data-for=opening]")
					.getByText("Your time ends before it is your turn")
					.waitFor();
				await inspect(page, "order-opening-too-long");
			});
		});

	check("C16: the countdown before the pay page, on a device an hour ahead",
		async (visit) => {
			const one = await taken(await onSale());
			const visitor = await visit({ wall: 3600000 });
			const { page } = visitor;
			await become(visitor, one);
			await shop.frozen([shop.processOf("cashier")], async () => {
				await one.buyer.pay(one.hold);
				await age(one.hold, 120);
				await visitor.open(`/pay?id=${one.hold}`);
				await exact(page, one);
				await age(one.hold, 120);
				await page.reload();
				await exact(page, one);
			});
		});

	check("C20: the end of the time while it waits: the order page says so",
		async (visit) => {
			const one = await taken(await onSale());
			const visitor = await visit();
			// Asked at the very end, the server says that it is over.
			visitor.excuse(410);
			await become(visitor, one);
			await shop.frozen([shop.processOf("cashier")], async () => {
				await one.buyer.pay(one.hold);
				await age(one.hold, 597);
				await visitor.open(`/pay?id=${one.hold}`);
				await visitor.order();
				await visitor.panel("expired");
			});
		});
}, { concurrency: 1 });
