"use strict";
// What the database brings with it: big numbers, zones, a cashier that dies.

const test = require("node:test");
const assert = require("node:assert/strict");
const { Buyer } = require("./lib/http.js");
const { until } = require("./lib/wait.js");
const { sql, quote } = require("./lib/sql.js");
const { pageOf, press, turns } = require("./lib/pay.js");
const provider = require("./lib/provider.js");
const shop = require("./lib/shop.js");

// The call of a hold's outbox, while it is not done.
function call(hold, kind) {
	return sql().row(`select o.outbox_id as id, o.try from data.outbox o
		join data.payment p using (payment_id)
		join data.hold h on h.hold_id = p.hold_id
		where h.id = ${quote(hold)} and o.kind = ${quote(kind)}
		and o.done_at is null`);
}

// Kills the cashier in the middle of a call that `ask` brings about: the
// provider, which stands still, may have heard it or not. The next cashier
// finds the call to be nobody's, and makes it again.
async function killInCall(hold, kind, ask) {
	// The process that answers; the one that sends webhooks goes on.
	const server = shop.sandboxServer();
	// Else those of other tests may have all that can be under way at once.
	await until("no other call is due or under way", async () =>
		(await sql().row(`select count(*) as n from data.outbox
			where done_at is null and not stuck and next_try
			< clock_timestamp() + interval '2 minutes'
			and (try > 0 or next_try <= clock_timestamp())`)).n === 0,
	{ within: 90000 });
	await ask.before();
	await shop.frozen([server], async () => {
		await ask.meanwhile();
		await until("the call is under way", async () =>
			(await call(hold, kind) || { try: 0 }).try === 1);
		process.kill(shop.processOf("cashier"), "SIGKILL");
	});
}

const nothing = async () => {};

test("promise 9: durable, whatever the server's default is", async () => {
	// Tells in the hold's e-mail how its transaction will commit.
	await sql().run(`create function public.tell() returns trigger
		language plpgsql as $$ begin
			new.email := current_setting('synchronous_commit'); return new;
		end $$;
		create trigger tell before insert on data.hold
			for each row execute function public.tell();
		alter role lastpair_web set synchronous_commit = off`);
	try {
		await shop.reload();
		const { json } = await new Buyer().take(await shop.item());
		assert.deepEqual(await sql().row(`select email from data.hold
			where id = ${quote(json.id)}`), { email: "on" });
	} finally {
		await sql().run(`alter role lastpair_web reset synchronous_commit;
			drop trigger tell on data.hold; drop function public.tell()`);
		await shop.reload();
	}
	await shop.audit();
});

test("C52: the cashier dies while it opens a session: one session",
	async () => {
		const item = await shop.item({ total: 1 });
		const buyer = new Buyer();
		const { json } = await buyer.take(item);
		await killInCall(json.id, "open", { before: nothing,
			meanwhile: async () =>
				assert.equal((await buyer.pay(json.id)).status, 202) });
		await pageOf(buyer, json.id);
		assert.equal(await provider.sessionCount(json.id), 1);
		await shop.audit();
	});

test("C52: the cashier dies while it refunds: one refund", async () => {
	const item = await shop.item({ total: 5, late: "refund" });
	const buyer = new Buyer();
	const { json } = await buyer.take(item);
	await pageOf(buyer, json.id);
	await buyer.drop(json.id);
	await until("the session has ended", async () =>
		(await provider.session(json.id)).status === "expired");
	await killInCall(json.id, "refund", { meanwhile: nothing,
		before: () => provider.payAnyway(json.id, 2000) });
	await turns(buyer, json.id, "refunded");
	const { payment_intent: intent } = await provider.session(json.id);
	assert.equal((await provider.refunds(intent)).length, 1);
	await shop.audit();
});

test("C56: ids beyond 32 bits and beyond 2^53 travel whole", async () => {
	for (const start of ["2147483640", "9007199254740990"]) {
		// Only ever forward: what has been given out stays unique.
		await sql().run(`select setval(s, greatest(${start},
				(select last_value from data.hold_hold_id_seq)))
			from pg_get_serial_sequence('data.hold', 'hold_id') s`);
		const item = await shop.item({ total: 20 });
		const numbers = [];
		for (let i = 0; i < 20; i += 1) {
			const buyer = new Buyer();
			const { json, status, text } = await buyer.take(item);
			assert.equal(status, 201, text);
			numbers.push(json.order);
			assert.equal((await shop.order(json.order)).hold.id, json.id);
		}
		assert.equal(new Set(numbers).size, 20);
		const last = BigInt(numbers.at(-1).slice("ord_".length));
		assert.ok(last >= BigInt(start) + 20n);
	}
	const item = await shop.item({ total: 1 });
	const buyer = new Buyer();
	const { json } = await buyer.take(item);
	await press(await pageOf(buyer, json.id), "pay");
	await turns(buyer, json.id, "paid");
	const object = await provider.session(json.id);
	assert.equal(object.client_reference_id, json.order);
	await shop.audit();
});

test("C76: 20,000 lapsed holds drain while buyers take: none waits long",
	async () => {
		const backlog = 20000;
		const item = await shop.item({ total: backlog + 1000 });
		await sql().run(`do $$
declare
	target bigint := (select item_id from data.item
		where sku = ${quote(item)});
	gone timestamptz := clock_timestamp() - interval '1 h';
begin
	update data.stock set held = held + ${backlog} where item_id = target;
	with made as (
		insert into data.hold (id, buyer, amount, currency, created_at,
			expires_at)
		select 'hld_' || left(md5(random()::text || n), 22),
			gen_random_uuid(), 2500, 'EUR', gone - interval '10 min', gone
		from generate_series(1, ${backlog}) n returning *)
	insert into data.hold_line (hold_id, item_id, bucket, qty, price, buyer,
		expires_at, lead)
	select hold_id, target, 1, 1, 2500, buyer, expires_at, true from made;
end
$$`);
		const answers = [];
		await until("all are back", async () => {
			answers.push((await new Buyer().take(item)).status);
			// One pass dies half-way; its slices stay done.
			if (answers.length === 3)
				process.kill(shop.processOf("sweeper"), "SIGKILL");
			return (await shop.stock(item)).held === answers.length;
		}, { within: 60000 });
		// A take that waited longer than lock_timeout_ms would be a 503.
		assert.ok(answers.every((status) => status === 201));
		await shop.audit();
	});
