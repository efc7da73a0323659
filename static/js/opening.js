// The page before the pay page: says how long that one still takes, counts
// the hold down, and moves on as soon as it is open or nothing is to be paid.
import { ask, backoff, jitter } from "./api.js";
import { Countdown, formatLeft, milestone, onReturn } from "./countdown.js";
import { opensInTime, waitText } from "./wait.js";

const main = document.querySelector("main");
const wait = document.querySelector("#wait");
const left = document.querySelector("#left");
const { hold } = main.dataset;
const order = `/order/${encodeURIComponent(hold)}`;

let newest = 0;
let failures = 0;
let timer = 0;
let before = null;

const countdown = new Countdown({
	tick(ms) {
		const words = milestone(before, ms);
		before = ms;
		if (words !== null)
			document.querySelector("#announce").textContent =
				`${words} to pay.`;
		main.dataset.low = ms <= 60000 ? "yes" : "no";
		left.textContent = formatLeft(ms);
	},
	zero() {
		// the order page says what a hold that has ended means
		window.location.replace(order);
	},
	drift() {
		if (!document.hidden)
			look();
	},
});

function show(answer) {
	const words = waitText(answer);
	const inTime = opensInTime(answer, countdown.left());

	if (words !== null)
		wait.textContent = words;
	if (inTime !== null)
		main.dataset.inTime = inTime ? "yes" : "no";
}

function plan(ms) {
	clearTimeout(timer);
	if (!document.hidden)
		timer = setTimeout(look, ms);
}

async function look() {
	const mine = ++newest;

	clearTimeout(timer);
	const answer = await ask(`/pay?id=${encodeURIComponent(hold)}`,
		{ patience: 8000 });
	if (mine !== newest)
		return;
	const { state, url, retry_in_ms: retry } = answer.body;
	if (answer.ok && state === "ready" && typeof url === "string") {
		window.location.replace(url);
	} else if (answer.ok && state === "opening") {
		failures = 0;
		show(answer.body);
		plan(jitter(Number.isSafeInteger(retry) ? retry : 1000));
	} else if (answer.ok || (answer.status >= 400 && answer.status < 429)) {
		// paid, being checked, over: the order page knows the words
		window.location.replace(order);
	} else if (/\/provider$/.test(answer.body.type)) {
		window.location.replace("/problems/provider?hold=" +
			encodeURIComponent(hold));
	} else {
		failures++;
		plan(answer.wait === null ? backoff(failures, 1000, 15000)
			: jitter(answer.wait) + 500);
	}
}

/* One from the browser's own store does not say how much time is left. */
function start() {
	const visit = performance.getEntriesByType("navigation")[0];

	if (visit?.type === "back_forward") {
		window.location.reload();
		return;
	}
	if (!countdown.set(main.dataset.expiresInMs,
		visit?.responseStart ?? performance.now()))
		left.textContent = "checking…";
	plan(jitter(Number(main.dataset.retryInMs) || 1000));
}

onReturn(look);
document.addEventListener("visibilitychange", () => {
	if (document.hidden)
		clearTimeout(timer);
});
start();
