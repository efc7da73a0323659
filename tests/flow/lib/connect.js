"use strict";
// Connects a provider to a shop, by Standard Webhooks both ways.
const http = require("node:http");
const { createHmac, timingSafeEqual } = require("node:crypto");
const provider = require("./imaginary.js"); // yours instead
const { PORT, SECRET, HOOK } = process.env;

const KEY = Buffer.from(SECRET.replace("whsec_", ""), "base64");
const JSON_TYPE = { "content-type": "application/json" };
const TYPES = { paid: "payment.paid", refunded: "refund.updated" };
const now = () => Math.floor(Date.now() / 1000);
const sign = (id, time, body) => Buffer.from(`v1,${createHmac("sha256", KEY)
	.update(`${id}.${time}.`).update(body).digest("base64")}`);

function isShop({ "webhook-id": id, "webhook-timestamp": time,
	"webhook-signature": signatures = "" }, body) {
	const right = sign(id, time, body);
	return Math.abs(now() - time) <= 300 && signatures.split(" ").some((one) =>
		one.length === right.length &&
			timingSafeEqual(Buffer.from(one, "latin1"), right));
}

// The provider's items in the shop's words: each is a session or a refund.
const json = (answer) => JSON.stringify(answer, (name, item) => item?.kind
	? { ...item, [item.kind]: item.id, key: item.reference } : item);
const calls = { // the provider does a thing once for each reference
	"session.open": ({ key, ...order }) => provider.checkout(key, order),
	"session.show": ({ session }) => provider.find(session),
	"session.end": ({ session }) => provider.close(session),
	"refund.send": ({ key, ...order }) => provider.refund(key, order),
	"refund.show": async ({ refund, key }) =>
		await provider.find(refund || key) || { refund: null },
	list: ({ list, since, cursor }) => provider.list(list, since, cursor),
};

// News, under its id until the shop has it: later and later, signed anew.
provider.on("news", async function tell(news, wait = 1000, time = now()) {
	const body = json({ ...news, type: TYPES[news.type] });
	const { ok } = await fetch(HOOK, { method: "POST", body, headers: {
		...JSON_TYPE, "webhook-id": news.id, "webhook-timestamp": time,
		"webhook-signature": sign(news.id, time, body),
	} }).catch((error) => error);
	if (!ok)
		setTimeout(tell, wait, news, Math.min(2 * wait, 60000));
});

http.createServer(async (req, res) => {
	const say = (code, what) => res.writeHead(code, JSON_TYPE).end(json(what));
	try {
		const isShort = req.headers["content-length"] < 65536;
		const body = isShort && Buffer.concat(await req.toArray());
		if (!body || !isShop(req.headers, body))
			return say(401, { error: "signature" });
		const { type, data } = JSON.parse(body);
		return calls[type](data).then((found) => say(found ? 200 : 404, found),
			({ refused }) => say(refused ? 422 : 503, { error: refused }));
	} catch { // no call of the shop's
		return say(400, { error: "malformed" });
	}
}).listen(PORT, "127.0.0.1");
