-- Many deliveries in one transaction end as one by one would.
begin;
\ir lib/fixture.sql
select plan(16);
grant usage on schema t to lastpair_web;

-- Deliveries of "paid" for holds, each by its event's id; what came of them.
create function t.all_paid(ids text[], holds integer[]) returns text
language sql
return (select string_agg(a.delivery || ' ' || a.outcome, ',') from
    api.payment_settle_all(
        array_fill('stripe'::text, array[cardinality(ids)]), ids,
        array_fill('t'::text, array[cardinality(ids)]),
        array_fill('paid'::text, array[cardinality(ids)]),
        array_fill(null::text, array[cardinality(ids)]),
        array(select t.hid(n) from unnest(holds) n),
        array(select 'cs_' || n from unnest(holds) n),
        array(select 'pi_' || n from unnest(holds) n),
        array_fill(null::text, array[cardinality(ids)]),
        array_fill(null::text, array[cardinality(ids)]),
        array_fill(2500::bigint, array[cardinality(ids)]),
        array_fill('EUR'::text, array[cardinality(ids)]),
        array_fill(null::text, array[cardinality(ids)]),
        array_fill('x'::bytea, array[cardinality(ids)])) a);

select t.item('A', 20); select t.item('B', 1);
select t.take(n, n, 'A') from generate_series(1, 9) n;
select t.open(n, n) from generate_series(1, 8) n;
select is(t.all_paid('{e1}', '{1}'), '1 applied', 'a batch of one');
select is(t.all_paid('{e2,e3,e4}', '{2,3,4}'),
    '1 applied,2 applied,3 applied', 'a batch of three');
select is(t.stock('A'), '20+0 held 5 sold 4', 'four are sold');
select is(t.all_paid('{e4,e5,e1}', '{4,5,1}'), '1 repeat,2 applied,3 repeat',
    'C22: some have come before');
select is(t.all_paid('{e6,e6,e7,e6}', '{6,6,7,6}'),
    '1 applied,2 repeat,3 applied,4 repeat',
    'C22: one comes three times in a batch, and acts once');
select results_eq($$select event_id, deliveries from data.event
    order by event_id$$, $$values ('e1', 2::bigint), ('e2', 1), ('e3', 1),
        ('e4', 2), ('e5', 1), ('e6', 3), ('e7', 1)$$,
    'C22: every delivery is counted');
select is(t.all_paid('{f2,f1}', '{1,8}'), '1 repeat,2 applied',
    'the same fact under another id is a repeat, whatever the ids'' order');
select is(t.stock('A'), '20+0 held 1 sold 8', 'each was sold once');
-- One that is late for the last unit goes before one that is later still.
select t.take(10, 10, 'B'); select t.open(10, 10); select t.age(10);
select t.take(11, 11, 'B'); select t.open(11, 11); select t.age(11);
select is(t.all_paid('{z11,a10}', '{11,10}'), '1 applied,2 refund',
    'in the order that they came');
-- Strangers, and what waits for our record.
select is(t.all_paid('{s1,s9,s2}', '{901,9,902}'),
    '1 unmatched,2 unmatched,3 unmatched', 'C25: parked');
select is(t.start(9, 9), 'paid', 'C25: and applied when our record comes');
-- As a whole or not at all.
select throws_ok($$select t.all_paid(array['g1', null], '{901,902}')$$,
    '23502', null, 'one that cannot be kept fails them all');
select is((select count(*) from data.event where event_id = 'g1'), 0::bigint,
    'so that they are recorded one by one');
select is((select count(*) from data.event where outcome = 'received'),
    0::bigint, 'promise 5: every event has an outcome');
set local role lastpair_web;
select is((select count(*) from api.payment_settle_all('{stripe}', '{w1}',
    '{t}', '{ignore}', '{null}', '{null}', '{null}', '{null}', '{null}',
    '{null}', '{null}', '{null}', '{null}', '{x}')), 1::bigint,
    'the web may');
reset role;
select t.clean();
select * from finish();
rollback;
