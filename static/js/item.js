// The product page: live stock, the countdown to the opening, and Buy without
// leaving the page. The form works without any of this.
import { ask, backoff, jitter } from "./api.js";
import { placeHold, problemName, refusalText, standingOrder } from "./buy.js";
import { Countdown, formatLeft, milestone, onReturn, parseLeft }
	from "./countdown.js";
import { isLive, pageState } from "./state.js";
import { describeStock, formatMoney, lookAgainMs } from "./stock.js";
import { keepOrder, ownOrder } from "./memory.js";

const find = (selector) => document.querySelector(selector);
const form = find("#buy");
const button = find("#buy-button");
const quantity = find("#qty");
const clock = find("#clock");
const { sku } = form.dataset;
const perBuyer = Number(form.dataset.perBuyer);
const idleLabel = button.textContent;

const OWN_TEXT = {
	paid: "You have bought this.",
	checking: "We are checking your payment.",
	pending: "Your bank payment is pending. Do not pay again.",
};
/* A cached answer is used for a second, and as long as a worker takes. */
const SAME_MS = 4000;

let item = null;	// the latest word on the stock
let own = null;		// this browser's order for the item: { id, state }
let sending = false;
let startKnown = false;
let failures = 0;
let newest = 0;
let moment = { now: null, seen: 0 };	// of the latest answer
let before = null;	// time to the opening at the tick before
let timer = 0;
let ownTimer = 0;

const countdown = new Countdown({
	tick(left) {
		const words = milestone(before, left);
		before = left;
		if (words !== null)
			announce(`${words} until the sale opens.`);
		clock.textContent = formatLeft(left);
	},
	zero() {
		before = null;
		clock.textContent = "checking…";
		// thousands of pages get here in the same moment
		timer = setTimeout(look, Math.random() * 400);
	},
	drift() {
		if (!document.hidden)
			look();
	},
});

function announce(words) {
	find("#announce").textContent = words;
}

function orderPath(id) {
	return `/order/${encodeURIComponent(id)}`;
}

function showMessage(text, id = null) {
	const box = find("#message");

	box.replaceChildren();
	if (text === "")
		return;
	const words = document.createElement("p");
	words.textContent = text;
	box.append(words);
	if (id !== null) {
		const link = document.createElement("a");
		link.href = orderPath(id);
		link.textContent = "Go to your order";
		box.append(link);
	}
}

/* An order that makes a second press of Buy pointless. */
function blockingOrder() {
	if (own === null)
		return null;
	return isLive(own.state) || !(perBuyer > 1) ? own : null;
}

function showOwn() {
	const box = find("#own");

	box.hidden = own === null;
	if (own === null)
		return;
	const link = find("#own-link");
	link.href = orderPath(own.id);
	// the big button goes there already
	link.hidden = blockingOrder() !== null;
	find("#own-text").textContent = OWN_TEXT[own.state] ??
		"You hold this right now.";
}

function showButton() {
	const block = blockingOrder();
	const { button: stopped } = describeStock(item);
	let label = stopped ?? idleLabel;

	if (block !== null)
		label = block.state === "paid" ? "See your order"
			: "Continue to your order";
	if (sending)
		label = "Holding it for you…";
	button.disabled = !sending && block === null && stopped !== null;
	button.setAttribute("aria-disabled", String(sending));
	button.textContent = label;
}

function showTotal() {
	const qty = Number(quantity.value);
	const price = perBuyer > 1 && Number.isSafeInteger(qty) && qty > 1
		? formatMoney(item?.price, qty) : null;

	find("#total").textContent = price === null ? "" : `Total ${price}`;
}

function showStock() {
	const words = describeStock(item);
	const price = formatMoney(item?.price);

	find("#stock").dataset.tone = words.tone;
	find("#stock-head").textContent = words.head;
	find("#stock-detail").textContent = words.detail;
	if (price !== null)
		find("#price").textContent = price;
	find("#opening").hidden = item?.state !== "upcoming";
	find("#start").hidden = !startKnown || item?.state !== "upcoming";
	showButton();
	showTotal();
}

/*
 * A cached answer can be a second old and then names too much time, so the
 * earlier end is the right one, unless the seller has moved the opening.
 */
function showOpening(answer) {
	const opens = parseLeft(item.opens_in_ms);
	const left = countdown.left();

	if (opens !== null && left !== null && !countdown.slept()) {
		const later = opens + answer.arrived - performance.now() - left;
		if (later >= 0 && later < 3000)
			return;
	}
	// at 0 only the server opens the sale: ask again, do not count
	if (!countdown.set(opens === 0 ? null : opens, answer.arrived)) {
		before = null;
		clock.textContent = "checking…";
	}
}

/*
 * While no worker answers, nginx repeats what was true before: a page that
 * trusted it would see the sale open in a moment, again and again.
 */
function isStale(answer) {
	const { now } = answer.body;

	if (now !== moment.now)
		moment = { now, seen: answer.arrived };
	return answer.arrived - moment.seen > SAME_MS;
}

function take(answer) {
	const items = Array.isArray(answer.body.items)
		? answer.body.items : [];
	const found = items.find((one) => one?.item === sku);

	if (!found)
		return false;
	const was = item?.state;
	item = found;
	if (item.state === "upcoming") {
		showOpening(answer);
	} else {
		countdown.stop();
		before = null;
	}
	showStock();
	if (was !== undefined && was !== item.state) {
		const words = describeStock(item);
		announce(`${words.head}. ${words.detail}`);
		// what a refusal said is not true any more
		if (item.state === "on_sale")
			showMessage("");
	}
	return true;
}

function plan(wait) {
	clearTimeout(timer);
	if (document.hidden)
		return;
	if (wait !== null)
		timer = setTimeout(look, wait + jitter(500));
	else
		timer = setTimeout(look, failures > 0
			? backoff(failures, 2000, 30000)
			: jitter(lookAgainMs(item, countdown.left())));
}

async function look() {
	const mine = ++newest;

	clearTimeout(timer);
	const answer = await ask(
		`/availability?item=${encodeURIComponent(sku)}`,
		{ patience: 8000 });
	if (mine !== newest)
		return;
	failures = answer.ok && !isStale(answer) && take(answer) ? 0
		: failures + 1;
	// an old count is worse than none
	if (failures === 3) {
		item = null;
		countdown.stop();
		showStock();
	}
	plan(answer.wait);
}

/* Asks for the order this browser made before; forgets it once it is over. */
async function lookForOwn() {
	const id = ownOrder(sku);

	clearTimeout(ownTimer);
	if (id === null) {
		own = null;
	} else {
		const answer = await ask(`/hold?id=${encodeURIComponent(id)}`,
			{ patience: 8000 });
		const state = answer.ok ? pageState(answer.body) : null;
		if (isLive(state) || state === "paid") {
			own = { id, state };
		} else if (state !== null || answer.status === 404) {
			own = null;
			keepOrder(sku, null);
		}
	}
	if (own !== null && isLive(own.state) && !document.hidden)
		ownTimer = setTimeout(lookForOwn,
			jitter(own.state === "pending" ? 60000 : 8000));
	showOwn();
	showButton();
}

/* A refusal is newer than the stock, which may come from a cache. */
function takeRefusal(answer) {
	const { free, held } = answer.body;

	if (problemName(answer) !== "sold-out" || free !== 0 || item === null) {
		look();
		return;
	}
	newest++;
	item = { ...item, free, held,
		state: held > 0 ? "all_held" : "sold_out" };
	showStock();
	plan(1500);
}

function onRefusal(answer) {
	const id = standingOrder(answer);

	if (problemName(answer) === "limit" && id !== null)
		keepOrder(sku, id);
	showMessage(refusalText(answer), id);
	takeRefusal(answer);
	lookForOwn();
}

async function buy(qty) {
	sending = true;
	showMessage("");
	showButton();
	const answer = await placeHold(sku, qty, () => showMessage(
		"The shop is busy. We are trying again for you. " +
		"You will not get two."));
	if (answer.ok) {
		keepOrder(sku, answer.body.id);
		window.location.assign(orderPath(answer.body.id));
		return;
	}
	sending = false;
	showButton();
	onRefusal(answer);
}

form.addEventListener("submit", (event) => {
	const block = blockingOrder();

	event.preventDefault();
	if (sending)
		return;
	if (block !== null)
		window.location.assign(orderPath(block.id));
	else
		buy(Number(quantity.value));
});
quantity.addEventListener("input", showTotal);
onReturn(() => {
	look();
	lookForOwn();
});
window.addEventListener("pageshow", (event) => {
	if (!event.persisted)
		return;
	sending = false;
	showMessage("");
	showButton();
});
document.addEventListener("visibilitychange", () => {
	if (document.hidden)
		clearTimeout(timer);
});

/* The opening in the visitor's own words for time, or not at all. */
function showStart() {
	const time = find("#start-time");
	const text = time.getAttribute("datetime");

	if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z$/.test(text))
		return;
	const date = new Date(text);
	if (Number.isNaN(date.getTime()))
		return;
	startKnown = true;
	time.textContent = new Intl.DateTimeFormat("en-GB", {
		weekday: "long", day: "numeric", month: "long",
		hour: "2-digit", minute: "2-digit",
		timeZoneName: "short" }).format(date);
}

showStart();
showStock();
look();
lookForOwn();
