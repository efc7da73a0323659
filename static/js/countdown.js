// A countdown to a moment that only the server knows: it is told how many
// milliseconds were left when an answer arrived, and measures from there with
// the page's own steady clock. The device's date and time zone play no part.

/* Browsers keep a delay in 32 bits; a longer one fires at once. */
export const LONGEST_DELAY_MS = 60 * 60 * 1000;
const DRIFT_MS = 2000;

/* Milliseconds from an answer or an attribute; null when unreadable. */
export function parseLeft(value) {
	const number = typeof value === "string" && /^-?\d{1,15}$/.test(value)
		? Number(value) : value;
	return Number.isSafeInteger(number) ? Math.max(0, number) : null;
}

function pad(number) {
	return String(number).padStart(2, "0");
}

/* "09:58", "3:09:58", "39 days 23:59:58". Rounds up: 00:00 is the end. */
export function formatLeft(ms) {
	const all = Math.ceil(Math.max(0, ms) / 1000);
	const days = Math.floor(all / 86400);
	const hours = Math.floor(all % 86400 / 3600);
	const rest = `${pad(Math.floor(all % 3600 / 60))}:${pad(all % 60)}`;

	if (days > 0)
		return `${days} ${days === 1 ? "day" : "days"} ` +
			`${pad(hours)}:${rest}`;
	return hours > 0 ? `${hours}:${rest}` : rest;
}

export class Countdown {
	#end = null;
	#seen = 0;
	#wall = 0;
	#timer = 0;
	#on;

	/* on.tick(ms), on.zero(), on.drift(): drift means ask the server. */
	constructor(on) {
		this.#on = on;
	}

	/* Returns false, and stands still, when the value cannot be read. */
	set(value, arrived) {
		const left = parseLeft(value);

		this.stop();
		if (left === null)
			return false;
		this.#end = arrived + left;
		this.#look();
		this.#run();
		return true;
	}

	stop() {
		clearTimeout(this.#timer);
		this.#end = null;
	}

	left() {
		return this.#end === null ? null
			: this.#end - performance.now();
	}

	/*
	 * True when nothing was measured for a while, as after a sleep. The
	 * steady clock itself may have slept, so the wall clock is compared
	 * with it: a difference is a reason to ask, never a time to show.
	 */
	slept() {
		const steady = performance.now() - this.#seen;
		const wall = Date.now() - this.#wall;
		return steady > DRIFT_MS || Math.abs(wall - steady) > DRIFT_MS;
	}

	#look() {
		this.#seen = performance.now();
		this.#wall = Date.now();
	}

	#run() {
		const drifted = this.slept();
		const left = this.left();

		this.#look();
		if (left <= 0) {
			this.stop();
			this.#on.zero();
			return;
		}
		this.#on.tick(left);
		if (drifted)
			this.#on.drift?.();
		if (this.#end === null)
			return;
		clearTimeout(this.#timer);
		// a little past the full second, so that none is shown twice
		this.#timer = setTimeout(() => this.#run(),
			Math.min((left % 1000 || 1000) + 5, LONGEST_DELAY_MS));
	}
}

/*
 * Calls back whenever the page may have stood still or been brought back.
 * One return raises several events; they count as one.
 */
export function onReturn(call) {
	let last = -Infinity;
	const once = () => {
		if (performance.now() - last < 100)
			return;
		last = performance.now();
		call();
	};

	document.addEventListener("visibilitychange", () => {
		if (!document.hidden)
			once();
	});
	window.addEventListener("pageshow", (event) => {
		if (event.persisted)
			once();
	});
	window.addEventListener("focus", once);
	window.addEventListener("online", once);
}

const MILESTONES = [
	[30 * 1000, "30 seconds left"],
	[60 * 1000, "1 minute left"],
	[5 * 60 * 1000, "5 minutes left"],
];

/* What to say aloud when the time left went from `before` to `after`. */
export function milestone(before, after) {
	if (before === null)
		return null;
	const passed = MILESTONES.find(([ms]) => before > ms && after <= ms);
	return passed ? passed[1] : null;
}
