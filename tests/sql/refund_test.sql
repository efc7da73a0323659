-- Money out: what is owed, what the provider says of it, disputes.
begin;
\ir lib/fixture.sql
select plan(92);

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
select is((select amount from t.claim(10, 60000)
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
select is(t.tasks(), 'refund_failed', 'it is on the list');
select is(t.stock('S1'), '1+0 held 1 sold 0', 'no stock was moved by any');

-- The event comes before the cashier's own answer.
select t.late(2, 'S2');
select * from t.claim(10, 60000);
select is(t.refund_event('r2a', 'pi_2', 're_2', 'succeeded', 2500), 'applied',
    'the event is faster than the answer');
select is(api.cashier_refunded(t.call(2, 'refund'), 're_2', 'pending'),
    'repeat', 'the answer comes after it');
select is(t.refund(2), 'succeeded re_2', 'it stays succeeded');
select is((select count(*) from t.claim(10, 0)), 0::bigint,
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
    'applied', 'C32: 2500 of 7500 given back by hand');
select is(t.refund_event('r10', 'pi_10', 're_10', 'succeeded', 2500),
    'repeat', 'C32: the event again');
select is(t.refund_event('r10b', 'pi_10', 're_10', 'succeeded', 2500),
    'repeat', 'C32: and another about the same');
select is(t.state(10), 'paid (paid)', 'C32: the order stands');
select is(t.stock('TRIO'), '3+0 held 0 sold 3', 'C32: no automatic restock');
select results_eq(
    $$select r.key, r.amount, r.reason, r.state, r.refund_ref
        from data.refund r join data.payment p using (payment_id)
        where p.payment_ref = 'pi_10'$$,
    $$values (null::text, 2500::bigint, 'at_provider', 'succeeded',
        're_10')$$, 'C32: it is in the books, without a call of ours');
select is(t.doc(10)->>'refund', '{"state" : "succeeded", '
    '"reason" : "at_provider", "amount" : 2500}', 'C32: and is shown');
select is(t.refund_event('r10c', 'pi_10', 're_11', 'pending', 5000),
    'applied', 'the rest is given back by hand as well');
select is(t.state(10), 'released refunded (refund_owed)', 'the order is over');
select is(t.stock('TRIO'), '3+0 held 0 sold 0', 'its units are on sale again');
select is(t.take(11, 11, 'TRIO', 3), 'created', 'and are taken by another');
select is(t.refund_event('r10d', 'pi_10', 're_11', 'succeeded', 5000),
    'applied', 'the money has arrived');
select is(t.state(10), 'released refunded (refunded)', 'its page says so');
select is(t.refund_event('r10e', 'pi_10', 're_11', 'failed', 5000),
    'person', 'it fails in the end');
select is(t.state(10) || ', ' || t.stock('TRIO'),
    'released refunded (refund_failed), 3+0 held 3 sold 0',
    'which sells nothing again: a person pays another way');
select api.hold_drop(t.hid(11), t.buyer(11));

-- Part by hand of a payment that we owe all of: the provider would not send
-- more than is left, and keeps the amount that a key was used for.
select t.late(4, 'S4');
select is(t.refund_event('r4', 'pi_4', 're_hand', 'succeeded', 1000),
    'applied', 'C32: a part by hand while we owe all');
select is((select string_agg(r.state || ' ' || r.amount, ', '
        order by r.refund_id)
    from data.refund r join data.payment p using (payment_id)
    where p.payment_ref = 'pi_4'), 'void 2500, succeeded 1000, owed 1500',
    'C32: we owe the rest of it');
select is((select amount from t.claim() where kind = 'refund'
    and hold = t.hid(4)), 1500::bigint, 'C32: and send that');
select is(api.cashier_refunded(t.call(4, 'refund'), 're_4', 'succeeded'),
    'applied', 'C32: sent');
select is(t.refund_event('r4b', 'pi_4', 're_hand', 'failed', 1000), 'person',
    'C32: that other one fails');
select is((select concat_ws(' ', state, refund_ref) from data.refund
    where key = 'refund-' || t.hid(4) || '-2'), 'succeeded re_4',
    'C32: ours has not');
select is(t.refund_event('r4c', 'pi_4', 're_4', 'odd', 2500), 'person',
    'a state that we do not know');
select is(t.refund_event('r4d', 'pi_4', 're_4', null, 2500), 'person',
    'no state at all');
select is(t.refund_event('r99', 'pi_99', 're_99', 'succeeded', 1),
    'unmatched', 'a refund of a payment that is not ours');
-- All of it by hand, while we owe it: that is the one that we owe.
select t.late(5, 'S5');
select is(t.refund_event('r5', 'pi_5', 're_5', 'succeeded', 2500), 'applied',
    'all by hand while we owe all');
select is(t.refund(5), 'succeeded re_5', 'is the refund that we owe');
select is((select count(*) from t.claim() where hold = t.hid(5)), 0::bigint,
    'so nothing is sent a second time');

-- C32: disputes.
select t.item('DUO', 2, per_buyer => 2);
select t.take(12, 12, 'DUO', 2); select t.open(12, 12);
select t.event('e12', 'paid', 12);
select is(t.dispute_event('d12', 'pi_12', 'open', 5000), 'person',
    'C32: a dispute on a paid order');
select is(t.state(12), 'paid (paid)', 'C32: is flagged');
select is(t.stock('DUO'), '2+0 held 0 sold 2', 'C32: moves no stock');
select is(t.dispute_event('d12', 'pi_12', 'open', 5000), 'repeat',
    'C32: its event again');
select is(t.give_back(12), 'disputed', 'nobody gives back while it is open');
select is(t.dispute_event('d12b', 'pi_12', 'won', 5000), 'applied',
    'C32: it is won');
select is(t.dispute_event('d12c', 'pi_12', 'won', 5000), 'repeat',
    'it is won once');
select is(t.dispute_event('d12d', 'pi_12', 'open', 5000), 'repeat',
    'and does not open again');
select is(t.state(12) || ', ' || t.stock('DUO'),
    'paid (paid), 2+0 held 0 sold 2', 'C32: all is as it was');
select is(t.dispute_event('d1', 'pi_1', 'open'), 'person',
    'C32: a dispute on a refunded one');
select is(t.state(1), 'released refunded (refund_failed)', 'C32: stays so');
select is(t.dispute_event('d1b', 'pi_1', 'lost'), 'person', 'C32: lost');
select is(t.state(1), 'released refunded (refund_failed)', 'C32: stays so');
select is(t.stock('S1'), '1+0 held 1 sold 0', 'C32: no second restock');
select is((select string_agg(task->>'kind' || coalesce(' ' ||
        (task->>'note'), ''), ', ') from json_array_elements(
        api.task_list(true)::json) task where task->>'kind' like 'dispute%'),
    'dispute won, dispute lost, dispute_lost', 'C32: each was a task');

-- A dispute on a payment whose refund is owed: the bank has the last word.
select t.late(6, 'S6');
select t.dispute_event('d6', 'pi_6', 'open');
select is((select count(*) from t.claim() where kind = 'refund'), 0::bigint,
    'nothing is sent while the bank looks into it');
select is(t.refund(6), 'owed', 'it is still owed');
select t.dispute_event('d6b', 'pi_6', 'won');
select is((select hold from t.claim() where kind = 'refund'), t.hid(6),
    'won: the buyer was to have it back, and gets it');
select is(api.cashier_refunded(t.call(6, 'refund'), 're_6', 'succeeded'),
    'applied', 'from us');
select t.late(7, 'S7');
select t.dispute_event('d7', 'pi_7', 'open');
select t.dispute_event('d7b', 'pi_7', 'lost');
select is(t.refund(7), 'void', 'lost: the bank has given it back');
select is((select count(*) from t.claim() where kind = 'refund'), 0::bigint,
    'so we do not');

-- The dispute is known before the money, which then finds no unit.
create function t.disputed(n integer, sku text, state text) returns text
language plpgsql as $$
begin
    perform t.take(n, n, sku);
    perform t.open(n, n);
    perform t.event('pending' || n, 'pending', n);
    perform t.age(n);
    perform t.take(n + 500, n + 500, sku);
    perform t.dispute_event('d' || n, 'pi_' || n, state);
    return t.event('late' || n, 'paid', n);
end
$$;
select is(t.disputed(8, 'S8', 'open'), 'refund', 'open, then paid late');
select is((select count(*) from t.claim() where kind = 'refund'), 0::bigint,
    'the bank has a say in it: nothing is sent');
select is(t.disputed(9, 'S9', 'lost'), 'applied', 'lost, then paid late');
select is(t.refund(9), null, 'the bank has given it back: nothing is owed');
select is((select count(*) from t.claim() where kind = 'refund'), 0::bigint,
    'nor sent');
select is(t.stock('S9'), '1+0 held 1 sold 0', 'nor sold');

-- Told with the order's name, but of money that we do not know yet.
select t.item('UNO', 1); select t.take(13, 13, 'UNO'), t.open(13, 13);
select is(t.settle('r13', 'refund', t.hid(13), null, 'pi_13b', 're_13',
    'succeeded', 2500, 'EUR'), 'unmatched', 'money of which page?');
select is(t.state(13), 'held (held)', 'it is not taken for the one we know');

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
