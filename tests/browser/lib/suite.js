"use strict";
// One Chromium for a file of tests, and visitors who complain: a message on
// the console, a script that fails, a breach of the page's policy or a request
// to another origin fails the test in which it happened.

const { describe, it, before, after } = require("node:test");
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const { chromium } = require("playwright-core");
const { SHOP, PAY } = require("../../flow/lib/http.js");
const { until } = require("../../flow/lib/wait.js");
const { device } = require("./device.js");

const SCREENS = path.resolve(__dirname, "../../../build/screens");
const PHONE = { width: 390, height: 844 };
const DESK = { width: 1280, height: 900 };
// Everything is on this machine; a busy one may still be slow.
const PATIENCE_MS = 15000;

let browser = null;

async function launch() {
	browser = await chromium.launch({
		executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
		args: ["--no-sandbox", "--disable-gpu", "--disable-quic",
			"--no-first-run", "--disable-background-networking",
			"--disable-component-update", "--disable-sync"],
	});
}

// options are those of Playwright, and wall: how wrong the device's date is.
class Visitor {
	static async arrive(options) {
		const visitor = new Visitor();
		visitor.faults = [];
		visitor.asked = [];
		visitor.excused = [];
		const { wall = 0, ...rest } = options;
		visitor.context = await browser.newContext({
			viewport: DESK, locale: "en-GB", ...rest });
		visitor.context.setDefaultTimeout(PATIENCE_MS);
		visitor.watch();
		if (options.javaScriptEnabled !== false) {
			await visitor.context.addInitScript(device);
			await visitor.context.addInitScript(
				`device.setWall(${Number(wall)})`);
		}
		visitor.page = await visitor.context.newPage();
		return visitor;
	}

	watch() {
		this.context.on("request", (request) => {
			const { origin, protocol } = new URL(request.url());
			this.asked.push(request);
			if (protocol !== "data:" && origin !== SHOP && origin !== PAY)
				this.faults.push(`asked elsewhere: ${request.url()}`);
		});
		this.context.on("console", (message) => {
			if (["error", "warning"].includes(message.type()))
				this.faults.push(`console: ${message.text()} ` +
					`(${message.location().url})`);
		});
		this.context.on("weberror", (error) =>
			this.faults.push(`script: ${error.error().stack}`));
	}

	// Chromium reports a refused question as an error on the console. Such
	// a line is no fault for the statuses named here.
	excuse(...statuses) {
		this.excused.push(...statuses.map((status) =>
			`with a status of ${status}`));
	}

	// A cut or blocked connection is reported too.
	excuseNetwork() {
		this.excused.push("net::ERR_");
	}

	// What was sent to this path, with this method.
	sent(method, where) {
		return this.asked.filter((request) => request.method() === method &&
			new URL(request.url()).pathname === where);
	}

	tab() {
		return this.context.newPage();
	}

	open(where) {
		return this.page.goto(new URL(where, SHOP).href);
	}

	// The address of the order that the page shows, once it shows one.
	async order(page = this.page) {
		// By its address alone: a second click cancels a load.
		return until("an order's page", () =>
			(/\/order\/(hld_[\w-]{22})$/.exec(page.url()) || [])[1],
		{ within: PATIENCE_MS });
	}

	// Waits for a panel of the order page.
	async panel(state, page = this.page) {
		await page.locator(`[data-for="${state}"]`)
			.waitFor({ state: "visible" });
	}

	clean() {
		const faults = this.faults.filter((fault) =>
			!this.excused.some((words) => fault.includes(words)));
		assert.deepEqual(faults, []);
	}
}

function fileName(title) {
	return title.toLowerCase().replace(/[^a-z0-9]+/g, "-").slice(0, 60);
}

// Of an earlier run.
function forgetFailure(title) {
	for (const i of [0, 1, 2])
		fs.rmSync(path.join(SCREENS, `failed-${fileName(title)}-${i}.png`),
			{ force: true });
}

async function picture(page, name) {
	fs.mkdirSync(SCREENS, { recursive: true });
	await page.screenshot({ path: path.join(SCREENS, `${name}.png`),
		fullPage: true, animations: "disabled" });
}

// One test: work(visit), where visit(options) makes a visitor of his own.
async function run(title, work) {
	const visitors = [];
	forgetFailure(title);
	const visit = async (options = {}) => {
		visitors.push(await Visitor.arrive(options));
		return visitors.at(-1);
	};
	try {
		await work(visit);
		visitors.forEach((visitor) => visitor.clean());
	} catch (error) {
		for (const [i, { page }] of visitors.entries())
			await picture(page, `failed-${fileName(title)}-${i}`)
				.catch(() => {});
		throw error;
	} finally {
		await Promise.all(visitors.map(async ({ context }) => {
			// An answer that a test was about to change may be under way.
			await context.unrouteAll({ behavior: "ignoreErrors" });
			await context.close();
		}));
	}
}

// suite(title, (check) => …): tests that share the browser; several wait at a
// time. check(title, work) is one of them.
function suite(title, define, { concurrency = 3 } = {}) {
	describe(title, { concurrency }, () => {
		before(launch);
		after(() => browser.close());
		define((name, work) => it(name, { timeout: 90000 },
			() => run(name, work)));
	});
}

module.exports = { suite, picture, PHONE, DESK, SHOP, PAY, SCREENS };
