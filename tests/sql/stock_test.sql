-- Stock: buckets, the allowance, and the constraint behind it all.
begin;
\ir lib/fixture.sql
select plan(38);

-- Which buckets units come from.
select is(api.stock_allot('{5,5}', 3, 0), '{3,0}', 'all from one bucket');
select is(api.stock_allot('{5,5}', 3, 1), '{0,3}', 'starting where told');
select is(api.stock_allot('{1,0,1,0}', 2, 2), '{1,0,1,0}', 'from several');
select is(api.stock_allot('{1,0,1,0}', 3, 0), null::bigint[],
    'none when all together have too few');
select is(api.stock_allot('{-1,2}', 2, 0), '{0,2}',
    'a bucket that is short counts as empty');
select is(api.stock_allot('{}', 1, 0), null::bigint[], 'no bucket, no unit');
select is(api.stock_allot('{0,1}', 1, 2147483647), '{0,1}',
    'C56: the highest start does not run over');
select ok(bool_and(api.stock_start(t.buyer(n)) between 0 and 2147483647),
    'a buyer''s start is never negative') from generate_series(1, 1000) n;
select cmp_ok(count(distinct api.stock_start(t.buyer(n)) % 4), '=', 4::bigint,
    'buyers start everywhere') from generate_series(1, 100) n;

-- C07
select t.item('TEN', 10, per_buyer => 10, buckets => 4);
select is(t.free('TEN'), '3,3,2,2', 'C07: 10 units over 4 buckets');
select t.item('THREE', 3, buckets => 8);
select is(t.free('THREE'), '1,1,1,0,0,0,0,0', 'C07: 3 units over 8');
select is(t.take(n, n, 'THREE'), 'created',
    'C07: buyer ' || n || ' of 3 is served') from generate_series(1, 3) n;
select is(t.take(4, 4, 'THREE'), 'sold-out', 'C07: the fourth is not');
select is(t.shown('THREE')->>'state', 'all_held', 'C07: all are held');
select is(t.stock('THREE'), '3+0 held 3 sold 0', 'C07: the sum is 3');

select t.item('ODD', 4, per_buyer => 10, buckets => 4);
update data.stock s set held = 1 from data.item i
where i.item_id = s.item_id and i.sku = 'ODD' and s.bucket in (2, 4);
insert into data.hold (id, buyer, amount, currency, created_at, expires_at)
values (t.hid(900), t.buyer(900), 5000, 'EUR', now(),
    now() + interval '10 minutes');
insert into data.hold_line (hold_id, item_id, bucket, qty, price, buyer,
    expires_at, lead)
select h.hold_id, i.item_id, b, 1, 2500, h.buyer, h.expires_at, b = 2
from data.hold h, data.item i, unnest('{2,4}'::integer[]) b
where h.id = t.hid(900) and i.sku = 'ODD';
select is(t.free('ODD'), '1,0,1,0', 'C07: two buckets have one each');
select is(t.take(10, 10, 'ODD', 3), 'sold-out', 'C07: 3 of 2 are not there');
select is(t.take_doc(10, 10, 'ODD', 3)::text, '{"free" : 2, "held" : 2}',
    'C01: the refusal says how many are left');
select is(t.take(10, 10, 'ODD', 2), 'created', 'C07: 2 from two buckets');
select is((select string_agg(format('%s:%s', l.bucket, l.qty), ' '
        order by l.bucket) || ' ' || count(*) filter (where l.lead)
    from data.hold_line l join data.hold h using (hold_id)
    where h.id = t.hid(10)), '1:1 3:1 1',
    'C07: one line in each, one of them leading');
select is(t.doc(10)->'lines'->0->>'qty', '2', 'C07: the buyer sees one line');
select is(t.event('e10', 'paid', 10), 'unmatched', 'not asked for yet');
select is(t.start(10, 10), 'paid', 'C07: both are paid at once');
select is(t.stock('ODD'), '4+0 held 2 sold 2', 'C07: and sold');

-- C08
select t.item('CUP', 100, allowance => 3, buckets => 2);
select results_eq(
    $$select outcome, count(*) from (
        select t.take(1000 + n, 1000 + n, 'CUP') as outcome
        from generate_series(1, 110) n) x group by 1 order by 1$$,
    $$values ('created', 103::bigint), ('sold-out', 7::bigint)$$,
    'C08: 103 of 110 are accepted');
select is(t.stock('CUP'), '100+3 held 103 sold 0', 'C08: 103 are held');
select t.item('NONE', 1);
select is(t.stock('NONE'), '1+0 held 0 sold 0', 'C08: 0 means none');
select t.item('BLANK', 1, allowance => null);
select is(t.stock('BLANK'), '1+0 held 0 sold 0', 'C08: so does nothing');
select is(t.take(50 + n, 50 + n, 'BLANK'),
    case n when 1 then 'created' else 'sold-out' end,
    'C08: buyer ' || n || ' of the item without') from generate_series(1, 2) n;

-- Promise 1
select throws_ok($$update data.stock set held = held + 1
    where item_id = (select item_id from data.item where sku = 'BLANK')$$,
    '23514', null, 'promise 1: never more held than there is');
select throws_ok($$update data.stock set sold = sold + 1
    where item_id = (select item_id from data.item where sku = 'BLANK')$$,
    '23514', null, 'promise 1: nor sold');
select throws_ok($$update data.stock set total = total - 1
    where item_id = (select item_id from data.item where sku = 'BLANK')$$,
    '23514', null, 'promise 1: nor may the total fall below');
select throws_ok($$update data.stock set held = -1
    where item_id = (select item_id from data.item where sku = 'NONE')$$,
    '23514', null, 'and no count is negative');
select throws_ok($$update data.stock set sold = -1
    where item_id = (select item_id from data.item where sku = 'NONE')$$,
    '23514', null, 'sold neither');
select t.clean();
select * from finish();
rollback;
