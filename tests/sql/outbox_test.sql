-- The cashier's calls: claimed for a while, recorded, tried again, given up.
begin;
\ir lib/fixture.sql
select plan(49);
select t.item('I', 50);
create function t.due(lease integer default 60000) returns text language sql
return (select string_agg(kind || ' ' || try || ' ' || hold, ',')
    from api.cashier_claim(10, lease));
grant usage on schema t to lastpair_cashier;

-- Nothing to do.
select is(t.due(), null, 'nothing is due');
select is(api.cashier_wait(1000), 1000, 'the cashier waits the most');

-- A page is asked for.
select t.take(1, 1, 'I'); select t.start(1, 1);
select is(api.cashier_wait(1000), 0, 'a call is due at once');
set local role lastpair_cashier;
select results_eq(
    $$select kind, try, key, hold, session_id, payment_ref, amount, currency,
            title, return_url,
            session_expires_at - extract(epoch from now())::bigint
                between 2400 and 2520
        from api.cashier_claim(10, 60000)$$,
    format('values (%L, 1, %L, %L, null::text, null::text, 2500::bigint, %L,
        %L, %L, true)', 'open', 'cs-hld_0000000000000000000001',
        'hld_0000000000000000000001', 'EUR', '1 x Title of I',
        'http://shop.test/order/hld_0000000000000000000001'),
    'the claim has all that the provider is told');
select is((select count(*) from api.cashier_claim(10, 60000)), 0::bigint,
    'a claimed call is nobody else''s');
reset role;
select cmp_ok(api.cashier_wait(100000), '>', 50000, 'it comes back in a minute');
update data.outbox set next_try = clock_timestamp();
select is(t.due(0), 'open 2 ' || t.hid(1), 'a cashier that died: tried again');
select is(t.due(), 'open 3 ' || t.hid(1), 'with the lease over, again');

-- cashier_retry
select is(api.cashier_retry(t.call(1, 'open'), 'timeout', 5000, 4), false,
    'no answer: later');
select is(t.due(), null, 'not before');
select cmp_ok(api.cashier_wait(10000), '<=', 5000, 'but in five seconds');
select is((select last_error from data.outbox), 'timeout', 'why is kept');
update data.outbox set next_try = clock_timestamp();
select is(t.due(), 'open 4 ' || t.hid(1), 'the last try');
select is(api.cashier_retry(t.call(1, 'open'), repeat('x', 600), 5000, 4),
    true, 'that was the last: stuck');
select is((select length(last_error) from data.outbox), 500, 'a long why is cut');
update data.outbox set next_try = clock_timestamp();
select is(t.due(), null, 'what is stuck is not tried');
select is(api.cashier_wait(1000), 1000, 'nor waited for');
select matches(api.person_list(), 'open is stuck after 4 tries',
    'it is on the list');

-- cashier_opened
select t.take(2, 2, 'I'); select t.start(2, 2);
select t.due();
select api.cashier_opened(t.call(2, 'open'), 'cs_2', 'http://pay.test/2');
select is(t.start(2, 2), 'ready', 'the page is there');
select is((select next_try from data.outbox where outbox_id
    = t.call(2, 'expire')), (select expires_at from data.hold
    where id = t.hid(2)), 'and ends when the hold ends');
select is((select key from data.outbox where outbox_id = t.call(2, 'expire')),
    'expire-' || t.hid(2), 'by a key of its own');
select api.cashier_opened(t.call(2, 'open'), 'cs_other', 'http://other');
select is((select session_id || ' ' || url from data.payment
    where session_id = 'cs_2'), 'cs_2 http://pay.test/2',
    'an answer that comes twice changes nothing');
select is(api.cashier_retry(t.call(2, 'open'), 'late', 1, 1), null,
    'what is done cannot get stuck');
select t.age(2);
update data.outbox set next_try = clock_timestamp()
where outbox_id = t.call(2, 'expire');
select is(t.due(), 'expire 1 ' || t.hid(2), 'the hold is over: end the page');
select api.cashier_expired(t.call(2, 'expire'));
select is(t.doc(2)->'payment'->>'state', 'expired', 'it has ended');
select is(t.event('x2', 'expired', 2), 'repeat', 'its event says nothing new');

-- Dropped before the page was asked for, and while it was.
select t.take(3, 3, 'I'); select t.start(3, 3);
select api.hold_drop(t.hid(3), t.buyer(3));
select is(t.due(), null, 'a page that was not opened is not opened any more');
select is(t.doc(3)->'payment'->>'state', 'expired', 'it counts as expired');
select t.take(4, 4, 'I'); select t.start(4, 4); select t.age(4);
select is(t.due(), null, 'not for a hold that has expired either');
select t.take(5, 5, 'I'); select t.start(5, 5);
select is(t.due(), 'open 1 ' || t.hid(5), 'a call is on its way');
select api.hold_drop(t.hid(5), t.buyer(5));
select api.cashier_opened(t.call(5, 'open'), 'cs_5', 'http://pay.test/5');
select is(t.due(), 'expire 1 ' || t.hid(5),
    'opened for a hold that was dropped meanwhile: end it');
select t.take(6, 6, 'I'); select t.start(6, 6); select t.due(0);
select api.hold_drop(t.hid(6), t.buyer(6));
select is(t.due(), 'open 2 ' || t.hid(6),
    'one that may have been opened is asked for again, to end it');

-- The provider ends pages by an event, and opens late.
select t.take(7, 7, 'I'); select t.start(7, 7); select t.due();
select is(t.event('x7', 'paid', 7), 'applied', 'paid before the answer came');
select api.cashier_opened(t.call(7, 'open'), 'cs_7', 'http://pay.test/7');
select is((select state from data.payment where session_id = 'cs_7'), 'paid',
    'the answer does not open it again');
select is(t.call(7, 'expire'), null, 'nor does it need an end');

-- cashier_expired, when money came.
select t.take(8, 8, 'I'); select t.open(8, 8); select t.event('x8', 'paid', 8);
select api.cashier_expired(t.call(8, 'expire'));
select is(t.state(8), 'paid (paid)', 'paid is not expired');
select t.take(9, 9, 'I'); select t.open(9, 9); select t.event('x9', 'pending', 9);
select api.cashier_expired(t.call(9, 'expire'));
select is(t.doc(9)->'payment'->>'state', 'checking',
    'nor is money on its way');

-- cashier_refused
select t.take(10, 10, 'I'); select t.start(10, 10); select t.due();
select api.cashier_refused(t.call(10, 'open'), 'no such currency');
select is(t.doc(10)->'payment'->>'state', 'refused', 'refused');
select matches(api.person_list(), 'no such currency', 'a person is told why');
select is(t.due(), null, 'it is not tried again');
update data.payment set created_at = created_at - interval '6 s'
where key = 'cs-' || t.hid(10);
select is(t.start(10, 10), 'opening', 'the buyer may ask again in 5 seconds');
select is(t.due(), 'open 1 ' || t.hid(10), 'which is another call');
select is((select count(distinct key) from data.outbox where kind = 'open'
    and key like 'cs-' || t.hid(10) || '%'), 2::bigint, 'by another key');
select t.take(11, 11, 'I'); select t.open(11, 11);
select api.cashier_refused(t.call(11, 'expire'), 'cannot be ended');
select is(t.doc(11)->'payment'->>'state', 'open',
    'a page that cannot be ended stays open');

-- The oldest first, and no more than asked for.
select t.take(20 + n, 20 + n, 'I') from generate_series(1, 3) n;
select t.start(20 + n, 20 + n) from generate_series(1, 3) n;
update data.outbox set next_try = next_try - interval '1 minute'
where outbox_id = t.call(22, 'open');
select is((select hold from api.cashier_claim(1, 60000)), t.hid(22),
    'the call that waits longest is first');
select is((select count(*) from api.cashier_claim(1, 60000)), 1::bigint,
    'one at a time');
select is(t.due(), 'open 1 ' || t.hid(23), 'then the last');
select throws_ok($$insert into data.outbox (kind, payment_id, key, next_try)
    select kind, payment_id, key, next_try from data.outbox limit 1$$, '23505',
    null, 'no second call of a kind for a payment');
select t.clean();
select * from finish();
rollback;
