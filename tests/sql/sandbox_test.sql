-- The stand-in provider: every outcome of its functions.
begin;
\ir lib/sandbox.sql
select plan(95);

-- Opening ------------------------------------------------------------------

select pg_temp.open() as id \gset
select matches(:'id'::text, '^cs_test_[0-9a-f]{58}$', 'a session has an id');
select is(pg_temp.get(:'id') ->> 'amount_total', '9998', 'price by quantity');
select is(pg_temp.get(:'id') ->> 'url', 'http://pay/c/pay/' || :'id', 'url');
select is(pg_temp.get(:'id') ->> 'status', 'open', 'it is open');
select is(pg_temp.get(:'id') ->> 'payment_status', 'unpaid', 'and unpaid');
select is(pg_temp.get(:'id') -> 'payment_intent', 'null', 'no intent yet');
select is(pg_temp.get(:'id') #>> '{metadata,hold_id}', 'hld_1', 'metadata');
select is(pg_temp.get(:'id') -> 'payment_method_types', '["card"]', 'methods');
select is((pg_temp.get(:'id') ->> 'expires_at')::bigint
    - (pg_temp.get(:'id') ->> 'created')::bigint, 86400::bigint,
    'a day by default');
select is((select http_status from sandbox.session_get('cs_test_x')), 404,
    'an unknown session');

select is(pg_temp.refused('{"mode": null}'),
    '400 parameter_missing mode', 'mode is required');
select is(pg_temp.refused('{"mode": "subscription"}'), '400 mode',
    'only payments');
select is(pg_temp.refused('{"success_url": null}'),
    '400 parameter_missing success_url', 'success_url is required');
select is(pg_temp.refused('{"success_url": "javascript:x"}'),
    '400 url_invalid success_url', 'success_url is an address');
select is(pg_temp.refused('{"cancel_url": "http://a;b/"}'),
    '400 url_invalid cancel_url', 'its host fits in a policy');
select is(pg_temp.refused('{"foo": "1"}'), '400 parameter_unknown foo',
    'an unknown parameter');
select is(pg_temp.refused('{"line_items[1][quantity]": "1"}'),
    '400 parameter_unknown line_items[1][quantity]', 'one line only');
select is(pg_temp.refused('{"line_items[0][quantity]": "0"}'),
    '400 line_items[0][quantity]', 'at least one');
select is(pg_temp.refused('{"line_items[0][quantity]": "1.5"}'),
    '400 parameter_invalid_integer line_items[0][quantity]', 'whole');
select is(pg_temp.refused(
    '{"line_items[0][price_data][unit_amount]": "0"}'),
    '400 line_items[0][price_data][unit_amount]', 'not for nothing');
select is(pg_temp.refused(
    '{"line_items[0][price_data][unit_amount]": "60000000"}'),
    '400 amount_too_large', 'the sum has a limit');
select is(pg_temp.refused(
    '{"line_items[0][price_data][currency]": "euro"}'),
    '400 line_items[0][price_data][currency]', 'three letters');
select is(pg_temp.refused(jsonb_build_object('expires_at',
    (extract(epoch from clock_timestamp())::bigint + 1700)::text)),
    '400 expires_at', 'not under 30 minutes');
select is(pg_temp.refused(jsonb_build_object('expires_at',
    (extract(epoch from clock_timestamp())::bigint + 86500)::text)),
    '400 expires_at', 'not over a day');
select is(pg_temp.refused(jsonb_build_object('expires_at',
    (extract(epoch from clock_timestamp())::bigint + 1860)::text)),
    '200', '31 minutes');
select is(pg_temp.refused(jsonb_build_object('metadata[k]',
    repeat('x', 501))), '400 metadata', 'a long value');
select is(pg_temp.refused(jsonb_build_object(
    'metadata[' || repeat('k', 41) || ']', 'x')), '400 metadata',
    'a long name');
select is(pg_temp.refused((select jsonb_object_agg(
    'payment_intent_data[metadata][k' || n || ']', 'x')
    from generate_series(1, 50) n)),
    '400 payment_intent_data[metadata]', 'the 51st');
select is(pg_temp.refused('{"payment_method_types[0]": "card"}'),
    '400 payment_method_types_no_longer_supported payment_method_types',
    'the old name of the methods');
select is(pg_temp.refused('{"allowed_payment_method_types[0]": null,
    "payment_method_types[0]": "card"}', '2026-09-29.x'), '200',
    'it is right before that version');
select is(pg_temp.refused('{}', '2025-03-31.basil'),
    '400 parameter_unknown allowed_payment_method_types[0]',
    'the new name is not');
select is(pg_temp.refused('{}', 'latest'), '400', 'no version');

-- Idempotency --------------------------------------------------------------

select answer as first from sandbox.session_create('key', pg_temp.good(),
    'req_first', '2026-10-28.endive', 'http://pay') \gset
select is((select (http_status, answer, original)::text
    from sandbox.session_create('key', pg_temp.good(), 'req_second',
        '2026-10-28.endive', 'http://pay')),
    row (200, :'first'::text, 'req_first')::text, 'the same answer again');
select is((select answer::jsonb #>> '{error,type}'
    from sandbox.session_create('key', pg_temp.good() || '{"locale": "en"}',
        'req_3', '2026-10-28.endive', 'http://pay')),
    'idempotency_error', 'other parameters');
select is((select answer::jsonb #>> '{error,type}'
    from sandbox.refund_create('key', pg_temp.good(), 'req_3')),
    'idempotency_error', 'another endpoint');
select is((select http_status from sandbox.session_create('later',
    pg_temp.good() || '{"foo": "1"}', 'r', '2026-10-28.endive', 'http://p')),
    400, 'a malformed request');
select is((select http_status from sandbox.session_create('later',
    pg_temp.good(), 'r', '2026-10-28.endive', 'http://p')), 200,
    'does not use its key up');
select is((select http_status from sandbox.session_create(repeat('k', 256),
    pg_temp.good(), 'r', '2026-10-28.endive', 'http://p')), 400,
    'a key too long');
update sandbox_data.idempotency
set created_at = created_at - interval '25 hours' where key = 'key';
select isnt((select answer from sandbox.session_create('key', pg_temp.good(),
    'req_4', '2026-10-28.endive', 'http://pay')), :'first'::text,
    'after a day the key is new');

-- Paying ------------------------------------------------------------------

select is(sandbox.session_decline(:'id'), 'open', 'declined: still open');
select is((select error from sandbox.session_page(:'id')), 'card_declined',
    'the page says it');
select pg_temp.intent(:'id') as intent \gset
select is(sandbox.session_pay(:'id', 0, false), 'paid', 'then paid');
select is(sandbox.session_pay(:'id', 0, false), 'paid', 'and once more');
select is(sandbox.session_decline(:'id'), 'paid', 'a decline comes too late');
select is(sandbox.session_bank(:'id', 'failed', 0), 'paid', 'a debit, too');
select is((select count(*) from sandbox_data.payment where state = 'succeeded'),
    1::bigint, 'one payment');
select is(pg_temp.intent(:'id'), :'intent'::text,
    'the one that was tried before');
select is(pg_temp.events(:'id'), 'payment_intent.payment_failed '
    'payment_intent.succeeded checkout.session.completed', 'its events');
select is(pg_temp.get(:'id') ->> 'status', 'complete', 'complete');
select is(pg_temp.get(:'id') ->> 'payment_status', 'paid', 'paid');
select is(pg_temp.get(:'id') -> 'url', 'null', 'the page has no address now');
select is((select answer::jsonb #>> '{metadata,hold_id}'
    from sandbox.payment_get(:'intent')), 'hld_2',
    'the intent has its own metadata');
select is((select http_status from sandbox.payment_get('pi_x')), 404,
    'an unknown intent');
select is(sandbox.session_pay('cs_test_x', 0, false), null, 'nothing to pay');

select pg_temp.open() as bank \gset
select is(sandbox.session_bank(:'bank', null, 0), 'bank', 'a debit under way');
select is(pg_temp.get(:'bank') ->> 'payment_status', 'unpaid', 'unpaid');
select is(sandbox.session_bank(:'bank', 'succeeded', 0), 'paid', 'it comes');
select is(pg_temp.events(:'bank'), 'checkout.session.completed '
    'payment_intent.succeeded checkout.session.async_payment_succeeded',
    'its events');
select pg_temp.open() as bank \gset
select is(sandbox.session_bank(:'bank', 'failed', 0), 'failed', 'it fails');
select is(pg_temp.events(:'bank'), 'checkout.session.completed '
    'payment_intent.payment_failed checkout.session.async_payment_failed',
    'its events');
select is(sandbox.session_pay(:'bank', 0, true), 'failed', 'that is final');

-- Ending ------------------------------------------------------------------

select pg_temp.open() as ended \gset
select is((select answer::jsonb ->> 'status' from sandbox.session_expire(
    :'ended', 'expire', '{}', 'req_5')), 'expired', 'the shop ends it');
select is((select (http_status, original)::text from sandbox.session_expire(
    :'ended', 'expire', '{}', 'req_6')), '(200,req_5)', 'and asks again');
select is((select answer::jsonb #>> '{error,message}'
    from sandbox.session_expire(:'ended', null, '{}', 'req_7')),
    'Only Checkout Sessions with a status in ["open"] can be expired. This '
    'Checkout Session has a status of `expired`.', 'twice is refused');
select matches((select answer from sandbox.session_expire(
    :'id', null, '{}', 'req_8')), 'status of `complete`', 'a paid one, too');
select is((select http_status from sandbox.session_expire(
    'cs_test_x', null, '{}', 'req_9')), 404, 'an unknown one');
select is((select body::jsonb -> 'request' ->> 'idempotency_key'
    from sandbox_data.event where type = 'checkout.session.expired'),
    'expire', 'the event says on whose account');
select is(sandbox.session_pay(:'ended', 0, false), 'expired',
    'it cannot be paid');

select pg_temp.open() as late \gset
select is(sandbox.session_pay(:'late', 60000, true), 'held',
    'a payment under way');
select ok((select http_status = 200 from sandbox.session_expire(
    :'late', null, '{}', 'r')), 'the shop ends the session meanwhile');
select is(sandbox.tick(10), 0, 'not yet');
update sandbox_data.session set pay_at = clock_timestamp()
where id = :'late';
select is(sandbox.tick(10), 1, 'now');
select is(pg_temp.events(:'late'), 'checkout.session.expired '
    'payment_intent.succeeded checkout.session.completed', 'paid all the same');

select pg_temp.open() as late \gset
select sandbox.session_pay(:'late', 60000, false) as held \gset
update sandbox_data.session set pay_at = clock_timestamp(),
    created_at = created_at - interval '2 days',
    expires_at = clock_timestamp() - interval '1 ms'
where id = :'late';
select is(pg_temp.get(:'late') ->> 'status', 'expired',
    'a session whose time is over has expired');
select is(sandbox.tick(10), 1, 'the payment comes too late');
select is(pg_temp.events(:'late'), 'checkout.session.expired',
    'and is dropped');

-- Refunds ------------------------------------------------------------------

select is((select answer::jsonb ->> 'amount' from sandbox.refund_create(null,
    jsonb_build_object('payment_intent', :'intent', 'amount', '98',
        'metadata[hold_id]', 'h'), 'r')), '98', 'a part');
select matches((select answer from sandbox.refund_create(null,
    jsonb_build_object('payment_intent', :'intent', 'amount', '9901'), 'r')),
    'greater than unrefunded amount', 'too much');
select is((select answer::jsonb ->> 'amount' from sandbox.refund_create('rf',
    jsonb_build_object('payment_intent', :'intent'), 'r')), '9900',
    'the rest');
select is((select answer::jsonb #>> '{error,code}'
    from sandbox.refund_create(null,
        jsonb_build_object('payment_intent', :'intent'), 'r')),
    'charge_already_refunded', 'no more than that');
select is((select (http_status, original)::text from sandbox.refund_create(
    'rf', jsonb_build_object('payment_intent', :'intent'), 'r2')),
    '(200,r)', 'the key still has its answer');
select is((select jsonb_array_length(answer::jsonb -> 'data')
    from sandbox.refund_list(jsonb_build_object(
        'payment_intent', :'intent'))), 2, 'both are listed');
select matches(pg_temp.events(:'id'),
    '(refund.created charge.refunded ?){2}$', 'their events');
select ok(sandbox.refund_fail((select id from sandbox_data.refund
    order by refund_id limit 1)), 'a refund fails');
select matches(pg_temp.events(:'id'), 'refund.failed$', 'its event');

-- Events and deliveries ----------------------------------------------------

select is((select (answer::jsonb -> 'has_more', jsonb_array_length(
        answer::jsonb -> 'data'))::text
    from sandbox.event_list('{"limit": "1", "types[0]": "refund.failed"}')),
    '(false,1)', 'events by type');
select is((select answer::jsonb #>> '{error,code}'
    from sandbox.event_list('{"limit": "all"}')),
    'parameter_invalid_integer', 'a limit is a number');

delete from sandbox_data.delivery;
select ok(sandbox.event_resend((select id from sandbox_data.event
    order by event_seq limit 1)), 'an event is sent again');
select is((select (try, body::jsonb ->> 'id' = event_id)::text
    from sandbox.delivery_claim(30000)), '(1,t)', 'it is claimed');
select is_empty('select * from sandbox.delivery_claim(30000)',
    'by one sender only');
select sandbox.delivery_done(delivery_id, 503, null)
from sandbox_data.delivery \g /dev/null
select ok((select next_try_in_ms between 1 and 1000 and state = 'waiting'
    from sandbox.delivery_list(null, 10)), 'refused: again in a second');
update sandbox_data.delivery
set tries = 40, created_at = created_at - interval '73 hours';
select sandbox.delivery_done(delivery_id, 0, 'no answer')
from sandbox_data.delivery \g /dev/null
select is((select state from sandbox.delivery_list(null, 10)), 'given up',
    'after three days no more');
select sandbox.event_resend((select id from sandbox_data.event
    order by event_seq limit 1)) \g /dev/null
select sandbox.delivery_done(delivery_id, 204, null)
from sandbox_data.delivery where next_try is not null \g /dev/null
select is((select state from sandbox.delivery_list(null, 1)), 'delivered',
    'taken');

-- Rights ------------------------------------------------------------------

select is_empty($$select relname from pg_class
    where relnamespace = 'sandbox_data'::regnamespace and relkind = 'r'
        and has_table_privilege('lastpair_sandbox', oid,
            'select,insert,update,delete')$$,
    'the process has no right on a table');
select ok(not has_schema_privilege('lastpair_sandbox', 'api', 'usage')
    and not has_schema_privilege('lastpair_sandbox', 'data', 'usage')
    and not has_schema_privilege('lastpair_web', 'sandbox', 'usage'),
    'the shop and its stand-in know nothing of each other');

select * from finish();
rollback;
