-- Attacks on the comparison of the books: two pages of one order whose money
-- was mixed up, as their news came without the pages' names.
begin;
\ir lib/fixture.sql
select plan(6);
select t.item('A', 5);
select t.take(1, 1, 'A'), t.open(1, 1);
select is(t.settle('i2', 'paid', t.hid(1), null, 'pi_2', amount => 2500,
    currency => 'EUR'), 'applied', 'the other page''s money, by the order');
select is(t.event('s1', 'paid', 1), 'refund', 'then its own');
select t.event('s2', 'paid', 1, session => 'cs_2', ref => 'pi_2');
select outbox_id from t.claim();
select is(api.cashier_refunded(t.call(1, 'refund'), 're_1', 'succeeded'),
    'applied', 'which has gone back');

select is((select outcome from api.reconcile_begin('stripe', null, 3600, 0, 0,
    true, false, 'tester', 'a', 60000)), 'begun', 'the books are compared');
insert into data.reconcile_statement (run_id, list, ref, kind, hold,
    session_id, payment_ref, refund_ref, state, amount, currency, seen_at)
select max(run_id), v.list, v.ref, v.kind, t.hid(1), v.session, v.payment,
    v.refund, v.state, 2500, 'EUR', clock_timestamp()
from data.reconcile_run, (values
    ('sessions', 'cs_1', 'paid', 'cs_1', 'pi_1', null, null),
    ('sessions', 'cs_2', 'paid', 'cs_2', 'pi_2', null, null),
    ('refunds', 're_1', 'refund', null, 'pi_1', 're_1', 'succeeded'))
    as v (list, ref, kind, session, payment, refund, state)
group by v.list, v.ref, v.kind, v.session, v.payment, v.refund, v.state;
select is((select string_agg(concat_ws(' ', what, subject, here, there), ', ')
    from api.reconcile_differences((select max(run_id)
        from data.reconcile_run))), null, 'and agree: each money is known');
select t.clean();
select * from finish();
rollback;
