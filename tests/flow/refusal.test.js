"use strict";
// Requests that are wrong in every way: the right 4xx, and the workers live.

const test = require("node:test");
const assert = require("node:assert/strict");
const net = require("node:net");
const { Buyer, request, SHOP, JSON_TYPE, FORM_TYPE } =
	require("./lib/http.js");
const shop = require("./lib/shop.js");

const POSTS = ["/hold", "/hold/drop", "/pay"];

let workers;
test.before(() => {
	workers = shop.workers();
	assert.ok(workers.length > 0);
});
test.after(async () => {
	assert.deepEqual(shop.workers(), workers, "a worker has ended");
	await shop.audit();
});

function json(path, body, headers) {
	return request("POST", path,
		{ headers: { ...JSON_TYPE, ...headers }, body });
}

function isProblem(answer, status, name) {
	assert.equal(answer.status, status, answer.text);
	assert.match(answer.headers["content-type"],
		/^application\/problem\+json/);
	assert.equal(answer.headers["cache-control"], "no-store");
	assert.equal(answer.json.status, status);
	assert.equal(typeof answer.json.title, "string");
	assert.match(answer.json.type, /^\/problems\/[a-z-]+$/);
	assert.ok(answer.json.detail.length > 5, "no detail in plain words");
	if (name)
		assert.equal(answer.problem, name);
}

test("405 with Allow: each address knows its methods", async () => {
	const wrong = [
		["GET", "/hold/drop"], ["PUT", "/hold"], ["DELETE", "/hold"],
		["PATCH", "/pay"], ["GET", "/pay-callback"], ["PUT", "/pay-callback"],
		["POST", "/availability"], ["POST", "/healthz"],
		["POST", "/order/hld_0000000000000000000000"],
		["OPTIONS", "/hold"],
	];
	for (const [method, path] of wrong) {
		const answer = await request(method, path,
			{ headers: JSON_TYPE, body: method === "GET" ? undefined : "{}" });
		assert.equal(answer.status, 405, `${method} ${path}`);
		assert.ok(answer.headers.allow, `${method} ${path}: no Allow`);
		assert.ok(!answer.headers.allow.split(/, */).includes(method));
	}
});

test("404 for an address that does not exist, to scripts and to people",
	async () => {
		for (const path of ["/nothing", "/hold/x", "/item/none", "/pay/x",
			"/order/", "/order/x", "/order/hld_0000000000000000000000",
			"/admin/", "/live/x.json", "/%00", "/..%2f..%2fetc%2fpasswd"]) {
			const answer = await request("GET", path);
			assert.ok([400, 404].includes(answer.status),
				`${path}: ${answer.status}`);
		}
		const page = await request("GET", "/nothing",
			{ headers: { Accept: "text/html" } });
		assert.match(page.headers["content-type"], /^text\/html/);
	});

test("413: more than 16 KiB; 16 KiB itself is read", async () => {
	const item = await shop.item({ total: 9 });
	const fill = (size) => {
		const body = { item, qty: 1, pad: "" };
		body.pad = "x".repeat(size - JSON.stringify(body).length);
		return JSON.stringify(body);
	};
	assert.equal((await json("/hold", fill(16384))).status, 201);
	for (const size of [16385, 20000, 1 << 20]) {
		const answer = await json("/hold", fill(size));
		assert.equal(answer.status, 413, String(size));
		assert.ok(answer.problem);
	}
	assert.equal((await shop.stock(item)).held, 1);
});

test("415: neither JSON nor a form; a charset is allowed", async () => {
	const item = await shop.item({ total: 9 });
	const body = JSON.stringify({ item, qty: 1 });
	for (const type of ["text/plain", "application/xml", "multipart/form-data",
		"application/jsonp", "json", "application/json-patch+json", ""]) {
		const answer = await json("/hold", body, { "Content-Type": type });
		assert.equal(answer.status, 415, type);
		isProblem(answer, 415);
	}
	for (const type of ["application/json; charset=utf-8",
		"Application/JSON", "application/json ;charset=UTF-8"])
		assert.equal((await json("/hold", body,
			{ "Content-Type": type })).status, 201, type);
});

test("a body in chunks is whole or refused, never short", async () => {
	const item = await shop.item({ total: 9 });
	const body = JSON.stringify({ item, qty: 1 });
	const answer = await request("POST", "/hold", { headers: JSON_TYPE,
		body: [...body] });
	assert.ok([201, 411].includes(answer.status), answer.text);
	const none = await request("POST", "/hold", { headers: JSON_TYPE,
		body: "" });
	isProblem(none, 400, "malformed");
});

test("malformed bodies are 400 and say which field", async () => {
	const item = await shop.item({ total: 9 });
	const shapes = ["", " ", "x", "null", "[]", "\"text\"", "17", "{", "{}",
		`{"item":"${item}"}`, "{\"qty\":1}", `{"item":7,"qty":1}`,
		`{"item":null,"qty":1}`, `{"item":["${item}"],"qty":1}`,
		`{"item":"","qty":1}`, `{"item":"${item}","qty":1}}`,
		`{"item":"${item}","qty":1} x`, `{"item":"${item}","qty":1,}`,
		`{"item":"${item}","item":"${item}","qty":1}`,
		`{"item":"${item}","qty":1,"qty":1}`,
		`{"item":"${item}\\u0000","qty":1}`,
		`{"item":"${item}","qty":1,"email":7}`,
		`{"item":"${item}","qty":1,"email":"no address"}`,
		`{"lines":[]}`, `{"lines":{}}`, `{"lines":[7]}`, `{"lines":[{}]}`,
		`{"lines":[{"item":"${item}","qty":1},{"item":"${item}","qty":1}]}`,
		`{"lines":[{"item":"${item}","qty":1}],"item":"${item}"}`,
		JSON.stringify({ lines: Array.from({ length: 21 }, (_, i) =>
			({ item: `x${i}`, qty: 1 })) }),
		`{"item":"${item}","units":["A-1"]}`,
		`\ufeff{"item":"${item}","qty":1}`,
		`{"item":"${"x".repeat(300)}","qty":1}`];
	for (const body of shapes)
		isProblem(await json("/hold", body), 400, "malformed");
	for (const path of ["/hold/drop", "/pay"])
		for (const body of ["", "[]", "{}", "{\"id\":7}", "{\"id\":\"\"}",
			"{\"id\":null}", "{\"id\":\"a\",\"id\":\"a\"}",
			"{\"id\":\"hld_000000000000000000000\\u0000\"}"]) {
			const answer = await json(path, body);
			isProblem(answer, 400, "malformed");
		}
	for (const query of ["", "?", "?id=", "?id=a&id=b", "?id=%00", "?x=1"])
		isProblem(await request("GET", `/hold${query}`), 400, "malformed");
	const { json: problem } = await json("/hold", `{"item":"${item}"}`);
	assert.match(problem.detail, /qty/);
	assert.equal((await shop.stock(item)).held, 0);
});

test("C46: only a plain positive integer is a quantity", async () => {
	const item = await shop.item({ total: 9, "per-buyer": 9 });
	const numbers = ["-1", "-5", "0", "-0", "+1", "1.0", "1.5", "1e0", "1E0",
		"01", "0x10", "true", "null", "[1]", "{}", "\"1\"", "\" 1\"",
		"\"1 \"", "\"\"", "\"+1\"", "NaN", "Infinity"];
	for (const qty of numbers)
		isProblem(await json("/hold", `{"item":"${item}","qty":${qty}}`),
			400, "malformed");
	for (const qty of ["-1", "-5", "0", "+1", " 1", "1 ", "", "01", "1.0",
		"1e0", "0x1", "\uff11", "one"]) {
		const answer = await request("POST", "/hold", { headers: FORM_TYPE,
			body: new URLSearchParams({ item, qty }).toString() });
		assert.equal(answer.status, 400, JSON.stringify(qty));
	}
	const other = await shop.item({ total: 9, "per-buyer": 9,
		price: "1.00" });
	for (const body of [
		`{"lines":[{"item":"${item}","qty":5},{"item":"${other}","qty":-4}]}`,
		`{"lines":[{"item":"${item}","qty":5},{"item":"${item}","qty":-4}]}`])
		isProblem(await json("/hold", body), 400, "malformed");
	assert.equal((await shop.stock(item)).held, 0);
	assert.equal((await shop.stock(other)).held, 0);
});

test("C47: huge quantities name the real limit; the buyer can go on",
	async () => {
		const item = await shop.item({ total: 9, "per-buyer": 2,
			price: "999.99" });
		const buyer = new Buyer();
		const huge = ["2147483647", "2147483648", "9223372036854775807",
			"9223372036854775808", "9".repeat(300)];
		for (const qty of huge) {
			const answer = await buyer.send("POST", "/hold", {
				headers: JSON_TYPE, body: `{"item":"${item}","qty":${qty}}` });
			isProblem(answer, 409, "limit");
			assert.equal(answer.json.limit, 2);
			assert.equal(answer.json.have, 0);
		}
		for (const qty of ["1e3", "0x10"])
			isProblem(await json("/hold", `{"item":"${item}","qty":${qty}}`),
				400, "malformed");
		const dear = await shop.item({ total: 2000, price: "999999.99" });
		isProblem(await json("/hold", `{"item":"${dear}","qty":1000}`),
			409, "limit");
		assert.equal((await buyer.take(item, 2)).status, 201);
		assert.equal((await buyer.take(item, 1)).status, 200);
		// Its page, too, shows the right sum.
		const { json: hold } = await buyer.take(item, 2);
		assert.equal(hold.price.amount, 199998);
		assert.match((await buyer.page(hold.id)).text, /1[,. ]?999\.98 EUR/);
	});

test("C47: a basket's sum never wraps", async () => {
	const skus = await Promise.all(Array.from({ length: 20 }, () =>
		shop.item({ total: 9, price: "999999.99" })));
	const answer = await json("/hold", JSON.stringify({
		lines: skus.map((item) => ({ item, qty: 1 })) }));
	isProblem(answer, 409, "limit");
	assert.equal((await shop.stock(skus[0])).held, 0);
});

test("C64: deep nesting and broken JSON are cheap", async () => {
	const deep = ["[".repeat(16000), "{\"a\":".repeat(3000),
		`{"item":${"[".repeat(8000)}${"]".repeat(8000)}}`,
		"{\"x\":{\"y\":true \"z\":[1,}}"];
	await json("/hold", deep[0]);
	for (const body of deep)
		for (const path of POSTS)
			isProblem(await shop.cheap(() => json(path, body)),
				400, "malformed");
});

test("C64: 3,000 parse errors leave the workers' memory flat", {
	skip: shop.SANITIZED && "a sanitizer keeps freed memory",
}, async () => {
	const rss = () => workers.reduce((sum, pid) => sum + shop.rss(pid), 0);
	const burst = (n) => Promise.all(Array.from({ length: n }, () =>
		json("/hold", "{\"x\":{\"y\":true \"z\":[1,}}")));
	await burst(1000);
	const before = rss();
	await burst(3000);
	assert.ok(rss() - before < 2048, `${rss() - before} KiB more`);
});

test("C65: escaped NULs, lone surrogates and bytes that are not UTF-8",
	async () => {
		const item = await shop.item({ total: 9 });
		const wrap = (bytes) => Buffer.concat([
			Buffer.from(`{"item":"${item}`), bytes, Buffer.from("\",\"qty\":1}")]);
		const parts = [Buffer.from("\\u0000"), Buffer.from("\\uD800"),
			Buffer.from("\\uDBFF\u{1F3AB}"), Buffer.from([0xff]),
			Buffer.from([0xc0, 0x80]), Buffer.from([0]),
			Buffer.from([0xed, 0xa0, 0x80]), Buffer.from("\\uDC00\\uD800")];
		for (const part of parts)
			isProblem(await json("/hold", wrap(part)), 400, "malformed");
		// A NUL in a name does not make it the short one.
		isProblem(await json("/hold",
			`{"item\\u0000x":"${item}","qty":1}`), 400, "malformed");
		assert.equal((await shop.stock(item)).held, 0);
	});

test("C65: emoji and accents in names come back as they were", async () => {
	const title = "Caf\u00e9 \u{1F3AB} \u05d0\u05d1";
	const item = await shop.item({ total: 2, title });
	const buyer = new Buyer();
	const answer = await buyer.send("POST", "/hold", { headers: JSON_TYPE,
		body: `{"item":"${item}","qty":1,"note":"\\uD83C\\uDFAB"}` });
	assert.equal(answer.status, 201);
	assert.equal(answer.json.lines[0].title, title);
	assert.ok((await buyer.page(answer.json.id)).text.includes(title));
});

test("raw requests that are no HTTP get 400 or a closed connection",
	async () => {
		const { hostname, port } = new URL(SHOP);
		for (const text of ["x\r\n\r\n", "GET\r\n\r\n",
			"POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
			"POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: abc\r\n\r\n",
			"POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n" +
				"Content-Length: 6\r\n\r\nxxxxx",
			"POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n" +
				"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
			"POST /hold HTTP/1.1\r\nHost: x\r\nContent-Type: " +
				"application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
			`GET /hold?id=${"x".repeat(40000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
		]) {
			const answer = await new Promise((done) => {
				const socket = net.connect(Number(port), hostname);
				let got = "";
				socket.setTimeout(3000, () => socket.destroy());
				socket.on("data", (part) => {
					got += part;
					socket.end();
				});
				socket.on("error", () => {});
				socket.on("close", () => done(got));
				socket.write(text);
			});
			assert.match(answer, /^$|^HTTP\/1\.1 4\d\d|<html|^\{/,
				`${text.slice(0, 30)}: ${answer.slice(0, 60)}`);
		}
	});

test("healthz and readyz answer without a cookie and uncached", async () => {
	for (const path of ["/healthz", "/readyz"]) {
		const answer = await request("GET", path);
		assert.equal(answer.status, 200);
		assert.equal(answer.headers["cache-control"], "no-store");
		assert.deepEqual(answer.cookies, []);
	}
});
