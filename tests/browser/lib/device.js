"use strict";
// What a page may not rely on: the device. Runs in every page before its own
// scripts; `device` there puts its clocks forward, hides the page and slows
// its callbacks down, as a browser or a closed lid would.

function device() {
	const real = {
		Date: globalThis.Date,
		performance: Performance.prototype.now,
		setTimeout: globalThis.setTimeout,
	};
	const shift = { wall: 0, steady: 0 };
	const state = { hidden: false, slowest: 0, longest: 0 };

	class ShiftedDate extends real.Date {
		constructor(...words) {
			if (words.length === 0)
				super(real.Date.now() + shift.wall);
			else
				super(...words);
		}

		static now() {
			return real.Date.now() + shift.wall;
		}
	}
	globalThis.Date = ShiftedDate;
	Performance.prototype.now = function now() {
		return real.performance.call(this) + shift.steady;
	};
	globalThis.setTimeout = (call, delay = 0, ...words) => {
		state.longest = Math.max(state.longest, delay);
		return real.setTimeout.call(globalThis, call,
			state.hidden ? Math.max(delay, state.slowest) : delay,
			...words);
	};
	for (const [name, value] of [["hidden", () => state.hidden],
		["visibilityState", () => state.hidden ? "hidden" : "visible"]])
		Object.defineProperty(Document.prototype, name,
			{ get: value, configurable: true });

	globalThis.device = {
		// The date alone: somebody has set the clock.
		setWall(ms) {
			shift.wall = ms;
		},
		// Time goes by without a callback. A steady clock may have slept.
		pass(ms, { asleep = false } = {}) {
			shift.wall += ms;
			if (!asleep)
				shift.steady += ms;
		},
		// From here on a callback takes at least that long.
		hide(slowest) {
			state.hidden = true;
			state.slowest = slowest;
			document.dispatchEvent(new Event("visibilitychange"));
		},
		show() {
			state.hidden = false;
			document.dispatchEvent(new Event("visibilitychange"));
		},
		longestDelay() {
			return state.longest;
		},
	};
}

module.exports = { device };
