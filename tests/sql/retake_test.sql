-- The ladder for late payments: units are taken again, all or none.
begin;
\ir lib/fixture.sql
select plan(31);

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

-- The ladder's steps: free units, then the allowance, then the money back.
create function t.paid(n integer) returns text language plpgsql as $$
declare
    answer text := t.event('e' || n, 'paid', n);
begin
    return concat_ws(' ', answer, t.doc(n)->>'late');
end
$$;
select t.item('EXTRA', 1, allowance => 1);
select t.take(30, 30, 'EXTRA'); select t.open(30, 30); select t.age(30);
select t.take(31, 31, 'EXTRA'); select t.open(31, 31);
select is(t.paid(31), 'applied', 'in time: no step');
select is(t.paid(30), 'applied allowance',
    'late, no ordinary unit: one of the allowance');
select is(t.stock('EXTRA'), '1+1 held 0 sold 2', 'both are sold');
select t.item('FREE', 2, allowance => 1);
select t.take(32, 32, 'FREE'); select t.open(32, 32); select t.age(32);
select is(t.paid(32), 'applied retake',
    'late, one is free: no allowance is needed');
-- An item's own ladder may leave a step out.
create function t.ladder(n integer, sku text, steps text[]) returns text
language plpgsql as $$
begin
    perform t.item(sku, 1, allowance => 1, late => steps);
    perform t.take(n, n, sku);
    perform t.open(n, n);
    perform t.age(n);
    perform t.take(n + 500, n + 500, sku);
    return t.paid(n);
end
$$;
select is(t.ladder(33, 'L3', '{retake,refund}'), 'refund',
    'no allowance for late money');
select is(t.ladder(34, 'L4', '{allowance,refund}'), 'applied allowance',
    'the allowance');
select is(t.ladder(35, 'L5', '{refund}'), 'refund', 'nothing');
select t.item('L6', 2, late => '{allowance,refund}');
select t.take(36, 36, 'L6'); select t.open(36, 36); select t.age(36);
select is(t.paid(36), 'applied retake',
    'before the allowance go free units');
-- A basket says the deepest step that it took.
select t.item('P', 2); select t.item('Q', 1, allowance => 1);
select t.basket(37, 37, '{P,Q}', '{1,1}'); select t.open(37, 37);
select t.age(37); select t.take(38, 38, 'Q');
select is(t.paid(37),
    'applied allowance', 'one free, one of the allowance');

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
