-- Money out: what is owed, what the provider says of it, disputes.
begin;
\ir lib/fixture.sql
select plan(58);

-- A hold that is paid late, its unit gone: buyer n for hold n, of item sku.
create function t.late(n integer, sku text) returns text language plpgsql as $$
begin
    perform t.take(n, n, sku);
    perform t.open(n, n);
    perform t.age(n);
    perform t.take(n + 500, n + 500, sku);
    return t.event('late' || n, 'paid', n);
end
$$;
create function t.refund(n integer) returns text language sql
return (select concat_ws(' ', r.state, r.refund_ref) from data.refund r
    where key = 'refund-' || t.hid(n));

select t.item('S' || n, 1) from generate_series(1, 9) n;
select is(t.late(1, 'S1'), 'refund', 'paid late, no unit: money goes back');
select is(t.refund(1), 'owed', 'it is owed');
select is(t.state(1), 'released expired (refund_owed)', 'the buyer is told');
select is((select count(*) from data.outbox where kind = 'refund'
    and key = 'refund-' || t.hid(1) and done_at is null), 1::bigint,
    'promise 8: the call stands with its key');
select is(t.event('late1b', 'paid', 1), 'repeat', 'the fact again');
select is((select count(*) from data.refund), 1::bigint, 'owes nothing more');
select is(t.start(1, 1), 'ended', 'nobody is to pay again');
select is(t.doc(1)->'refund'->>'state', 'owed', 'the document says owed');
select is((select amount from api.cashier_claim(10, 60000)
    where kind = 'refund'), 2500::bigint, 'the cashier sends what was paid');

-- Forward only.
select is(api.cashier_refunded(t.call(1, 'refund'), 're_1', 'pending'),
    'applied', 'the provider has taken it');
select is(t.refund(1), 'pending re_1', 'pending');
select is(t.state(1), 'released expired (refund_owed)', 'not there yet');
select is(t.refund_event('r1a', 'pi_1', 're_1', 'pending', 2500), 'repeat',
    'pending again');
select is(t.refund_event('r1b', 'pi_1', 're_1', 'succeeded', 2500), 'applied',
    'succeeded');
select is(t.state(1), 'released refunded (refunded)', 'the buyer has it back');
select is(t.refund_event('r1c', 'pi_1', 're_1', 'pending', 2500), 'repeat',
    'pending, too late');
select is(t.refund(1), 'succeeded re_1', 'changes nothing');
select is(t.refund_event('r1d', 'pi_1', 're_1', 'succeeded', 2500), 'repeat',
    'succeeded again');
select is(t.refund_event('r1e', 'pi_1', 're_1', 'failed', 2500), 'person',
    'failed after it succeeded: a person pays another way');
select is(t.state(1), 'released refunded (refund_failed)', 'its page says so');
select is(t.refund_event('r1f', 'pi_1', 're_1', 'succeeded', 2500), 'repeat',
    'and nothing undoes that');
select is(t.refund(1), 'failed re_1', 'failed');
select matches(api.person_list(), 'a refund failed', 'it is on the list');
select is(t.stock('S1'), '1+0 held 1 sold 0', 'no stock was moved by any');

-- The event comes before the cashier's own answer.
select t.late(2, 'S2');
select * from api.cashier_claim(10, 60000);
select is(t.refund_event('r2a', 'pi_2', 're_2', 'succeeded', 2500), 'applied',
    'the event is faster than the answer');
select is(api.cashier_refunded(t.call(2, 'refund'), 're_2', 'pending'),
    'repeat', 'the answer comes after it');
select is(t.refund(2), 'succeeded re_2', 'it stays succeeded');
select is((select count(*) from api.cashier_claim(10, 0)), 0::bigint,
    'no call is left');

-- Failed at once.
select t.late(3, 'S3');
select is(api.cashier_refunded(t.call(3, 'refund'), 're_3', 'failed'),
    'person', 'failed at once');
select is(t.state(3), 'released expired (refund_failed)', 'its page says so');

-- C32: partial refunds by hand, on an order of 3 units.
select t.item('TRIO', 3, per_buyer => 3);
select t.take(10, 10, 'TRIO', 3); select t.open(10, 10);
select t.event('e10', 'paid', 10);
select is(t.refund_event('r10', 'pi_10', 're_10', 'succeeded', 2500),
    'person', 'C32: 2500 of 7500 given back by hand');
select is(t.refund_event('r10', 'pi_10', 're_10', 'succeeded', 2500),
    'repeat', 'C32: the event again');
select is(t.state(10), 'paid (paid)', 'C32: the order stands');
select is(t.stock('TRIO'), '3+0 held 0 sold 3', 'C32: no automatic restock');
select is((select count(*) from data.refund r join data.payment p
    using (payment_id) where p.payment_ref = 'pi_10'), 0::bigint,
    'C32: no refund of ours came of it');
-- And on a payment whose refund we still owe.
select t.late(4, 'S4');
select is(t.refund_event('r4', 'pi_4', 're_hand', 'succeeded', 1000),
    'person', 'C32: a part by hand is not what we owe');
select is(t.refund(4), 'owed', 'C32: we still owe it');
select is((select count(*) from api.cashier_claim(10, 60000)
    where kind = 'refund' and hold = t.hid(4)), 1::bigint, 'C32: and send it');
select is(api.cashier_refunded(t.call(4, 'refund'), 're_4', 'succeeded'),
    'applied', 'C32: sent');
select is(t.refund_event('r4b', 'pi_4', 're_hand', 'failed', 1000), 'person',
    'C32: that other one fails');
select is(t.refund(4), 'succeeded re_4', 'C32: ours has not');
select is(t.refund_event('r4c', 'pi_4', 're_4', 'odd', 2500), 'person',
    'a state that we do not know');
select is(t.refund_event('r4d', 'pi_4', 're_4', null, 2500), 'person',
    'no state at all');
select is(t.refund_event('r99', 'pi_99', 're_99', 'succeeded', 1),
    'unmatched', 'a refund of a payment that is not ours');

-- C32: disputes.
create function t.dispute(id text, n integer) returns text language sql
return api.payment_settle('stripe', id, 'charge.dispute.created', 'dispute',
    null, null, 'pi_' || n, null, null, 7500, 'EUR', null, 'x');
select is(t.dispute('d10', 10), 'person', 'C32: a dispute on a paid order');
select is(t.state(10), 'paid (paid)', 'C32: is flagged');
select is(t.stock('TRIO'), '3+0 held 0 sold 3', 'C32: moves no stock');
select is(t.dispute('d10', 10), 'repeat', 'C32: its event again');
select is(t.dispute('d1', 1), 'person', 'C32: a dispute on a refunded one');
select is(t.state(1), 'released refunded (refund_failed)', 'C32: stays so');
select is(t.stock('S1'), '1+0 held 1 sold 0', 'C32: no second restock');
select is((select count(*) from json_array_elements(api.person_list()::json) p
    where p->>'what' = 'charge.dispute.created'), 2::bigint,
    'C32: both are on the list');

-- An item that never takes again.
select t.item('FIRM', 5, late => '{refund}');
select t.take(20, 20, 'FIRM'); select t.open(20, 20); select t.age(20);
select is(t.event('e20', 'paid', 20), 'refund',
    'late {refund}: money goes back though units are free');
select is(t.stock('FIRM'), '5+0 held 0 sold 0', 'nothing was sold');

-- A late payment over the limit, by a buyer who came again meanwhile.
select t.item('LIM', 5);
select t.take(30, 30, 'LIM'); select t.open(30, 30); select t.age(30);
select is(t.take(31, 30, 'LIM'), 'created', 'the same buyer takes again');
select is(t.event('e30', 'paid', 30), 'refund',
    'promise 3: the late payment would be one too many');
select is(t.stock('LIM'), '5+0 held 1 sold 0', 'the new hold is untouched');
select t.clean();
select * from finish();
rollback;
