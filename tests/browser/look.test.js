"use strict";
// Every page and every panel: no finding of axe by day or by night, on a phone
// or on a desk; nothing wider than 320 px; the focus shows. Pictures of all of
// them are in build/screens.

const { suite, PAY } = require("./lib/suite.js");
const { inspect } = require("./lib/look.js");
const { onSale, ahead, taken, bought, become, age, ageChecking, shop, pay,
	provider, sql, quote } = require("./lib/site.js");
const { button, says } = require("./lib/steps.js");
const { until } = require("../flow/lib/wait.js");

// How to bring about each state that needs no standstill of the cashier.
const ORDERS = {
	held: (item) => taken(item),
	async checking(item) {
		const one = await taken(item);
		await pay.pageOf(one.buyer, one.hold);
		await provider.bank(one.hold, null);
		return one;
	},
	async pending(item) {
		const one = await ORDERS.checking(item);
		await ageChecking(one.hold, 90);
		return one;
	},
	paid: (item) => bought(item),
	async expired(item) {
		const one = await taken(item);
		await age(one.hold, 605);
		return one;
	},
	async dropped(item) {
		const one = await taken(item);
		await one.buyer.drop(one.hold);
		return one;
	},
	async payment_failed(item) {
		const one = await ORDERS.checking(item);
		await provider.bank(one.hold, "failed");
		return one;
	},
	async refunded(item) {
		const one = await taken(item);
		await pay.pageOf(one.buyer, one.hold);
		await age(one.hold, 605);
		await bought(item);
		await provider.payAnyway(one.hold);
		return one;
	},
	async refund_failed(item) {
		const one = await ORDERS.refunded(item);
		await pay.turns(one.buyer, one.hold, "refunded");
		const { payment_intent: intent } = await provider.session(one.hold);
		const [{ id }] = await provider.refunds(intent);
		await provider.refundFails(id);
		return one;
	},
};

async function order(visit, state, one) {
	const visitor = await visit();
	await become(visitor, one);
	await pay.turns(one.buyer, one.hold, state);
	await visitor.open(`/order/${one.hold}`);
	await visitor.panel(state);
	await inspect(visitor.page, `order-${state}`);
}

async function withStatus(status) {
	const item = await onSale();
	await sql().run(`update data.item set status = ${quote(status)}
		where sku = ${quote(item)}`);
	return item;
}

const ITEMS = {
	"on-sale": { make: () => onSale({ total: 600 }), text: "600" },
	"last-one": { make: () => onSale({ title: "Runner, size 43" }),
		text: "The last" },
	"several": { make: () => onSale({ total: 40, "per-buyer": 4,
		title: "Opening night, standing", price: "48.50" }), text: "40" },
	"upcoming": { make: () => onSale({ opens: ahead(3 * 86400000) }),
		text: "Not open yet" },
	"all-held": { async make() {
		const item = await onSale();
		await taken(item);
		return item;
	}, text: "All in baskets" },
	"sold-out": { async make() {
		const item = await onSale();
		await bought(item);
		return item;
	}, text: "Sold out" },
	"paused": { make: () => withStatus("paused"), text: "Paused" },
	"closed": { make: () => withStatus("closed"), text: "ended" },
};

async function visitorAt(visit, item) {
	const visitor = await visit();
	await visitor.open(`/item/${item}`);
	return visitor;
}

const PROBLEMS = ["sold-out", "limit", "not-open", "closed", "ended",
	"not-yours", "slow-down", "busy", "provider"];

suite("every panel of an order", (check) => {
	for (const [state, make] of Object.entries(ORDERS))
		check(`axe and a picture: order ${state}`, async (visit) =>
			order(visit, state, await make(await onSale())));
});

suite("every state of an item", (check) => {
	for (const [name, { make, text }] of Object.entries(ITEMS))
		check(`axe and a picture: item ${name}`, async (visit) => {
			const { page } = await visitorAt(visit, await make());
			await says(page, text);
			await inspect(page, `item-${name}`);
		});
	check("axe and a picture: item held by this buyer",
		async (visit) => {
			const item = await onSale({ total: 5 });
			const visitor = await visit();
			await visitor.open(`/item/${item}`);
			await button(visitor.page, "Buy").click();
			await visitor.order();
			await visitor.open(`/item/${item}`);
			await visitor.page.getByText("You hold this").waitFor();
			await inspect(visitor.page, "item-own-held");
		});
	check("axe and a picture: the message of a refusal", async (visit) => {
		const item = await onSale();
		const visitor = await visitorAt(visit, item);
		visitor.excuse(409);
		await says(visitor.page, "last");
		await taken(item);
		await button(visitor.page, "Buy").click();
		await visitor.page.locator("#message p").waitFor();
		await inspect(visitor.page, "item-refused");
	});
});

suite("every other page of the shop", (check) => {
	check("axe and a picture: the front", async (visit) => {
		const visitor = await visit();
		await visitor.open("/");
		await visitor.page.locator(".card-stock[data-tone]").first()
			.waitFor();
		await inspect(visitor.page, "front");
	});
	check("axe and pictures: problems", async (visit) => {
		const item = await onSale();
		const visitor = await visit();
		for (const name of PROBLEMS) {
			await visitor.open(`/problems/${name}?item=${item}`);
			await inspect(visitor.page, `problem-${name}`);
		}
	});
	// nginx's own, for when no worker answers: as the file says it.
	check("axe and pictures: busy, slow down, too large",
		async (visit) => {
			const visitor = await visit();
			for (const name of ["busy", "slow-down", "too-large", "method"]) {
				await visitor.context.route("**/item/RUN-42", (route) =>
					route.fulfill({ contentType: "text/html; charset=utf-8",
						path: `${shop.STATE}/nginx/errors/${name}.html` }));
				await visitor.open("/item/RUN-42");
				await inspect(visitor.page, `nginx-${name}`);
				await visitor.context.unroute("**/item/RUN-42");
			}
		});
	check("axe and pictures: no such page, no such order, malformed",
		async (visit) => {
			const visitor = await visit();
			visitor.excuse(404, 400);
			await visitor.open("/nothing-here");
			await inspect(visitor.page, "not-found");
			await visitor.open("/order/hld_0000000000000000000000");
			await inspect(visitor.page, "no-such-order");
			await visitor.open("/pay?id=%");
			await inspect(visitor.page, "malformed");
		});
});

suite("every page of the sandbox provider", (check) => {
	check("axe and pictures: open, declined, bank, paid", async (visit) => {
		const visitor = await visit();
		const one = await taken(await onSale());
		await visitor.page.goto(await pay.pageOf(one.buyer, one.hold));
		await inspect(visitor.page, "pay-open");
		await button(visitor.page, "declined").click();
		await visitor.page.getByText("The card was declined").waitFor();
		await inspect(visitor.page, "pay-declined");
		const { url } = await provider.session(one.hold);
		await button(visitor.page, "bank debit")
			.click();
		await visitor.page.getByRole("heading", { name: "under way" })
			.waitFor();
		await inspect(visitor.page, "pay-bank");
		await provider.bank(one.hold, "succeeded");
		await visitor.page.goto(url);
		await inspect(visitor.page, "pay-done");
	});
	check("axe and pictures: a late payment, a closed page, the index",
		async (visit) => {
			const visitor = await visit();
			const [one, two] = await Promise.all([taken(await onSale()),
				taken(await onSale())]);
			await visitor.page.goto(await pay.pageOf(one.buyer, one.hold));
			await button(visitor.page, "late").click();
			await visitor.page.getByText("carried out in").waitFor();
			await inspect(visitor.page, "pay-late");
			const url = await pay.pageOf(two.buyer, two.hold);
			await two.buyer.drop(two.hold);
			await until("closed", async () =>
				(await provider.session(two.hold)).status === "expired");
			await visitor.page.goto(url);
			await inspect(visitor.page, "pay-closed");
			await visitor.page.goto(PAY);
			await inspect(visitor.page, "pay-index");
		});
});

// The cashier stands still, so that what passes in a moment can be seen.
suite("what waits for the provider", (check) => {
	check("axe and pictures: a pay page that opens, a refund that is owed",
		async (visit) => {
			const [one, two] = [await taken(await onSale()),
				await onSale()];
			const late = await taken(two);
			await pay.pageOf(late.buyer, late.hold);
			await age(late.hold, 605);
			await bought(two);
			await shop.frozen([shop.processOf("cashier")], async () => {
				await provider.payAnyway(late.hold);
				await order(visit, "refund_owed", late);
				await one.buyer.pay(one.hold);
				await order(visit, "opening", one);
				const visitor = await visit();
				await become(visitor, one);
				await visitor.open(`/pay?id=${one.hold}`);
				await inspect(visitor.page, "pay-opening");
			});
		});
}, { concurrency: 1 });
