"use strict";
// What must be true of the money when all is over: the provider's books, the
// shop's and the stock, compared order by order and in the sum.

const assert = require("node:assert/strict");
const { sql } = require("../../flow/lib/sql.js");
const { list } = require("./provider.js");

// The shop's side: an order and each of its payments. `failed`: what a person
// has on the list to give back another way.
const orders = () => sql().rows(`select h.id, h.state, h.amount, h.currency,
	(select coalesce(sum(l.qty * l.price), 0)::bigint from data.hold_line l
		where l.hold_id = h.hold_id and l.state = 'paid') as goods,
	coalesce((select json_agg(json_build_object('key', p.key,
		'captured', p.captured, 'state', p.state,
		'dispute', api.dispute_summary(p.payment_id),
		'buys', not exists (select from data.refund r
			where r.payment_id = p.payment_id
			and r.reason in ('paid_late', 'paid_twice')),
		'returned', (select coalesce(sum(r.amount), 0) from data.refund r
			where r.payment_id = p.payment_id and r.state = 'succeeded'),
		'failed', (select coalesce(sum(r.amount), 0) from data.refund r
			where r.payment_id = p.payment_id and r.state = 'failed'
			and exists (select from data.task t
				where t.refund_id = r.refund_id)),
		'waits', (select json_agg(concat_ws(' ', r.key, r.reason, r.state,
				o.try || ' tries', case when o.stuck then 'stuck' end,
				'done ' || o.done_at, o.last_error))
			from data.refund r left join data.outbox o using (refund_id)
			where r.payment_id = p.payment_id
			and r.state in ('owed', 'pending')),
		'dropped', exists (select from data.refund r
			where r.payment_id = p.payment_id and r.state = 'void')))
		from data.payment p where p.hold_id = h.hold_id
			and p.captured > 0), '[]') as payments
	from data.hold h`);

// The provider's side, by the hold that the payment's metadata name.
const payments = () => sql().rows(`select
	s.payment_metadata ->> 'hold_id' as hold, p.id, upper(s.currency)
		as currency,
	case when p.state = 'succeeded' then p.amount else 0 end as captured,
	(select coalesce(sum(r.amount), 0)::bigint from sandbox_data.refund r
		where r.payment_id = p.payment_id and r.status = 'succeeded')
		as returned
	from sandbox_data.payment p join sandbox_data.session s using (session_id)`);

// No refund of ours was sent twice; none gives back more than was paid.
async function noneTwice() {
	const keys = new Map();
	for (const refund of await list("refunds", "refund_key")) {
		const { key } = refund.metadata;
		if (key)
			assert.ok(!keys.has(key), `sent twice: ${key}`);
		keys.set(key, refund.id);
	}
	for (const payment of await payments())
		assert.ok(payment.returned <= payment.captured,
			`${payment.id} gave back ${payment.returned} of ${
				payment.captured}`);
}

// What of a payment stays here, and why: it buys the goods, or a person has
// to give it back another way, or the bank has taken it. Nothing else does.
function kept(order, payment) {
	const { key, captured, returned, failed, dispute } = payment;
	const rest = captured - returned;
	assert.ok(!payment.waits, `${key}: a refund still waits: ${
		payment.waits}`);
	assert.equal(payment.state, "paid", `${key}: ${payment.state}`);
	// One that was promised is dropped when nothing is left to give back.
	assert.ok(!payment.dropped || rest === failed || dispute === "lost",
		`${key}: a refund was dropped, and ${rest} is here`);
	if (order.state === "paid" && payment.buys && rest > 0) {
		assert.equal(captured, order.amount, `${key}: not the price`);
		return { buys: rest };
	}
	assert.ok(rest === failed || dispute === "lost",
		`${key}: ${rest} of ${captured} is here for nothing, a ${
			order.state} order`);
	return { excused: rest };
}

// Who was charged has goods, the money back, or a place on the list for just
// that money; who has goods has paid for them, once.
async function check() {
	const theirs = new Map();
	for (const { hold, captured, returned } of await payments()) {
		const before = theirs.get(hold) || { captured: 0, returned: 0 };
		theirs.set(hold, { captured: before.captured + captured,
			returned: before.returned + returned });
	}
	const sums = { captured: {}, returned: {}, goods: {}, parts: {},
		excused: {} };
	const add = (sum, { currency }, amount) => {
		sums[sum][currency] = (sums[sum][currency] || 0) + amount;
	};
	const sum = (list, what) =>
		list.reduce((all, entry) => all + (entry[what] || 0), 0);
	for (const order of await orders()) {
		const there = theirs.get(order.id) || { captured: 0, returned: 0 };
		theirs.delete(order.id);
		assert.equal(sum(order.payments, "captured"), there.captured,
			`${order.id}: captured here and there`);
		assert.equal(sum(order.payments, "returned"), there.returned,
			`${order.id}: given back here and there`);
		const served = order.state === "paid";
		assert.equal(order.goods, served ? order.amount : 0,
			`${order.id}: ${order.state}, with goods of ${order.goods}`);
		const stays = order.payments.map((payment) => kept(order, payment));
		assert.equal(stays.filter(({ buys }) => buys).length,
			served ? 1 : 0, `${order.id}: how many payments buy it`);
		add("captured", order, there.captured);
		add("returned", order, there.returned);
		add("goods", order, order.goods);
		// A part of the price may have been given back.
		add("parts", order, order.goods - sum(stays, "buys"));
		add("excused", order, sum(stays, "excused"));
	}
	assert.deepEqual([...theirs.keys()], [], "money of no order of ours");
	await noneTwice();
	return sums;
}

module.exports = { check };
