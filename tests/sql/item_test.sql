-- Items: adding, changing, showing; and what an item may not be.
begin;
\ir lib/fixture.sql
select plan(91);

-- item_add
select is(t.item('RUN-42', 600), 'added', 'an item is added');
select is(t.item('RUN-42', 9), 'exists', 'a second of that SKU is not');
select is(t.stock('RUN-42'), '600+0 held 0 sold 0', 'and changes nothing');
select throws_ok(format('select t.item(%L, %s)', 'BAD', args), code, null,
    'refused: ' || args)
from (values ('-1', '23514'), ('1, allowance => -1', '23514'),
    ('1, per_buyer => 0', '23514'), ('1, per_buyer => 1001', '23514'),
    ('1, price => 0', '23514'), ('1, price => -1', '23514'),
    ('1, price => 100000000', '23514'),
    ('1, price => 50000000, per_buyer => 2', '23514'),
    ('1, currency => ''eur''', '23514'),
    ('1, currency => ''EURO''', '23514'),
    ('1, buckets => 0', '23514'), ('1, buckets => 1001', '23514'),
    ('1, late => ''{retake}''', '23514'),
    ('1, late => ''{refund,retake}''', '23514')) bad (args, code);
select throws_ok(format($$select api.item_add('B', 'B', 1, 'EUR', 1, 0, %s, 1,
    1, %L, %L, '{refund}')$$, seconds, opens, closes), '23514', null, why)
from (values (0, null, null, 'a hold of no time'),
    (86401, null, null, 'a hold of more than a day'),
    (600, '2026-12-05 10:00Z', '2026-12-05 10:00Z',
        'a sale that closes as it opens')) bad (seconds, opens, closes, why);
select throws_ok(format($$select api.item_add('B', %L, 1, 'EUR', 1, 0, 60, 1,
    1, null, null, '{refund}')$$, title), '23514', null,
    'a title that is ' || why)
from (values ('', 'empty'), (E'two\nlines', 'of two lines'),
    (repeat('x', 201), 'too long')) bad (title, why);

-- C31: an amount is kept as it is, in the currency's own units.
select t.item('YEN', 1, price => 500, currency => 'JPY');
select t.item('DINAR', 1, price => 18600, currency => 'KWD');
select t.item('EURO', 1, price => 1999);
select is(t.shown(sku)->>'price', price, 'C31: ' || sku || ' is shown so')
from (values ('YEN', '{"amount" : 500, "currency" : "JPY"}'),
    ('DINAR', '{"amount" : 18600, "currency" : "KWD"}'),
    ('EURO', '{"amount" : 1999, "currency" : "EUR"}')) p (sku, price);

-- C49: identifiers are text.
create table t.sku (nr serial, sku text);
insert into t.sku (sku) values ('01234'), ('1234'), ('0'), (E'caf\u00e9'),
    (E'cafe\u0301'), ('sku-a'), ('SKU-A'), (E'\uff11\uff12\uff13\uff14'),
    ('a b');
select is(t.item(sku, 1), 'added', 'C49: ' || sku || ' is an item')
from t.sku order by nr;
select is(t.take(nr, nr, sku), 'created', 'C49: ' || sku || ' has its own stock')
from t.sku order by nr;
select is((select count(*) from t.sku
    where t.shown(sku)->>'item' = sku and t.stock(sku) like '1+0 held 1%'),
    9::bigint, 'C49: none of them was taken for another');
select is(t.shown('1234 ')->>'item', null, 'C49: a trailing blank finds nothing');
select is(t.take(90, 90, '1234 '), 'no-such-item', 'C49: nor takes anything');
select throws_ok(format('select t.item(%L, 1)', sku), '23514', null,
    'C49: no item is called ' || why)
from (values ('1234 ', '1234 with a trailing blank'),
    (' 1234', '1234 with a leading blank'), ('', 'nothing'), (' ', 'a blank'),
    ('.', 'a dot'), ('..', 'two dots'), ('a/b', 'a path'),
    ('a\b', 'something with a backslash'), (E'a\nb', 'two lines'),
    (E'a\t', 'something with a tab'), (repeat('x', 101), 'so much'))
    bad (sku, why);

-- availability
select is(api.availability('{nope}')::json->>'items', '[]',
    'an unknown item is left out');
select is((select string_agg(i->>'item', ',' order by nr)
    from json_array_elements(
        api.availability('{EURO,nope,RUN-42,EURO,YEN}')::json->'items')
        with ordinality e (i, nr)), 'EURO,RUN-42,YEN',
    'items come once, in the order asked for');
select matches(api.availability('{}')::json->>'now',
    '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$', 'times are ISO 8601 with Z');
update data.item set opens_at = clock_timestamp() + interval '40 days'
where sku = 'YEN';
select is(t.shown('YEN')->>'state', 'upcoming', 'a sale that is to come');
select is((t.shown('YEN')->>'opens_in_ms')::bigint / 86400000, 39::bigint,
    'C19: 40 days fit into opens_in_ms');
select is(t.take_doc(91, 91, 'YEN', 1)->>'opens_in_ms' ~ '^\d+$', true,
    'a take is told when it opens');
update data.item set opens_at = null, closes_at = clock_timestamp()
where sku = 'YEN';
select is(t.shown('YEN')->>'state' || t.take(91, 91, 'YEN'), 'closedclosed',
    'a sale that is over');

-- item_set
select t.item('TEN', 10, buckets => 3);
select is(t.take(100 + n, 100 + n, 'TEN'), 'created', 'C04: a buyer takes')
from generate_series(1, 3) n;
select t.start(100 + n, 100 + n) from generate_series(1, 3) n;
select t.event('paid' || n, 'paid', 100 + n) from generate_series(1, 3) n;
create table t.before as select * from data.stock;
select is(api.item_set('TEN', 1, 'A new title', null, null, null, 'ann'),
    'done', 'C04: an operator saves a title');
select results_eq('select * from data.stock order by 1, 2',
    'select * from t.before order by 1, 2', 'C04: no stock row was written');
select is(t.stock('TEN'), '10+0 held 0 sold 3', 'C04: 3 of 10 are sold');
select is(t.shown('TEN')->>'title', 'A new title', 'C04: the title is new');
select is(api.item_set('TEN', 1, null, null, 20, null, 'bob'), 'changed',
    'C04: an edit of the older version is refused');
select is(api.item_set('TEN', null, null, null, 20, null, 'bob'), 'changed',
    'C04: an edit of no version, too');
select is(api.item_set('TEN', 2, null, null, 20, null, 'bob'), 'done',
    'C04: one of the current version is not');
select is(t.stock('TEN'), '20+0 held 0 sold 3', 'C04: sold is untouched');
select results_eq(
    $$select changed_by, before->>'title', after->>'title',
            before->>'total', after->>'total', changed_at is not null
        from data.item_change order by change_id$$,
    $$values ('ann', 'Title of TEN', 'A new title', '10', '10', true),
        ('bob', 'A new title', 'A new title', '10', '20', true)$$,
    'C04: who changed what, from what, to what');
select is(api.item_set('TEN', 3, null, null, 2, null, 'bob'), 'short',
    'a total below what is sold is refused');
select is(api.item_set('TEN', 3, null, null, -1, null, 'bob'), 'short',
    'a negative one, too');
select is(api.item_set('TEN', 3, null, null, 3, null, 'bob'), 'done',
    'the units that are sold are enough');
select is(t.free('TEN'), '0,0,0', 'they stay in their buckets');
select is(api.item_set('nope', 1, 'x', null, null, null, 'bob'),
    'no-such-item', 'an unknown item');
select is(api.item_set('TEN', 4, null, 1, null, 'paused', 'bob'), 'done',
    'a price and a pause');
select is(t.take(110, 110, 'TEN') || ' ' || (t.shown('TEN')->>'state'),
    'paused paused', 'nobody takes while it is paused');
select throws_ok($$select api.item_set('TEN', 5, null, null, null, 'gone', 'b')
    $$, '23514', null, 'a status that there is not');

-- An expired hold is not in the operator's way either.
select t.item('DUE', 5);
select t.take(120, 120, 'DUE'); select t.age(120);
select is(api.item_set('DUE', 1, null, null, 0, null, 'ann'), 'done',
    'C10: a total of 0 with one expired hold');
select is(t.stock('DUE'), '0+0 held 0 sold 0', 'C10: which it returns');

-- item_show, item_list
select is(api.item_show('nope'), null, 'nothing to show');
select t.item('SHOW', 5); select t.take(130, 130, 'SHOW');
select t.take(131, 131, 'SHOW'); select t.age(131);
select is((select concat_ws(' ', i->>'total', i->>'free', i->>'held',
        i->>'sold', i->>'buckets', i->>'version', i->>'status')
    from (select api.item_show('SHOW')::json) x (i)), '5 4 1 0 1 1 open',
    'what is shown counts an expired hold as free');
select is(json_array_length(api.item_list()::json),
    (select count(*)::integer from data.item), 'all are listed');
select t.clean();
select * from finish();
rollback;
