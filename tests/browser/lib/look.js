"use strict";
// Looks at a page as different people would: wide and narrow, by day and by
// night, with the keyboard, with a screen reader.

const assert = require("node:assert/strict");
const fs = require("node:fs");
const { picture, PHONE, DESK } = require("./suite.js");

const AXE = fs.readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const NARROW = { width: 320, height: 640 };

// Wants AXE in the page.
async function axe(page) {
	const { violations, incomplete } = await page.evaluate(() =>
		globalThis.axe.run(document, { preload: false,
			resultTypes: ["violations", "incomplete"] }));
	return [...violations, ...incomplete.filter(({ id }) =>
		id === "color-contrast")].map(({ id, nodes }) =>
		`${id}: ${nodes.map(({ html, any }) =>
			`${html} (${any.map(({ message }) => message)})`)
			.join(" | ")}`);
}

async function overflow(page) {
	return page.evaluate(() => {
		const { scrollWidth, clientWidth } = document.documentElement;
		return scrollWidth - clientWidth;
	});
}

// Walks with Tab through what can have the focus; each stop must show it. The
// walk begins after what was clicked last, so it goes round once.
async function focus(page) {
	const stops = [];
	for (let i = 0; i < 60; i += 1) {
		await page.keyboard.press("Tab");
		const stop = await page.evaluate(() => {
			const one = document.activeElement;
			if (one === document.body)
				return "outside";
			if (one.dataset.walked === "yes")
				return "again";
			one.dataset.walked = "yes";
			const { outlineStyle, outlineWidth } = getComputedStyle(one);
			const { width, height, top, bottom } =
				one.getBoundingClientRect();
			return { html: one.outerHTML.slice(0, 120),
				outline: outlineStyle !== "none" &&
					parseFloat(outlineWidth) >= 2,
				seen: width > 0 && height > 0 && bottom > 0 &&
					top < innerHeight };
		});
		if (stop === "again")
			break;
		if (stop !== "outside")
			stops.push(stop);
	}
	assert.ok(stops.length > 0, "nothing can have the focus");
	for (const { html, outline, seen } of stops)
		assert.ok(outline && seen, `the focus does not show on ${html}`);
}

// All of it, on the page that is open; pictures NAME-WIDTH-SCHEME.png.
async function inspect(page, name) {
	await page.evaluate(AXE);
	for (const [word, size] of [["phone", PHONE], ["desk", DESK]]) {
		await page.setViewportSize(size);
		for (const colorScheme of ["light", "dark"]) {
			await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
			const where = `${name} ${word} ${colorScheme}`;
			assert.deepEqual(await axe(page), [], where);
			assert.ok(await overflow(page) <= 0, `${where}: too wide`);
			await picture(page, `${name}-${word}-${colorScheme}`);
		}
	}
	await page.setViewportSize(NARROW);
	assert.ok(await overflow(page) <= 0, `${name}: too wide for 320 px`);
	await focus(page);
}

module.exports = { inspect, axe, overflow, focus };
