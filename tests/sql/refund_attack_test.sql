-- Attacks on what goes back: names that are another's, money that is lost at
-- the bank, retries that find somebody else's refund.
begin;
\ir lib/fixture.sql
select plan(37);
select t.item('S' || n, 1) from generate_series(1, 13) n;

create function t.refunds(payment text) returns text language sql
return (select string_agg(r.amount || ' ' || r.state, ', '
        order by r.refund_id)
    from data.refund r join data.payment p using (payment_id)
    where p.payment_ref = payment);
create function t.sends() returns text language sql
return (select string_agg(hold || ' ' || amount, ', ' order by outbox_id)
    from t.claim() where kind = 'refund');

-- The bank has given the money back, and the news that it began comes last.
select t.late(1);
select is(t.dispute_event('d1', 'pi_1', 'lost'), 'person',
    'lost before it was known to be disputed');
select is(t.refunds('pi_1'), '2500 void', 'what was owed is not');
select is(t.sends(), null, 'and is not sent');
select is(t.dispute_event('d1b', 'pi_1', 'open'), 'repeat', 'it is over');
select is(t.sends(), null, 'still not sent');

-- Of two payments of an order the bank takes one; the other's still goes back.
select t.sold(2);
select t.event('twice2', 'paid', 2, session => 'cs_2b', ref => 'pi_2b');
select is(t.refunds('pi_2b'), '2500 owed', 'paid twice');
select t.dispute_event('d2', 'pi_2', 'lost');
select is(t.sends(), t.hid(2) || ' 2500', 'and sent, whatever the bank did '
    'about the first');

-- While the bank looks into one payment, the other waits, too.
select t.sold(7), t.dispute_event('d7', 'pi_7', 'open');
select t.event('twice7', 'paid', 7, session => 'cs_7b', ref => 'pi_7b');
select is(t.refunds('pi_7b'), '2500 owed', 'paid twice, the first disputed');
select is(t.sends(), null, 'nothing of the order goes back by itself');
select t.dispute_event('d7b', 'pi_7', 'won');
select is(t.sends(), t.hid(7) || ' 2500', 'until the bank has decided');

-- Lost before the money was known to have come: not served for nothing.
select t.take(3, 3, 'S3'), t.open(3, 3), t.event('way3', 'pending', 3);
select t.dispute_event('d3', 'pi_3', 'lost');
select t.event('paid3', 'paid', 3);
select isnt(t.doc(3)->>'state', 'paid', 'money that the bank took buys '
    'nothing');
select is(t.sends(), null, 'nor does it go back once more');

-- A refund of one payment under the name of another's.
select t.sold(4), t.sold(5);
select t.refund_event('r4', 'pi_4', 're_4', 'pending', 2500);
select is(t.refund_event('r5', 'pi_5', 're_4', 'failed', 2500), 'person',
    'one refund cannot be of two payments');
select is(t.refunds('pi_4'), '2500 pending', 'the other''s is not touched');
select is(t.refunds('pi_5'), null, 'nor does this one get any');
select is(t.doc(5)->>'state', 'paid', 'its order stands');
select is((select count(*) from data.task where kind = 'unclear'
    and subject like 'event %'), 1::bigint, 'a person is told');

-- Half of it went back by hand; the other half is owed. A try that looks at
-- the provider finds the first half, and takes it for the second.
select t.late(6);
select t.refund_event('r6', 'pi_6', 're_6', 'succeeded', 1250);
select is(t.refunds('pi_6'), '2500 void, 1250 succeeded, 1250 owed',
    'half is owed');
select is(t.sends(), t.hid(6) || ' 1250', 'and sent');
create function t.half() returns bigint language sql
return (select outbox_id from data.outbox o join data.hold h using (hold_id)
    where h.id = t.hid(6) and done_at is null and kind = 'refund');
select is(api.cashier_refunded(t.half(), 're_6', 'succeeded'), 'person',
    'the half that went back is not the half that is owed');
select is(t.refunds('pi_6'), '2500 void, 1250 succeeded, 1250 owed',
    'which is owed as before');
select is(t.sends(), null, 'a person looks first');
select is((select api.task_retry(task_id, 'ann') from data.task
    where outbox_id = t.half()), 'done', 'who has it sent');
select t.sends();
select is(api.cashier_refunded(t.half(), 're_6b', 'succeeded'), 'applied',
    'now it is another one');
select is(t.refunds('pi_6'), '2500 void, 1250 succeeded, 1250 succeeded',
    'all has gone back');
select is(t.state(6), 'released refunded (refunded)', 'the buyer is told');

-- The provider refuses a refund, as the bank disputes the payment, and we have
-- not heard of that. When the bank is done, it is sent; who lost, owes nothing.
select t.late(8), t.late(9);
select t.sends();
select api.cashier_refused(t.call(n, 'refund'), 'code=charge_disputed')
from generate_series(8, 9) n;
select t.dispute_event('d8', 'pi_8', 'won');
select is(t.sends(), t.hid(8) || ' 2500', 'the dispute is won: sent');
select t.dispute_event('d9', 'pi_9', 'lost');
select is(t.sends(), null, 'lost: never');
select is(t.refunds('pi_9'), '2500 void', 'as the bank has given it back');
select is((select count(*) from data.task where kind = 'refused'
    and settled_at is null), 0::bigint, 'nobody has to send it by hand');

-- The first page was refused, as we thought, and took another amount all the
-- same; that goes back while the buyer is at the second.
select t.item('TWO', 1); select t.take(10, 10, 'TWO'), t.start(10, 10);
select t.claim(); select api.cashier_refused(t.call(10, 'open'), 'x');
update data.payment set created_at = created_at - interval '10 s'
where key = 'cs-' || t.hid(10);
select t.start(10, 10); select t.claim();
select api.cashier_opened(t.call(10, 'open'), 'cs_10', 'http://pay.test/10');
select is(t.settle('m10', 'paid', t.hid(10), 'cs_10a', 'pi_10a',
    amount => 2400, currency => 'EUR', key => 'cs-' || t.hid(10)), 'person',
    'another amount, through the page that was refused');
select is(t.refund_event('r10', 'pi_10a', 're_10', 'succeeded', 2400),
    'applied', 'it goes back');
select is((select concat_ws(' ', h.state, p.state) from data.hold h
    join data.payment p using (hold_id)
    where h.id = t.hid(10) and p.session_id = 'cs_10'), 'held open',
    'and takes nothing from under the buyer at the other');
-- The only refund of an order has the second one's name: it was made when they
-- were numbered by the attempt to pay.
select t.late(n) from generate_series(12, 13) n;
update data.refund r set key = r.key || '-2'
from data.payment p
where p.payment_id = r.payment_id and p.payment_ref in ('pi_12', 'pi_13');
update data.outbox o set key = r.key from data.refund r
where r.refund_id = o.refund_id;
select is(t.refund_event('o12', 'pi_12', 're_o12', 'succeeded', 1000),
    'applied', 'a part is given back by hand');
select is(t.refunds('pi_12'), '2500 void, 1000 succeeded, 1500 owed',
    'and the rest is owed under another name');
select t.refund_event('o13', 'pi_13', 're_o13', 'failed', 2500,
    'refund-' || t.hid(13) || '-2');
select is(t.give_back(13), 'done', 'the operator may give back, too');

select t.clean();
select * from finish();
rollback;
