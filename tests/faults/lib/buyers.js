"use strict";
// Buyers who do as the seed says: pay in time, late, twice or never, by card
// or by bank, and ask again whenever an answer did not come.

const { Buyer } = require("../../flow/lib/http.js");
const { sql, quote } = require("../../flow/lib/sql.js");
const { sleep } = require("../../flow/lib/wait.js");
const shop = require("../../flow/lib/shop.js");
const { chance } = require("./chance.js");
const { lever, twin } = require("./provider.js");

const ACTS = {
	pay: 38,		// at once
	late: 14,		// after the hold has ended
	edge: 8,		// within a second of its end
	leave: 6,
	drop: 5,		// gives up, and pays all the same
	decline: 4,		// and then pays
	bank: 6,		// the debit succeeds in some days
	bounce: 3,		// the debit fails in some days
	part: 3,		// a part is given back at the provider
	whole: 2,		// all of it is
	asked: 4,		// the operator gives it back
	again: 4,		// a part by hand, the same by the operator, twice
	twin: 3,		// pays another page of the order as well
};
const DAY_MS = 86400000;

// What the buyer with this number does; the same for the same seed.
function plan(seed, number, items) {
	const dice = chance(seed, `buyer ${number}`);
	return {
		number,
		dice,
		act: dice.weighted(ACTS),
		qty: dice.between(1, 3),
		items: [dice.one(items), dice.one(items), ...items],
		pause: dice.between(0, 400),
		shift: dice.between(-700, 900),
		days: dice.between(1, 6),
	};
}

// The first item that has units for this buyer; null when none has.
async function take(buyer, todo) {
	for (const item of todo.items) {
		const key = todo.dice.uuid();
		for (let n = 0; n < 100; n += 1) {
			const answer = await buyer.take(item, todo.qty, key)
				.catch(() => ({ status: 0 }));
			if (answer.status === 200 || answer.status === 201)
				return { ...answer.json, arrived: Date.now() };
			if (answer.status === 409)
				break;
			await sleep(100 + n * 10);
		}
	}
	return null;
}

// The session of the pay page; null when the hold was over first.
async function page(buyer, hold) {
	for (;;) {
		const answer = await buyer.pay(hold.id).catch(() => ({ status: 0 }));
		if (answer.status === 200 && answer.json.url)
			return answer.json.url.split("/").at(-1);
		if (answer.status === 200 || answer.problem === "ended")
			return null;
		await sleep(answer.json?.retry_in_ms || 500);
	}
}

// Gives money back by hand, at the provider; nothing when the session ended
// before it was paid.
async function byHand(session, content) {
	const row = await sql().row(`select p.id from sandbox_data.payment p
		join sandbox_data.session s using (session_id)
		where s.id = ${quote(session)}`);
	if (row)
		await lever(`payments/${row.id}/refund`, content, [200, 404, 409]);
}

// Looks until it is so, or for ten seconds; whether it is.
async function seen(look) {
	for (let n = 0; n < 40; n += 1) {
		if (await look().catch(() => false))
			return true;
		await sleep(250);
	}
	return false;
}

// The shop knows of the money.
const served = (buyer, hold) => seen(async () =>
	(await buyer.hold(hold.id)).json?.state === "paid");

// 100 of the smallest unit, as the command line has it.
const PARTS = { JPY: "100", KWD: "0.100" };

// The operator's refund: all or a part.
async function ask(hold, all) {
	await shop.lastpair("order", "refund", hold.order, ...(all ? [] :
		["--amount", PARTS[hold.price.currency] || "1.00"]), "--yes");
}

const acts = {
	async pay(session) {
		await lever(`sessions/${session}/pay`, {}, [200, 409]);
	},
	async late(session, todo, left) {
		await sleep(left() + 50 + todo.pause);
		await lever(`sessions/${session}/pay`,
			{ even_if_expired: true }, [200, 409]);
	},
	async edge(session, todo, left) {
		await sleep(Math.max(0, left() + todo.shift));
		await lever(`sessions/${session}/pay`,
			{ even_if_expired: true }, [200, 409]);
	},
	async leave() {
	},
	async drop(session, todo, left, buyer, hold) {
		await buyer.drop(hold.id).catch(() => null);
		await lever(`sessions/${session}/pay`,
			{ even_if_expired: true }, [200, 409]);
	},
	async decline(session) {
		await lever(`sessions/${session}/decline`, {}, [200, 409]);
		await lever(`sessions/${session}/pay`, {}, [200, 409]);
	},
	async bank(session, todo) {
		await lever(`sessions/${session}/bank`, { outcome: "succeeded",
			delay_ms: todo.days * DAY_MS }, [200, 409]);
	},
	async bounce(session, todo) {
		await lever(`sessions/${session}/bank`, { outcome: "failed",
			delay_ms: todo.days * DAY_MS }, [200, 409]);
	},
	async part(session) {
		await acts.pay(session);
		await byHand(session, { amount: 100 });
	},
	async whole(session) {
		await acts.pay(session);
		await byHand(session, {});
	},
	async asked(session, todo, left, buyer, hold) {
		await acts.pay(session);
		await served(buyer, hold);
		await ask(hold, todo.dice.between(0, 1) === 0);
	},
	async again(session, todo, left, buyer, hold) {
		await acts.part(session);
		// Once it is known, the same amount again is not the same money.
		if (await served(buyer, hold) && await seen(async () =>
			(await buyer.hold(hold.id)).json?.refund?.reason ===
				"at_provider")) {
			await ask(hold, false);
			await ask(hold, false);
		}
	},
	async twin(session, todo, left, buyer, hold) {
		const other = await twin(hold);
		const pages = todo.dice.between(0, 1) ? [session, other]
			: [other, session];
		for (const page of pages)
			await lever(`sessions/${page}/pay`,
				{ even_if_expired: true }, [200, 409]);
	},
};

// One buyer from the product page to the end; what came of it.
async function visit(seed, number, items) {
	const todo = plan(seed, number, items);
	const buyer = new Buyer();
	await buyer.get("/").catch(() => null);
	const hold = await take(buyer, todo);
	if (hold === null)
		return { act: todo.act, hold: null };
	// The provider's faults strike the buyer, not the order's random name.
	await lever("alias", { name: hold.id, as: `buyer ${number}` });
	const left = () => hold.expires_in_ms - (Date.now() - hold.arrived);
	const session = await page(buyer, hold);
	if (session !== null)
		await acts[todo.act](session, todo, left, buyer, hold);
	return { act: todo.act, hold: hold.id, session };
}

// All of them, so many at a time.
async function crowd(seed, count, atOnce, items, told) {
	const outcomes = [];
	let next = 0;
	await Promise.all(Array.from({ length: atOnce }, async () => {
		while (next < count) {
			const number = next;
			next += 1;
			outcomes.push(await visit(seed, number, items));
			told(outcomes.length);
		}
	}));
	return outcomes;
}

module.exports = { crowd };
