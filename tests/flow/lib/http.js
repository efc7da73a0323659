"use strict";
// Requests over real sockets, and buyers who keep their cookies.

const http = require("node:http");

const SHOP = process.env.SHOP_URL || "http://127.0.0.1:8080";
const PAY = process.env.PAY_URL || "http://127.0.0.1:8081";

// Bounded: a thousand buyers share these.
const crowd = new http.Agent({ keepAlive: true, maxSockets: 200 });

function read(res, done) {
	const parts = [];
	res.on("data", (part) => parts.push(part));
	res.on("end", () => {
		const bytes = Buffer.concat(parts);
		const type = res.headers["content-type"] || "";
		const answer = {
			status: res.statusCode,
			headers: res.headers,
			bytes,
			text: bytes.toString(),
			cookies: res.headers["set-cookie"] || [],
			json: null,
			problem: null,
		};
		if (/json/.test(type) && bytes.length > 0)
			answer.json = JSON.parse(answer.text);
		if (type.startsWith("application/problem+json"))
			answer.problem = answer.json.type.replace("/problems/", "");
		done(answer);
	});
}

// One request. body: text, bytes, or a list of parts sent in chunks.
function request(method, path, options = {}) {
	const { headers = {}, body, base = SHOP, agent = crowd } = options;
	const url = new URL(path, base);
	const all = { ...headers };
	const chunked = Array.isArray(body);
	if (body !== undefined && !chunked && all["Content-Length"] === undefined)
		all["Content-Length"] = Buffer.byteLength(body);
	return new Promise((done, fail) => {
		const req = http.request({
			host: url.hostname,
			port: url.port,
			// As written: URL would tidy what a test wants untidy.
			path: /^https?:/.test(path) ? url.pathname + url.search : path,
			method,
			headers: all,
			agent,
			timeout: options.timeout || 60000,
		}, (res) => read(res, done));
		req.on("timeout", () => req.destroy(new Error("timed out")));
		req.on("error", fail);
		if (chunked)
			body.forEach((part) => req.write(part));
		req.end(chunked ? undefined : body);
	});
}

const JSON_TYPE = { "Content-Type": "application/json" };
const FORM_TYPE = {
	"Content-Type": "application/x-www-form-urlencoded",
	Accept: "text/html",
};

class Buyer {
	constructor() {
		this.cookies = new Map();
	}

	header() {
		const words = [...this.cookies].map(([name, value]) =>
			`${name}=${value}`);
		return words.length ? { Cookie: words.join("; ") } : {};
	}

	async send(method, path, options = {}) {
		const answer = await request(method, path, {
			...options,
			headers: { ...this.header(), ...options.headers },
		});
		for (const cookie of answer.cookies) {
			const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie);
			this.cookies.set(name, value);
		}
		return answer;
	}

	get(path, headers) {
		return this.send("GET", path, { headers });
	}

	post(path, content, headers) {
		return this.send("POST", path, {
			headers: { ...JSON_TYPE, ...headers },
			body: JSON.stringify(content),
		});
	}

	form(path, fields, headers) {
		return this.send("POST", path, {
			headers: { ...FORM_TYPE, ...headers },
			body: new URLSearchParams(fields).toString(),
		});
	}

	// What the page does: a key for each intention, the item in the address.
	take(item, qty = 1, key) {
		return this.post(`/hold?item=${encodeURIComponent(item)}`,
			{ item, qty }, key ? { "Idempotency-Key": key } : {});
	}

	hold(id) {
		return this.get(`/hold?id=${id}`);
	}

	drop(id) {
		return this.post("/hold/drop", { id });
	}

	pay(id) {
		return this.post("/pay", { id });
	}

	// The state that the order page shows.
	async page(id) {
		const answer = await this.get(`/order/${id}`);
		const state = /data-state="([^"]*)"/.exec(answer.text);
		return { ...answer, state: state && state[1] };
	}
}

module.exports = { request, Buyer, SHOP, PAY, JSON_TYPE, FORM_TYPE };
