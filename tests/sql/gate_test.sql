-- What the gate is told: who has units of an item.
begin;
\ir lib/fixture.sql
-- As the pool's sessions, and planned when there was nothing yet.
set local enable_seqscan = off;
set local plan_cache_mode = force_generic_plan;
select plan(21);

select is_empty($$select * from api.gate_members('A')$$,
    'no such item, nobody');
select t.item('A', 20, per_buyer => 5);
select t.item('B', 20, per_buyer => 5, buckets => 4);
select is_empty($$select * from api.gate_members('A')$$,
    'an item without holds has nobody');

create function t.members(sku text) returns text language sql
return (select string_agg(right(buyer, 2) || coalesce(':' || key, ''), ' '
        order by buyer, key) from api.gate_members(sku));

select t.take(1, 1, 'A', key => 'key-of-the-first-1');
select t.take(2, 2, 'A');
select t.take(3, 3, 'B', key => 'key-of-the-third-3');
select is(t.members('A'), '01:key-of-the-first-1 02',
    'who holds it, with the key if there is one');
select is(t.members('B'), '03:key-of-the-third-3', 'and nobody else');
select is((select buyer from api.gate_members('B')), t.buyer(3)::text,
    'as a uuid is written');

-- Paid, given up, expired.
select t.open(1, 1);
select t.event('paid-1', 'paid', 1);
select is(t.state(1), 'paid (paid)', 'the first has paid');
select is(t.members('A'), '01:key-of-the-first-1 02', 'and counts still');
select api.hold_drop(t.hid(2), t.buyer(2));
select is(t.members('A'), '01:key-of-the-first-1', 'who gave up does not');
select t.age(3);
select is(t.members('B'), '03:key-of-the-third-3',
    'one that has expired does until it is returned');
select 1 from api.sweep(100);
select is(t.members('B'), null, 'and then no more');

-- A buyer with several orders, a basket, units from several buckets.
select t.take(4, 1, 'A', key => 'key-of-the-fourth-4');
select is(t.members('A'), '01:key-of-the-first-1 01:key-of-the-fourth-4',
    'each order with its key');
select t.basket(5, 5, '{A,B}', '{1,1}');
select is(t.members('B'), '05', 'a basket counts for each of its items');
select is(t.members('A'), '01:key-of-the-first-1 01:key-of-the-fourth-4 05',
    'and so for the other');
update data.stock s set held = 3 from data.item i
where i.item_id = s.item_id and i.sku = 'B';
select is(t.take(6, 6, 'B', 5), 'created', 'units of several buckets');
select cmp_ok((select count(*) from data.hold_line l join data.hold h
        using (hold_id) where h.id = t.hid(6)), '>', 1::bigint,
    'they are several lines');
select is((select count(*) from api.gate_members('B')
        where buyer = t.buyer(6)::text), 1::bigint, 'and one member');

-- Too many to name.
select t.item('C', 1000000);
update data.stock s set held = 12000, sold = 8000 from data.item i
where i.item_id = s.item_id and i.sku = 'C';
select is_empty($$select * from api.gate_members('C')$$,
    '20,000 units are not too many');
update data.stock s set held = 12001 from data.item i
where i.item_id = s.item_id and i.sku = 'C';
select results_eq($$select * from api.gate_members('C')$$,
    $$values (null::text, null::text)$$, 'more are: one row that says so');

-- Its own indexes, however much else was sold.
create function t.scans(index regclass) returns bigint language sql
return pg_stat_get_xact_numscans(index);
create table t.before as
select t.scans('data.hold_line_due') as due, t.scans('data.hold_line_sold')
    as sold, t.scans('data.hold_line_part') as lines;
select t.members('A');
select results_eq($$select t.scans('data.hold_line_due') - due,
        t.scans('data.hold_line_sold') - sold,
        t.scans('data.hold_line_part') - lines from t.before$$,
    $$values (1::bigint, 1::bigint, 0::bigint)$$,
    'held and sold lines are found by the item');
select is((select string_agg(indexrelid::regclass::text, ' ')
        from pg_index where indrelid = 'data.hold_line'::regclass
            and pg_get_expr(indpred, indrelid) ~ 'paid'
            and pg_get_expr(indpred, indrelid) !~* 'is true'),
    'data.hold_line_paid',
    'what asks about a buyer''s paid lines has one index to choose');

set local role lastpair_web;
select lives_ok($$select * from api.gate_members('A')$$, 'the web may ask');
reset role;
select * from finish();
rollback;
