"use strict";
// Mail: buyers who left an address, and the operator, hear of what happens to
// the money; through a folder, and through a mail server that is not always in
// the mood.

const test = require("node:test");
const assert = require("node:assert/strict");
const { Buyer, SHOP } = require("./lib/http.js");
const { until } = require("./lib/wait.js");
const { age, sql, quote } = require("./lib/sql.js");
const { pageOf, press, turns } = require("./lib/pay.js");
const { address, mailsTo, kindsTo, mailOf, MailServer } =
	require("./lib/mail.js");
const provider = require("./lib/provider.js");
const shop = require("./lib/shop.js");

const OPERATOR = shop.setting("mail", "operator");

// A buyer who left an address, at the pay page of a hold of item, or of an
// item of their own.
async function buyerWithMail({ item: known, to = address(), ...options } = {}) {
	const item = known || await shop.item(options);
	const buyer = new Buyer();
	const { json, status, text } = await buyer.post(
		`/hold?item=${encodeURIComponent(item)}`, { item, qty: 1, email: to });
	assert.equal(status, 201, text);
	const url = await pageOf(buyer, json.id);
	return { buyer, to, item, url, hold: json.id, order: json.order };
}

async function pays({ buyer, hold, url }) {
	await press(url, "pay");
	await turns(buyer, hold, "paid");
}

// The row behind a mail, once it is in this state.
const row = (hold, kind, condition) => until(`mail ${kind} is ${condition}`,
	() => sql().row(`select m.* from data.mail m join data.hold h
		using (hold_id) where h.id = ${quote(hold)}
		and m.kind = ${quote(kind)} and ${condition}`));

// Lets a mail that waits for its next try be due now.
const hurry = () => sql().run(`update data.mail set next_try =
	clock_timestamp() where done_at is null;
	select pg_notify('lastpair_courier', '')`);

test("a paid order is confirmed: what, how much, where to look", async () => {
	const bought = await buyerWithMail({ title: "Schöne Lampe, 42 €",
		price: "129.00" });
	await pays(bought);
	const mail = await mailOf(bought.to, "paid");
	assert.equal(mail.subject, `Order ${bought.order} is paid`);
	assert.match(mail.text, /1 x Schöne Lampe, 42 €\n/);
	assert.match(mail.text, new RegExp(`Order number: ${bought.order}\n`));
	assert.match(mail.text, /Price: 129\.00 EUR\n/);
	assert.ok(mail.text.includes(`\n${SHOP}/order/${bought.hold}\n`));
	// What a mail server and a reader need; nothing but 7-bit lines.
	assert.match(mail.headers.from, /^"Lastpair" <shop@localhost\.invalid>$/);
	assert.ok(Math.abs(Date.parse(mail.headers.date) - Date.now()) < 60000);
	assert.match(mail.headers["message-id"],
		/^<paid-\d+-\d+@localhost\.invalid>$/);
	assert.equal(mail.headers["mime-version"], "1.0");
	assert.match(mail.headers["content-type"], /^text\/plain; charset=utf-8$/);
	assert.doesNotMatch(mail.raw, /[^\r\n -~]|[^\r]\n|\r[^\n]|.{77}/);
	// Who may pay, or has paid how, is not for a mailbox.
	assert.doesNotMatch(mail.text, /cs_|pi_|whsec|sk_|session/);
	assert.ok(!mail.text.includes(bought.url));
	await shop.audit();
});

test("C02, C22: the same news again is not told again", async () => {
	const bought = await buyerWithMail();
	await pays(bought);
	await mailOf(bought.to, "paid");
	await provider.resend(bought.hold);
	// A later mail has come: so would have an earlier one.
	const next = await buyerWithMail();
	await pays(next);
	await mailOf(next.to, "paid");
	assert.deepEqual(kindsTo(bought.to), ["paid"]);
});

test("who left no address is not written to", async () => {
	const item = await shop.item();
	const buyer = new Buyer();
	const { json } = await buyer.take(item);
	await press(await pageOf(buyer, json.id), "pay");
	await turns(buyer, json.id, "paid");
	assert.equal((await sql().row(`select count(*) as n from data.mail
		join data.hold h using (hold_id) where h.id = ${quote(json.id)}`)).n,
	0);
});

test("C29: a bank that takes its time: on its way, then paid or not",
	async () => {
		const first = await buyerWithMail();
		await provider.bank(first.hold, null);
		assert.match((await mailOf(first.to, "pending")).words,
			/do not pay again/);
		await provider.bank(first.hold, "succeeded");
		await mailOf(first.to, "paid");
		assert.deepEqual(kindsTo(first.to), ["pending", "paid"]);
		const second = await buyerWithMail();
		await provider.bank(second.hold, null);
		await mailOf(second.to, "pending");
		await provider.bank(second.hold, "failed");
		assert.match((await mailOf(second.to, "payment_failed")).words,
			/You owe nothing/);
		await shop.audit();
	});

test("C11: paid late: served all the same, or sent back and told why",
	async () => {
		const served = await buyerWithMail({ total: 1 });
		await age(served.hold, 605);
		await provider.payAnyway(served.hold);
		assert.match((await mailOf(served.to, "paid_late")).words,
			/your order is complete all the same/);
		const item = await shop.item({ total: 1 });
		const late = await buyerWithMail({ item });
		await age(late.hold, 605);
		await pays(await buyerWithMail({ item }));
		await provider.payAnyway(late.hold);
		const mail = await mailOf(late.to, "refunded");
		assert.equal(mail.subject,
			`Order ${late.order}: 25.00 EUR has been sent back`);
		assert.match(mail.words, /by then nothing was left for you/);
		assert.match(mail.words, /Your order is closed/);
		await shop.audit();
	});

test("a refund that fails: the buyer and the operator are told", async () => {
	const item = await shop.item({ total: 1 });
	const late = await buyerWithMail({ item });
	await age(late.hold, 605);
	await pays(await buyerWithMail({ item }));
	const intent = await provider.payAnyway(late.hold);
	await mailOf(late.to, "refunded");
	const [refund] = await provider.refunds(intent);
	await provider.refundFails(refund.id);
	assert.match((await mailOf(late.to, "refund_failed")).words,
		/your bank did not take it/);
	const told = await until("the operator is told", () => mailsTo(OPERATOR)
		.find(({ subject }) => subject === `A refund has failed: ${late.order}`));
	const [, task] = /lastpair task settle (\d+) --note/.exec(told.text);
	assert.match(told.text, new RegExp(`lastpair order show ${late.order}\n`));
	assert.equal((await sql().row(`select kind from data.task
		where task_id = ${task}`)).kind, "refund_failed");
});

test("a mail server: takes, is busy, refuses, loses the answer", async () => {
	const said = new Map(); // by address: what it is answered, in order
	const server = new MailServer((verb, line, mail) => {
		const to = mail ? mail.to : (/<(.*?)>/.exec(line) || [])[1];
		const next = (said.get(to) || [])[0];
		if (!next || next[0] !== verb)
			return undefined;
		said.get(to).shift();
		return next[1];
	});
	const url = await server.start();
	const [plain, busy, refused, lost] =
		["plain", "busy", "refused", "lost"].map(address);
	said.set(busy, [["RCPT", "450 busy"], [".", "451 busy"]]);
	said.set(refused, [["RCPT", `550 no ${refused} here`]]);
	said.set(lost, [[".", null]]);
	try {
		await shop.withSettings({ smtp_url: url, folder: "" }, async () => {
			const holds = {};
			for (const to of [plain, busy, refused, lost]) {
				const bought = await buyerWithMail({ to });
				await pays(bought);
				holds[to] = bought.hold;
			}
			const taken = (to) => server.mails.filter((mail) =>
				mail.to === to);
			const tried = (to) => server.tried.filter((mail) =>
				mail.to === to);
			for (const to of [plain, busy, lost])
				await until(`mail to ${to}`, async () => {
					await hurry();
					return taken(to).length === 1;
				});
			for (const to of [plain, busy, lost])
				await row(holds[to], "paid", "m.done_at is not null");
			assert.equal(taken(plain)[0].from, "shop@localhost.invalid");
			assert.match(taken(plain)[0].subject, /is paid$/);
			assert.equal(tried(busy).length, 2);
			// The server may know the second for the same.
			assert.equal(tried(lost).length, 2);
			assert.equal(tried(lost)[0].headers["message-id"],
				tried(lost)[1].headers["message-id"]);
			const { stuck, try: tries, last_error: why } =
				await row(holds[refused], "paid", "m.stuck");
			assert.deepEqual([stuck, tries], [true, 1]);
			assert.equal(why,
				`status 550 to RCPT: 550 no ${refused} here`);
			// Somebody is told, and can have it sent again.
			const list = await shop.lastpair("task", "list", "--json");
			const { task } = list.json().find(({ kind }) => kind === "mail");
			const told = await until("the operator is told", () =>
				server.mails.find(({ subject }) => subject ===
					"Mail to a buyer could not be sent: mail to buyers"));
			assert.match(told.text, new RegExp(`task retry ${task}\n`));
			const again = await shop.lastpair("task", "retry", String(task));
			assert.match(again.out, /the mail is sent again\n$/);
			await row(holds[refused], "paid", "m.done_at is not null");
			assert.equal(taken(refused).length, 1);
		});
	} finally {
		await server.stop();
	}
	await shop.audit();
});

test("C52: the courier dies while it sends: the mail goes out again, known",
	async () => {
		let waits;
		// Mail to the operator may be under way, too.
		const to = address();
		const server = new MailServer((verb, line, mail) =>
			mail && mail.to === to && !waits ? new Promise((done) => {
				waits = done;
			}) : undefined);
		const url = await server.start();
		try {
			await shop.withSettings({ smtp_url: url, folder: "" }, async () => {
				const bought = await buyerWithMail({ to });
				await pays(bought);
				await until("the courier waits for an answer", () => waits);
				const pid = shop.processOf("courier");
				process.kill(pid, "SIGKILL");
				await until("there is another", () =>
					(shop.processes().get("courier") || pid) !== pid);
				waits("250 fine");
				await hurry();
				await row(bought.hold, "paid", "m.done_at is not null");
				const ids = server.tried.filter((mail) => mail.to === to)
					.map(({ headers }) => headers["message-id"]);
				assert.equal(ids.length, 2);
				assert.equal(ids[0], ids[1]);
			});
		} finally {
			await server.stop();
		}
	});

test("without a way out, mails are void and nothing waits for them",
	async () => {
		await shop.withSettings({ folder: "" }, async () => {
			const bought = await buyerWithMail();
			await pays(bought);
			assert.equal((await row(bought.hold, "paid",
				"m.done_at is not null")).last_error, "no mail is set up");
			assert.deepEqual(mailsTo(bought.to), []);
		});
	});

test("settings that no mail can be sent with are refused", async () => {
	for (const [key, value] of [["OPERATOR", "Ann <ann@shop.test>"],
		["FROM", "the shop"], ["FROM", ""], ["SMTP_URL", "smtp://a.test"]]) {
		const check = await shop.lastpairWith(
			{ env: { [`LASTPAIR_MAIL_${key}`]: value } }, "serve", "--check");
		assert.equal(check.status, 1, `${key}=${value}`);
		assert.match(check.err,
			new RegExp(`^lastpair: mail\\.${key.toLowerCase()} .+\n$`));
	}
	assert.equal((await shop.lastpair("serve", "--check")).status, 0);
});
