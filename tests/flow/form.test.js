"use strict";
// C70: the shop without JavaScript: plain forms, redirects and pages.

const test = require("node:test");
const assert = require("node:assert/strict");
const { Buyer, request, PAY, FORM_TYPE } = require("./lib/http.js");
const { until } = require("./lib/wait.js");
const { age } = require("./lib/sql.js");
const shop = require("./lib/shop.js");

const escaped = (text) => text.replace(/[^\w]/g, "\\$&");

// A form's refusal: a redirect to the page that says what it means.
async function refused(buyer, answer, problem, item) {
	assert.equal(answer.status, 303, answer.text);
	const { location } = answer.headers;
	assert.match(location, new RegExp(`^/problems/${problem}(\\?|$)`));
	if (item)
		assert.match(location, new RegExp(`item=${encodeURIComponent(item)}`));
	const page = await buyer.get(location);
	assert.equal(page.status, 200);
	assert.match(page.headers["content-type"], /^text\/html/);
	assert.match(page.text, new RegExp(`data-problem="${problem}"`));
	if (item)
		assert.match(page.text, new RegExp(`href="/item/${item}"`));
	return page;
}

test("C70: take, pay and drop by forms: 303 to the order, to the provider",
	async () => {
		const item = await shop.item({ total: 1 });
		const buyer = new Buyer();
		await buyer.get("/");
		const taken = await buyer.form("/hold", { item, qty: "1" });
		assert.equal(taken.status, 303, taken.text);
		assert.match(taken.headers.location, /^\/order\/hld_[\w-]{22}$/);
		const hold = taken.headers.location.slice("/order/".length);
		const again = await buyer.form("/hold", { item, qty: "1" });
		assert.equal(again.headers.location, taken.headers.location);
		const page = await buyer.page(hold);
		assert.equal(page.status, 200);
		assert.equal(page.state, "held");
		assert.match(page.text, /<noscript><meta http-equiv="refresh"/);
		const pay = await buyer.form("/pay", { id: hold });
		const provider = new RegExp(`^${escaped(PAY)}/`);
		if (pay.status === 303)
			assert.match(pay.headers.location, /^(\/pay\?id=|http)/);
		else
			assert.equal(pay.status, 200);
		// The page that tries again by itself asks GET /pay.
		const ready = await until("303 to the provider", async () => {
			const tried = await buyer.get(`/pay?id=${hold}`);
			if (tried.status !== 303)
				assert.match(tried.headers.refresh || tried.text,
					/^\d|http-equiv="refresh"/i);
			return tried.status === 303 && tried;
		});
		assert.match(ready.headers.location, provider);
		const dropped = await buyer.form("/hold/drop", { id: hold });
		assert.equal(dropped.status, 303);
		assert.equal(dropped.headers.location, `/order/${hold}`);
		assert.equal((await buyer.page(hold)).state, "dropped");
		await shop.audit();
	});

test("two submits 80 ms apart, two tabs: one hold, the same page", async () => {
	const item = await shop.item({ total: 9 });
	const buyer = new Buyer();
	await buyer.get("/");
	const first = buyer.form("/hold", { item, qty: "1" });
	await new Promise((done) => setTimeout(done, 80));
	const tab = new Buyer();
	tab.cookies = new Map(buyer.cookies);
	const answers = await Promise.all([first,
		buyer.form("/hold", { item, qty: "1" }),
		tab.form("/hold", { item, qty: "1" })]);
	assert.equal(new Set(answers.map(({ headers }) =>
		headers.location)).size, 1);
	assert.equal((await shop.stock(item)).held, 1);
});

test("every refusal of a form is a page with the way back", async () => {
	const buyer = new Buyer();
	await buyer.get("/");
	const gone = await shop.item({ total: 1 });
	const other = new Buyer();
	const { json: hold } = await other.take(gone);
	await refused(buyer, await buyer.form("/hold", { item: gone, qty: "1" }),
		"sold-out", gone);
	await refused(buyer, await buyer.form("/hold", { item: "none", qty: "1" }),
		"no-such-item");
	const later = await shop.item({ total: 1, opens: "2999-01-01T00:00:00Z" });
	await refused(buyer, await buyer.form("/hold", { item: later, qty: "1" }),
		"not-open", later);
	const over = await shop.item({ total: 1, opens: "2020-01-01T00:00:00Z",
		closes: "2020-01-02T00:00:00Z" });
	await refused(buyer, await buyer.form("/hold", { item: over, qty: "1" }),
		"closed", over);
	const few = await shop.item({ total: 9, "per-buyer": 2 });
	await refused(buyer, await buyer.form("/hold", { item: few, qty: "3" }),
		"limit", few);
	await refused(buyer, await buyer.form("/hold/drop", { id: hold.id }),
		"not-yours");
	await refused(buyer, await buyer.form("/pay", { id: hold.id }),
		"not-yours");
	await refused(buyer, await buyer.form("/pay",
		{ id: "hld_0000000000000000000000" }), "no-such-hold");
	await age(hold.id, 700);
	const ended = await other.form("/pay", { id: hold.id });
	assert.equal(ended.status, 303);
	if (ended.headers.location.startsWith("/order/"))
		assert.equal((await other.page(hold.id)).state, "expired");
	else
		await refused(other, ended, "ended");
	await shop.audit();
});

test("a form that is not understood: its status, as a page", async () => {
	const item = await shop.item({ total: 1 });
	const buyer = new Buyer();
	for (const fields of [{ item }, { qty: "1" }, { item, qty: "0" },
		{ item, qty: "-1" }, [["item", item], ["qty", "1"], ["qty", "1"]]]) {
		const answer = await buyer.form("/hold", fields);
		assert.equal(answer.status, 400, JSON.stringify(fields));
		assert.match(answer.headers["content-type"], /^text\/html/);
		assert.match(answer.text, /data-problem="malformed"/);
	}
	for (const body of ["item=%", "item=%zz&qty=1", "item=a%00b&qty=1",
		"item=%ff&qty=1", "%", "a".repeat(2000), "&=&=&"]) {
		const answer = await request("POST", "/hold",
			{ headers: FORM_TYPE, body });
		assert.equal(answer.status, 400, body.slice(0, 30));
	}
	assert.equal((await shop.stock(item)).held, 0);
});

test("what a page says is escaped: a title with markup", async () => {
	const title = "<script>alert(1)</script> \"&' {{hold}}";
	const item = await shop.item({ total: 1, title });
	const buyer = new Buyer();
	const { json: hold } = await buyer.take(item);
	const page = await buyer.page(hold.id);
	assert.doesNotMatch(page.text, /<script>alert/);
	assert.match(page.text, /&lt;script&gt;alert\(1\)&lt;\/script&gt;/);
	assert.match(page.text, /\{\{hold\}\}/);
	const evil = await buyer.get(
		"/problems/sold-out?item=%22%3E%3Cscript%3Ealert(1)%3C/script%3E");
	assert.doesNotMatch(evil.text, /<script>alert/);
	const none = await buyer.get("/problems/no-such-problem");
	assert.equal(none.status, 404);
});
