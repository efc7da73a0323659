-- The cashier's calls: claimed for a while, recorded, tried again, given up.
begin;
\ir lib/fixture.sql
select plan(61);
select t.item('I', 50);
create function t.due(lease integer default 60000) returns text language sql
return (select string_agg(c.kind || ' ' || c.try || ' ' || c.hold, ',')
    from t.claim(10, lease) c);
grant usage on schema t to lastpair_cashier;

-- Nothing to do.
select is(t.due(), null, 'nothing is due');
select is(api.cashier_wait('stripe', 1000), 1000,
    'the cashier waits the most');

-- A page is asked for.
select t.take(1, 1, 'I'); select t.start(1, 1);
select is(api.cashier_wait('stripe', 1000), 0, 'a call is due at once');
set local role lastpair_cashier;
select results_eq(
    $$select kind, try, key, hold, session_id, payment_ref, amount, currency,
            title, return_url,
            session_expires_at - extract(epoch from now())::bigint
                between 2400 and 2520
        from api.cashier_claim('stripe', 10, 10, 10, 10, 60000)$$,
    format('values (%L, 1, %L, %L, null::text, null::text, 2500::bigint, %L,
        %L, %L, true)', 'open', 'cs-hld_0000000000000000000001',
        'hld_0000000000000000000001', 'EUR', '1 x Title of I',
        'http://shop.test/order/hld_0000000000000000000001'),
    'the claim has all that the provider is told');
select is((select count(*) from api.cashier_claim('stripe', 10, 10, 10, 10,
    60000)), 0::bigint, 'a claimed call is nobody else''s');
reset role;
select cmp_ok(api.cashier_wait('stripe', 100000), '>', 50000,
    'it comes back in a minute');
update data.outbox set next_try = clock_timestamp();
select is(t.due(0), 'open 2 ' || t.hid(1), 'a cashier that died: tried again');
select is(t.due(), 'open 3 ' || t.hid(1), 'with the lease over, again');

-- cashier_retry
select is(api.cashier_retry(t.call(1, 'open'), 'timeout', 5000, 4), false,
    'no answer: later');
select is(t.due(), null, 'not before');
select cmp_ok(api.cashier_wait('stripe', 10000), '<=', 5000,
    'but in five seconds');
select is((select last_error from data.outbox), 'timeout', 'why is kept');
update data.outbox set next_try = clock_timestamp();
select is(t.due(), 'open 4 ' || t.hid(1), 'the last try');
select is(api.cashier_retry(t.call(1, 'open'), repeat('x', 600), 5000, 4),
    true, 'that was the last: stuck');
select is((select length(last_error) from data.outbox), 500, 'a long why is cut');
update data.outbox set next_try = clock_timestamp();
select is(t.due(), null, 'what is stuck is not tried');
select is(api.cashier_wait('stripe', 1000), 1000, 'nor waited for');
select is(t.tasks(), 'stuck', 'a person is told');
select matches(api.task_list(false), 'pay pages cannot be opened: xxx',
    'that pay pages cannot be opened');
select is(t.doc(1)->'payment'->>'state', 'refused',
    'the buyer may ask for another');

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
select is(api.cashier_retry(t.call(2, 'open'), 'late', 1, 1), false,
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
select is(t.tasks(), 'stuck,refused', 'a person is told');
select matches(api.task_list(false), 'no such currency', 'and why');
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

-- Many pages that cannot be opened are one matter an hour; none is when the
-- hold is over.
select t.take(12 + n, 12 + n, 'I') from generate_series(1, 3) n;
select t.start(12 + n, 12 + n) from generate_series(1, 3) n;
select t.age(15); select t.due(0);
select api.cashier_refused(t.call(12 + n, 'open'), 'no such currency')
from generate_series(1, 3) n;
select is(t.tasks(), 'stuck,refused,refused', 'two more are no new matter');
select is(t.doc(15)->'payment'->>'state', 'expired',
    'nor is one that nobody needs');

-- The oldest hold's page first, and no more than asked for.
select t.take(20 + n, 20 + n, 'I') from generate_series(1, 3) n;
select t.start(20 + n, 20 + n) from generate_series(1, 3) n;
update data.outbox set next_try = next_try - interval '1 minute'
where outbox_id = t.call(22, 'open');
create function t.ahead(n integer) returns bigint language sql
return (select ahead from api.payment_start(t.hid(n), t.buyer(n), 'stripe',
    'x', 1800, 86400));
select is(t.ahead(23) - t.ahead(21), 2::bigint,
    'two more pages are opened before it');
select is((select hold from t.claim(1)), t.hid(21),
    'the oldest hold''s page is the first');
select is((select count(*) from t.claim(1)), 1::bigint, 'one at a time');
select is(t.ahead(23) - t.ahead(21), 2::bigint,
    'those are still ahead, until they are open');
select is(t.due(), 'open 1 ' || t.hid(23), 'then the last');
select api.cashier_opened(t.call(20 + n, 'open'), 'cs_' || 20 + n, 'http://p')
from generate_series(1, 3) n;

-- So many of each kind, and a provider's own.
update data.outbox set next_try = clock_timestamp() - n * interval '1 minute'
from generate_series(1, 3) n where outbox_id = t.call(20 + n, 'expire');
select t.take(24, 24, 'I'); select t.start(24, 24);
select is((select count(*) from api.cashier_claim('standard', 9, 9, 9, 9,
    60000)), 0::bigint, 'another provider has nothing to do');
select is((select string_agg(kind || ' ' || hold, ',') from api.cashier_claim(
    'stripe', 0, 1, 9, 9, 60000)), 'expire ' || t.hid(23),
    'of the others the one that is due longest');
select is((select string_agg(kind || ' ' || hold, ',' order by kind, hold)
    from api.cashier_claim('stripe', 1, 9, 0, 0, 60000)),
    format('expire %s,expire %s,open %s', t.hid(21), t.hid(22), t.hid(24)),
    'a slow kind holds no other up');
select throws_ok($$insert into data.outbox (kind, payment_id, hold_id, key,
        next_try) select kind, payment_id, hold_id, key, next_try
    from data.outbox limit 1$$, '23505', null,
    'no second call of a kind for a payment');
select t.item('R', 1); select t.take(30, 30, 'R'); select t.open(30, 30);
select t.event('x30', 'paid', 30); select t.give_back(30, 500);
select t.give_back(30, 500);
select is((select count(*) from t.claim() where kind = 'refund'), 2::bigint,
    'but one for each refund');
select throws_ok($$insert into data.outbox (kind, payment_id, hold_id,
        refund_id, key, next_try) select kind, payment_id, hold_id, refund_id,
        key, next_try from data.outbox where kind = 'refund' limit 1$$,
    '23505', null, 'and no second for that');
select t.clean();
select * from finish();
rollback;
