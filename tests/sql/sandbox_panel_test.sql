-- The stand-in provider: what its pages show, and a payment with what comes
-- of it.
begin;
\ir lib/sandbox.sql
select plan(27);

-- A value of the newest session on the page of payments.
create function pg_temp.newest(variadic p_path text[]) returns text
language sql as $$
select sandbox.desk(30)::jsonb #>> (array['sessions', '0'] || p_path)
$$;

-- The page of payments ------------------------------------------------------

select is(sandbox.desk(30)::jsonb - 'books' - 'clock',
    '{"sessions": [], "deliveries": [], "unsent": 0, "faults": 0}',
    'nothing so far');
select is(sandbox.desk(30)::jsonb -> 'books', sandbox.books()::jsonb,
    'the books are the books');

select pg_temp.open() as id \gset
select is(pg_temp.newest('id'), :'id', 'a session');
select is(pg_temp.newest('payment'), null, 'nobody has paid');
select sandbox.session_pay(:'id', 60000, true) as view \gset
select ok(pg_temp.newest('pay_in_ms')::bigint between 50000 and 60000,
    'it will be paid');

select pg_temp.open() as id \gset
select sandbox.session_bank(:'id', 'failed', 86400000) as view \gset
select is(pg_temp.newest('payment'), null, 'a debit is no payment yet');
select is(pg_temp.newest('settle_to'), 'failed', 'the bank will refuse');
select ok(pg_temp.newest('settle_in_ms')::bigint
    between 86390000 and 86400000, 'in a day');

select pg_temp.paid() as intent \gset
select is(pg_temp.newest('payment'), :'intent', 'a payment');
select is(pg_temp.newest('left'), '9998', 'all of it');
select is(pg_temp.newest('dispute'), null, 'not disputed');
select refund as first from sandbox.payment_refund(:'intent', 998) \gset
select dispute from sandbox.payment_dispute(:'intent', false) \gset
select is(pg_temp.newest('left'), '9000', 'some has gone back');
select is(pg_temp.newest('refunds', '0', 'id'), :'first', 'by this refund');
select is(pg_temp.newest('dispute')::jsonb, jsonb_build_object('id',
    :'dispute', 'amount', 9000, 'status', 'needs_response'), 'disputed');
select is(jsonb_array_length(sandbox.desk(2)::jsonb -> 'sessions'), 2,
    'no more than one looks through');

select sandbox.fault_add('delivery', 'drop', 100, null, null, 0) as fault \gset
select pg_temp.paid() as intent \gset
select is((sandbox.desk(30)::jsonb ->> 'unsent')::bigint, 2::bigint,
    'two webhooks that nobody will send');
select is(sandbox.desk(30)::jsonb ->> 'faults', '1', 'a fault is on');

-- The page of faults ----------------------------------------------------------

select is(sandbox.panel(50)::jsonb #> '{faults,0,fault}',
    to_jsonb(:fault::bigint), 'it is listed');
select is(sandbox.panel(50)::jsonb ->> 'seed', 'seed', 'and the seed');
select is(sandbox.panel(50)::jsonb #>> '{clock,ahead_ms}', '0',
    'and the clock');
select sandbox.fault_clear(null) as n \gset

-- Paid, and what comes of it ---------------------------------------------------

select pg_temp.open() as id \gset
select is(sandbox.session_pay_then(:'id', 'dispute', 86400000), 'paid',
    'paid at once');
select is(sandbox.tick(10), 0, 'nothing comes yet');
select sandbox.clock_forward(86400000) as now \gset
select sandbox.tick(10) as n \gset
select is(pg_temp.newest('dispute', 'status'), 'needs_response',
    'a day later the bank disputes it');

select is(sandbox.session_pay_then(:'id', 'refund_pending', 0), 'paid',
    'a repeat');
select is((sandbox.desk(30)::jsonb ->> 'faults')::integer, 0, 'does nothing');

select pg_temp.open() as id \gset
select sandbox.session_pay_then(:'id', 'refund_pending', 86400000) as view \gset
select refund from sandbox.payment_refund(pg_temp.intent(:'id'), 1) \gset
select refund from sandbox.payment_refund(pg_temp.intent(:'id'), 1) \gset
select is((select string_agg(r ->> 'status', ' ') from jsonb_array_elements(
    pg_temp.newest('refunds')::jsonb) r), 'pending succeeded',
    'the next refund is pending, and no other');

select is(sandbox.session_pay_then('cs_none', 'dispute', 0), null,
    'no such session');

select * from finish();
rollback;
