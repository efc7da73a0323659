-- Payments: asking for the page, and what each webhook does to hold and stock.
begin;
\ir lib/fixture.sql
select plan(103);

-- payment_start: each outcome.
select t.item('SHOE', 50, per_buyer => 2);
select is(t.start(1, 1), 'no-such-hold', 'no-such-hold');
select t.take(1, 1, 'SHOE', 2);
select is(t.start(1, 2), 'not-yours', 'not-yours');
select is((api.payment_start(t.hid(1), null, 'stripe', 'http://shop.test',
    1800, 86400)).outcome, 'not-yours', 'not-yours: nobody''s');
select is(t.start(1, 1), 'opening', 'opening');
select is(t.start(1, 1), 'opening', 'and again');
select is(t.state(1), 'held (opening)', 'the page says so');
select results_eq(
    $$select p.key, p.attempt, p.provider, p.amount, p.currency, p.title,
            p.return_url, p.state,
            p.session_expires_at - p.created_at > interval '30 minutes'
        from data.payment p$$,
    format('values (%L, 1, %L, 5000::bigint, %L, %L, %L, %L, true)',
        'cs-' || t.hid(1), 'stripe', 'EUR', '2 x Title of SHOE',
        'http://shop.test/order/' || t.hid(1), 'opening'),
    'promise 8: one payment, with its key and all that is told');
select is((select string_agg(kind || ' ' || key, ',') from data.outbox),
    'open cs-' || t.hid(1), 'promise 8: and one call');
select is(t.open(1, 1), 'ready', 'ready');
select is((api.payment_start(t.hid(1), t.buyer(1), 'stripe', 'x', 1800,
    86400)).url, 'http://pay.test/1', 'with the address');
select is(t.doc(1, 1)->'payment'->>'url', 'http://pay.test/1', 'also shown');
select is(t.event('e1', 'paid', 1), 'applied', 'applied');
select is(t.start(1, 1), 'paid', 'paid');
select is(t.state(1), 'paid (paid)', 'the page says so');
select is(t.doc(1, 1)->'payment'->>'url', null, 'no address any more');
select is(t.stock('SHOE'), '50+0 held 0 sold 2', 'two are sold');
select t.take(2, 2, 'SHOE'); select t.age(2);
select is(t.start(2, 2), 'ended', 'ended: expired');
select t.take(3, 3, 'SHOE'); select api.hold_drop(t.hid(3), t.buyer(3));
select is(t.start(3, 3), 'ended', 'ended: dropped');
select is((select count(*) from data.payment), 1::bigint,
    'neither made a payment');
select t.take(4, 4, 'SHOE'); select t.open(4, 4); select t.age(4);
select is(t.start(4, 4), 'ended', 'ended: the page was open');
select is((api.payment_start(t.hid(4), t.buyer(4), 'stripe', 'x', 1800,
    86400)).url, null, 'its address is not given any more');

-- refused, and asking again under a new key
select t.take(5, 5, 'SHOE');
select is(t.start(5, 5), 'opening', 'first attempt');
select api.cashier_refused(t.call(5, 'open'), 'no such currency');
select is(t.state(5), 'held (held)', 'the hold lives on');
select is(t.start(5, 5), 'refused', 'not again at once: the page asks twice a second');
create function t.asked_earlier(nr integer) returns void language sql as
$$update data.payment p set created_at = p.created_at - interval '6 s'
    from data.hold h where h.hold_id = p.hold_id and h.id = t.hid(nr)$$;
select t.asked_earlier(5);
select is(t.start(5, 5), 'opening', 'after five seconds, under a new key');
do $$ begin
    for i in 3..9 loop
        perform api.cashier_refused(t.call(5, 'open'), 'no');
        perform t.asked_earlier(5);
        perform t.start(5, 5);
    end loop;
    perform api.cashier_refused(t.call(5, 'open'), 'no');
    perform t.asked_earlier(5);
end $$;
select is(t.start(5, 5), 'refused', 'refused: nine are enough');
select is((select string_agg(replace(p.key, t.hid(5), ''), ','
        order by p.attempt) from data.payment p
        join data.hold h using (hold_id) where h.id = t.hid(5)),
    'cs-,cs--2,cs--3,cs--4,cs--5,cs--6,cs--7,cs--8,cs--9',
    'each with its own key');

-- However late the cashier asks, the provider's limits are kept.
select api.item_add('DAY', 'A day', 100, 'EUR', 5, 0, 86400, 1, 1, null, null,
    '{refund}');
select t.take(8, 8, 'DAY'); select t.start(8, 8);
select ok((select p.session_expires_at between now() + interval '23 hours'
        and now() + interval '24 hours' from data.payment p
        join data.hold h using (hold_id) where h.id = t.hid(8)),
    'a page for a hold of a day ends within the provider''s 24 hours');

-- C22
select t.item('V', 5);
select t.take(10, 10, 'V'); select t.open(10, 10);
select is(t.event('evt_0001', 'paid', 10), 'applied', 'C22: the fact');
select is(t.event('evt_0001', 'paid', 10), 'repeat', 'C22: the same event');
select is(t.event('evt_0001b', 'paid', 10), 'repeat',
    'C22: the same fact under another id');
select is(t.settle('evt_0001c', 'paid', t.hid(10), amount => 2500,
    currency => 'EUR'), 'repeat', 'C22: by the hold alone');
select is(t.settle('evt_0001d', 'paid', ref => 'pi_10', amount => 2500,
    currency => 'EUR'), 'repeat', 'C22: by the provider''s payment alone');
select is(t.stock('V'), '5+0 held 0 sold 1', 'C22: sold once');
select is((select count(*) from data.refund), 0::bigint, 'C22: no refund');
select is((select deliveries from data.event where event_id = 'evt_0001'),
    2::bigint, 'C22: both deliveries are counted');

-- The same event id of another provider is another event.
select is(t.settle('evt_0001', 'paid', t.hid(10), ref => 'pi_10',
    amount => 2500, currency => 'EUR', provider => 'standard'), 'person',
    'the same id of another provider is another event, and money astray');

-- C25
select t.take(20, 20, 'V');
select is(t.event('early', 'paid', 20), 'unmatched',
    'C25: an event before our own record is parked');
select is(t.state(20), 'held (held)', 'C25: it changes nothing yet');
select is(t.start(20, 20), 'paid', 'C25: and is applied when that is made');
select is(t.state(20), 'paid (paid)', 'C25: paid');
select is((select outcome from data.event where event_id = 'early'),
    'applied', 'C25: the inbox says so');
select is((select count(*) from t.claim()
    where hold = t.hid(20)), 0::bigint, 'C25: no page is opened for it');
select is(t.event('early', 'paid', 20), 'repeat', 'C25: it acts once');
select is(t.event('alien', 'paid', 999), 'unmatched',
    'C25: one from elsewhere stays unmatched');
select is((select count(*) from data.event where outcome = 'unmatched'),
    1::bigint, 'C25: stored and counted');
-- Our record was being written at the same time: neither saw the other.
select t.take(21, 21, 'V');
select is(t.event('beside', 'paid', 21), 'unmatched', 'C25: parked');
insert into data.payment (hold_id, provider, key, amount, currency, title,
    return_url, session_expires_at)
select hold_id, 'stripe', 'cs-' || id, amount, currency, 'x', 'x', now()
from data.hold where id = t.hid(21);
select api.outbox_add('open', payment_id, key, clock_timestamp())
from data.payment where key = 'cs-' || t.hid(21);
select is((select count(*) from t.claim()
    where hold = t.hid(21)), 0::bigint, 'C25: the cashier finds it');
select is(t.state(21), 'paid (paid)', 'C25: and applies it');

-- C29
select t.item('BANK', 9);
select t.take(30, 30, 'BANK'); select t.open(30, 30);
select is(t.event('e30', 'pending', 30), 'applied', 'C29: completed, unpaid');
select is(t.state(30), 'held (checking)', 'C29: the page says: checking');
select is(t.start(30, 30), 'checking', 'C29: nobody is to pay again');
select is(t.event('e30b', 'pending', 30), 'repeat', 'C29: once more');
select is(t.event('e30x', 'expired', 30), 'repeat',
    'C29: the page may be over, the money is on its way');
select is(t.start(30, 30), 'checking', 'C29: still');
select t.age(30, '3 days');
select is(t.state(30), 'released expired (checking)', 'C29: 3 days later');
select is(t.event('e30c', 'paid', 30), 'applied', 'C29: the money comes');
select is(t.state(30), 'paid (paid)', 'C29: served');
select t.take(31, 31, 'BANK'); select t.open(31, 31);
select t.event('e31', 'pending', 31);
select is(t.event('e31b', 'failed', 31), 'applied', 'C29: it fails instead');
select is(t.state(31), 'released payment_failed (payment_failed)',
    'C29: the buyer is told');
select is(t.stock('BANK'), '9+0 held 0 sold 1', 'C29: the unit is free');
select is(t.event('e31c', 'failed', 31), 'repeat', 'C29: fails again');
select is(t.event('e31d', 'pending', 31), 'repeat', 'C29: pending, too late');
select is(t.event('e31e', 'expired', 31), 'repeat', 'C29: expired, as well');
select is(t.stock('BANK'), '9+0 held 0 sold 1', 'C29: freed once');
select is(t.start(31, 31), 'ended', 'C29: over');
select t.take(32, 32, 'BANK'); select t.start(32, 32);
select is(t.event('e32', 'paid', 32), 'applied',
    'C29: success is the first event ever');
select is(t.event('e32b', 'pending', 32), 'repeat', 'C29: completed after it');
select is(t.event('e32c', 'failed', 32), 'repeat', 'C29: failure after it');
select is(t.state(32), 'paid (paid)', 'C29: paid stays paid');
select t.take(33, 33, 'BANK'); select t.open(33, 33);
select t.event('e33', 'failed', 33);
select is(t.event('e33b', 'paid', 33), 'applied', 'money after a failure');
select is(t.state(33), 'paid (paid)', 'is served as a late payment');
select is(t.stock('BANK'), '9+0 held 0 sold 3', 'three are sold');

-- The provider ends a page.
select t.take(35, 35, 'BANK'); select t.open(35, 35);
select is(t.event('e35', 'expired', 35), 'applied', 'the page has expired');
select is(t.state(35), 'released expired (expired)', 'and the hold with it');
select is((select done_at is not null from data.outbox
    where outbox_id = t.call(35, 'expire')), true, 'no call is left to make');

-- C67, C31: another amount or currency.
select t.take(40 + n, 40 + n, 'BANK') from generate_series(1, 4) n;
select t.open(40 + n, 40 + n) from generate_series(1, 4) n;
select is(t.event('e41', 'paid', 41, 2499), 'person', 'too little');
select is(t.event('e42', 'paid', 42, 2501), 'person', 'too much');
select is(t.event('e43', 'paid', 43, 2500, 'JPY'), 'person',
    'C31: another currency');
select is(t.event('e44', 'paid', 44, 0), 'person', 'nothing at all');
select is(t.event('e44b', 'paid', 44, -5), 'person', 'less than nothing');
select is(t.settle('e44c', 'paid', t.hid(44), 'cs_44', 'pi_44'), 'person',
    'an amount that is not said');
select is(t.event('e41b', 'paid', 41, 2500), 'repeat', 'the right one after');
select is(t.state(41), 'held (checking)', 'the buyer is not to pay again');
select is(t.start(41, 41), 'checking', 'nor can');
select is((select detail from data.event where event_id = 'e43'),
    'paid 2500 JPY, asked for 2500 EUR', 'the person is told what is wrong');
select is(t.stock('BANK'), '9+0 held 4 sold 3', 'nothing was sold for it');

-- Money through a page that we do not know, for a hold that we do.
select is(t.event('e45', 'paid', 44, session => 'cs_other', ref => 'pi_other'),
    'applied', 'promise 4: a stranger page''s money buys the goods');
select is(t.state(44), 'paid (paid)', 'promise 4: of the hold that it names');
select is(t.event('e45b', 'paid', 44, session => 'cs_44', ref => 'pi_44'),
    'refund', 'promise 4: the page''s own money, after it, goes back');
select is((select reason || ' ' || amount from data.refund
    where key = 'refund-' || t.hid(44)), 'paid_twice 2500', 'all of it');
select is(t.event('e45c', 'paid', 44, session => 'cs_44', ref => 'pi_third'),
    'refund', 'and other money through the page that was paid');
select is((select string_agg(p.payment_ref || ' ' || p.captured, ', '
        order by attempt) from data.payment p join data.hold h using (hold_id)
    where h.id = t.hid(44)), 'pi_44 2500, pi_other 2500, pi_third 2500',
    'promise 4: each is a payment of its own');
select is(t.doc(44)->>'refund',
    '{"state" : "owed", "reason" : "paid_twice", "amount" : 5000}',
    'the buyer is told of both');

-- Two attempts, both paid: the goods go once, the rest goes back.
select t.take(50, 50, 'BANK'); select t.start(50, 50);
select api.cashier_refused(t.call(50, 'open'), 'no answer that we knew');
select t.asked_earlier(50);
select t.open(50, 50);
update data.payment set session_id = 'cs_50_first'
where key = 'cs-' || t.hid(50);
select is(t.event('e50', 'paid', 50, session => 'cs_50_first', ref => 'pi_a'),
    'applied', 'the first page is paid');
select is(t.event('e50b', 'paid', 50, session => 'cs_50', ref => 'pi_b'),
    'refund', 'the second as well');
select is((select reason from data.refund where key = 'refund-' || t.hid(50)),
    'paid_twice', 'that goes back');
select is(t.state(50), 'paid (paid)', 'the order stands');

-- Two attempts, and the first one's page expires: the hold lives on.
select t.take(51, 51, 'BANK'); select t.start(51, 51);
select api.cashier_refused(t.call(51, 'open'), 'no answer that we knew');
select t.asked_earlier(51);
update data.payment set session_id = 'cs_51_first'
where key = 'cs-' || t.hid(51);
select t.open(51, 51);
update data.payment set state = 'opening' where key = 'cs-' || t.hid(51);
select is(t.event('e51', 'expired', 51, session => 'cs_51_first'), 'applied',
    'the first page has expired');
select is(t.state(51), 'held (held)', 'the second can still be paid');
select is(t.event('e51b', 'expired', 51, session => 'cs_51'), 'applied',
    'the second has expired, too');
select is(t.state(51), 'released expired (expired)', 'now the hold is over');
select t.clean();
select * from finish();
rollback;
