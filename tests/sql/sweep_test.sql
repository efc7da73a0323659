-- The sweeper: what is due, in slices, and when to come back.
begin;
\ir lib/fixture.sql
select plan(26);
create function t.sweep(n integer default 100) returns text language sql
return (select returned || ' ' || next_in_ms from api.sweep(n));
grant usage on schema t to lastpair_sweeper;

set local role lastpair_sweeper;
select is(t.sweep(), '0 1000', 'nothing at all: back in a second');
reset role;
select t.item('I', 200, buckets => 3);
select t.take(1, 1, 'I');
select is(t.sweep(), '0 1000', 'a hold that lives: back in a second');
select t.age(1, '599.5 seconds');
select cmp_ok((api.sweep(100)).next_in_ms, '<=', 500::bigint,
    'one that ends within it: back when it ends');
select t.age(1, '1 second');
select is(t.sweep(), '1 0', 'one has expired: returned, look again');
select is(t.stock('I'), '200+0 held 0 sold 0', 'its unit is free');
select is(t.state(1), 'released expired (expired)', 'it has ended');
select is(t.sweep(), '0 1000', 'and is returned once');

-- C74, C76: slices.
select count(t.take(100 + n, 100 + n, 'I')) from generate_series(1, 100) n;
select t.age(array(select generate_series(101, 200)), '601 s');
select is(t.sweep(40), '40 0', 'C76: 40 of 100');
select is(t.stock('I'), '200+0 held 60 sold 0', 'C76: 60 are left');
select is(t.shown('I')->>'free', '200', 'C10: which nobody notices');
select is(t.sweep(40), '40 0', 'C76: 40 more');
select is(t.sweep(40), '20 0', 'C76: the rest');
select is(t.sweep(40), '0 1000', 'C76: none');
select is(t.stock('I'), '200+0 held 0 sold 0', 'C74: each came back once');
select is((select count(*) from data.hold where state = 'held'), 0::bigint,
    'all have ended');

-- Several items; what is paid or dropped is left alone.
select t.item('J', 5); select t.item('K', 5);
select t.basket(10, 10, '{J,K}', '{1,1}');
select t.take(11, 11, 'J'); select t.start(11, 11);
select t.event('e11', 'paid', 11); select t.age(11);
select t.take(12, 12, 'K'); select api.hold_drop(t.hid(12), t.buyer(12));
select t.age(12); select t.age(10);
select is(t.sweep(), '1 0', 'one item of a basket');
select is(t.state(10), 'released expired (expired)', 'ends it');
select is(t.sweep(), '1 0', 'then the other');
select is(t.sweep(), '0 1000', 'that is all');
select is(t.stock('J') || ', ' || t.stock('K'),
    '5+0 held 0 sold 1, 5+0 held 0 sold 0', 'C14: paid is never swept');
select is(t.state(11) || ' ' || t.state(12),
    'paid (paid) released dropped (dropped)', 'nor is an end changed');

-- Parts of one hold in several buckets, cut by the limit.
select t.item('P', 6, per_buyer => 6, buckets => 3);
select t.take(20, 20, 'P', 6); select t.age(20);
select is(t.sweep(2), '2 0', 'two of its three parts');
select is(t.shown('P')->>'free', '6', 'all six are free');
select is(t.take(21, 20, 'P', 6), 'created', 'and can be had');
select is(t.stock('P'), '6+0 held 6 sold 0', 'as the stock says');
select t.clean();
select * from finish();
rollback;
