"use strict";
// C61: connections that nginx keeps pin nobody; clients that hang up, a worker
// that is replaced, lose nothing.

const test = require("node:test");
const assert = require("node:assert/strict");
const fs = require("node:fs");
const http = require("node:http");
const net = require("node:net");
const { Buyer, request, SHOP } = require("./lib/http.js");
const { sleep, until } = require("./lib/wait.js");
const { Kept, begin, whole } = require("./lib/fcgi.js");
const shop = require("./lib/shop.js");

const SHARDS = 16;
const socketOf = (i) => `${shop.STATE}/s/web.${i % SHARDS}.sock`;

const descriptors = () => shop.workers().reduce((sum, pid) =>
	sum + shop.descriptors(pid), 0);

const nginx = () => Number(fs.readFileSync(`${shop.STATE}/nginx/nginx.pid`,
	"utf8"));

// nginx's processes that serve; those that are being replaced do not count.
const serving = () => shop.childrenOf(nginx()).filter((pid) => {
	try {
		return /^nginx: worker process(?! is)/.test(
			fs.readFileSync(`/proc/${pid}/cmdline`, "utf8"));
	} catch {
		return false;
	}
});

// Runs work while nginx has so many processes.
async function withNginx(count, work) {
	const file = `${shop.STATE}/nginx/nginx.conf`;
	const text = fs.readFileSync(file, "utf8");
	const reload = async (conf, done) => {
		fs.writeFileSync(file, conf);
		process.kill(nginx(), "SIGHUP");
		await until("nginx has been reloaded", done);
	};
	const before = serving().length;
	try {
		await reload(text.replace(/^worker_processes .*;/m,
			`worker_processes ${count};`), () => serving().length === count);
		return await work();
	} finally {
		await reload(text, () => serving().length === before);
	}
}

// Asks for something on each of them; all are answered.
async function askAll(connections) {
	for (const { status } of await Promise.all(connections.map((kept) =>
		kept.ask("GET", "/healthz"))))
		assert.equal(status, 200);
}

// Runs work with kept connections to all sockets, one request done on each.
async function withKept(count, work) {
	const all = Array.from({ length: count }, (_, i) =>
		new Kept(socketOf(i)));
	try {
		await askAll(all);
		await work(all);
		await askAll(all);
	} finally {
		all.forEach((kept) => kept.close());
	}
}

// Runs work while so many have said the half of something.
async function withStalled(count, work) {
	const half = whole("GET", "/healthz", { keep: true }).subarray(0, 100);
	const all = Array.from({ length: count }, (_, i) => {
		const socket = net.connect(socketOf(i));
		socket.on("error", () => {});
		socket.write(i % 2 ? half : begin(true));
		return socket;
	});
	try {
		await work();
	} finally {
		all.forEach((socket) => socket.destroy());
	}
}

test("C61: 4 nginx processes, 2 workers, 100 requests at once: no hang",
	async () => {
		assert.equal(shop.workers().length, 2);
		await withNginx(4, async () => {
			const item = await shop.item({ total: 1000 });
			// Each round leaves more connections behind, open and idle.
			for (let round = 1; round <= 5; round += 1) {
				const agent = new http.Agent({ maxSockets: 100 });
				const answers = await Promise.all(Array.from(
					{ length: 100 }, (_, i) => i % 4
						? new Buyer().send("POST", `/hold?item=${item}`, {
							headers: { "Content-Type": "application/json" },
							body: JSON.stringify({ item, qty: 1 }),
							agent, timeout: 15000 })
						: request("GET", "/readyz", { agent,
							timeout: 15000 })));
				answers.forEach(({ status }, i) =>
					assert.equal(status, i % 4 ? 201 : 200));
				assert.equal((await shop.stock(item)).held, 75 * round);
				agent.destroy();
			}
		});
		await shop.audit();
	});

test("C61: 1,000 idle connections and 100 that stall block nobody",
	async () => {
		const before = descriptors();
		const workers = shop.workers();
		const item = await shop.item({ total: 1000 });
		await withKept(1000, () => withStalled(100, async () => {
			assert.ok(descriptors() >= before + 1000);
			for (const { status } of await Promise.all(Array.from(
				{ length: 100 }, (_, i) => i % 2 ? new Buyer().take(item)
					: request("GET", "/healthz"))))
				assert.ok(status < 300);
		}));
		// nginx may keep those of its own that the 100 requests took.
		await until("the descriptors are free again", () =>
			descriptors() <= before + 100);
		assert.deepEqual(shop.workers(), workers);
	});

test("C59: kept connections outlive the worker: each goes on at the next",
	async () => {
		const item = await shop.item({ total: 100000 });
		const body = JSON.stringify({ item, qty: 1 });
		let held = 0;
		await withKept(64, async (kept) => {
			let on = true;
			// Half of them are silent meanwhile, half never pause.
			const busy = Promise.all(kept.slice(32).map(async (one) => {
				while (on) {
					const { status, text } = await one.ask("POST", "/hold",
						{ body });
					assert.equal(status, 201, text);
					held += 1;
				}
			}));
			for (let i = 0; i < 2; i += 1)
				await Promise.race([busy, shop.reload()]);
			on = false;
			await busy;
		});
		assert.equal((await shop.stock(item)).held, held);
		await shop.audit();
	});

const key = (item, i) => `c61-vanished-${i}-${item}`;

// A buyer who hangs up within some milliseconds of his request.
function hangUp(bytes, connect) {
	return new Promise((done) => {
		const socket = connect(() => {
			socket.write(bytes);
			setTimeout(() => socket.destroy(), Math.random() * 6);
		});
		socket.on("error", () => {});
		socket.on("close", done);
	});
}

test("C61: 1,000 clients hang up in mid-answer: all live, nothing leaks, and " +
	"a hold is there for the one who asks again", async () => {
	const workers = shop.workers();
	const item = await shop.item({ total: 1000 });
	const { hostname, port } = new URL(SHOP);
	const before = descriptors();
	const body = JSON.stringify({ item, qty: 1 });
	const get = whole("GET", "/problems/sold-out", { keep: true });
	const post = (i) => `POST /hold?item=${item} HTTP/1.1\r\nHost: x\r\n` +
		`Content-Type: application/json\r\nIdempotency-Key: ${key(item, i)}` +
		`\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
	for (let from = 0; from < 1000; from += 50)
		await Promise.all(Array.from({ length: 50 }, (_, k) => k % 2
			? hangUp(get, (on) => net.connect(socketOf(k), on))
			: hangUp(post(from + k), (on) =>
				net.connect(Number(port), hostname, on))));
	assert.equal((await request("GET", "/healthz")).status, 200);
	assert.deepEqual(shop.workers(), workers, "all processes live");
	// nginx may keep what it had open at once; a leak would have ten times it.
	await until("the descriptors are free again", () =>
		descriptors() <= before + 50);
	let held = -1;
	await until("nothing is under way", async () => {
		const now = (await shop.stock(item)).held;
		const same = now === held;
		held = now;
		await sleep(100);
		return same;
	});
	let existing = 0;
	for (let i = 0; i < 1000; i += 2) {
		const again = await new Buyer().take(item, 1, key(item, i));
		assert.ok(again.status < 300, again.text);
		existing += again.json.existing ? 1 : 0;
	}
	assert.ok(held > 0, "some had their hold before they hung up");
	assert.ok(existing >= held);
	assert.equal((await shop.stock(item)).held, 500);
	await shop.audit();
});
