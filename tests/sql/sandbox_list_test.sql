-- The stand-in provider: what it shows of itself, newest first, in pages.
begin;
\ir lib/sandbox.sql
select plan(33);

-- The ids of a list's page, and whether more follow.
create function pg_temp.page(http_status integer, answer text) returns text
language sql as $$
select format('%s %s %s', http_status, answer::jsonb -> 'has_more',
    (select string_agg(d ->> 'id', ' ') from
        jsonb_array_elements(answer::jsonb -> 'data') d))
$$;
create function pg_temp.refused(http_status integer, answer text)
returns text
language sql as $$
select concat_ws(' ', http_status, answer::jsonb #>> '{error,code}',
    answer::jsonb #>> '{error,param}')
$$;

-- Three sessions, a day apart: one that expired, one paid and given back in
-- two parts, one open.
select pg_temp.open() as one \gset
select sandbox.clock_forward(86400000) as now \gset
select sandbox.tick(10) as n \gset
select pg_temp.open() as two \gset
select sandbox.session_pay(:'two', 0, false) as view \gset
select pg_temp.intent(:'two') as intent \gset
select pg_temp.refund(:'intent', '1') as status \gset
select pg_temp.refund(:'intent', '2') as status \gset
select sandbox.clock_forward(86400000) as now \gset
select pg_temp.open() as three \gset
select sandbox.epoch(sandbox.now()) as now \gset
select id as second, lag from (select id, lag(id) over (order by refund_id)
    as lag from sandbox_data.refund) r where lag is not null \gset
select :'lag' as first \gset

-- Sessions -----------------------------------------------------------------

select is((select pg_temp.page(http_status, answer) from sandbox.session_search('{}') s),
    format('200 false %s %s %s', :'three'::text, :'two'::text, :'one'::text),
    'newest first');
select is((select pg_temp.page(http_status, answer) from sandbox.session_search(
    '{"limit": "2"}') s), format('200 true %s %s', :'three'::text,
    :'two'::text), 'a page, and more follow');
select is((select pg_temp.page(http_status, answer) from sandbox.session_search(
    jsonb_build_object('limit', '2', 'starting_after', :'two'::text)) s),
    '200 false ' || :'one', 'the next one');
select is((select pg_temp.page(http_status, answer) from sandbox.session_search(
    '{"status": "expired"}') s), '200 false ' || :'one', 'by status');
select is((select pg_temp.page(http_status, answer) from sandbox.session_search(
    jsonb_build_object('payment_intent', :'intent'::text)) s),
    '200 false ' || :'two', 'by payment');
select is((select pg_temp.page(http_status, answer) from sandbox.session_search(
    jsonb_build_object('created[gte]', (:now - 90000)::text)) s),
    format('200 false %s %s', :'three'::text, :'two'::text), 'from a time on');
select is((select pg_temp.page(http_status, answer) from sandbox.session_search(
    jsonb_build_object('created[gt]', (:now - 90000)::text,
        'created[lte]', (:now - 3600)::text)) s), '200 false ' || :'two',
    'up to another');
select is((select pg_temp.page(http_status, answer) from sandbox.session_search(
    jsonb_build_object('created[lt]', (:now - 90000)::text)) s),
    '200 false ' || :'one', 'before one');
select is((select pg_temp.page(http_status, answer) from sandbox.session_search(
    '{"created[lt]": "0"}') s), '200 false ', 'none');
select is((select answer::jsonb #>> '{data,0,url}'
    from sandbox.session_search('{}')), 'http://pay/c/pay/' || :'three',
    'shown as each by itself');
select is((select pg_temp.refused(http_status, answer) from sandbox.session_search(
    '{"status": "paid"}') s), '400 status', 'no such status');
select is((select pg_temp.refused(http_status, answer) from sandbox.session_search(
    '{"starting_after": "cs_test_x"}') s),
    '400 resource_missing starting_after', 'after nothing known');
select is((select pg_temp.refused(http_status, answer) from sandbox.session_search(
    '{"created[gte]": "today"}') s),
    '400 parameter_invalid_integer created[gte]', 'a time is a number');
select is((select pg_temp.refused(http_status, answer) from sandbox.session_search(
    '{"limit": "101"}') s), '400 limit', 'at most a hundred');
select is((select pg_temp.refused(http_status, answer) from sandbox.session_search(
    '{"created": "1"}') s), '400 parameter_unknown created',
    'only what it knows');

-- Refunds ------------------------------------------------------------------

select is((select pg_temp.page(http_status, answer) from sandbox.refund_list('{}') r),
    format('200 false %s %s', :'second'::text, :'first'::text),
    'refunds, newest first');
select is((select pg_temp.page(http_status, answer) from sandbox.refund_list(
    jsonb_build_object('payment_intent', :'intent'::text, 'limit', '1',
        'starting_after', :'second'::text)) r), '200 false ' || :'first',
    'of a payment, page by page');
select is((select pg_temp.page(http_status, answer) from sandbox.refund_list(
    '{"payment_intent": "pi_x"}') r), '200 false ', 'of an unknown one');
select is((select pg_temp.page(http_status, answer) from sandbox.refund_list(
    jsonb_build_object('created[gte]', :'now'::text)) r), '200 false ',
    'none since then');
select is((select pg_temp.page(http_status, answer) from sandbox.refund_list(
    jsonb_build_object('charge', (select charge_id from sandbox_data.payment
        where id = :'intent'), 'created[lt]', :'now'::text)) r),
    format('200 false %s %s', :'second'::text, :'first'::text),
    'of a charge, before it');
select is((select pg_temp.refused(http_status, answer) from sandbox.refund_list(
    '{"starting_after": "re_x"}') r), '400 resource_missing starting_after',
    'after nothing known');

-- Events -------------------------------------------------------------------

select is((select pg_temp.page(http_status, answer) from sandbox.event_list(
    '{"types[0]": "refund.created", "types[1]": "refund.failed"}') e),
    (select '200 false ' || string_agg(id, ' ' order by event_seq desc)
        from sandbox_data.event where type = 'refund.created'),
    'events of some types');
select is((select jsonb_array_length(answer::jsonb -> 'data')
    from sandbox.event_list(jsonb_build_object('created[lt]',
        (:now - 86400 - 3600)::text))), 0, 'none before that');
select id as event from sandbox_data.event order by event_seq limit 1 \gset
select is((select answer::jsonb ->> 'type' from sandbox.event_get(:'event')),
    'checkout.session.expired', 'one of them');
select is((select http_status from sandbox.event_get('evt_x')), 404,
    'an unknown one');
update sandbox_data.delivery d set next_try = null,
    done_at = clock_timestamp()
from sandbox_data.event e where e.event_seq = d.event_seq
    and e.id = :'event';
select is((select pg_temp.page(http_status, answer) from sandbox.event_list(
    '{"delivery_success": "true"}') e), '200 false ' || :'event',
    'what the shop has taken');
select is((select jsonb_array_length(answer::jsonb -> 'data')::bigint
    from sandbox.event_list('{"delivery_success": "false"}')),
    (select count(*) - 1 from sandbox_data.event), 'and what it has not');

-- Disputes, books -------------------------------------------------------------

select dispute from sandbox.payment_dispute(:'intent', false) \gset
select is((select pg_temp.page(http_status, answer) from sandbox.dispute_list(
    jsonb_build_object('payment_intent', :'intent'::text)) d),
    '200 false ' || :'dispute', 'disputes');
select is((select answer::jsonb ->> 'status' from sandbox.dispute_get(
    :'dispute')), 'needs_response', 'one of them');
select is((select http_status from sandbox.dispute_get('du_x')), 404,
    'an unknown one');
select is(sandbox.books()::jsonb - 'deliveries_waiting', '{"captured":
    {"EUR": 9998}, "refunded": {"EUR": 3}, "refund_pending": {},
    "disputed_lost": {}, "sessions": 3, "payments": 1, "refunds": 2,
    "refunds_failed": 0, "disputes_open": 1, "money_waiting": 0}',
    'the books');
select is((sandbox.books()::jsonb ->> 'deliveries_waiting')::bigint,
    (select count(*) from sandbox_data.delivery where next_try is not null),
    'and what is not delivered yet');
delete from sandbox_data.dispute;
delete from sandbox_data.refund;
delete from sandbox_data.payment;
select is(sandbox.books()::jsonb -> 'captured', '{}', 'none');
select * from finish();
rollback;
