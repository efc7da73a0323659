-- Holds: each outcome of taking, keys, baskets, limits.
begin;
\ir lib/fixture.sql
select plan(88);

-- A hold, as its buyer sees it.
select t.item('RUN-42', 600);
select t.item('RUN-43', 1);
select is(t.take(1, 1, 'RUN-43'), 'created', 'the last unit is taken');
select is(t.doc(1, 1)::jsonb - '{now,expires_at,expires_in_ms,order}'::text[],
    '{"id": "hld_0000000000000000000001", "state": "held", "reason": null,
    "late": null, "view": "held",
    "lines": [{"item": "RUN-43", "title": "Title of RUN-43", "qty": 1,
        "units": []}],
    "price": {"amount": 2500, "currency": "EUR"}, "existing": true,
    "payment": null, "refund": null}'::jsonb, 'the hold''s document');
select matches(t.doc(1)->>'order', '^ord_[0-9]+$', 'its order has a number');
select cmp_ok((t.doc(1)->>'expires_in_ms')::bigint, '<=', 600000::bigint,
    'it has 600 seconds');
select cmp_ok((t.doc(1)->>'expires_in_ms')::bigint, '>', 590000::bigint,
    'and not much less');
select is(t.shown('RUN-43')->>'state', 'all_held', 'others see: all held');
select is(api.hold_show('hld_nope', null), null, 'an unknown id shows nothing');

-- Each refusal takes nothing.
select is(t.take_doc(2, 2, 'RUN-43', 1)::text, '{"free" : 0, "held" : 1}',
    'sold out: what is free and held');
select is(t.take(2, 2, 'RUN-43'), 'sold-out', 'sold-out');
select is(t.take(2, 2, 'nope'), 'no-such-item', 'no-such-item');
select is(t.take(2, 2, 'RUN-42', 2), 'limit', 'limit');
select is(t.take_doc(2, 2, 'RUN-42', 2)::jsonb,
    '{"limit": 1, "have": 0, "hold": null}', 'the limit and what one has');
update data.item set status = 'paused' where sku = 'RUN-42';
select is(t.take(2, 2, 'RUN-42'), 'paused', 'paused');
update data.item set status = 'closed' where sku = 'RUN-42';
select is(t.take(2, 2, 'RUN-42'), 'closed', 'closed');
update data.item set status = 'open',
    opens_at = clock_timestamp() + interval '1 hour' where sku = 'RUN-42';
select is(t.take(2, 2, 'RUN-42'), 'not-open', 'not-open');
update data.item set opens_at = clock_timestamp() where sku = 'RUN-42';
select is(t.stock('RUN-42') || t.stock('RUN-43'),
    '600+0 held 0 sold 01+0 held 1 sold 0', 'nothing was taken');
select is(t.doc(2)->>'id', null, 'no hold was made');

-- Promise 2 and 3: the repeat.
select is(t.take(3, 3, 'RUN-42'), 'created', 'first click');
select is(t.take(4, 3, 'RUN-42'), 'existing', 'second click');
select is(t.take_doc(4, 3, 'RUN-42', 1)->>'id', t.hid(3), 'the same hold');
select is(t.take_doc(4, 3, 'RUN-42', 1)->>'expires_at',
    t.doc(3)->>'expires_at', 'with the same end');
select is(t.stock('RUN-42'), '600+0 held 1 sold 0', 'taken once');
select t.open(3, 3);
update data.item set status = 'paused' where sku = 'RUN-42';
select is(t.take(4, 3, 'RUN-42'), 'existing', 'a pause does not hide a hold');
update data.item set status = 'open' where sku = 'RUN-42';
select is(t.take_doc(4, 3, 'RUN-42', 1)->'payment'->>'url',
    'http://pay.test/3', 'its buyer finds the pay page again');
select is(t.doc(3, 4)->'payment'->>'url', null, 'another buyer does not');
select is(t.doc(3)->'payment'->>'state', 'open', 'but sees that it is open');
select throws_ok($$insert into data.hold_line (hold_id, item_id, bucket, qty,
        price, buyer, expires_at, lead)
    select h.hold_id, l.item_id, 1, 1, 1, l.buyer, now(), true
    from data.hold h, data.hold_line l
    where h.id = t.hid(1) and l.buyer = t.buyer(3)$$, '23505', null,
    'promise 3: no second live hold of a buyer and item');

-- Keys.
select is(t.take(10, 10, 'RUN-42', 1, 'key-0123456789abcdef'), 'created',
    'a key');
select is(t.take(11, 10, 'RUN-42', 1, 'key-0123456789abcdef'), 'existing',
    'the key again');
select is(t.take(11, 10, 'RUN-43', 1, 'key-0123456789abcdef'), 'key-reused',
    'the key for another item');
select is(t.take(11, 10, 'RUN-42', 2, 'key-0123456789abcdef'), 'key-reused',
    'the key for another number');
select is(t.basket(11, 10, '{RUN-42,RUN-43}', '{1,1}'), 'existing',
    'a basket with an item that is held leads to that hold');
select is(t.take(11, 11, 'RUN-42', 1, 'key-0123456789abcdef'), 'key-reused',
    'the key from another buyer');
select results_eq(
    $$select outcome, buyer, document::json->>'id' from api.hold_take(
        array[t.hid(11)], array[t.buyer(11)], '{f}',
        '{key-0123456789abcdef}', array[null::text], '{1}', '{RUN-42}',
        '{1}')$$,
    $$values ('existing', t.buyer(10), t.hid(10))$$,
    'the key from a browser that lost its cookie leads to its buyer');
select is(t.take(11, 11, 'RUN-43', 1, 'key-0123456789abcdef', false),
    'key-reused', 'but not for something else');
select is(t.take(11, 10, 'RUN-42', 1, 'KEY-0123456789abcdef'), 'existing',
    'another key finds the buyer''s live hold');
select api.hold_drop(t.hid(10), t.buyer(10));
select is(t.take_doc(11, 10, 'RUN-42', 1)->>'id', t.hid(11),
    'after a drop one takes anew');
select is(t.take(12, 10, 'RUN-42', 1, 'key-0123456789abcdef'), 'existing',
    'the old key still leads to the old hold');
select is(t.stock('RUN-42'), '600+0 held 2 sold 0', 'as the stock says');

-- C46, C47: whatever gets past the web's own check.
select t.item('MANY', 2000, per_buyer => 999, price => 100001);
select t.item('NONE', 0); select t.item('SOME', 9);
select is((select document::json->>'item' from api.hold_take(
        array[t.hid(60)], array[t.buyer(60)], '{t}', array[null::text],
        array[null::text], '{1,1}', array['SOME', sku], '{1,1}')), sku,
    'a refused basket names ' || sku || ', which stood in the way')
from unnest('{NONE,NOWHERE}'::text[]) sku;
select t.item('DEAR', 5, price => 99999999);
select is(t.take(20, 20, 'MANY', qty), 'limit', 'C46: qty ' || qty)
from unnest('{-1,-5,0}'::bigint[]) qty;
select is(t.take(20, 20, 'MANY', null), 'limit', 'C46: no qty');
select is(t.basket(20, 20, '{MANY,RUN-42}', '{5,-4}'), 'limit',
    'C46: a basket of 5 and -4');
select is(t.basket(20, 20, '{RUN-42,MANY}', '{-4,5}'), 'limit',
    'C46: the other way round');
select is(t.take(20, 20, 'MANY', qty), 'limit', 'C47: qty ' || qty)
from unnest('{1000,2147483647,2147483648,9223372036854775807}'::bigint[]) qty;
select is((t.take_doc(20, 20, 'MANY', 9223372036854775807)->>'limit'), '999',
    'C47: refused with the real limit');
select is(t.basket(20, 20, '{MANY,RUN-42}',
    '{9223372036854775807,9223372036854775807}'), 'limit',
    'C47: a basket of that');
select is(t.take(20, 20, 'MANY', 999), 'created', 'C47: the most that fits');
select is(t.take(21, 21, 'DEAR'), 'created', 'C47: the dearest unit');
select is(t.basket(22, 22, '{DEAR,RUN-42}', '{1,1}'), 'limit',
    'C47: no order is dearer');
select is(t.stock('RUN-42'), '600+0 held 2 sold 0', 'C47: nothing was taken');

-- Baskets: all or nothing.
select t.item('A', 5, per_buyer => 3, buckets => 2, price => 100);
select t.item('B', 2, per_buyer => 3, price => 30);
select t.item('Y', 2, currency => 'JPY');
select is(t.basket(30, 30, '{B,A}', '{1,3}'), 'created', 'a basket');
select is(t.doc(30)->'price'->>'amount', '330', 'costs what its lines cost');
select is((select string_agg(format('%s:%s', l->>'item', l->>'qty'), ' ')
    from json_array_elements(t.doc(30)->'lines') l), 'A:3 B:1', 'its lines');
select is(t.basket(31, 31, '{A,B}', '{1,2}'), 'sold-out', 'one is short');
select is(t.stock('A') || ', ' || t.stock('B'),
    '5+0 held 3 sold 0, 2+0 held 1 sold 0', 'so neither is taken');
select is(t.basket(31, 31, '{A,nope}', '{1,1}'), 'no-such-item',
    'one is unknown');
select is(t.basket(31, 31, '{A,Y}', '{1,1}'), 'mixed-currencies',
    'two currencies do not mix');
select is(t.basket(31, 30, '{B,RUN-42}', '{1,1}'), 'existing',
    'a held item leads to its hold');
select is(t.stock('Y'), '2+0 held 0 sold 0', 'nothing was taken of those');

-- The limit counts orders and holds together.
select t.item('TWO', 9, per_buyer => 2);
select is(t.take(40, 40, 'TWO', 1), 'created', 'one of two');
select t.start(40, 40);
select is(t.event('e40', 'paid', 40), 'applied', 'is paid');
select is(t.take(41, 40, 'TWO', 2), 'limit', 'two more are too many');
select is(t.take_doc(41, 40, 'TWO', 2)::jsonb, jsonb_build_object(
    'limit', 2, 'have', 1, 'hold', t.hid(40)), 'have one, in that order');
select is(t.take(41, 40, 'TWO', 1), 'created', 'one more is not');
select is(t.take(42, 40, 'TWO', 1), 'existing', 'which is held');
select t.age(41);
select is(t.take(42, 40, 'TWO', 1), 'created', 'expired ones do not count');
select t.start(42, 40);
select t.event('e42', 'paid', 42);
select is(t.take(43, 40, 'TWO', 1), 'limit', 'two orders fill it');

-- What a hold may not be.
select throws_ok(format('update data.hold set %s where id = t.hid(40)', wrong),
    code, null, 'never: ' || wrong)
from (values ('id = ''hld_short''', '23514'), ('key = ''short''', '23514'),
    ('amount = 0', '23514'), ('amount = 100000000', '23514'),
    ('state = ''gone''', '23514'), ('state = ''released''', '23514'),
    ('reason = ''dropped''', '23514'), ('state = ''held''', '23514'),
    ('expires_at = created_at', '23514')) bad (wrong, code);

-- hold_list
select is(json_array_length(api.hold_list(null, null, 1000)::json),
    (select count(*)::integer from data.hold), 'all are listed');
select is(json_array_length(api.hold_list('paid', 'TWO', 1000)::json), 2,
    'those of a state and item');
select is(json_array_length(api.hold_list('released', 'TWO', 1000)::json), 1,
    'an expired one is released');
select is(json_array_length(api.hold_list(null, null, 2)::json), 2, 'so many');
select t.clean();
select * from finish();
rollback;
