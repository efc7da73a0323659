"use strict";
// What must be true of the money when all is over: the provider's books, the
// shop's and the stock, compared order by order and in the sum.

const assert = require("node:assert/strict");
const { sql } = require("../../flow/lib/sql.js");
const { list } = require("./provider.js");

// The shop's side: an order, its payments, what of it is on somebody's list.
const orders = () => sql().rows(`select h.id, h.state, h.amount, h.currency,
	(select coalesce(sum(l.qty * l.price), 0)::bigint from data.hold_line l
		where l.hold_id = h.hold_id and l.state = 'paid') as goods,
	(select coalesce(sum(p.captured), 0)::bigint from data.payment p
		where p.hold_id = h.hold_id) as captured,
	(select coalesce(sum(r.amount), 0)::bigint from data.refund r
		join data.payment p using (payment_id)
		where p.hold_id = h.hold_id and r.state = 'succeeded') as returned,
	exists (select from data.task t
		where t.hold_id = h.hold_id) as listed
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

// Who was charged has goods, the money back, or a place on the list; who has
// goods has paid for them.
async function check() {
	const theirs = new Map();
	for (const { hold, captured, returned } of await payments()) {
		const before = theirs.get(hold) || { captured: 0, returned: 0 };
		theirs.set(hold, { captured: before.captured + captured,
			returned: before.returned + returned });
	}
	const sums = { captured: {}, returned: {}, goods: {}, parts: {},
		excused: {} };
	let excused = 0;
	const add = (sum, { currency }, amount) => {
		sums[sum][currency] = (sums[sum][currency] || 0) + amount;
	};
	for (const order of await orders()) {
		const there = theirs.get(order.id) || { captured: 0, returned: 0 };
		theirs.delete(order.id);
		assert.equal(order.captured, there.captured,
			`${order.id}: captured here and there`);
		assert.equal(order.returned, there.returned,
			`${order.id}: given back here and there`);
		const kept = there.captured - there.returned;
		const served = order.state === "paid";
		assert.equal(order.goods, served ? order.amount : 0,
			`${order.id}: ${order.state}, with goods of ${order.goods}`);
		add("captured", order, there.captured);
		add("returned", order, there.returned);
		add("goods", order, order.goods);
		if (served && kept > 0 && kept <= order.goods) {
			// A part of the price may have been given back.
			add("parts", order, order.goods - kept);
		} else if (kept !== order.goods) {
			assert.ok(order.listed, `${order.id}: ${kept} kept for goods ` +
				`of ${order.goods}, and on nobody's list`);
			add("excused", order, kept - order.goods);
			excused += 1;
		}
	}
	assert.deepEqual([...theirs.keys()], [], "money of no order of ours");
	await noneTwice();
	return { ...sums, excusedCount: excused };
}

module.exports = { check };
