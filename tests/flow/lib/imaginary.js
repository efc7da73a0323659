"use strict";
// An imaginary provider, in place of a real one's SDK: checkouts, each with a
// pay page on PAY_PORT, and refunds. BOOK is the file that outlives it.
const fs = require("node:fs");
const http = require("node:http");
const { randomUUID } = require("node:crypto");
const { EventEmitter } = require("node:events");

const { BOOK, PAY_PORT = 9001 } = process.env;
const PAGE = "<form method=\"post\"><button name=\"do\" value=\"pay\">Pay" +
	"</button></form>";
const LIMIT = 100;
const provider = new EventEmitter();
const book = BOOK && fs.existsSync(BOOK) // the newest first
	? JSON.parse(fs.readFileSync(BOOK, "utf8")) : [];
const now = () => Math.floor(Date.now() / 1000);
const refuse = (refused) => {
	throw Object.assign(new Error(refused), { refused });
};

function change(item, what, type) {
	Object.assign(item, what);
	if (BOOK)
		fs.writeFileSync(BOOK, JSON.stringify(book));
	if (type)
		provider.emit("news", { id: `evt_${randomUUID()}`, type,
			timestamp: new Date().toISOString(), data: { ...item } });
	return item;
}

function add(kind, reference, what) {
	const item = { kind, id: `${kind}_${randomUUID()}`, reference, at: now() };
	book.unshift(item);
	return change(item, what);
}

function get(name) {
	const item = book.find(({ id, reference }) =>
		id === name || reference === name);
	const isOver = item?.state === "open" && item.expires_at <= now();
	return isOver ? change(item, { state: "expired" }) : item;
}

const settle = (refund) => setTimeout(change, 500, refund,
	{ state: "succeeded" }, "refunded");
book.filter(({ state }) => state === "pending").forEach(settle);

Object.assign(provider, {
	find: async (name) => get(name),

	async checkout(reference, order) {
		const item = get(reference) ||
			add("session", reference, { ...order, state: "open" });
		return { ...item, url: `http://127.0.0.1:${PAY_PORT}/${item.id}` };
	},

	async close(id) {
		const item = get(id);
		return item?.state === "open" ? change(item, { state: "expired" })
			: item;
	},

	async refund(reference, order) {
		const all = book.filter(({ payment }) => payment === order.payment);
		const left = all.reduce((sum, { kind, amount }) =>
			sum + (kind === "refund" ? -amount : amount), 0);
		if (get(reference))
			return get(reference);
		if (order.amount > left)
			refuse("not_so_much_left");
		const refund = add("refund", reference, { ...order, state: "pending" });
		settle(refund);
		return refund;
	},

	async list(name, since, cursor) {
		const all = book.filter(({ kind, state, at }) => `${kind}s` === name &&
			state !== "open" && at >= since);
		const from = all.findIndex(({ id }) => id === cursor) + 1;
		const items = all.slice(from, from + LIMIT);
		return { items, cursor: all[from + LIMIT] ? items.at(-1).id : null };
	},
});

http.createServer((req, res) => {
	const item = get(req.url.slice(1));
	if (!item)
		return res.writeHead(404).end();
	if (req.method === "GET")
		return res.writeHead(200, { "content-type": "text/html" }).end(PAGE);
	if (item.state === "open")
		change(item, { state: "paid", payment: `pay_${randomUUID()}` }, "paid");
	return res.writeHead(303, { location: item.return_url }).end();
}).listen(PAY_PORT, "127.0.0.1");

module.exports = provider;
