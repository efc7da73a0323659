// The order page: shows the panel of the order's state, keeps it current, and
// makes sure that nobody presses Pay on a hold that has ended. Whatever could
// have stopped the clock (sleep, a hidden tab, going back) takes the Pay
// button away until the server has been asked again.
import { ask, backoff, jitter } from "./api.js";
import { Countdown, formatLeft, milestone, onReturn, parseLeft }
	from "./countdown.js";
import { isLive, pageState } from "./state.js";
import { formatMoney } from "./stock.js";
import { opensInTime, waitText } from "./wait.js";
import { keepOrder, markPaying, ownOrder, wasPaying } from "./memory.js";

/* How often to ask while nothing happens, first and at most, by state. */
const PACE_MS = {
	held: [8000, 8000], opening: [1500, 5000], checking: [2500, 15000],
	pending: [20000, 300000], expired: [5000, 60000],
	refund_owed: [10000, 60000],
};

/* Back from the pay page, the news of a payment is seconds away. */
const RETURN_PACE_MS = [1000, 2500];
const RETURN_MS = 20000;

const STOPPED_MS = 20000;

const main = document.querySelector("main");
const live = document.querySelector("#announce");
const panels = [...main.querySelectorAll("[data-for]")];
const clocks = [...main.querySelectorAll("[data-clock]")];
const payForms = [...main.querySelectorAll("form[data-pay]")];
const notes = [...main.querySelectorAll("[data-note]")];
const { hold: id, item: sku } = main.dataset;

let state = main.dataset.state;
let locked = false;	// the server has to confirm that the hold lives
let sent = false;	// a form is on its way
let wanted = null;	// the pay form that was pressed while locked
let newest = 0;		// number of the latest question to the server
let askedAt = null;	// when the question on its way was sent
let quiet = 0;		// answers in a row that changed nothing
let failures = 0;
let before = null;	// time left at the tick before
let foreign = false;	// somebody else's order
let backAt = null;	// when this page was back from the pay page
let timer = 0;
let sending = 0;

const countdown = new Countdown({
	tick(left) {
		const words = milestone(before, left);
		before = left;
		if (words !== null)
			announce(`${words} to pay.`);
		main.dataset.low = left <= 60000 ? "yes" : "no";
		showClock(formatLeft(left));
	},
	zero() {
		end();
	},
	drift() {
		if (!document.hidden)
			recheck();
	},
});

function announce(words) {
	live.textContent = words;
}

function showClock(text) {
	for (const clock of clocks)
		clock.textContent = text;
}

function showNote(text) {
	for (const note of notes)
		note.textContent = text;
}

function isJustBack() {
	return backAt !== null && (state === "held" || state === "opening") &&
		performance.now() - backAt < RETURN_MS;
}

function noteReturn() {
	if (wasPaying(id))
		backAt = performance.now();
}

function setLock(on) {
	locked = on;
	for (const form of payForms)
		form.querySelector("button").setAttribute("aria-disabled",
			String(on || sent));
}

function rememberOrder(next) {
	if (isLive(next) || next === "paid")
		keepOrder(sku, id);
	else if (ownOrder(sku) === id)
		keepOrder(sku, null);
}

/* The heading gets the focus if what had it goes away with its panel. */
function show(next) {
	const panel = panels.find((one) => one.dataset.for === next);

	if (!panel)
		return;
	const changed = next !== state;
	const heading = panel.querySelector("h2");
	const lost = panels.some((one) => one !== panel &&
		one.contains(document.activeElement));
	state = next;
	main.dataset.state = next;
	for (const one of panels)
		one.hidden = one !== panel;
	document.title = `${heading.textContent} – Lastpair`;
	rememberOrder(next);
	if (!changed)
		return;
	quiet = 0;
	announce(heading.textContent);
	if (lost)
		heading.focus();
}

/* Our own clock says that it is over: no Pay from here on, then ask. */
function end() {
	countdown.stop();
	before = null;
	wanted = null;
	main.dataset.low = "no";
	show("expired");
	sync();
}

/* Starts the clock of a live hold; false when the time cannot be used yet. */
function startClock(value, arrived) {
	if (countdown.set(value, arrived))
		return true;
	before = null;
	showClock("checking…");
	return false;
}

function stopClock() {
	countdown.stop();
	before = null;
	main.dataset.low = "no";
}

/* How late money was served, and what of it goes back. */
function showMoney({ late, refund, price }) {
	const amount = refund?.amount ?? 0;
	const words = formatMoney({ amount, currency: price?.currency });

	main.dataset.late = late ?? "";
	main.dataset.refundState = refund?.state ?? "";
	main.dataset.refundReason = refund?.reason ?? "";
	main.dataset.refundPart = amount === 0 ? ""
		: amount < price?.amount ? "some" : "all";
	for (const one of main.querySelectorAll("[data-refunded]"))
		one.textContent = words ?? "";
}

/* Only whoever may pay is told how long the pay page takes. */
async function lookAhead() {
	const answer = await ask(`/pay?id=${encodeURIComponent(id)}`,
		{ patience: 8000 });
	const words = waitText(answer.body);

	foreign = answer.status === 403;
	if (state !== "opening" || words === null)
		return;
	main.querySelector("[data-wait]").textContent = words;
	main.dataset.inTime = opensInTime(answer.body, countdown.left()) === false
		? "no" : "yes";
}

/* A click may have waited for the answer that has just come. */
function sendWanted(may) {
	const form = wanted;

	wanted = null;
	if (form !== null && may)
		form.requestSubmit();
}

function apply(answer) {
	const hold = answer.body;
	const next = pageState(hold);

	if (next === null)
		return false;
	const timed = next === "held" || next === "opening";
	if (!timed)
		stopClock();
	showMoney(hold);
	if (timed && parseLeft(hold.expires_in_ms) === 0) {
		stopClock();
		show("expired");
		return true;
	}
	show(next);
	if (timed && !startClock(hold.expires_in_ms, answer.arrived)) {
		setLock(true);
		return false;
	}
	setLock(false);
	sendWanted(timed);
	return true;
}

function isReturning() {
	return ["owed", "pending"].includes(main.dataset.refundState);
}

function plan() {
	const pace = isJustBack() ? RETURN_PACE_MS : PACE_MS[state] ??
		(isReturning() ? PACE_MS.refund_owed : null);

	clearTimeout(timer);
	if (failures > 0)
		timer = setTimeout(sync, backoff(failures, 1000, 15000));
	else if (pace && !document.hidden)
		timer = setTimeout(sync, jitter(
			Math.min(pace[0] * 1.3 ** quiet, pace[1])));
}

function fail(answer) {
	failures++;
	wanted = null;
	if (answer.status === 404)
		showNote("We cannot find this order any more.");
	else if (locked && !answer.ok)
		showNote("We cannot reach the shop at the moment. " +
			"Pay is off until we can. Trying again.");
	if (answer.wait !== null) {
		clearTimeout(timer);
		timer = setTimeout(sync, jitter(answer.wait) + 500);
	} else {
		plan();
	}
}

async function sync() {
	const mine = ++newest;

	clearTimeout(timer);
	askedAt = performance.now();
	const answer = await ask(`/hold?id=${encodeURIComponent(id)}`,
		{ patience: 8000 });
	if (mine !== newest)
		return;
	askedAt = null;
	quiet++;
	if (!answer.ok || !apply(answer)) {
		fail(answer);
		return;
	}
	failures = 0;
	if (state === "opening" && !foreign)
		lookAhead();
	showNote(isJustBack() ? "If you have just paid, wait a moment. " +
		"Do not pay again." : "");
	plan();
}

/* Returning to a page raises several events at once; one question will do. */
function recheck() {
	setLock(true);
	if (askedAt === null || performance.now() - askedAt > 100)
		sync();
}

function setBusy(form, on) {
	const button = form.querySelector("button");

	button.dataset.idle ??= button.textContent;
	button.setAttribute("aria-disabled", String(on));
	button.textContent = on && form.dataset.busy ? form.dataset.busy
		: button.dataset.idle;
}

/* A load that the visitor stopped must not leave the page dead. */
function send(form) {
	sent = true;
	setBusy(form, true);
	clearTimeout(sending);
	sending = setTimeout(onBack, STOPPED_MS);
}

function onPay(event) {
	const left = countdown.left();

	if (sent || (left !== null && left <= 0)) {
		event.preventDefault();
		if (!sent)
			end();
	} else if (locked || left === null || countdown.slept()) {
		event.preventDefault();
		wanted = event.target;
		recheck();
	} else {
		markPaying(id);
		send(event.target);
	}
}

function onDrop(event) {
	if (sent) {
		event.preventDefault();
		return;
	}
	send(event.target);
}

/* Back from the pay page, or from anywhere: forms can be sent again. */
function onBack() {
	clearTimeout(sending);
	sent = false;
	for (const form of main.querySelectorAll("form"))
		setBusy(form, false);
	noteReturn();
	recheck();
}

/*
 * The page itself says how much was left when it was made, and it arrived
 * when its first byte did; unless it comes from the browser's own store.
 */
function start() {
	const visit = performance.getEntriesByType("navigation")[0];
	const fresh = visit !== undefined && visit.type !== "back_forward" &&
		visit.transferSize > 0;

	if (state === "held" || state === "opening") {
		setLock(true);
		if (fresh && startClock(main.dataset.expiresInMs,
			visit.responseStart))
			setLock(false);
		else
			startClock(null, 0);
	}
	noteReturn();
	show(state);
	sync();
}

for (const form of payForms)
	form.addEventListener("submit", onPay);
for (const form of main.querySelectorAll("form[data-drop]"))
	form.addEventListener("submit", onDrop);
onReturn(recheck);
window.addEventListener("pageshow", (event) => {
	if (event.persisted)
		onBack();
});
document.addEventListener("visibilitychange", () => {
	if (document.hidden)
		clearTimeout(timer);
});
start();
