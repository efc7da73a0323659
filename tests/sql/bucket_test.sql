-- Buckets: splitting and merging an item while it sells. The sums never
-- change, no unit is lost between buckets, none is sold twice.
begin;
\ir lib/fixture.sql
select plan(103);

create function t.split(sku text, n integer) returns text language sql
return (select outcome from api.item_split(sku, n, 'ann'));
-- Which buckets a hold's units are from.
create function t.lines(hold integer) returns text language sql
return (select string_agg(l.bucket || ':' || l.qty || ' ' || l.state, ', '
        order by l.bucket)
    from data.hold_line l join data.hold h using (hold_id)
    where h.id = t.hid(hold));
create function t.buckets(sku text) returns integer language sql
return (api.item_show(sku)::json->>'buckets')::integer;

-- What comes of an amount that does not come out even.
select is((select string_agg(api.stock_share(units, n, b, skip)::text, ','
        order by b) from generate_series(1, 5) b), share,
    format('%s over %s, after %s', units, n, skip))
from (values (10, 4, 0, '3,3,2,2,0'), (3, 5, 0, '1,1,1,0,0'),
    (0, 4, 0, '0,0,0,0,0'), (5, 1, 0, '5,0,0,0,0'), (3, 4, 2, '1,0,1,1,0'),
    (3, 4, 10, '1,0,1,1,0'), (4, 4, 3, '1,1,1,1,0'), (2, 4, 3, '1,0,0,1,0'))
    s (units, n, skip, share);
select is((select sum(api.stock_share(1000000000, 7, b, 999999999))
    from generate_series(1, 7) b), 1000000000::numeric,
    'all of a thousand million');

-- C07: the split.
select t.item('TEN', 10, per_buyer => 10);
select is(document::json::text, '{"item" : "TEN", "buckets" : 4, '
    '"spread" : [3, 3, 2, 2]}', 'C07: 10 units over 4 buckets')
from api.item_split('TEN', 4, 'ann');
select is(t.free('TEN'), '3,3,2,2', 'C07: 3/3/2/2');
select is(t.stock('TEN'), '10+0 held 0 sold 0', 'C07: the sum is 10');
select is(t.buckets('TEN'), 4, 'and four are shown');
select results_eq($$select changed_by, before->>'buckets', after->>'buckets',
        before->>'total', after->>'total', after->>'version'
    from data.item_change$$,
    $$values ('ann', '1', '4', '10', '10', '2')$$, 'who split it is kept');
select is(api.item_set('TEN', 1, 'x', null, null, null, 'bob'), 'changed',
    'and an edit of what was before is refused');

-- C07: sold until the buckets are 1,0,1,0.
select is(t.take(n, n, 'TEN'), 'created', 'C07: buyer ' || n || ' of 10')
from generate_series(1, 10) n;
select is(t.free('TEN'), '0,0,0,0', 'C07: all are out');
select is(t.take(11, 11, 'TEN'), 'sold-out', 'C07: sold out at a sum of 0');
select api.hold_drop(h.id, h.buyer) from (
    select distinct on (l.bucket) h.id, h.buyer
    from data.hold_line l join data.hold h using (hold_id)
    where l.bucket in (1, 3) order by l.bucket) h;
select is(t.free('TEN'), '1,0,1,0', 'C07: two are left, apart');
select is(t.take(12, 12, 'TEN', 3), 'sold-out', 'C07: nobody gets three');
select is(t.take(12, 12, 'TEN', 2), 'created', 'C07: one buyer gets both');
select is(t.lines(12), '1:1 held, 3:1 held', 'C07: from two buckets');
select is((select count(*) from data.hold_line join data.hold using (hold_id)
    where id = t.hid(12) and lead), 1::bigint, 'C07: as one hold');
select is(t.take(13, 13, 'TEN'), 'sold-out', 'C07: and the sum is 0');

-- C07: fewer units than buckets.
select t.item('THREE', 3);
select t.split('THREE', 8);
select is(t.free('THREE'), '1,1,1,0,0,0,0,0', 'C07: 3 units over 8');
select is(t.take(20 + n, 20 + n, 'THREE'), case n when 4 then 'sold-out'
    else 'created' end, 'C07: buyer ' || n) from generate_series(1, 4) n;
select is(t.buckets('THREE'), 8, 'a bucket that is empty is one all the same');

-- Lines stay where they are; what is free moves.
select t.item('MOVE', 12, per_buyer => 12);
select t.take(31, 31, 'MOVE', 4); select t.open(31, 31);
select t.take(32, 32, 'MOVE', 2); select t.open(32, 32);
select t.event('e32', 'paid', 32);
select is(t.split('MOVE', 3), 'done', 'split with 4 held and 2 sold');
select is(t.free('MOVE'), '2,2,2', 'the 6 that are free are spread');
select is(t.stock('MOVE'), '12+0 held 4 sold 2', 'the sums are as before');
select is(t.lines(31) || ' ' || t.lines(32), '1:4 held 1:2 paid',
    'the lines have not moved');
select is(t.event('e31', 'paid', 31), 'applied', 'what is held can be paid');
select is(t.take(33, 33, 'MOVE', 6), 'created', 'and all 6 be had at once');
select is(t.split('MOVE', 5), 'done', 'split again with nothing free');
select is(t.free('MOVE'), '0,0,0,0,0', 'there is nothing to spread');

-- Merged: the rows stay and count what is out from them, until it is back.
select t.item('MERGE', 6, per_buyer => 6, buckets => 3);
select t.take(41, 41, 'MERGE', 6);
select is(t.lines(41), '1:2 held, 2:2 held, 3:2 held', 'all of three buckets');
select is(t.split('MERGE', 1), 'done', 'merged with all of it out');
select is(t.lines(41), '1:2 held, 2:2 held, 3:2 held', 'no line has moved');
select is(t.buckets('MERGE'), 1, 'one bucket is shown');
select api.hold_drop(t.hid(41), t.buyer(41));
select is(t.free('MERGE'), '2,2,2', 'they come back to where they were');
select is(t.shown('MERGE')->>'free', '6', 'and are all on sale');
select is(t.take(42, 42, 'MERGE', 5), 'created', 'a buyer finds 5 of them');
select is(t.take(43, 43, 'MERGE', 2), 'sold-out', 'not 2 of the one left');
select t.open(42, 42); select t.event('e42', 'paid', 42);
select t.split('MERGE', 1);
select is((select string_agg((total - held - sold)::text, ',' order by bucket)
    from data.stock join data.item using (item_id) where sku = 'MERGE'),
    '1,0,0', 'merged again, the last is in the one bucket');
select is(t.stock('MERGE'), '6+0 held 0 sold 5', 'the sum is 6');
select t.split('MERGE', 2);
select is(t.free('MERGE'), '1,0,0', 'split again, the rows are used again');
select is((select count(*) from data.stock join data.item using (item_id)
    where sku = 'MERGE'), 3::bigint, 'and none is added');

-- Late money after a merge: the goods are taken from where they are now.
select t.item('LATE', 4, per_buyer => 4, buckets => 2);
select t.take(51, 51, 'LATE', 4); select t.open(51, 51); select t.age(51);
select api.sweep(100);
select t.split('LATE', 1);
select is(t.free('LATE'), '4,0', 'all are in one bucket');
select is(t.event('e51', 'paid', 51), 'applied', 'paid late');
select is(t.lines(51), '1:4 paid', 'and served from there');
select is(t.stock('LATE'), '4+0 held 0 sold 4', 'once');

-- Expired where a bucket was: a sweep returns it.
select t.item('SWEPT', 2, per_buyer => 2, buckets => 2);
select t.take(55, 55, 'SWEPT', 2); select t.split('SWEPT', 1); select t.age(55);
select is(returned, 2, 'two lines are due') from api.sweep(100);
select is(t.free('SWEPT') || ' ' || t.take(56, 56, 'SWEPT', 2), '1,1 created',
    'and sold again');

-- The allowance follows; what is out uses up the total first.
select t.item('OVER', 10, allowance => 3, per_buyer => 13, buckets => 4);
select is(t.free('OVER'), '4,3,3,3', 'C08: 13 units over 4 buckets');
select t.split('OVER', 4);
select is(t.free('OVER') || ' ' || t.stock('OVER'),
    '4,3,3,3 10+3 held 0 sold 0', 'as they were');
select is(t.take(61, 61, 'OVER', 12), 'created', 'C08: 12 of 10 and 3');
select t.split('OVER', n) from unnest('{1,3,7,2}'::integer[]) n;
select is(t.stock('OVER'), '10+3 held 12 sold 0', 'C08: the sums stay');
select is(t.take(62, 62, 'OVER', 2), 'sold-out',
    'C08: not two of the one left');
select is(t.take(63, 63, 'OVER'), 'created', 'C08: number 13');
select is(t.take(64, 64, 'OVER'), 'sold-out', 'C08: number 14 is refused');
select t.item('BARE', 0, allowance => 6, per_buyer => 6, buckets => 3);
select is(t.take(65, 65, 'BARE', 6), 'created', 'C08: nothing but allowance');
select t.split('BARE', 1);
select is(t.stock('BARE') || ' in ' || t.free('BARE'),
    '0+6 held 6 sold 0 in 0,0,0', 'C08: all of it out, merged');

-- A new total goes to the buckets that there are now.
select t.item('SET', 4, per_buyer => 9, buckets => 4);
select t.take(71, 71, 'SET', 4); select t.split('SET', 2);
select is(api.item_set('SET', 2, null, null, 9, null, 'bob'), 'done',
    'five more');
select is(t.free('SET'), '3,2,0,0', 'over the two buckets that there are');
select is(api.item_set('SET', 3, null, null, 3, null, 'bob'), 'short',
    'never below what is out, wherever it is');
select is(api.item_set('SET', 3, null, null, 4, null, 'bob'), 'done',
    'down to what is out');
select is(t.free('SET'), '0,0,0,0', 'nothing is free');
select is(api.item_set('OVER', 6, null, null, 9, null, 'bob'), 'short',
    'C08: 9 and 3 are fewer than 13');
select is(api.item_set('BARE', 2, null, null, -1, null, 'bob'), 'short',
    'a negative total');

-- Where buyers start.
select t.item('START', 4000);
select t.split('START', 4);
select t.take(1000 + n, 1000 + n, 'START') from generate_series(1, 400) n;
select is(count(*), 4::bigint, 'buyers start at each of the buckets')
from data.stock join data.item using (item_id)
where sku = 'START' and held > 0;
select ok(bool_and(held between 70 and 130),
    '400 of them evenly: ' || string_agg(held::text, ', '))
from data.stock join data.item using (item_id) where sku = 'START';
select is((select bucket from api.stock_pick(item_id, 1, t.buyer(1000))),
    (select bucket from api.stock_pick(item_id, 1, t.buyer(1000))),
    'the same buyer at the same one') from data.item where sku = 'START';
select ok((select count(*) > 1 from api.stock_pick(item_id, 1000,
    t.buyer(1000))), 'and goes on to the others') from data.item
where sku = 'START';

-- As many buckets as may be, and back.
select t.item('WIDE', 1500, per_buyer => 1000);
select is(json_array_length(document::json->'spread'), 1000, '1,000 buckets')
from api.item_split('WIDE', 1000, 'ann');
select is(t.take(81, 81, 'WIDE', 1000), 'created', 'a buyer takes of many');
select is(t.split('WIDE', 1), 'done', 'merged');
select is(t.take(82, 82, 'WIDE', 500) || ' ' || t.take(83, 83, 'WIDE'),
    'created sold-out', 'the other 500 are there, and no more');

-- What is refused, and changes nothing.
select is(outcome || coalesce(document, ''), 'no-such-item', 'no item')
from api.item_split('nope', 2, 'ann');
select is(t.split('ten', 2), 'no-such-item', 'C49: nor one of another name');
select throws_ok(format('select t.split(%L, %s)', 'TEN', n), code, null,
    'refused: ' || n || ' buckets')
from (values ('0', '23514'), ('-1', '23514'), ('1001', '23514'),
    ('null', '23502')) bad (n, code);
select t.item('SEATS', 2);
update data.item set kind = 'unit' where sku = 'SEATS';
select is(t.split('SEATS', 2), 'not-count', 'distinct units have no buckets');
select is(t.buckets('SEATS') || t.free('SEATS'), '12', 'and stay as they are');

-- Whatever comes, in any order. Each step is checked: the sums, that nothing
-- stays free in a bucket just merged away, and that nobody is told "sold out"
-- while there is enough.
create table t.did (step integer, what text);
create function t.walk_free() returns bigint language sql
begin atomic
    select sum(total + allowance - held - sold)::bigint
    from data.stock join data.item using (item_id) where sku = 'WALK';
end;
-- Any hold of the walk's, or one with an open pay page.
create function t.walk_hold(payable boolean) returns integer language sql
return (select substr(h.id, 5)::integer from data.hold h
    where h.hold_id in (select hold_id from data.hold_line
            join data.item using (item_id) where sku = 'WALK')
        and (not payable or exists (select from data.payment p
            where p.hold_id = h.hold_id and p.state = 'open'))
    order by random() limit 1);
create function t.step(step integer) returns void language plpgsql as $$
declare
    dice constant integer := floor(random() * 14);
    n constant integer := floor(random() * 7) + 1;
    picked constant integer := t.walk_hold(dice in (8, 9));
    owner constant integer := (select right(buyer::text, 12)::integer
        from data.hold where id = t.hid(picked));
    what text;
begin
    if dice < 6 then
        what := t.take(10000 + step, 10000 + floor(random() * 60)::integer,
            'WALK', n % 3 + 1);
        if what = 'sold-out' and n % 3 + 1 <= t.walk_free() then
            raise 'step %: sold out, with enough free', step;
        end if;
    elsif dice = 6 then
        what := (select 'drop ' || outcome
            from api.hold_drop(t.hid(picked), t.buyer(owner)));
    elsif dice = 7 then
        what := 'open ' || t.open(picked, owner);
    elsif dice in (8, 9) then
        what := 'pay ' || coalesce(t.event('walk' || step, 'paid', picked),
            'nothing');
    elsif dice = 10 then
        perform t.age(picked);
        what := 'age';
    elsif dice = 11 then
        what := 'sweep ' || (select least(returned, 1) from api.sweep(2));
    else
        what := 'split ' || t.split('WALK', n);
        if exists (select from data.stock s join data.item i using (item_id)
            where i.sku = 'WALK' and (i.buckets <> n or (s.bucket > n
                and s.total + s.allowance <> s.held + s.sold)))
        then
            raise 'step %: free units stay behind', step;
        end if;
    end if;
    insert into t.did values (step, what);
    if t.stock('WALK') !~ '^60\+5 ' or exists (select from api.audit()) then
        raise 'step %, %: %, %', step, what, t.stock('WALK'),
            (select string_agg(a::text, '; ') from api.audit() a);
    end if;
end
$$;
select t.item('WALK', 60, allowance => 5, per_buyer => 3, buckets => 2);
select setseed(0.07);
select t.take(9999, 9999, 'WALK');
select lives_ok(format('select t.step(n) from generate_series(%s, %s) n',
    k * 100 + 1, k * 100 + 100), 'C07: steps from ' || k * 100 + 1)
from generate_series(0, 3) k;
select set_has('select what from t.did',
    $$values ('created'), ('existing'), ('sold-out'), ('drop done'),
        ('open ready'), ('pay applied'), ('age'), ('sweep 1'),
        ('split done')$$, 'of every kind');
select t.clean();
select * from finish();
rollback;
