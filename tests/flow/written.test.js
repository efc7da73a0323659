"use strict";
// What the shop has written down while the files before this one, the last by
// name, did their worst: no log and no mail holds a secret or a way to pay.

const test = require("node:test");
const assert = require("node:assert/strict");
const fs = require("node:fs");
const { sql } = require("./lib/sql.js");
const { address } = require("./lib/mail.js");
const { payable, press, turns } = require("./lib/pay.js");
const stripe = require("./lib/stripe.js");
const shop = require("./lib/shop.js");

// All that is written in a folder, by name.
const texts = (folder) => fs.readdirSync(folder).map((name) =>
	[`${folder}/${name}`, fs.readFileSync(`${folder}/${name}`, "utf8")]);

test("no secret and no pay page's address is in any log or mail", async () => {
	const { buyer, hold, url } = await payable({ email: address() });
	await press(url, "pay");
	await turns(buyer, hold, "paid");
	assert.equal((await stripe.post("{}", { secret: "whsec_wrong" })).status,
		400);
	const secrets = fs.readFileSync(shop.CONF, "utf8").split("\n")
		.map((line) => /^\w*(?:secret|key) *= *(\S{8,})$/.exec(line))
		.filter((found) => found).map(([, secret]) => secret);
	assert.ok(secrets.length >= 4);
	const pages = await sql().rows("select url from sandbox_data.session");
	assert.ok(pages.some((page) => page.url === url));
	// Also those that a test made up look like this.
	const words = ["whsec_", "whsk_", "sk_test_", "rk_test_", ...secrets,
		...pages.map((page) => new URL(page.url).pathname)];
	const written = [...texts(`${shop.STATE}/log`),
		...texts(`${shop.STATE}/mail`)]
		// The provider's own log of who asked it for what is not ours.
		.filter(([name]) => !name.endsWith("/nginx-sandbox.log"));
	assert.ok(written.some(([, text]) => text.includes(hold)));
	for (const [name, text] of written)
		assert.equal(words.find((word) => text.includes(word)), undefined,
			name);
});
