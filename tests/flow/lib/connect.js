"use strict";
// Connects an imaginary provider, whose book is in memory, to a shop:
// PORT=9000 SECRET=whsec_... HOOK=https://shop.example/pay-callback/standard
const http = require("node:http");
const { createHmac, randomUUID, timingSafeEqual } = require("node:crypto");

const { PORT, SECRET, HOOK } = process.env;
const KEY = Buffer.from(SECRET.replace("whsec_", ""), "base64");
const book = { sessions: [], refunds: [], events: [] };
const now = () => Math.floor(Date.now() / 1000);
const find = (list, like) => book[list].find((item) => Object.entries(like)
	.every(([name, value]) => item[name] === value));
const add = (list, item) => {
	book[list].unshift(item);
	return item;
};
const sign = (id, time, body) => Buffer.from(`v1,${createHmac("sha256", KEY)
	.update(`${id}.${time}.`).update(body).digest("base64")}`);

function isShop(headers, body) {
	const time = headers["webhook-timestamp"];
	const right = sign(headers["webhook-id"], time, body);
	return Math.abs(now() - time) <= 300 &&
		String(headers["webhook-signature"]).split(" ").some((text) =>
			text.length === right.length &&
				timingSafeEqual(Buffer.from(text, "latin1"), right));
}

// Until the shop has it: under the same id, signed anew each time.
async function tell(event, time = now()) {
	const body = JSON.stringify(event);
	const headers = { "content-type": "application/json",
		"webhook-id": event.id, "webhook-timestamp": time,
		"webhook-signature": sign(event.id, time, body) };
	await fetch(HOOK, { method: "POST", headers, body }).then(({ ok }) => {
		event.told = ok || undefined;
	}, () => {});
	if (!event.told)
		setTimeout(tell, 5000, event);
}

const change = (item, type, news) => tell(add("events", { type, at: now(),
	id: `evt_${randomUUID()}`, timestamp: new Date().toISOString(),
	data: { ...Object.assign(item, news) } }));

// What the shop asks for. Asked twice, open and send do it once.
const calls = {
	"session.open"(data) {
		const { session } = find("sessions", { key: data.key }) ||
			add("sessions", { ...data, session: `ses_${randomUUID()}`,
				state: "open", at: now() });
		return { session, url: `http://127.0.0.1:${PORT}/${session}` };
	},
	"session.show"({ session }) {
		const found = find("sessions", { session });
		if (found?.state === "open" && found.expires_at <= now())
			found.state = "expired";
		return found;
	},
	"session.end"({ session }) {
		Object.assign(find("sessions", { session }) || {}, { expires_at: 0 });
		return calls["session.show"]({ session });
	},
	"refund.send"(data) {
		const found = find("refunds", { key: data.key });
		const refund = found || add("refunds", { ...data, state: "pending",
			refund: `ref_${randomUUID()}`, at: now() });
		if (!found)
			setTimeout(change, 500, refund, "refund.updated",
				{ state: "succeeded" });
		return refund;
	},
	"refund.show": (like) => find("refunds", like) || { refund: null },
	"event.show": ({ event }) => find("events", { id: event }),
	list: ({ list, since }) => ({ items: book[list].filter((item) =>
		item.at >= since && item.state !== "open" && !item.told) }),
};

http.createServer(async (req, res) => {
	const body = Buffer.concat(await req.toArray());
	const buyer = calls["session.show"]({ session: req.url.slice(1) });
	const say = (status, text, headers = { "content-type":
		"application/json" }) => res.writeHead(status, headers).end(text);
	if (buyer && req.method === "GET")
		return say(200, "<form method=\"post\"><button name=\"do\" value=" +
			"\"pay\">Pay</button></form>", { "content-type": "text/html" });
	if (buyer && buyer.state === "open")
		change(buyer, "payment.paid",
			{ state: "paid", payment: `pay_${randomUUID()}` });
	if (buyer)
		return say(303, "", { location: buyer.return_url });
	if (!isShop(req.headers, body))
		return say(401, "{\"error\":\"signature\"}");
	const { type, data } = JSON.parse(body);
	const answer = calls[type]?.(data);
	return say(answer ? 200 : 404, JSON.stringify(answer || {}));
}).listen(PORT, "127.0.0.1");
