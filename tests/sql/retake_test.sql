-- The ladder for late payments: units are taken again, all or none.
begin;
\ir lib/fixture.sql
select plan(24);

-- From another bucket than before: the first one is somebody else's now.
select t.item('MOVE', 3, buckets => 3);
select t.take(1, 1, 'MOVE'); select t.open(1, 1); select t.age(1);
create function t.bucket(n integer) returns integer language sql
return (select bucket from data.hold_line join data.hold using (hold_id)
    where id = t.hid(n));
create table t.was as select t.bucket(1) as bucket;
select api.sweep(10);
select is(t.take(2, (select min(n) from generate_series(2, 99) n
    where api.stock_start(t.buyer(n)) % 3 = api.stock_start(t.buyer(1)) % 3),
    'MOVE'), 'created', 'another buyer, who starts at the same bucket');
select is(t.bucket(2), bucket, 'has the unit of that bucket') from t.was;
select is(t.event('e1', 'paid', 1), 'applied', 'paid late');
select is(t.state(1), 'paid (paid)', 'taken again');
select isnt(t.bucket(1), bucket, 'from another bucket') from t.was;
select is(t.stock('MOVE'), '3+0 held 1 sold 1', 'and sold');

-- A basket: all or none.
select t.item('X', 2); select t.item('Y', 1);
select t.basket(10, 10, '{X,Y}', '{1,1}'); select t.open(10, 10);
select t.age(10);
select is(t.take(11, 11, 'Y'), 'created', 'one of two is gone');
select is(t.event('e10', 'paid', 10), 'refund', 'so all goes back');
select is(t.stock('X') || ', ' || t.stock('Y'),
    '2+0 held 0 sold 0, 1+0 held 1 sold 0', 'and neither is sold');
select is((select amount from data.refund), 5000::bigint, 'for both');
select t.item('Z', 1);
select t.basket(13, 13, '{X,Z}', '{1,1}'); select t.open(13, 13);
select t.age(13);
select is(t.event('e13', 'paid', 13), 'applied', 'both are free: both come');
select is(t.stock('X') || ', ' || t.stock('Z'),
    '2+0 held 0 sold 1, 1+0 held 0 sold 1', 'and are sold');

-- One item of a basket has expired lines of others in its way.
select t.item('W', 150);
select count(t.take(2000 + n, 2000 + n, 'W')) from generate_series(1, 150) n;
select t.open(2001, 2001);
select t.age(array(select generate_series(2001, 2150)), '601 s');
select is(t.event('e2001', 'paid', 2001), 'applied',
    'C10: expired holds are not in the way of a late payment');
select is(t.stock('W'), '150+0 held 149 sold 1',
    'C76: which returns no more of them than it needs');
select t.item('TIGHT', 2, per_buyer => 2);
select t.take(20, 20, 'TIGHT', 2); select t.open(20, 20); select t.age(20);
select is(t.take(21, 21, 'TIGHT'), 'created', 'another takes one');
select t.age(21);
select is(t.event('e20', 'paid', 20), 'applied', 'and lets it expire');
select is(t.stock('TIGHT'), '2+0 held 0 sold 2', 'both are taken again');
select is(t.state(21), 'released expired (expired)', 'that one has ended');

-- The allowance counts as free.
select t.item('EXTRA', 1, allowance => 1);
select t.take(30, 30, 'EXTRA'); select t.open(30, 30); select t.age(30);
select t.take(31, 31, 'EXTRA'); select t.open(31, 31);
select t.event('e31', 'paid', 31);
select is(t.event('e30', 'paid', 30), 'applied',
    'late, no ordinary unit: one of the allowance');
select is(t.stock('EXTRA'), '1+1 held 0 sold 2', 'both are sold');

-- Dropped, then paid.
select t.item('BACK', 1);
select t.take(40, 40, 'BACK'); select t.open(40, 40);
select api.hold_drop(t.hid(40), t.buyer(40));
select is(t.event('e40', 'paid', 40), 'applied', 'paid after it was given up');
select is(t.state(40), 'paid (paid)', 'is an order, too');
select is((select count(*) from t.claim()
    where hold = t.hid(40)), 0::bigint, 'its page needs no ending');
select t.clean();
select * from finish();
rollback;
