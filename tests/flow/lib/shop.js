"use strict";
// The shop under test: its command line, items of a test's own, its processes.

const assert = require("node:assert/strict");
const fs = require("node:fs");
const { execFile } = require("node:child_process");
const { randomBytes } = require("node:crypto");
const { until } = require("./wait.js");
const { sql, quote } = require("./sql.js");

const STATE = process.env.SHOP_STATE;
const BIN = process.env.SHOP_BIN || `${STATE}/bin/lastpair`;
const CONF = process.env.SHOP_CONF || `${STATE}/lastpair.conf`;
// A program that watches itself needs its time and its memory.
// tests/run.sh says which build it made the shop of.
const SANITIZED = /build-[at]san/.test(process.env.BUILD || BIN);

// Runs the program with these words; never rejects.
function lastpair(...words) {
	return lastpairWith({}, ...words);
}

function lastpairWith({ env = {}, conf = CONF }, ...words) {
	return new Promise((done) => {
		execFile(BIN, ["-c", conf, ...words], { cwd: "/",
			env: { ...process.env, ...env }, maxBuffer: 64 << 20,
		}, (error, out, err) => done({
			status: error === null ? 0 : error.code,
			out,
			err,
			json: () => JSON.parse(out),
		}));
	});
}

let serial = 0;
function sku(word = "T") {
	serial += 1;
	return `${word}-${randomBytes(4).toString("hex")}-${serial}`;
}

// Puts an item on sale; its SKU. Names of options as on the command line.
async function item(options = {}) {
	const { sku: name = sku(), ...rest } = options;
	const words = { title: `Test ${name}`, price: "25.00", currency: "EUR",
		total: 1, hold: "10m", ...rest };
	const added = await lastpair("item", "add", name,
		...Object.entries(words).flatMap(([word, value]) =>
			[`--${word}`, String(value)]));
	assert.equal(added.status, 0, added.err);
	return name;
}

async function show(name) {
	const shown = await lastpair("item", "show", name, "--json");
	assert.equal(shown.status, 0, shown.err);
	return shown.json();
}

async function order(hold) {
	const shown = await lastpair("order", "show", hold, "--json");
	assert.equal(shown.status, 0, shown.err);
	return shown.json();
}

// The counts as they are in the stock rows, without any reading of clocks.
function stock(name) {
	return sql().row(`select sum(total)::bigint as total,
sum(held)::bigint as held, sum(sold)::bigint as sold,
sum(total + allowance - held - sold)::bigint as free
from data.stock join data.item using (item_id) where sku = ${quote(name)}`);
}

// What waits for a person; with a hold, what is about that.
async function tasks(hold) {
	const listed = await lastpair("task", "list", "--json");
	assert.equal(listed.status, 0, listed.err);
	return listed.json().filter((task) => !hold || task.hold === hold);
}

const taskKinds = async (hold) => (await tasks(hold))
	.map(({ kind }) => kind);

// What the shop's processes have written since they were last started.
const log = () => fs.readFileSync(`${STATE}/log/serve.log`, "utf8");

// Every promise that a query can check.
async function audit() {
	const done = await lastpair("audit");
	assert.equal(done.status, 0, `${done.out}${done.err}`);
}

// One setting of the shop's file.
function setting(section, key) {
	let here = false;
	for (const line of fs.readFileSync(CONF, "utf8").split("\n")) {
		if (line.startsWith("["))
			here = line === `[${section}]`;
		const [, name, value] = /^(\w+)\s*=\s*(.*)$/.exec(line) || [];
		if (here && name === key)
			return value;
	}
	return "";
}

function pidOf(name) {
	return Number(fs.readFileSync(`${STATE}/${name}.pid`, "utf8"));
}

function isAlive(pid) {
	try {
		const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
		return !/\) [ZX] /.test(stat);
	} catch {
		return false;
	}
}

function childrenOf(parent) {
	return fs.readdirSync("/proc").filter((name) => {
		if (!/^\d+$/.test(name))
			return false;
		try {
			const stat = fs.readFileSync(`/proc/${name}/stat`, "utf8");
			return stat.replace(/^.*\) \S /, "").split(" ")[0] ===
				String(parent) && !/\) [ZX] /.test(stat);
		} catch {
			return false;
		}
	}).map(Number).sort((a, b) => a - b);
}

// The processes under the supervisor as it named them when it started them.
function processes() {
	const alive = new Set(childrenOf(pidOf("serve")));
	const found = new Map();
	for (const [, name, pid] of
		log().matchAll(/started ([a-z]+(?: \d+)?) as pid (\d+)/g))
		if (alive.has(Number(pid)))
			found.set(name, Number(pid));
	return found;
}

function processOf(name) {
	const pid = processes().get(name);
	assert.ok(pid, `no ${name} runs`);
	return pid;
}

const workers = () => [...processes()]
	.filter(([name]) => name.startsWith("worker")).map(([, pid]) => pid);

function rss(pid) {
	const status = fs.readFileSync(`/proc/${pid}/status`, "utf8");
	return Number(/VmRSS:\s+(\d+) kB/.exec(status)[1]);
}

// Processor time of the workers so far, in milliseconds: user and system, in
// the kernel's ticks of 10. How busy the machine is does not matter to it.
const workersBusy = () => workers().reduce((sum, pid) => {
	const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8");
	const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
	return sum + 10 * (Number(fields[11]) + Number(fields[12]));
}, 0);

// C64's bound for an answer that takes no work; the answer of ask().
async function cheap(ask) {
	const before = workersBusy();
	const answer = await ask();
	const spent = workersBusy() - before;
	assert.ok(spent < (SANITIZED ? 500 : 50), `${spent} ms of a processor`);
	return answer;
}

// The sandbox's process that answers, by its threads: the one that sends
// webhooks has a single one. Either may have been started after the other.
function sandboxServer() {
	const threads = (pid) => fs.readdirSync(`/proc/${pid}/task`).length;
	return childrenOf(pidOf("sandbox"))
		.sort((a, b) => threads(b) - threads(a))[0];
}

const descriptors = (pid) => fs.readdirSync(`/proc/${pid}/fd`).length;

// Takes new settings; returns when every process has been replaced: a worker
// ends only when its successor serves.
async function reload() {
	const before = processes();
	process.kill(pidOf("serve"), "SIGHUP");
	await until("all processes are new", () => {
		const after = processes();
		return after.size === before.size && [...before].every(
			([name, pid]) => after.has(name) &&
				after.get(name) !== pid && !isAlive(pid));
	}, { within: 30000 });
}

// Runs work under other settings, then brings the old ones back. The file is
// written in place: it keeps its owner and its name.
async function withSettings(changes, work) {
	const text = fs.readFileSync(CONF, "utf8");
	const changed = Object.entries(changes).reduce((all, [key, value]) =>
		all.replace(new RegExp(`^${key} =.*$`, "m"), `${key} = ${value}`),
	text);
	try {
		fs.writeFileSync(CONF, changed);
		await reload();
		return await work();
	} finally {
		fs.writeFileSync(CONF, text);
		await reload();
	}
}

// Holds processes still while work runs; lets them go in any case.
async function frozen(pids, work) {
	const signal = (name) => pids.forEach((pid) => {
		try {
			process.kill(pid, name);
		} catch (error) {
			// It has ended by itself.
			assert.equal(error.code, "ESRCH");
		}
	});
	const letGo = () => signal("SIGCONT");
	process.once("exit", letGo);
	try {
		signal("SIGSTOP");
		return await work();
	} finally {
		letGo();
		process.removeListener("exit", letGo);
	}
}

module.exports = { STATE, BIN, CONF, SANITIZED, lastpair, lastpairWith, sku,
	item, show, order, stock, tasks, taskKinds, log, audit, setting, pidOf,
	isAlive, childrenOf, processes, processOf, sandboxServer, workers, rss, cheap,
	descriptors, reload, withSettings, frozen, until };
