"use strict";
// /pay-callback: who may speak, how, and how old it may be.

const test = require("node:test");
const assert = require("node:assert/strict");
const fs = require("node:fs");
const stripe = require("./lib/stripe.js");
const shop = require("./lib/shop.js");

const { stored } = stripe;

test("C23: the signature is checked over the bytes received", async () => {
	const before = await stored();
	const bodies = [
		"{ \"id\":\"%\",\n  \"type\":\"x.y\", \"note\":\"esc \\u001B end\", " +
			"\"data\":{\"object\":{}}}\n",
		"{\"id\":\"%\",\"type\":\"x.y\",\"note\":\"\u{1F3AB} caf\u00e9\"," +
			"\"data\":{\"object\":{}}}",
	].map((text) => text.replace("%", stripe.id("evt_")));
	for (const body of bodies)
		assert.equal((await stripe.post(body)).status, 200);
	const [escapes, accents] = bodies;
	const altered = [
		[escapes, JSON.stringify(JSON.parse(escapes))],
		[escapes, escapes.replace("\\u001B", "\\u001b")],
		[escapes, escapes.trimEnd()],
		[accents, `${accents}\n`],
		[accents, accents.normalize("NFD")],
		[accents, `\ufeff${accents}`],
	];
	for (const [body, changed] of altered) {
		assert.notEqual(body, changed);
		const answer = await stripe.post(changed,
			{ header: stripe.signature(Buffer.from(body)) });
		assert.equal(answer.status, 400);
	}
	assert.equal(await stored(), before + bodies.length);
});

test("C26: one good v1 is enough, in any place; nothing else is", async () => {
	const before = await stored();
	const body = () => JSON.stringify(stripe.event("x.y", {}));
	const secret = shop.setting("stripe", "webhook_secret");
	const zeros = "0".repeat(64);
	const t = stripe.now();
	const good = [
		(mac) => `t=${t},v1=${mac}`,
		(mac) => `v1=${mac},t=${t}`,
		(mac) => `t=${t},v1=${zeros},v1=${mac}`,
		(mac) => `t=${t},v1=${mac},v1=${zeros}`,
		(mac) => `t=${t},v0=${zeros},v1=${mac},v2=x,scheme=y`,
		(mac) => `t=${t},v1=,v1=abc,v1=${mac}`,
	];
	const bad = [
		() => null, () => "", () => `t=${t}`, () => `v1=${zeros}`,
		(mac) => `v1=${mac}`, () => `t=${t},v1=`, () => `t=${t},v1=${zeros}`,
		(mac) => `t=${t},v1=${mac.slice(1)}`,
		(mac) => `t=${t},v1=${mac.toUpperCase()}`,
		(mac) => `t=${t},v1=${mac}0`, (mac) => `t=${t},v0=${mac}`,
		(mac) => `t=${t},v1= ${mac}`, (mac) => `t=${t};v1=${mac}`,
		(mac) => `t=${t}, v1=${mac}`, (mac) => `t=${t},t=${t},v1=${mac}`,
		(mac, text) => `t=${t},v1=${stripe.mac("", t, text)}`,
		(mac, text) => `t=${t},v1=${stripe.mac("whsec_third", t, text)}`,
		(mac, text) =>
			`t=${t},v1=${stripe.mac(secret.slice(6), t, text)}`,
		() => `t=${t},v1=${"\u00e9".repeat(32)}`, () => "\t,=,=,,",
		(mac) => `t=${t}${`,v1=${zeros}`.repeat(20)},v1=${mac}`,
	];
	for (const make of good) {
		const text = body();
		const header = make(stripe.mac(secret, t, text), text);
		const answer = await stripe.post(text, { header });
		assert.equal(answer.status, 200, header);
	}
	for (const make of bad) {
		const text = body();
		const header = make(stripe.mac(secret, t, text), text);
		const answer = await stripe.post(text, { header });
		assert.equal(answer.status, 400, String(header));
		assert.equal(answer.json.detail, undefined, "no detail for a probe");
	}
	assert.equal(await stored(), before + good.length);
});

test("C26: while a secret is rolled, both are accepted", async () => {
	const old = shop.setting("stripe", "webhook_secret");
	const fresh = "whsec_rolled_0123456789abcdef";
	const status = async (secret) => (await stripe.post(
		JSON.stringify(stripe.event("x.y", {})), { secret })).status;
	await shop.withSettings({ webhook_secret: fresh,
		old_webhook_secret: old }, async () => {
		assert.equal(await status(old), 200);
		assert.equal(await status(fresh), 200);
	});
	await shop.withSettings({ webhook_secret: fresh }, async () => {
		assert.equal(await status(old), 400);
		assert.equal(await status(fresh), 200);
	});
	assert.equal(await status(old), 200);
});

// Settings go from A to B with A still known, the provider goes over to B, A is
// forgotten; then all the way back.
test("C26: a secret is rolled and back while events stream in: none is refused",
	async () => {
		const old = shop.setting("stripe", "webhook_secret");
		const fresh = "whsec_streamed_0123456789abcdef";
		let secrets = [old];
		let on = true;
		let taken = 0;
		const stream = Promise.all(Array.from({ length: 4 }, async () => {
			while (on) {
				const body = JSON.stringify(stripe.event("x.y", {}));
				const t = stripe.now();
				const header = [`t=${t}`, ...secrets.map((secret) =>
					`v1=${stripe.mac(secret, t, body)}`)].join();
				const { status } = await stripe.post(body, { header });
				assert.equal(status, 200);
				taken += 1;
			}
		}));
		const sign = async (...by) => {
			secrets = by;
			// Also what was signed before has been taken.
			const enough = taken + 20;
			await Promise.race([stream,
				shop.until("20 more", () => taken >= enough)]);
		};
		const roll = async () => {
			await sign(old);
			await shop.withSettings({ webhook_secret: fresh,
				old_webhook_secret: old }, async () => {
				await sign(old);
				// As the provider does for a day.
				await sign(old, fresh);
				await sign(fresh);
				await shop.withSettings({ old_webhook_secret: "" }, () =>
					sign(fresh));
				await sign(old);
			});
			await sign(old);
		};
		try {
			await Promise.race([stream, roll()]);
		} finally {
			on = false;
		}
		await stream;
		assert.ok(taken > 120);
	});

test("C26: an empty secret is refused, and what runs goes on", async () => {
	const text = fs.readFileSync(shop.CONF, "utf8");
	const { workers } = shop;
	const before = workers();
	try {
		fs.writeFileSync(shop.CONF, text.replace(/^webhook_secret =.*$/m,
			"webhook_secret ="));
		process.kill(shop.pidOf("serve"), "SIGHUP");
		const check = await shop.lastpair("serve", "--check");
		assert.equal(check.status, 1);
		assert.match(check.err, /stripe\.webhook_secret/);
		const start = await shop.lastpair("serve");
		assert.deepEqual([start.status, start.err], [1, check.err]);
		await shop.until("the log says so", () => fs.readFileSync(
			`${shop.STATE}/log/serve.log`, "utf8").split("\n").slice(-5)
			.some((line) => line.includes("keeping the old")));
	} finally {
		fs.writeFileSync(shop.CONF, text);
	}
	const body = JSON.stringify(stripe.event("x.y", {}));
	assert.equal((await stripe.post(body, { secret: "" })).status, 400);
	assert.equal((await stripe.post(body)).status, 200);
	assert.deepEqual(workers(), before);
});

test("C28: 300 s both ways; a refused copy is not remembered", async () => {
	const event = stripe.event("x.y", {});
	const body = JSON.stringify(event);
	const secret = shop.setting("stripe", "webhook_secret");
	const now = stripe.now();
	for (const t of [now - 310, now + 310, "", "abc", "1e9",
		"12345678901234567890", `0${now}`, `+${now}`, `${now}x`, -now,
		now * 1000]) {
		const header = `t=${t},v1=${stripe.mac(secret, t, body)}`;
		assert.equal((await stripe.post(body, { header })).status, 400,
			String(t));
	}
	assert.equal(await stripe.inbox(event.id), undefined);
	for (const t of [now - 290, now + 290])
		assert.equal((await stripe.post(body, { t: stripe.now() + t - now }))
			.status, 200);
	assert.equal((await stripe.inbox(event.id)).deliveries, 2);
});

// How often the log says that webhooks were refused for this, of all processes.
function refused(words, from) {
	const counts = new Map();
	const lines = shop.log().slice(from).matchAll(new RegExp(
		`pid=(\\d+) .*refused a webhook ${words}.*: (\\d+) so far`, "g"));
	for (const [, pid, count] of lines)
		counts.set(pid, Number(count));
	return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

test("C28: refusals for their time have a count of their own", async () => {
	// The processes are new, so they begin at 0.
	await shop.reload();
	const from = shop.log().length;
	const body = JSON.stringify(stripe.event("x.y", {}));
	const old = "that was signed more than 300 s from now";
	const wrong = "with a wrong signature";
	let sent = 0;
	const late = async () => {
		sent += 1;
		assert.equal((await stripe.post(body,
			{ t: stripe.now() - 400 })).status, 400);
	};
	const early = async () => {
		sent += 1;
		assert.equal((await stripe.post(body,
			{ t: stripe.now() + 400 })).status, 400);
	};
	for (let i = 0; i < 10; i += 1) {
		await late();
		await early();
	}
	// Told once a second and process at most; the next one tells them all.
	await shop.until("all are told", async () => {
		await late();
		return refused(old, from) >= 20;
	});
	assert.ok(refused(old, from) <= sent);
	assert.equal(refused(wrong, from), 0);
	assert.equal((await stripe.post(body, { secret: "whsec_x" })).status, 400);
	await shop.until("the other, too", () => refused(wrong, from) === 1);
});

test("unsigned bytes are never parsed and cost nothing", async () => {
	const before = await stored();
	for (const body of ["[".repeat(100000), "{", "", "x".repeat(1000)]) {
		const answer = await shop.cheap(() => stripe.post(body,
			{ header: `t=${stripe.now()},v1=${"0".repeat(64)}` }));
		assert.equal(answer.status, 400);
	}
	assert.equal(await stored(), before);
});
