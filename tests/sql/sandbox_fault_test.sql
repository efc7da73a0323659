-- The stand-in provider: faults on demand, and whom they strike.
begin;
\ir lib/sandbox.sql
select plan(58);

-- Adding -------------------------------------------------------------------

select ok(pg_temp.fault('open', 'slow') > 0, 'a fault has a number');
select throws_ok($$select pg_temp.fault('open', 'drop')$$, '23514', null,
    'a call is not dropped');
select throws_ok($$select pg_temp.fault('delivery', 'slow')$$, '23514', null,
    'a delivery is not slow');
select throws_ok($$select pg_temp.fault('look', 'conflict')$$, '23514', null,
    'a question has no key that could be in use');
select throws_ok($$select pg_temp.fault('payment', 'refund_fails')$$, '23514',
    null, 'a payment is no refund');
select throws_ok($$select pg_temp.fault('world', 'slow')$$, '23514', null,
    'the target is known');
select throws_ok($$select pg_temp.fault('open', 'slow', 0)$$, '23514', null,
    'never is no percentage');
select throws_ok($$select pg_temp.fault('open', 'slow', 101)$$, '23514', null,
    'nor more than always');
select throws_ok($$select pg_temp.fault('open', 'slow', 100, 0)$$, '23514',
    null, 'nor is not once');
select throws_ok($$select pg_temp.fault('open', 'timeout', 100, null, 100001)$$,
    '23514', null, 'nginx would have given up');
select is((select (target, kind, percent, times, ms, struck, active)::text
    from sandbox.fault_list(1)), '(open,slow,100,,2000,0,t)', 'it is listed');

-- Striking calls -----------------------------------------------------------

select is(pg_temp.meets('open', 'k1'), 'slow 2000', 'it strikes its target');
select is(pg_temp.meets('end', 'k0'), '', 'and no other');
select is(pg_temp.meets('open', 'k1'), 'conflict',
    'a slow call has its key in use');
update sandbox_data.busy set until = clock_timestamp();
select is(pg_temp.meets('open', 'k1'), 'slow 2000', 'until it is done');
select is((select struck from sandbox.fault_list(1)), 2::bigint,
    'strikes are counted');
select pg_temp.fault('any', 'rate') as any_id \gset
select is(pg_temp.meets('open', 'k2'), 'slow 2000', 'the oldest strikes');
select is(pg_temp.meets('refund', 'k3'), 'rate 0', 'any is all calls');
select is(pg_temp.meets('look', null), 'rate 0', 'questions, too');
select is(sandbox.fault_clear(:any_id), 1::bigint, 'it is cleared');
select is(pg_temp.meets('refund', 'k3'), '', 'and strikes no more');
select is(sandbox.fault_clear(:any_id), 1::bigint, 'that can be said twice');
select is(sandbox.fault_clear(0), 0::bigint, 'there is no such fault');
select is(sandbox.fault_clear(null), 1::bigint, 'all that were left');
select pg_temp.fault('any', 'conflict') as fault \gset
select is(pg_temp.meets('look', null), '', 'no conflict for a question');
select sandbox.fault_clear(null) as n \gset

select pg_temp.fault('end', 'lost', 100, 2) as fault \gset
select is(array[pg_temp.meets('end', 'a'), pg_temp.meets('end', 'b'),
    pg_temp.meets('end', 'c')], '{lost 0,lost 0,""}', 'so many times');
select ok(not active, 'then it is over') from sandbox.fault_list(1);
select is(pg_temp.fault('open', 'timeout') > 0, true, 'a time-out');
select is(pg_temp.meets('open', 't'), 'timeout 25000',
    'takes longer than the shop waits');
select sandbox.fault_clear(null) as n \gset

-- The seed -----------------------------------------------------------------

select pg_temp.fault('open', 'rate', 30) as fault \gset
create temp table run (run integer, key text, met text);
insert into run select 1, 'k' || n, pg_temp.meets('open', 'k' || n)
from generate_series(1, 300) n;
select ok(count(*) between 60 and 120, 'three in ten') from run
where met <> '';
select is(sandbox.seed_set('seed'), 'seed', 'the seed is set once more');
insert into run select 2, 'k' || n, pg_temp.meets('open', 'k' || n)
from generate_series(300, 1, -1) n;
select is_empty('select key, met from run where run = 1
    except select key, met from run where run = 2',
    'the same seed strikes the same, in whatever order they come');
insert into run select 3, 'k' || n, pg_temp.meets('open', 'k' || n)
from generate_series(1, 300) n;
select isnt_empty('select key, met from run where run = 1
    except select key, met from run where run = 3',
    'who comes again is judged again');
select sandbox.seed_set('other') as seed \gset
insert into run select 4, 'k' || n, pg_temp.meets('open', 'k' || n)
from generate_series(1, 300) n;
select isnt_empty('select key, met from run where run = 1
    except select key, met from run where run = 4', 'another seed, others');
select is(sandbox.seed_show(), 'other', 'it is shown');
select sandbox.fault_clear(null) as n \gset

-- What a question is known by.
select pg_temp.open('{}', 'origin') as id \gset
select is(sandbox.call_subject(null, 'GET /v1/x', :'id', '{}'), 'origin',
    'a session by the key that it was made with');
select sandbox.session_pay(:'id', 0, false) as paid \gset
select is(sandbox.call_subject(null, 'GET /v1/refunds', null,
    jsonb_build_object('payment_intent', pg_temp.intent(:'id'))), 'origin',
    'so is its payment');
select is(sandbox.call_subject(null, 'GET /v1/events', null, '{}'),
    'GET /v1/events', 'others by their path');

-- A kept 500 ---------------------------------------------------------------

select is((select (http_status, original)::text from sandbox.call_fail('e1',
    'POST /v1/checkout/sessions', pg_temp.good(), 'r1', false)), '(500,)',
    'an error, not carried out');
select is((select (http_status, original)::text
    from sandbox.session_create('e1', pg_temp.good(), 'r2',
        '2026-10-28.endive', 'http://pay')), '(500,r1)',
    'its key has that answer');
select pg_temp.open('{}', 'e2') as id \gset
select is((select (http_status, original is null)::text from sandbox.call_fail(
    'e2', 'POST /v1/checkout/sessions', pg_temp.good(), 'r1', true)),
    '(500,t)', 'an error, carried out');
select is((select http_status from sandbox.session_create('e2',
    pg_temp.good(), 'r2', '2026-10-28.endive', 'http://pay')), 500,
    'its key has the error, too');
select is(pg_temp.get(:'id') ->> 'status', 'open', 'and yet it is there');
select pg_temp.open('{}', 'e3') as id \gset
select is((select (http_status, answer::jsonb ->> 'id')::text
    from sandbox.call_fail('e3', 'POST /v1/checkout/sessions', pg_temp.good(),
        'r1', false)), format('(200,%s)', :'id'::text),
    'a key that was used before keeps its answer');
select is((select http_status from sandbox.call_fail(null, 'GET /v1/events',
    '{}', 'r1', false)), 500, 'without a key nothing is kept');

-- Deliveries ---------------------------------------------------------------

delete from sandbox_data.delivery;
select pg_temp.fault('delivery', 'drop', 100, 1) as fault \gset
select pg_temp.open() as id \gset
select sandbox.session_decline(:'id') as view \gset
select is((select (state, error, tries)::text
    from sandbox.delivery_list(:'id', 9)),
    '("given up","dropped by a fault",0)', 'dropped');
select is_empty('select * from sandbox.delivery_claim(1)', 'it is not sent');
select is((select answer::jsonb #>> '{data,0,type}' from sandbox.event_list(
    '{"delivery_success": "false", "limit": "1"}')),
    'payment_intent.payment_failed', 'it is found by who asks');
select is((select (due, resent)::text from sandbox.delivery_flush(false)),
    '(0,0)', 'nothing waits');
select is((select (due, resent)::text from sandbox.delivery_flush(true)),
    '(0,1)', 'but is sent after all');
select is((select try from sandbox.delivery_claim(30000)), 1, 'now');

delete from sandbox_data.delivery;
select pg_temp.fault('delivery', 'delay', 100, 1, 60000) as fault \gset
select pg_temp.fault('delivery', 'duplicate', 100, 1, 30000) as fault \gset
select sandbox.session_decline(:'id') as view \gset
select results_eq($$select round(next_try_in_ms / 1000.0)::integer
    from sandbox.delivery_list(null, 9) order by 1$$, '{60,90}'::integer[],
    'later, and once more after that');
select is_empty('select * from sandbox.delivery_claim(1)', 'not yet');
select is((select due from sandbox.delivery_flush(false)), 2::bigint,
    'both are due now');
select isnt_empty('select * from sandbox.delivery_claim(30000)', 'one');
select is((select due from sandbox.delivery_flush(false)), 0::bigint,
    'what is being sent is left alone');

-- Money --------------------------------------------------------------------

select pg_temp.fault('payment', 'dispute', 100, 1, 1000) as fault \gset
select pg_temp.paid() as intent \gset
select is((select (extract(epoch from dispute_at - created_at))::integer
    from sandbox_data.payment where id = :'intent'), 1,
    'a payment will be disputed');
select is((select count(*) from sandbox_data.strike join sandbox_data.fault
    using (fault_id) where target = 'payment'), 1::bigint, 'once');
select * from finish();
rollback;
