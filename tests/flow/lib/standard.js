"use strict";
// A provider that another process connects: that process, as an operator would
// run it, the shop's settings for it, and messages signed as Standard Webhooks
// wants, by code that shares nothing with the shop's or the example's.

const assert = require("node:assert/strict");
const crypto = require("node:crypto");
const fs = require("node:fs");
const http = require("node:http");
const net = require("node:net");
const os = require("node:os");
const path = require("node:path");
const { spawn } = require("node:child_process");
const { once } = require("node:events");
const { request, SHOP, JSON_TYPE } = require("./http.js");
const { sql, quote } = require("./sql.js");
const { until } = require("./wait.js");
const shop = require("./shop.js");

// The process, and the provider that it requires.
const EXAMPLE = ["connect.js", "imaginary.js"].map((name) =>
	path.join(__dirname, name));
const HOOK = `${SHOP}/pay-callback/standard`;
const now = () => Math.floor(Date.now() / 1000);

const newSecret = () => `whsec_${crypto.randomBytes(32).toString("base64")}`;

// A pair of keys as text: whsk_ signs, whpk_ verifies. The raw bytes stand at
// the end of what the standard formats wrap around them.
function newPair() {
	const { privateKey, publicKey } = crypto.generateKeyPairSync("ed25519");
	const raw = (key, type) => key.export({ type, format: "der" })
		.subarray(-32).toString("base64");
	return { privateKey, whsk: `whsk_${raw(privateKey, "pkcs8")}`,
		whpk: `whpk_${raw(publicKey, "spki")}` };
}

// One signature: by a secret's text, or by a private key.
function sign(by, id, time, body) {
	const bytes = Buffer.concat([Buffer.from(`${id}.${time}.`),
		Buffer.from(body)]);
	if (typeof by !== "string")
		return `v1a,${crypto.sign(null, bytes, by).toString("base64")}`;
	const key = Buffer.from(by.slice("whsec_".length), "base64");
	return `v1,${crypto.createHmac("sha256", key).update(bytes)
		.digest("base64")}`;
}

// Sends a message. options: by, id, time, signature, body, path, base.
function send(type, data, options = {}) {
	const { id = `evt_${crypto.randomUUID()}`, time = now(), by } = options;
	const { body = JSON.stringify({ type, data,
		timestamp: new Date(time * 1000).toISOString() }) } = options;
	const { signature = sign(by, id, time, body) } = options;
	return request("POST", options.path || "/pay-callback/standard", {
		base: options.base || SHOP,
		body,
		headers: { ...JSON_TYPE, "webhook-id": id,
			"webhook-timestamp": String(time),
			"webhook-signature": signature },
	});
}

// A free port; nobody else of this machine's takes it meanwhile, as a rule.
async function freePort() {
	const server = net.createServer().listen(0, "127.0.0.1");
	await once(server, "listening");
	const { port } = server.address();
	server.close();
	await once(server, "close");
	return port;
}

// A gateway between the two, which may be closed for a while, may lose the
// answer to the next message of a type, with what happens then, and remembers
// what came by.
async function relay(target) {
	const way = { open: true, lose: null, meanwhile: () => {}, seen: [] };
	const server = http.createServer(async (req, res) => {
		const body = Buffer.concat(await req.toArray());
		const { type } = JSON.parse(body);
		const { host, connection, ...headers } = req.headers;
		way.seen.push({ type, id: headers["webhook-id"] });
		const answer = way.open ? await request("POST", target,
			{ base: target, headers, body }).catch(() => null)
			: { status: 503 };
		const lost = way.lose === type;
		way.lose = lost ? null : way.lose;
		if (lost)
			await way.meanwhile();
		if (answer && !lost)
			res.writeHead(answer.status).end(answer.text);
		else
			res.writeHead(502).end();
	}).listen(0, "127.0.0.1");
	await once(server, "listening");
	return Object.assign(way, {
		url: `http://127.0.0.1:${server.address().port}/`,
		close: () => {
			server.close();
			server.closeAllConnections();
		},
	});
}

// The example, as a process of its own, whose provider has a book.
class Connected {
	constructor(port, secret, hook) {
		this.port = port;
		this.secret = secret;
		this.hook = hook;
		this.url = `http://127.0.0.1:${port}/`;
		this.folder = fs.mkdtempSync(path.join(os.tmpdir(), "connected-"));
		process.once("exit", () => fs.rmSync(this.folder,
			{ recursive: true, force: true }));
	}

	async start() {
		this.payPort ||= await freePort();
		this.process = spawn(process.execPath, [EXAMPLE[0]], {
			env: { PORT: this.port, SECRET: this.secret, HOOK: this.hook,
				PAY_PORT: this.payPort, BOOK: path.join(this.folder, "book") },
			stdio: ["ignore", "ignore", "inherit"],
		});
		process.once("exit", () => this.process.kill("SIGKILL"));
		await until("the connected process listens", async () => {
			const answer = await request("GET", "/", { base: this.url })
				.catch(() => null);
			return answer && answer.status === 401;
		});
	}

	async stop(signal = "SIGTERM") {
		if (!this.process || this.process.exitCode !== null ||
			this.process.signalCode !== null)
			return;
		this.process.kill(signal);
		await once(this.process, "exit");
	}

	// Sends what the shop might send, or would not; options as of send.
	send(type, data, options) {
		return send(type, data, { base: this.url, path: "/", by: this.secret,
			...options });
	}

	// What the shop would ask.
	async ask(type, data) {
		const answer = await this.send(type, data);
		assert.equal(answer.status, 200, answer.text);
		return answer.json;
	}

	async session(hold) {
		const { id } = await until(`a session for ${hold}`, () => sql().row(`
			select p.session_id as id from data.payment p
			join data.hold h using (hold_id)
			where h.id = ${quote(hold)} and p.session_id is not null
			order by p.attempt desc limit 1`));
		return this.ask("session.show", { session: id });
	}

	async refunds(payment) {
		const { items } = await this.ask("list",
			{ list: "refunds", since: 0, limit: 100 });
		return items.filter((refund) => refund.payment === payment);
	}
}

// The text with some keys of some sections set anew.
function changed(text, settings) {
	let section = "";
	return text.split("\n").map((line) => {
		const head = /^\[(\w+)\]$/.exec(line);
		section = head ? head[1] : section;
		const [, key] = /^(\w+)\s*=/.exec(line) || [];
		return key in (settings[section] || {})
			? `${key} = ${settings[section][key]}` : line;
	}).join("\n");
}

// Until no call to the connected process is due or under way any more.
const quiet = () => until("all calls are answered", async () => (await sql()
	.row(`select count(*) as n from data.outbox o
		join data.payment p using (payment_id)
		where p.provider = 'standard' and o.done_at is null
		and not o.stuck and (o.try > 0
			or o.next_try <= clock_timestamp())`)).n === 0,
{ within: 30000 });

// Runs work in a shop with these settings, and brings the old ones back. What
// the shop owes the connected process is done before.
async function withSettings(settings, work) {
	const text = fs.readFileSync(shop.CONF, "utf8");
	try {
		fs.writeFileSync(shop.CONF, changed(text, settings));
		await shop.reload();
		await work();
		await quiet();
	} finally {
		fs.writeFileSync(shop.CONF, text);
		await shop.reload();
	}
}

// What the inbox says of an event.
const inbox = (id) => sql().row(`select kind, outcome, detail, type
	from data.event where provider = 'standard' and event_id = ${quote(id)}`);

module.exports = { EXAMPLE, HOOK, Connected, relay, freePort, newSecret,
	newPair, sign, send, withSettings, inbox, now };
