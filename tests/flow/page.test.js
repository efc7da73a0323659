"use strict";
// C68: what is cached and what is nobody else's; the headers of all answers.

const test = require("node:test");
const assert = require("node:assert/strict");
const fs = require("node:fs");
const { Buyer, request } = require("./lib/http.js");
const { pageOf } = require("./lib/pay.js");
const shop = require("./lib/shop.js");

const HTML = { Accept: "text/html" };

// A response that sets a cookie is never kept by anybody.
function isPrivate({ headers, cookies }, what) {
	if (cookies.length > 0)
		assert.match(headers["cache-control"], /no-store/, what);
}

test("C68: three visitors within a second share nothing", async () => {
	const item = await shop.item({ total: 5 });
	const visitors = [new Buyer(), new Buyer(), new Buyer()];
	for (const visitor of visitors)
		isPrivate(await visitor.get("/item/RUN-42", HTML), "product page");
	const ids = visitors.map((v) => v.cookies.get("lp_visit"));
	assert.equal(new Set(ids).size, 3);
	const takes = await Promise.all(visitors.map((v) => v.take(item)));
	takes.forEach((take) => isPrivate(take, "hold"));
	assert.equal(new Set(takes.map(({ json }) => json.id)).size, 3);
	assert.equal(new Set(visitors.map((v) =>
		v.cookies.get("lp_buyer"))).size, 3);
	for (const visitor of visitors) {
		const stock = await visitor.get(`/availability?item=${item}`);
		assert.deepEqual(stock.cookies, []);
		takes.forEach(({ json }) =>
			assert.ok(!stock.text.includes(json.id)));
		const page = await visitor.get("/item/RUN-42", HTML);
		takes.forEach(({ json }) => assert.ok(!page.text.includes(json.id)));
	}
	// b2 cannot do anything to b1's.
	assert.equal((await visitors[1].drop(takes[0].json.id)).problem,
		"not-yours");
});

test("C68: every answer that names a hold or sets a cookie is no-store",
	async () => {
		const item = await shop.item({ total: 5 });
		const buyer = new Buyer();
		const visit = await buyer.get("/", HTML);
		isPrivate(visit, "front page");
		const taken = await buyer.take(item);
		const { id } = taken.json;
		const url = await pageOf(buyer, id);
		const answers = [taken, await buyer.hold(id), await buyer.page(id),
			await buyer.pay(id), await buyer.get(`/pay?id=${id}`),
			await buyer.form("/pay", { id }),
			await buyer.form("/hold", { item, qty: "1" }),
			await new Buyer().take("none"), await new Buyer().hold("hld_x"),
			await buyer.get("/problems/sold-out"), await buyer.drop(id),
			await request("GET", url, { base: url })];
		for (const { headers, status, text } of answers)
			assert.match(headers["cache-control"] || "", /no-store/,
				`${status} ${text.slice(0, 80)}`);
		const { text } = await buyer.get("/order/" + id);
		assert.ok(!text.includes(url), "the pay page's address is a secret");
	});

test("static files are cacheable, set no cookie, and are revalidated",
	async () => {
		for (const path of ["/style.css", "/js/item.js", "/favicon.svg",
			"/img/product.svg"]) {
			const answer = await request("GET", path);
			assert.equal(answer.status, 200, path);
			assert.match(answer.headers["cache-control"],
				/^public, max-age=\d+$/);
			assert.deepEqual(answer.cookies, []);
			const again = await request("GET", path, { headers:
				{ "If-None-Match": answer.headers.etag } });
			assert.equal(again.status, 304);
		}
		const visitor = new Buyer();
		await visitor.get("/", HTML);
		const second = await visitor.get("/", HTML);
		assert.deepEqual(second.cookies, []);
		assert.equal(second.headers["cache-control"], "no-cache");
	});

test("the cookie that a visitor is given is in no log", async () => {
	const item = await shop.item({ total: 1 });
	const visitor = new Buyer();
	const folder = `${shop.STATE}/log`;
	const text = (name) => fs.readFileSync(`${folder}/${name}`, "utf8");
	const before = text("nginx-access.log").length;
	await visitor.get("/item/RUN-42?first", HTML);
	await visitor.take(item);
	const visit = visitor.cookies.get("lp_visit");
	assert.match(visit, /^[0-9a-f]{32}$/);
	// Each of nginx's processes writes what it has gathered, once a second.
	await shop.until("both requests are logged", () => {
		const lines = text("nginx-access.log").slice(before);
		return / req=- .* path="\/item\/RUN-42" /.test(lines) &&
			/ req=[0-9a-f]{32} .* path="\/hold" /.test(lines);
	});
	for (const name of fs.readdirSync(folder))
		assert.ok(!text(name).includes(visit), name);
});

test("every page and answer carries the security headers", async () => {
	const item = await shop.item({ total: 1 });
	const buyer = new Buyer();
	const { json } = await buyer.take(item);
	const answers = {
		front: await buyer.get("/", HTML),
		product: await buyer.get("/item/RUN-42", HTML),
		order: await buyer.page(json.id),
		problem: await buyer.get("/problems/sold-out"),
		missing: await buyer.get("/none", HTML),
		hold: await buyer.hold(json.id),
		refusal: await new Buyer().take(item),
		style: await buyer.get("/style.css"),
	};
	for (const [name, { headers }] of Object.entries(answers)) {
		assert.equal(headers["x-content-type-options"], "nosniff", name);
		assert.match(headers["content-security-policy"] || "",
			/default-src 'none'/, name);
		assert.match(headers["content-security-policy"],
			/frame-ancestors 'none'/);
		assert.doesNotMatch(headers["content-security-policy"], /unsafe/);
		assert.ok(headers["referrer-policy"], name);
		assert.doesNotMatch(headers.server || "", /\d/, "no version is told");
	}
});

test("HEAD answers as GET, without a body", async () => {
	const item = await shop.item({ total: 1 });
	const buyer = new Buyer();
	const { json } = await buyer.take(item);
	for (const path of ["/", "/item/RUN-42", `/order/${json.id}`,
		`/hold?id=${json.id}`, "/healthz", "/style.css",
		`/availability?item=${item}`]) {
		const get = await buyer.get(path, HTML);
		const head = await buyer.send("HEAD", path, { headers: HTML });
		assert.equal(head.status, get.status, path);
		assert.equal(head.bytes.length, 0);
		assert.equal(head.headers["content-type"],
			get.headers["content-type"]);
	}
});

test("the demo's pages are there, and what is no page is not", async () => {
	for (const path of ["/", "/item/RUN-42", "/item/RUN-43"]) {
		const page = await request("GET", path, { headers: HTML });
		assert.equal(page.status, 200, path);
		assert.match(page.headers["content-type"], /^text\/html/);
		assert.doesNotMatch(page.text, /\{\{/);
	}
	for (const path of ["/order.html", "/problem.html", "/lastpair.conf",
		"/../lastpair.conf", "/.git/config", "/item/", "/item/RUN-42.html.html"])
		assert.notEqual((await request("GET", path)).status, 200, path);
});

test("C19: times are ISO 8601 with Z, what is left is in milliseconds",
	async () => {
		const opens = new Date(Date.now() + 3456000000);
		const item = await shop.item({ total: 1, opens: opens.toISOString() });
		const { json } = await request("GET", `/availability?item=${item}`);
		const [{ opens_in_ms: ms, state }] = json.items;
		assert.equal(state, "upcoming");
		assert.ok(Math.abs(ms - 3456000000) < 60000);
		assert.match(json.now, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
		const early = await new Buyer().take(item);
		assert.equal(early.problem, "not-open");
		assert.ok(early.json.opens_in_ms > 2147483647);
	});
