-- How holds end: by time, by their buyer, by a late payment that comes back.
begin;
\ir lib/fixture.sql
select plan(69);

-- C10: no sweeper runs here.
select t.item('ONE', 1);
select is(t.take(1, 1, 'ONE'), 'created', 'C10: b1 takes the only unit');
select t.age(1, '599 seconds');
select is(t.take(2, 2, 'ONE'), 'sold-out', 'C10: b2 is refused at 599 s');
select is(t.shown('ONE')->>'state', 'all_held', 'C10: all are held');
select t.age(1, '1 second');
select is(t.shown('ONE')->>'state', 'on_sale', 'C10: on sale from 600 s');
select is(t.shown('ONE')->>'free', '1', 'C10: one is free');
select is(t.shown('ONE')->>'held', '0', 'C10: none is held');
select is(t.state(1), 'released expired (expired)', 'C10: b1 sees: expired');
select is(t.doc(1)->>'expires_in_ms', '0', 'C10: with nothing left');
select is(t.take(2, 2, 'ONE'), 'created', 'C10: b2 takes it');
select is(t.stock('ONE'), '1+0 held 1 sold 0', 'C10: it is held once');
select is((api.sweep(100)).returned, 0, 'C10: a sweep finds nothing');
select is((api.sweep(100)).returned, 0, 'C10: nor does a second');
select is(t.stock('ONE'), '1+0 held 1 sold 0', 'C10: no count has changed');
select is(t.state(1), 'released expired (expired)', 'C10: b1 is out');

-- Several expired ones, with parts in several buckets.
select t.item('LOT', 9, per_buyer => 9, buckets => 3);
select is(t.take(5 + n, 5 + n, 'LOT', 3), 'created', 'a third of the lot')
from generate_series(1, 3) n;
select t.age(6); select t.age(7);
select is(t.take(9, 9, 'LOT', 7), 'sold-out', '6 of 9 have expired, not 7');
select is(t.take(9, 9, 'LOT', 6), 'created', 'C10: 6 of them are taken');
select is(t.stock('LOT'), '9+0 held 9 sold 0', 'and held');
select t.age(9);
select is(t.take(10, 9, 'LOT', 6), 'created',
    'C10: their own expired hold is not in a buyer''s way');
select is(t.stock('LOT'), '9+0 held 9 sold 0', 'nor counted');

-- More expired ones than a take returns at once, which it only does when it
-- needs them.
select t.item('BULK', 1101);
select count(t.take(1000 + n, 1000 + n, 'BULK')) from generate_series(1, 1100) n;
select t.age(array(select generate_series(1001, 2100)), '601 s');
select is(t.take(20, 20, 'BULK') || ' ' || t.stock('BULK'),
    'created 1101+0 held 1101 sold 0', 'C10: one was free without them');
select is(t.take(21, 2100, 'BULK'), 'created',
    'C10: a buyer whose own is the last of them');
select is(t.stock('BULK'), '1101+0 held 101 sold 0',
    'a take returns a thousand and its buyer''s own, not all');
select is((t.shown('BULK')->>'free')::integer, 1099, 'the others are free, too');

-- C13
select t.item('CART', 1);
select is(t.take(30, 30, 'CART'), 'created', 'C13: b1 takes h1');
select is(t.open(30, 30), 'ready', 'C13: and opens the pay page');
select t.age(30, '60 seconds');
select is(t.take_doc(31, 30, 'CART', 1)->>'id', t.hid(30),
    'C13: at 60 s b1 finds h1 again');
select is(t.take_doc(31, 30, 'CART', 1)->>'expires_at',
    t.doc(30)->>'expires_at', 'C13: with the same end');
select t.age(30, '545 seconds');
select is(t.take(32, 32, 'CART'), 'created', 'C13: at 605 s b2 takes it');
select is(t.open(32, 32), 'ready', 'C13: b2 is paying');
select is(t.state(30), 'released expired (expired)',
    'C13: b1 is told that the hold ended');
select is(t.take(33, 30, 'CART'), 'sold-out', 'C13: and the item is gone');
select is(t.start(30, 30), 'ended', 'C13: and cannot pay for it');
select is(t.event('e32', 'paid', 32), 'applied', 'C13: b2''s payment works');
select is(t.state(32), 'paid (paid)', 'C13: and buys');

-- Giving up.
select t.item('DROP', 2, per_buyer => 2, buckets => 2);
select is(t.take(40, 40, 'DROP', 2), 'created', 'both are taken');
select is((api.hold_drop(t.hid(40), t.buyer(41))).outcome, 'not-yours',
    'another buyer cannot drop it');
select is((api.hold_drop(t.hid(40), null)).outcome, 'not-yours',
    'nor can nobody');
select is((api.hold_drop('hld_nope', t.buyer(40))).outcome, 'no-such-hold',
    'there is no such hold');
select is(t.stock('DROP'), '2+0 held 2 sold 0', 'it still holds');
select is((api.hold_drop(t.hid(40), t.buyer(40))).outcome, 'done', 'dropped');
select is(t.stock('DROP'), '2+0 held 0 sold 0', 'both are free');
select is((api.hold_drop(t.hid(40), t.buyer(40))).outcome, 'done',
    'dropping again is done as well');
select is(t.stock('DROP'), '2+0 held 0 sold 0', 'and frees nothing more');
select is(t.state(40), 'released dropped (dropped)', 'its page says so');
select is(t.take(42, 40, 'DROP', 2), 'created', 'its buyer can take again');
select t.age(42);
select is((api.hold_drop(t.hid(42), t.buyer(40))).outcome, 'ended',
    'an expired one cannot be dropped');
select is((api.hold_drop(t.hid(42), t.buyer(40))).document::json->>'reason',
    'expired', 'the answer says why');
select is(t.take(43, 43, 'DROP', 1), 'created', 'one is taken');
select t.open(43, 43);
update data.outbox set next_try = next_try + interval '1 hour'
where outbox_id = t.call(43, 'expire');
select is((api.hold_drop(t.hid(43), t.buyer(43))).outcome, 'done',
    'dropped while the pay page is open');
select cmp_ok((select next_try from data.outbox
    where outbox_id = t.call(43, 'expire')), '<=', clock_timestamp(),
    'the page is to be ended at once');
select is(t.take(44, 44, 'DROP', 1), 'created', 'one is bought');
select t.start(44, 44);
select t.event('e44', 'paid', 44);
select is((api.hold_drop(t.hid(44), t.buyer(44))).outcome, 'ended',
    'what is paid cannot be dropped');
select is(t.stock('DROP'), '2+0 held 0 sold 1', 'and stays sold');

-- C11: the main run, then the variant.
select t.item('LAST', 1);
select is(t.take(50, 50, 'LAST'), 'created', 'C11: b1 takes');
select is(t.open(50, 50), 'ready', 'C11: and leaves the page open');
select t.age(50, '605 seconds');
select is(t.take(51, 51, 'LAST'), 'created', 'C11: b2 takes at 605 s');
select t.open(51, 51);
select is(t.event('e51', 'paid', 51), 'applied', 'C11: and pays');
select is(t.event('e50', 'paid', 50), 'refund', 'C11: b1''s money comes late');
select is(t.state(50), 'released expired (refund_owed)',
    'C11: b1 is told that it goes back');
select is(t.doc(50)->'refund'->>'reason', 'paid_late', 'C11: and why');
select is((select count(*) from t.claim()
    where kind = 'refund' and key = 'refund-' || t.hid(50)
        and amount = 2500), 1::bigint, 'C11: the cashier sends all of it');
select is(t.stock('LAST'), '1+0 held 0 sold 1', 'C11: one is sold');
select t.item('ALONE', 1);
select t.take(52, 52, 'ALONE'); select t.open(52, 52);
select t.age(52, '605 seconds');
select is(t.event('e52', 'paid', 52), 'applied', 'C11: nobody else came');
select is(t.state(52), 'paid (paid)', 'C11: so b1 gets it');
select is(t.stock('ALONE'), '1+0 held 0 sold 1', 'C11: and it is sold');
select t.clean();
select * from finish();
rollback;
