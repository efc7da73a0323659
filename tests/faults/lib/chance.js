"use strict";
// Chance that a seed repeats: each label has a sequence of its own, so that
// what one buyer does never depends on when another came.

const { createHash } = require("node:crypto");

function chance(seed, label) {
	let block = Buffer.alloc(0);
	let count = 0;
	const word = () => {
		if (block.length < 4) {
			block = createHash("sha256")
				.update(`${seed}/${label}/${count}`).digest();
			count += 1;
		}
		const value = block.readUInt32BE(0);
		block = block.subarray(4);
		return value;
	};
	const part = () => word() / 2 ** 32;
	const between = (least, most) =>
		least + Math.floor(part() * (most - least + 1));
	return {
		between,
		one: (list) => list[between(0, list.length - 1)],
		// A name of {name: weight, …}.
		weighted(weights) {
			const sum = Object.values(weights).reduce((a, b) => a + b, 0);
			let at = part() * sum;
			for (const [name, weight] of Object.entries(weights)) {
				at -= weight;
				if (at < 0)
					return name;
			}
			return Object.keys(weights)[0];
		},
		// A version 4 UUID, for a key that the seed repeats, too.
		uuid() {
			const hex = Array.from({ length: 4 }, () =>
				word().toString(16).padStart(8, "0")).join("");
			return [hex.slice(0, 8), hex.slice(8, 12),
				`4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`,
				hex.slice(20)].join("-");
		},
	};
}

module.exports = { chance };
