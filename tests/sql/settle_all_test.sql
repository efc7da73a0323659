-- Many deliveries in one transaction end as one by one would.
begin;
\ir lib/fixture.sql
select plan(28);
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
-- A plain sale is told by what it is, not by what it says.
select t.take(n, n, 'A'), t.open(n, n) from generate_series(20, 26) n;
create function t.money(n integer) returns text language sql
return (select concat_ws(' ', h.state, string_agg(p.state, '+'
        order by p.attempt))
    from data.hold h left join data.payment p using (hold_id)
    where h.id = t.hid(n) group by h.hold_id);
select t.settle('x1', 'paid', null, 'cs_20', 'pi_20', amount => 2500,
    currency => 'EUR', key => 'cs-' || t.hid(20), provider => 'standard');
select is(t.money(20), 'held open', 'another provider speaks for itself');
select t.settle('x2', 'paid', null, 'cs_20x', 'pi_20', amount => 2500,
    currency => 'EUR', key => 'cs-' || t.hid(20));
select is(t.money(20), 'held open', 'a page that is not the one of the key');
select is(t.settle('x3', 'paid', null, null, 'pi_20', amount => 2500,
    currency => 'EUR', key => 'cs-' || t.hid(20)), 'applied',
    'the second source, which names the key alone');
select is(t.settle('x4', 'paid', t.hid(20), 'cs_20', 'pi_20', amount => 2500,
    currency => 'EUR', key => 'cs-' || t.hid(20)), 'repeat',
    'and then the first');
select t.settle('x5', 'paid', t.hid(21), 'cs_21', 'pi_20', amount => 2500,
    currency => 'EUR');
select is((select count(*) from data.payment where payment_ref = 'pi_20'),
    1::bigint, 'one name, one payment');
select t.event('x6', 'pending', 24);
select t.dispute_event('x7', 'pi_24', 'lost');
select t.event('x8', 'paid', 24);
select is(t.money(24), 'held paid', 'what the bank has taken buys nothing');
select t.event('x9', 'pending', 25);
select t.refund_event('x10', 'pi_25', 're_25', 'succeeded', 2500);
select t.event('x11', 'paid', 25);
select is(t.money(25), 'released paid', 'nor does what has been given back');
select t.refund_event('x12', 'pi_26', 're_26', 'succeeded', 2500);
select t.event('x13', 'paid', 26);
select is(t.money(26), 'released paid', 'also when we hear of it first');
-- Money by the key of a page that is under way at the bank by another name.
select t.take(n, n, 'A'), t.open(n, n), t.event('way' || n, 'pending', n)
from generate_series(30, 31) n;
select t.settle('x14', 'paid', t.hid(30), null, 'pi_30b', amount => 2500,
    currency => 'EUR', key => 'cs-' || t.hid(30));
insert into data.event (provider, event_id, type, kind, hold, key,
    payment_ref, amount, currency, outcome, body)
values ('stripe', 'x15', 't', 'paid', t.hid(31), 'cs-' || t.hid(31),
    'pi_31b', 2500, 'EUR', 'received', 'x');
select api.event_apply(event_seq) from data.event where event_id = 'x15';
select is(t.money(30), t.money(31), 'a twin''s money: as one by one');
select is((select count(*) from data.payment where payment_ref = 'pi_30'),
    1::bigint, 'what is under way keeps its name');
-- One by one comes to the same rows as all at once.
create function t.rows(n integer) returns text language sql
return (select jsonb_build_object('hold', to_jsonb(h), 'lines',
        jsonb_agg(to_jsonb(l)), 'payments', jsonb_agg(to_jsonb(p)), 'calls',
        (select jsonb_agg(to_jsonb(o) - 'done_at' || jsonb_build_object(
            'done', o.done_at is not null) order by o.kind)
            from data.outbox o where o.hold_id = h.hold_id), 'mail',
        (select jsonb_agg(m.kind) from data.mail m
            where m.hold_id = h.hold_id))::text
    from data.hold h join data.hold_line l using (hold_id)
    join data.payment p using (hold_id)
    where h.id = t.hid(n) group by h.hold_id);
create function t.alike(doc text) returns text language sql
return regexp_replace(regexp_replace(regexp_replace(doc,
    '"20..-[^"]*"', 'when', 'g'), '"(\w*_id|buyer)": "?[^",}]*"?', '\1', 'g'),
    '(cs|pi|pay.test/|hld)[-_/]?[0-9]+|cs-hld_[0-9]+', 'name', 'g');
update data.hold set email = 'a@b.example' where id in (t.hid(22), t.hid(23));
select t.event('y22', 'paid', 22);
insert into data.event (provider, event_id, type, kind, hold, session_id,
    payment_ref, amount, currency, outcome, body)
values ('stripe', 'y23', 't', 'paid', t.hid(23), 'cs_23', 'pi_23', 2500,
    'EUR', 'received', 'x');
select is(api.event_apply(event_seq), 'applied', 'one by one')
from data.event where event_id = 'y23';
select is(t.alike(t.rows(22)), t.alike(t.rows(23)), 'all at once');
set local role lastpair_web;
select is((select count(*) from api.payment_settle_all('{stripe}', '{w1}',
    '{t}', '{ignore}', '{null}', '{null}', '{null}', '{null}', '{null}',
    '{null}', '{null}', '{null}', '{null}', '{x}')), 1::bigint,
    'the web may');
reset role;
select t.clean();
select * from finish();
rollback;
