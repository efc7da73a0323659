-- Many requests in one transaction: each gets its own answer, and one that is
-- refused leaves the others alone. As the web's role, which is all it takes.
begin;
\ir lib/fixture.sql
select plan(46);
select t.item('HOT', 3);
select t.item('WARM', 10, per_buyer => 4, buckets => 3);
select t.item('OFF', 5);
update data.item set status = 'paused' where sku = 'OFF';

create function t.batch(
    holds integer[], buyers integer[], skus text[], qtys bigint[],
    keys text[] default null, known boolean default true)
returns text language sql
return (select string_agg(outcome, ' ' order by request)
    from api.hold_take(
        (select array_agg(t.hid(h) order by nr)
            from unnest(holds) with ordinality u (h, nr)),
        (select array_agg(t.buyer(b) order by nr)
            from unnest(buyers) with ordinality u (b, nr)),
        array_fill(known, array[cardinality(holds)]),
        coalesce(keys, array_fill(null::text, array[cardinality(holds)])),
        array_fill(null::text, array[cardinality(holds)]),
        (select array_agg(nr::integer) from generate_series(1,
            cardinality(holds)) nr), skus, qtys));
grant usage on schema t to lastpair_web;
set local role lastpair_web;

select is(t.batch('{1,2,3,4,5}', '{1,2,3,4,5}', '{HOT,HOT,HOT,HOT,HOT}',
    '{1,1,1,1,1}'), 'created created created sold-out sold-out',
    'five for three units: the first three get them');
reset role;
select is(t.stock('HOT'), '3+0 held 3 sold 0', 'three are held');
set local role lastpair_web;
select is(t.batch('{11,12,13,14,15,16}', '{11,12,13,14,15,16}',
    '{WARM,nope,OFF,WARM,HOT,WARM}', '{4,1,1,5,1,4}'),
    'created no-such-item paused limit sold-out created',
    'each is answered by itself');
reset role;
select is(t.stock('WARM'), '10+0 held 8 sold 0', 'eight are held');
select is(t.free('WARM') in ('0,0,2', '0,2,0', '2,0,0', '1,1,0', '1,0,1',
    '0,1,1'), true, 'two are left');
set local role lastpair_web;
select is(t.batch('{21,22,23}', '{21,21,22}', '{WARM,WARM,WARM}', '{1,1,1}'),
    'created existing created', 'C70: two clicks in one batch are one hold');
select is(t.batch('{24}', '{24}', '{WARM}', '{1}'), 'sold-out',
    'C07: now the sum is 0');
reset role;
select is((select count(*) from data.hold
    where id in (t.hid(21), t.hid(22), t.hid(23))), 2::bigint, 'two rows');

-- Keys.
select t.item('KEYED', 9);
select t.item('OTHER', 9);
set local role lastpair_web;
select is(t.batch('{31,32,33}', '{31,32,33}', '{KEYED,KEYED,KEYED}', '{1,1,1}',
    array['key-aaaaaaaaaaaaaaaa', 'key-aaaaaaaaaaaaaaaa',
        'key-bbbbbbbbbbbbbbbb'], false), 'created existing created',
    'promise 2: one key twice in a batch, no cookie: one hold');
select is(t.batch('{34,35}', '{34,35}', '{KEYED,KEYED}', '{1,1}',
    array['key-cccccccccccccccc', 'key-cccccccccccccccc']),
    'created key-reused', 'the same key of two known buyers');
select is(t.batch('{36,37}', '{36,36}', '{KEYED,OTHER}', '{1,1}',
    array['key-dddddddddddddddd', 'key-dddddddddddddddd']),
    'created key-reused', 'the same key for two items');
reset role;
select is(t.stock('KEYED') || t.stock('OTHER'),
    '9+0 held 4 sold 09+0 held 0 sold 0', 'four are held');

-- Buyers that are told who they are.
select results_eq(
    $$select request, outcome, buyer, document::json->>'id' from api.hold_take(
        array[t.hid(41), t.hid(42)], array[t.buyer(41), t.buyer(42)],
        '{f,f}', array['key-eeeeeeeeeeeeeeee', 'key-eeeeeeeeeeeeeeee'],
        array[null::text, null], '{1,2}', '{KEYED,KEYED}', '{1,1}')
        order by request$$,
    $$values (1, 'created', t.buyer(41), t.hid(41)),
        (2, 'existing', t.buyer(41), t.hid(41))$$,
    'the second is told that it is the first');

-- Lines of several requests, mixed up.
select results_eq(
    $$select outcome from api.hold_take(
        array[t.hid(51), t.hid(52)], array[t.buyer(51), t.buyer(52)], '{t,t}',
        array[null::text, null], array['a@b.test', null], '{2,1,2,1}',
        '{OTHER,KEYED,KEYED,OTHER}', '{1,1,1,1}')$$,
    $$values ('created'), ('created')$$, 'two baskets, lines mixed up');
select is((select count(*) from data.hold_line join data.hold using (hold_id)
    where id in (t.hid(51), t.hid(52))), 4::bigint, 'have two lines each');
select is((select email from data.hold where id = t.hid(51)), 'a@b.test',
    'an address is kept');

-- What a batch takes fits the sum of many buckets.
select t.item('WIDE', 50, per_buyer => 5, buckets => 50);
select is((select count(*) from unnest(string_to_array(t.batch(
    (select array_agg(100 + n) from generate_series(1, 20) n),
    (select array_agg(100 + n) from generate_series(1, 20) n),
    array_fill('WIDE'::text, '{20}'), array_fill(3::bigint, '{20}')), ' ')) o
    where o = 'created'), 16::bigint, 'C07: 16 times 3 of 50 in 50 buckets');
select is(t.stock('WIDE'), '50+0 held 48 sold 0', 'C07: 2 are left');
select is(t.take(121, 121, 'WIDE', 2), 'created', 'C07: and can be had');
select is(t.shown('WIDE')->>'free', '0', 'C07: none is left');

-- An expired hold of a buyer of the batch, and one of another's.
select t.item('AGED', 2);
select t.take(61, 61, 'AGED'); select t.take(62, 62, 'AGED');
select t.age(61); select t.age(62);
set local role lastpair_web;
select is(t.batch('{63,64,65}', '{62,61,65}', '{AGED,AGED,AGED}', '{1,1,1}'),
    'created created sold-out', 'C10: both come back for theirs');
reset role;
select is(t.stock('AGED'), '2+0 held 2 sold 0', 'C10: two are held');
select is(t.state(61), 'released expired (expired)', 'C10: the old ones ended');

-- C56b: no number of ours ends at 2^31, and none is rounded at 2^53.
select setval(pg_get_serial_sequence('data.hold', 'hold_id'), 2147483640);
select setval(pg_get_serial_sequence(format('data.%I', tab), col), 2147483640)
from (values ('payment', 'payment_id'), ('refund', 'refund_id'),
    ('event', 'event_seq'), ('outbox', 'outbox_id'),
    ('item_change', 'change_id'), ('item', 'item_id')) s (tab, col);
select t.item('FAR', 40);
create function t.sale(n integer) returns text language plpgsql as $$
begin
    return t.take(n, n, 'FAR') || ' ' || t.open(n, n) || ' '
        || t.event('far' || n, 'paid', n);
end
$$;
select is(t.sale(n), 'created ready applied', 'C56: sale ' || n - 200)
from generate_series(201, 220) n;
select cmp_ok((select max(hold_id) from data.hold), '>',
    2147483647::bigint,
    'C56: the ids are that high');
select setval(pg_get_serial_sequence('data.hold', 'hold_id'),
    9007199254740992);
select t.take(230, 230, 'FAR');
select is(t.doc(230)->>'order', 'ord_9007199254740993',
    'C56: an id above 2^53 is intact');
select t.clean();
select * from finish();
rollback;
